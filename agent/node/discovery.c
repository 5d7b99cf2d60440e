/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

static const struct discovery_ops *const kinds[DISCOVERY_KINDS] = {&discovery_directory,
								   &discovery_etcd};

struct discovery {
	uv_loop_t *loop;
	void (*changed)(void *ctx);
	void *ctx;
	void *providers[DISCOVERY_KINDS]; /* by kind; NULL: none */
};

static int change_one(struct discovery *d, size_t i, const struct config *config)
{
	const struct discovery_ops *ops = kinds[i];
	const bool wanted = ops->wanted(config);

	if (d->providers[i] && wanted) {
		ops->reconfigure(d->providers[i], config);
	} else if (d->providers[i]) {
		ops->stop(d->providers[i]);
		d->providers[i] = NULL;
	} else if (wanted) {
		return ops->start(d->loop, config, d->changed, d->ctx, &d->providers[i]);
	}
	return 0;
}

int discovery_config(struct discovery *d, const struct config *config)
{
	int first = 0;

	for (size_t i = 0; i < DISCOVERY_KINDS; i++) {
		const int err = change_one(d, i, config);

		first = first ? first : err;
	}
	return first;
}

int discovery_start(uv_loop_t *loop, const struct config *config, void (*changed)(void *ctx),
		    void *ctx, struct discovery **ret)
{
	struct discovery *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return -ENOMEM;
	d->loop = loop;
	d->changed = changed;
	d->ctx = ctx;
	err = discovery_config(d, config);
	if (err) {
		discovery_stop(d);
		return err;
	}
	*ret = d;
	return 0;
}

void discovery_stop(struct discovery *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < DISCOVERY_KINDS; i++) {
		if (d->providers[i])
			kinds[i]->stop(d->providers[i]);
	}
	free(d);
}

bool discovery_next(const struct discovery *d, size_t *cursor, struct discovery_view *ret)
{
	while (*cursor < DISCOVERY_KINDS) {
		const size_t i = (*cursor)++;

		if (!d->providers[i])
			continue;
		*ret = (struct discovery_view){.kind = NULL};
		kinds[i]->view(d->providers[i], ret);
		return true;
	}
	return false;
}

bool discovery_synced(const struct discovery *d)
{
	struct discovery_view view;
	size_t cursor = 0;
	bool synced = true;

	while (discovery_next(d, &cursor, &view))
		synced = synced && view.synced;
	return synced;
}

int discovery_members(const struct discovery *d, struct member **ret, size_t *ret_n)
{
	struct discovery_view view;
	struct member *all;
	size_t n = 0;

	for (size_t cursor = 0; discovery_next(d, &cursor, &view);)
		n += view.n_members;
	all = calloc(n + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	n = 0;
	for (size_t cursor = 0; discovery_next(d, &cursor, &view);) {
		if (view.n_members)
			memcpy(all + n, view.members, view.n_members * sizeof(*all));
		n += view.n_members;
	}
	*ret = all;
	*ret_n = n;
	return 0;
}

void discovery_members_free(struct member *members, size_t n)
{
	if (members)
		sodium_memzero(members, n * sizeof(*members)); /* preshared keys */
	free(members);
}
