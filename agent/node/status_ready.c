/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "config.h"
#include "reconcile.h"
#include "status.h"

bool status_ready(const struct status_source *source, char reason[STATUS_REASON_LEN])
{
	const struct reconcile *r = source->reconcile(source->ctx);
	const struct reconcile_state *s = r ? reconcile_state(r) : NULL;

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
