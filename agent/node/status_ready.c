/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "discovery.h"
#include "reconcile.h"
#include "status.h"

/* What one of them has not told yet; once all have, they may be away. */
static bool awaits_peers(const struct status_source *source, char reason[STATUS_REASON_LEN])
{
	const struct discovery *d = source->discovery ? source->discovery(source->ctx) : NULL;
	struct discovery_view view;
	size_t cursor = 0;

	while (d && discovery_next(d, &cursor, &view)) {
		if (view.synced)
			continue;
		snprintf(reason, STATUS_REASON_LEN, "peers are awaited from %s %s%s%.*s", view.kind,
			 view.where, view.faults ? "; " : "",
			 view.faults ? (int)strcspn(view.faults, "\n") : 0,
			 view.faults ? view.faults : "");
		return true;
	}
	return false;
}

bool status_ready(const struct status_source *source, char reason[STATUS_REASON_LEN])
{
	const struct reconcile *r = source->reconcile(source->ctx);
	const struct reconcile_state *s = r ? reconcile_state(r) : NULL;

	if (awaits_peers(source, reason))
		return false;
	if (!s || !s->n_passes)
		snprintf(reason, STATUS_REASON_LEN, "the agent is starting");
	else if (!s->lane_there)
		snprintf(reason, STATUS_REASON_LEN, "lane %s %s",
			 source->config(source->ctx)->lane.interface,
			 *s->lane_reason ? s->lane_reason : "is awaited");
	else if (!s->synced && !s->last.failed)
		snprintf(reason, STATUS_REASON_LEN, "lane %s is not provided yet",
			 source->config(source->ctx)->lane.interface);
	else if (!s->synced)
		snprintf(reason, STATUS_REASON_LEN, "%u things could not be done; the first: %s",
			 s->last.failed, s->last.faults[0]);
	else
		reason[0] = '\0';
	return !reason[0];
}
