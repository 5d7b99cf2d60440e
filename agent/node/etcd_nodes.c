/* SPDX-License-Identifier: Apache-2.0 */
#include "etcd_nodes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "config_internal.h"
#include "etcd_record.h"

struct etcd_node {
	char *name, *text; /* the record's, as it is in etcd */
	size_t len;
	struct member member;
	bool is_good; /* member is what some record said */
	bool seen;    /* since the list began */
	struct config_faults faults;
};

/* Where it is, or should be. */
static size_t place_of(const struct etcd_nodes *all, const char *name, bool *ret_there)
{
	size_t low = 0, high = all->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const int order = strcmp(all->nodes[middle].name, name);

		if (!order) {
			*ret_there = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_there = false;
	return low;
}

static void node_done(struct etcd_node *node)
{
	free(node->name);
	free(node->text);
	member_clear(&node->member);
	config_faults_free(&node->faults);
}

static void take_out(struct etcd_nodes *all, size_t i)
{
	node_done(&all->nodes[i]);
	memmove(&all->nodes[i], &all->nodes[i + 1], (--all->n - i) * sizeof(*all->nodes));
}

static struct etcd_node *insert(struct etcd_nodes *all, size_t i, const char *name)
{
	char *copy;

	if (all->n == ETCD_NODES_MAX)
		return NULL;
	if (all->n == all->room) {
		const size_t more = all->room ? 2 * all->room : 64;
		struct etcd_node *larger = reallocarray(all->nodes, more, sizeof(*larger));

		if (!larger)
			return NULL;
		all->nodes = larger;
		all->room = more;
	}
	copy = strdup(name);
	if (!copy)
		return NULL;
	memmove(&all->nodes[i + 1], &all->nodes[i], (all->n++ - i) * sizeof(*all->nodes));
	all->nodes[i] = (struct etcd_node){.name = copy};
	return &all->nodes[i];
}

static bool judge(struct etcd_node *node, const struct config *config)
{
	char where[CONFIG_QUOTE_LEN + 16], quote[CONFIG_QUOTE_LEN];
	struct member member;

	config_faults_free(&node->faults);
	snprintf(where, sizeof(where), "etcd node %s", config_quote(node->name, quote));
	if (etcd_record_parse(node->text, node->len, node->name, where, config, &member,
			      &node->faults))
		return false;
	member_clear(&node->member);
	node->member = member;
	node->is_good = true;
	return true;
}

bool etcd_nodes_put(struct etcd_nodes *all, const char *name, const char *text, size_t len,
		    const struct config *config)
{
	bool is_there;
	const size_t i = place_of(all, name, &is_there);
	struct etcd_node *node = is_there ? &all->nodes[i] : insert(all, i, name);
	char *copy;

	if (!node)
		return false;
	node->seen = true;
	/* Told again after a restart of its node, say. */
	if (node->text && node->len == len && !memcmp(node->text, text, len))
		return false;
	copy = malloc(len + 1);
	if (!copy)
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	free(node->text);
	node->text = copy;
	node->len = len;
	return judge(node, config);
}

bool etcd_nodes_delete(struct etcd_nodes *all, const char *name)
{
	bool is_there, had_member;
	const size_t i = place_of(all, name, &is_there);

	if (!is_there)
		return false;
	had_member = all->nodes[i].is_good;
	take_out(all, i);
	return had_member;
}

void etcd_nodes_begin(struct etcd_nodes *all)
{
	for (size_t i = 0; i < all->n; i++)
		all->nodes[i].seen = false;
}

bool etcd_nodes_end(struct etcd_nodes *all)
{
	bool changed = false;

	for (size_t i = all->n; i-- > 0;) {
		if (all->nodes[i].seen)
			continue;
		changed |= all->nodes[i].is_good;
		take_out(all, i);
	}
	return changed;
}

bool etcd_nodes_again(struct etcd_nodes *all, const struct config *config)
{
	bool changed = false;

	for (size_t i = 0; i < all->n; i++)
		changed |= judge(&all->nodes[i], config);
	return changed;
}

int etcd_nodes_gather(struct etcd_nodes *all)
{
	struct member *members = calloc(all->n + 1, sizeof(*members));
	size_t n = 0;

	if (!members)
		return -ENOMEM;
	config_faults_free(&all->faults);
	for (size_t i = 0; i < all->n; i++) {
		if (all->nodes[i].is_good)
			members[n++] = all->nodes[i].member;
		config_faults_append(&all->faults, &all->nodes[i].faults);
	}
	free(all->members);
	all->members = members;
	all->n_members = n;
	return 0;
}

void etcd_nodes_done(struct etcd_nodes *all)
{
	for (size_t i = 0; i < all->n; i++)
		node_done(&all->nodes[i]);
	free(all->nodes);
	free(all->members);
	config_faults_free(&all->faults);
	*all = (struct etcd_nodes){.nodes = NULL};
}
