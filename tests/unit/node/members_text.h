/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node and its members from text, and what is desired for them as text.
 *
 * A member is "NAME KEY SINCE WORD...", where KEY is the number that all bytes of its
 * key have. Words: tunnel=ADDR,... allowed=PREFIX,... and OVERLAY=ITEM,... with an
 * ADDR, a PREFIX (a route) or mac:N (the MAC 02:00:00:00:00:N) each.
 *
 * This node has the key 1, the tunnel addresses 10.10.0.1 and fd10::1, and
 *	ov0  port,    VNI 10, over IPv4: 10.244.0.1/16, the MAC 02:00:00:00:00:01
 *	ov1  vxlan,   VNI 11, over IPv4: 10.245.0.1/16, fd45::1/64
 *	ov6  geneve,  VNI 16, over IPv6: 10.246.0.1/16
 *	bare bareudp, VNI 17, over IPv4: no address
 */
#ifndef SEALANE_TESTS_NODE_MEMBERS_TEXT_H
#define SEALANE_TESTS_NODE_MEMBERS_TEXT_H

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/node/desired.h"

enum { WORLD_OVERLAYS = 4, WORLD_MEMBERS_MAX = 8 };

struct world {
	struct config config;
	struct config_overlay overlays[WORLD_OVERLAYS];
	struct ip_prefix addresses[4];
	struct desired_facts facts;
	struct member members[WORLD_MEMBERS_MAX];
	size_t n_members;
};

/* A failed parse is a mistake of the test's author. */
static inline struct ip_addr world_addr(const char *text)
{
	struct ip_addr addr;

	if (!ip_addr_parse(text, &addr)) {
		fprintf(stderr, "%s is no address\n", text);
		abort();
	}
	return addr;
}

static inline struct ip_prefix world_prefix(const char *text)
{
	struct ip_prefix prefix;

	if (!ip_prefix_parse(text, &prefix)) {
		fprintf(stderr, "%s is no prefix\n", text);
		abort();
	}
	return prefix;
}

static inline void world_init(struct world *w)
{
	*w = (struct world){
		.overlays = {{.name = "ov0", .type = CONFIG_PORT, .vni = 10, .has_mac = true},
			     {.name = "ov1", .type = CONFIG_VXLAN, .vni = 11},
			     {.name = "ov6", .type = CONFIG_GENEVE, .vni = 16, .outer6 = true},
			     {.name = "bare", .type = CONFIG_BAREUDP, .vni = 17}},
		.addresses = {world_prefix("10.244.0.1/16"), world_prefix("10.245.0.1/16"),
			      world_prefix("fd45::1/64"), world_prefix("10.246.0.1/16")},
	};
	memcpy(w->overlays[0].mac, (uint8_t[6]){2, 0, 0, 0, 0, 1}, 6);
	w->overlays[0].addresses = w->addresses;
	w->overlays[1].addresses = w->addresses + 1;
	w->overlays[2].addresses = w->addresses + 3;
	w->overlays[0].n_addresses = w->overlays[2].n_addresses = 1;
	w->overlays[1].n_addresses = 2;
	w->config.node.tunnel[0] = world_addr("10.10.0.1");
	w->config.node.tunnel[1] = world_addr("fd10::1");
	w->config.overlays = w->overlays;
	w->config.n_overlays = WORLD_OVERLAYS;
	memset(w->facts.private_key, 0x11, NODE_KEY_LEN);
	memset(w->facts.public_key, 1, NODE_KEY_LEN);
}

#define WORLD_APPEND(array, n, item)                                                               \
	do {                                                                                       \
		(array) = realloc((array), ((n) + 1) * sizeof(*(array)));                          \
		assert(array);                                                                     \
		(array)[(n)++] = (item);                                                           \
	} while (0)

static inline void world_attach(struct member *m, const char *overlay, char *items)
{
	struct member_overlay a = {0};
	char *next;

	snprintf(a.name, sizeof(a.name), "%s", overlay);
	for (char *item = strtok_r(items, ",", &next); item; item = strtok_r(NULL, ",", &next)) {
		if (!strncmp(item, "mac:", 4)) {
			a.has_mac = true;
			memcpy(a.mac, (uint8_t[6]){2, 0, 0, 0, 0, (uint8_t)atoi(item + 4)}, 6);
		} else if (strchr(item, '/')) {
			WORLD_APPEND(a.routes, a.n_routes, world_prefix(item));
		} else {
			WORLD_APPEND(a.addresses, a.n_addresses, world_addr(item));
		}
	}
	WORLD_APPEND(m->overlays, m->n_overlays, a);
}

static inline void world_word(struct member *m, char *word)
{
	char *items = strchr(word, '='), *next;

	assert(items);
	*items++ = '\0';
	if (strcmp(word, "tunnel") && strcmp(word, "allowed")) {
		world_attach(m, word, items);
		return;
	}
	for (char *item = strtok_r(items, ",", &next); item; item = strtok_r(NULL, ",", &next)) {
		if (!strcmp(word, "tunnel"))
			m->tunnel[!!strchr(item, ':')] = world_addr(item);
		else
			WORLD_APPEND(m->allowed_ips, m->n_allowed_ips, world_prefix(item));
	}
}

static inline void world_add(struct world *w, const char *text)
{
	struct member *m = &w->members[w->n_members++];
	char buf[512], *next, *word;

	assert(w->n_members <= WORLD_MEMBERS_MAX && strlen(text) < sizeof(buf));
	strcpy(buf, text);
	*m = (struct member){0};
	snprintf(m->name, sizeof(m->name), "%s", strtok_r(buf, " ", &next));
	memset(m->public_key, atoi(strtok_r(NULL, " ", &next)), NODE_KEY_LEN);
	m->since = strtoull(strtok_r(NULL, " ", &next), NULL, 10);
	while ((word = strtok_r(NULL, " ", &next)))
		world_word(m, word);
}

static inline void world_done(struct world *w)
{
	for (struct member *m = w->members; m < w->members + w->n_members; m++) {
		for (size_t i = 0; i < m->n_overlays; i++) {
			free(m->overlays[i].addresses);
			free(m->overlays[i].routes);
		}
		free(m->overlays);
		free(m->allowed_ips);
	}
	w->n_members = 0;
}

static inline void world_print_prefixes(FILE *f, const struct ip_prefix *prefixes, size_t n)
{
	char buf[IP_PREFIX_TEXT_LEN];

	for (size_t i = 0; i < n; i++)
		fprintf(f, " %s", ip_prefix_format(&prefixes[i], buf));
}

/* One line each: "NAME: PREFIX...", "OVERLAY NAME: ADDR... PREFIX...", "! CONFLICT". */
static inline char *world_text(const struct desired *d)
{
	char *text = NULL, buf[IP_ADDR_TEXT_LEN];
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert(f);
	for (size_t i = 0; i < d->n_peers; i++) {
		fprintf(f, "%s:", d->peers[i].member->name);
		world_print_prefixes(f, d->peers[i].allowed, d->peers[i].n_allowed);
		fprintf(f, "\n");
	}
	for (size_t i = 0; i < d->n_overlays; i++) {
		const struct desired_overlay *o = &d->overlays[i];

		for (const struct desired_station *s = o->stations; s < o->stations + o->n_stations;
		     s++) {
			fprintf(f, "%s %s:", o->config->name, s->member->name);
			for (size_t j = 0; j < s->n_addresses; j++)
				fprintf(f, " %s", ip_addr_format(&s->addresses[j], buf));
			world_print_prefixes(f, s->routes, s->n_routes);
			fprintf(f, "\n");
		}
	}
	for (size_t i = 0; i < d->n_conflicts; i++)
		fprintf(f, "! %s\n", d->conflicts[i]);
	fclose(f);
	return text;
}

#endif
