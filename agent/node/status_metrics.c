/* SPDX-License-Identifier: Apache-2.0 */
#include "status_metrics.h"

#include <stdlib.h>

#include "desired.h"
#include "discovery.h"
#include "keyfile.h"
#include "lane_peers.h"
#include "metrics_text.h"
#include "reconcile.h"
#include "status.h"

static void put_agent(const struct status_source *source, FILE *out)
{
	const struct status_agent *a = source->agent(source->ctx);
	const struct metrics_label version[METRICS_LABELS_MAX] = {
		{"version", SEALANE_VERSION}, {"node", source->config(source->ctx)->node.name}};

	metrics_family(out, "sealane_agent_info", "gauge", "Version and node of this agent.");
	metrics_sample(out, "sealane_agent_info", version, 1);
	metrics_single(out, "sealane_agent_start_timestamp_seconds", "gauge",
		       "When the agent started.", (uint64_t)a->started_s);
	metrics_single(out, "sealane_agent_config_loaded_timestamp_seconds", "gauge",
		       "When the configuration was last read without fault.",
		       (uint64_t)a->config_loaded_s);
	metrics_single(out, "sealane_agent_config_failed_timestamp_seconds", "gauge",
		       "When the configuration was last refused, 0: never.",
		       (uint64_t)a->config_failed_s);
	metrics_single(out, "sealane_agent_config_refused", "gauge",
		       "Whether the configuration was refused when it was last read.",
		       a->config_error != NULL);
}

static void put_changes(const struct reconcile_state *s, FILE *out)
{
	static const char name[] = "sealane_agent_changes_total";
	const struct {
		const char *kind;
		uint64_t n;
	} rows[] = {{"added", s->n_added}, {"changed", s->n_changed}, {"removed", s->n_removed}};

	metrics_family(out, name, "counter", "Things that passes changed in lane and kernel.");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		metrics_sample(
			out, name,
			(const struct metrics_label[METRICS_LABELS_MAX]){{"kind", rows[i].kind}},
			rows[i].n);
}

static void put_passes(const struct reconcile_state *s, FILE *out)
{
	metrics_single(out, "sealane_agent_passes_total", "counter",
		       "Comparisons of lane and kernel with what is desired.", s->n_passes);
	metrics_single(out, "sealane_agent_failed_passes_total", "counter", "Those with a fault.",
		       s->n_failed_passes);
	metrics_family(out, "sealane_agent_last_pass_duration_seconds", "gauge",
		       "Time that the last one took.");
	metrics_sample_real(out, "sealane_agent_last_pass_duration_seconds", s->last_pass_s);
	metrics_single(out, "sealane_agent_synced", "gauge", "Whether the last one had no fault.",
		       s->synced);
	metrics_single(out, "sealane_agent_faults", "gauge",
		       "Things that could not be done in the last one.", s->last.failed);
	metrics_single(out, "sealane_agent_conflicts", "gauge",
		       "Claims of nodes that lost against another's.", s->n_conflicts);
	metrics_single(out, "sealane_agent_event_overruns_total", "counter",
		       "Times that the kernel's events were lost.", s->n_overruns);
	metrics_single(out, "sealane_lane_silent", "gauge",
		       "Whether the lane's sockets are there but nobody answers.", s->lane_silent);
	metrics_single(out, "sealane_agent_lane_returns_total", "counter",
		       "Times that the lane was back after it had gone.", s->n_lane_returns);
	put_changes(s, out);
}

/* One family after the other, each for all peers. */
static void put_peers(const struct desired *d, const struct lane_peers *now, FILE *out)
{
	static const struct {
		const char *name, *type, *help;
	} families[] = {
		{"sealane_peer_receive_bytes_total", "counter", "Bytes from the peer."},
		{"sealane_peer_transmit_bytes_total", "counter", "Bytes to the peer."},
		{"sealane_peer_last_handshake_seconds", "gauge",
		 "When the last handshake was, since 1970, 0: never."},
	};
	char key[KEY_TEXT_LEN];

	metrics_single(out, "sealane_peers", "gauge", "Peers that are desired.", d->n_peers);
	for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
		metrics_family(out, families[f].name, families[f].type, families[f].help);
		for (size_t i = 0; i < d->n_peers; i++) {
			const struct member *m = d->peers[i].member;
			const struct lane_peer *p = lane_peers_find(now, m->public_key);
			const uint64_t values[] = {p ? p->received_bytes : 0,
						   p ? p->transmitted_bytes : 0,
						   p ? p->handshake_s : 0};
			const struct metrics_label labels[METRICS_LABELS_MAX] = {
				{"public_key", key_format(m->public_key, key)}, {"name", m->name}};

			if (p)
				metrics_sample(out, families[f].name, labels, values[f]);
		}
	}
}

static void put_stations(const struct desired *d, FILE *out)
{
	metrics_family(out, "sealane_overlay_stations", "gauge",
		       "Other nodes on an overlay that are desired.");
	for (size_t i = 0; i < d->n_overlays; i++)
		metrics_sample(out, "sealane_overlay_stations",
			       (const struct metrics_label[METRICS_LABELS_MAX]){
				       {"overlay", d->overlays[i].config->name}},
			       d->overlays[i].n_stations);
}

static void put_lane_up(FILE *out, bool up)
{
	metrics_single(out, "sealane_lane_up", "gauge", "Whether the lane answers.", up);
}

static void take_lane(char *answer, void *arg)
{
	put_lane_up(arg, true);
	(void)status_metrics_lane(answer, arg); /* without memory there are fewer */
}

static void take_peers(char *answer, void *arg)
{
	(void)lane_peers_parse(answer, arg);
}

static void put_desired(const struct status_source *source, const struct desired *d, FILE *out)
{
	struct lane_peers now = {0};

	source->ask_lane(source->ctx, LANE_UAPI, take_peers, &now);
	put_peers(d, &now, out);
	put_stations(d, out);
	lane_peers_done(&now);
}

static uint64_t synced_of(const struct discovery_view *v)
{
	return v->synced;
}

static uint64_t synced_s_of(const struct discovery_view *v)
{
	return (uint64_t)v->synced_s;
}

static uint64_t members_of(const struct discovery_view *v)
{
	return v->n_members;
}

static uint64_t faulty_of(const struct discovery_view *v)
{
	return v->faults != NULL;
}

/* By kind of provider, of which there is one each. */
static void put_discovery(const struct discovery *d, FILE *out)
{
	static const struct {
		const char *name, *help;
		uint64_t (*value)(const struct discovery_view *v);
	} rows[] = {
		{"sealane_discovery_synced", "Whether it told all of its peers once.", synced_of},
		{"sealane_discovery_synced_timestamp_seconds",
		 "When all of it could last be read, 0: never.", synced_s_of},
		{"sealane_discovery_peers", "Peers that are known from it.", members_of},
		{"sealane_discovery_faulty", "Whether some of it cannot be read or is refused.",
		 faulty_of},
	};
	for (size_t i = 0; d && i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct discovery_view view;
		bool first = true;

		for (size_t cursor = 0; discovery_next(d, &cursor, &view); first = false) {
			const struct metrics_label labels[METRICS_LABELS_MAX] = {
				{"kind", view.kind}};

			if (first)
				metrics_family(out, rows[i].name, "gauge", rows[i].help);
			metrics_sample(out, rows[i].name, labels, rows[i].value(&view));
		}
	}
}

char *status_metrics(const struct status_source *source)
{
	const struct reconcile *r = source->reconcile(source->ctx);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	put_agent(source, out);
	if (r)
		put_passes(reconcile_state(r), out);
	put_discovery(source->discovery ? source->discovery(source->ctx) : NULL, out);
	if (source->ask_lane(source->ctx, LANE_CONTROL, take_lane, out))
		put_lane_up(out, false);
	if (r && reconcile_desired(r))
		put_desired(source, reconcile_desired(r), out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}
