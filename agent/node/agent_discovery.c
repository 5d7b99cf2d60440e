/* SPDX-License-Identifier: Apache-2.0 */
/* What discovery tells becomes what is desired. */
#include <string.h>

#include "agent_internal.h"
#include "discovery.h"
#include "log.h"
#include "reconcile.h"

static void hand_over(struct agent *a)
{
	const bool synced = discovery_synced(a->discovery);
	struct member *members;
	size_t n;
	int err = 0;

	if (synced) {
		err = discovery_members(a->discovery, &members, &n);
		if (!err) {
			err = reconcile_members(a->reconcile, members, n);
			discovery_members_free(members, n);
		}
	}
	if (err)
		log_error("peers that were discovered are not used: %s", strerror(-err));
	reconcile_hold(a->reconcile, !synced);
}

static void on_changed(void *ctx)
{
	struct agent *a = ctx;

	hand_over(a);
	agent_status_tell(a);
}

int agent_discovery_start(struct agent *a)
{
	int err = discovery_start(&a->loop, a->config, on_changed, a, &a->discovery);

	if (err)
		log_error("cannot look for peers: %s", strerror(-err));
	else
		hand_over(a);
	return err;
}

void agent_discovery_config(struct agent *a)
{
	int err = discovery_config(a->discovery, a->config);

	if (err)
		log_error("cannot look for peers: %s", strerror(-err));
	hand_over(a);
}

void agent_discovery_stop(struct agent *a)
{
	discovery_stop(a->discovery);
	a->discovery = NULL;
}
