/* SPDX-License-Identifier: Apache-2.0 */
#include "port_diff.h"

#include <string.h>

#include "lane_value.h"
#include "port_state.h"

static const char *bool_text(bool b)
{
	return b ? "true" : "false";
}

bool port_diff_needs_new(const struct port_state *want, const struct port_state *have)
{
	return want->gso_max_size != have->gso_max_size;
}

/* Configuration */

static void put_fixed(struct port_diff *diff, const struct port_state *want)
{
	char mac[LANE_MAC_TEXT_LEN];

	lane_request_printf(&diff->config, "create=true\nmtu=%u\nmac=%s\ngso_max_size=%u\n",
			    want->mtu, lane_value_format_mac(want->mac, mac), want->gso_max_size);
	diff->n_config += 4;
}

static void put_number(struct port_diff *diff, const char *key, uint32_t want, const uint32_t *have)
{
	if (have && want == *have)
		return;
	lane_request_printf(&diff->config, "%s=%u\n", key, want);
	diff->n_config++;
}

static void put_bool(struct port_diff *diff, const char *key, bool want, const bool *have)
{
	if (have && want == *have)
		return;
	lane_request_printf(&diff->config, "%s=%s\n", key, bool_text(want));
	diff->n_config++;
}

static void put_outer(struct port_diff *diff, const struct port_state *want,
		      const struct port_state *have)
{
	const uint32_t udp_port = have ? have->udp_port : 0, ttl = have ? have->ttl : 0;
	char vtep[IP_ADDR_TEXT_LEN];

	if (!have || !ip_addr_equal(&want->vtep, &have->vtep)) {
		lane_request_printf(&diff->config, "vtep=%s\n", ip_addr_format(&want->vtep, vtep));
		diff->n_config++;
	}
	put_number(diff, "udp_port", want->udp_port, have ? &udp_port : NULL);
	put_number(diff, "vni", want->vni, have ? &have->vni : NULL);
	put_number(diff, "ttl", want->ttl, have ? &ttl : NULL);
	put_bool(diff, "checksum", want->checksum, have ? &have->checksum : NULL);
}

static void put_bridge(struct port_diff *diff, const struct port_state *want,
		       const struct port_state *have)
{
	put_bool(diff, "answer_neighbours", want->answer_neighbours,
		 have ? &have->answer_neighbours : NULL);
	put_bool(diff, "learning", want->learning, have ? &have->learning : NULL);
	put_number(diff, "fdb_limit", want->fdb_limit, have ? &have->fdb_limit : NULL);
	put_number(diff, "learned_limit", want->learned_limit, have ? &have->learned_limit : NULL);
}

/* Tables: two sorted lists are walked side by side. */

static void put_fdb(struct port_diff *diff, const struct port_state *want,
		    const struct port_state *have)
{
	const size_t n_have = have ? have->n_fdb : 0;
	char mac[LANE_MAC_TEXT_LEN], vtep[IP_ADDR_TEXT_LEN];

	for (size_t i = 0, j = 0; i < want->n_fdb || j < n_have;) {
		const struct port_fdb_entry *w = i < want->n_fdb ? &want->fdb[i] : NULL;
		const struct port_fdb_entry *h = j < n_have ? &have->fdb[j] : NULL;
		const int order = !w ? 1 : !h ? -1 : memcmp(w->mac, h->mac, sizeof(w->mac));

		i += order <= 0;
		j += order >= 0;
		if (!order && ip_addr_equal(&w->vtep, &h->vtep))
			continue;
		if (order > 0)
			lane_request_printf(&diff->fdb, "fdb_remove=%s\n",
					    lane_value_format_mac(h->mac, mac));
		else
			lane_request_printf(&diff->fdb, "fdb=%s %s\n",
					    lane_value_format_mac(w->mac, mac),
					    ip_addr_format(&w->vtep, vtep));
		diff->n_fdb++;
	}
}

static void put_flood(struct port_diff *diff, const struct port_state *want,
		      const struct port_state *have)
{
	const size_t n_have = have ? have->n_flood : 0;
	char vtep[IP_ADDR_TEXT_LEN];

	for (size_t i = 0, j = 0; i < want->n_flood || j < n_have;) {
		const struct ip_addr *w = i < want->n_flood ? &want->flood[i] : NULL;
		const struct ip_addr *h = j < n_have ? &have->flood[j] : NULL;
		const int order = !w ? 1 : !h ? -1 : ip_addr_compare(w, h);

		i += order <= 0;
		j += order >= 0;
		if (!order)
			continue;
		lane_request_printf(&diff->flood, "flood%s=%s\n", order > 0 ? "_remove" : "",
				    ip_addr_format(order > 0 ? h : w, vtep));
		diff->n_flood++;
	}
}

static void put_neighbours(struct port_diff *diff, const struct port_state *want,
			   const struct port_state *have)
{
	const size_t n_have = have ? have->n_neighbours : 0;
	char mac[LANE_MAC_TEXT_LEN], addr[IP_ADDR_TEXT_LEN];

	for (size_t i = 0, j = 0; i < want->n_neighbours || j < n_have;) {
		const struct port_neighbour *w = i < want->n_neighbours ? &want->neighbours[i]
									: NULL;
		const struct port_neighbour *h = j < n_have ? &have->neighbours[j] : NULL;
		const int order = !w ? 1 : !h ? -1 : ip_addr_compare(&w->addr, &h->addr);

		i += order <= 0;
		j += order >= 0;
		if (!order && !memcmp(w->mac, h->mac, sizeof(w->mac)))
			continue;
		if (order > 0)
			lane_request_printf(&diff->neighbours, "neighbour_remove=%s\n",
					    ip_addr_format(&h->addr, addr));
		else
			lane_request_printf(&diff->neighbours, "neighbour=%s %s\n",
					    ip_addr_format(&w->addr, addr),
					    lane_value_format_mac(w->mac, mac));
		diff->n_neighbours++;
	}
}

void port_diff_make(struct port_diff *diff, const struct port_state *want,
		    const struct port_state *have)
{
	struct port_state other;

	*diff = (struct port_diff){0};
	if (!have)
		put_fixed(diff, want);
	put_outer(diff, want, have);
	put_bridge(diff, want, have);
	/* A VTEP of the other family bears no entries of the former one. */
	if (have && have->vtep.len != want->vtep.len) {
		lane_request_printf(&diff->config, "replace_fdb=true\nreplace_flood=true\n");
		other = *have;
		other.n_fdb = other.n_flood = 0;
		have = &other;
	}
	put_fdb(diff, want, have);
	put_flood(diff, want, have);
	put_neighbours(diff, want, have);
}

bool port_diff_is_empty(const struct port_diff *diff)
{
	return !diff->n_config && !diff->n_fdb && !diff->n_flood && !diff->n_neighbours;
}

void port_diff_done(struct port_diff *diff)
{
	lane_request_done(&diff->config);
	lane_request_done(&diff->fdb);
	lane_request_done(&diff->flood);
	lane_request_done(&diff->neighbours);
}
