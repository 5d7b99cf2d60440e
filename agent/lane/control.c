/* SPDX-License-Identifier: Apache-2.0 */
#include "control.h"

#include <inttypes.h>

#include "control_ports.h"
#include "encap_ports.h"
#include "lane.h"
#include "textbuf.h"

static void put_capabilities(const struct control_info *info, struct textbuf *out)
{
	for (unsigned i = 0; i < info->n_capabilities; i++) {
		const struct capability *c = &info->capability[i];

		textbuf_printf(out, "capability=%s %s%s%s\n", c->name, c->on ? "on" : "off",
			       *c->reason ? " " : "", c->reason);
	}
}

static void put_counters(const struct stats *stats, struct textbuf *out)
{
#define X(field, help) textbuf_printf(out, "stat=%s %" PRIu64 "\n", #field, stats->field);
	STATS_LIST(X)
#undef X
	for (unsigned i = DROP_NONE + 1; i < N_DROP_REASONS; i++)
		textbuf_printf(out, "drop=%s %" PRIu64 "\n", drop_name((enum drop)i),
			       stats->drop[i]);
}

/* For programs that show the counters to people: none of them has a list of its own. */
static void put_meanings(struct textbuf *out)
{
	for (unsigned i = DROP_NONE + 1; i < N_DROP_REASONS; i++)
		textbuf_printf(out, "drop_help=%s %s\n", drop_name((enum drop)i),
			       drop_help((enum drop)i));
}

void control_get(const struct lane *lane, const struct control_info *info, struct textbuf *out)
{
	struct stats stats;

	textbuf_printf(out, "version=%d\n", CONTROL_VERSION);
	textbuf_printf(out, "sealane=%s\n", SEALANE_VERSION);
	textbuf_printf(out, "ifname=%s\n", info->ifname);
	textbuf_printf(out, "device_kind=%s\n", info->device_kind);
	textbuf_printf(out, "mtu=%" PRIu32 "\n", lane->mtu);
	textbuf_printf(out, "up=%d\n", lane->up);
	textbuf_printf(out, "listen_port=%u\n", lane->listen_port);
	textbuf_printf(out, "peers=%u\n", lane->n_peers);
	put_capabilities(info, out);
	lane_sum_stats(lane, &stats);
	put_counters(&stats, out);
	put_meanings(out);
	encap_ports_put(lane, out);
	control_ports_put(lane, out);
	textbuf_printf(out, "errno=0\n\n");
}
