/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "log.h"
#include "overlay/nl.h"
#include "reconcile_internal.h"

struct did {
	const struct report *report;
	unsigned added, changed; /* when the last text came */
};

static bool starts_with(const char *text, const char *word)
{
	return !strncmp(text, word, strlen(word));
}

/* What happens to a device, peer or port is rare and of interest; of routes and entries
 * there may be thousands. Their names come first or behind a verb. */
static bool is_rare(const char *text)
{
	static const char *const rare[] = {"device ", "lane ", "peer ", "port "};
	const char *second = strchrnul(text, ' ');

	second += *second == ' ';
	for (size_t i = 0; i < sizeof(rare) / sizeof(rare[0]); i++) {
		if (starts_with(text, rare[i]) || starts_with(second, rare[i]))
			return true;
	}
	return false;
}

static void log_done(const char *text, void *arg)
{
	struct did *did = arg;
	const char *verb = "";

	if (starts_with(text, "peer ") || starts_with(text, "port ")) {
		if (did->report->added != did->added)
			verb = "added ";
		else
			verb = did->report->changed != did->changed ? "changed " : "removed ";
	}
	did->added = did->report->added;
	did->changed = did->report->changed;
	if (is_rare(text))
		log_info("%s%s", verb, text);
	else
		log_debug("%s%s", verb, text);
}

static void free_given(struct member *given, size_t n)
{
	if (given)
		sodium_memzero(given, n * sizeof(*given)); /* there are preshared keys in it */
	free(given);
}

void reconcile_pass_forget(struct reconcile *r)
{
	r->ops->desired_free(r->desired);
	r->desired = NULL;
	free_given(r->given, r->n_given);
	r->given = NULL;
	r->n_given = 0;
}

/* What is desired now. On failure the last stays, which was right a moment ago. */
static void build(struct reconcile *r, struct report *report)
{
	const struct config *c = r->config;
	const size_t n = c->n_peers + r->n_members;
	struct member *given = calloc(n + 1, sizeof(*given));
	struct desired *desired;
	int err = given ? 0 : -ENOMEM;

	if (!err) {
		if (c->n_peers)
			memcpy(given, c->peers, c->n_peers * sizeof(*given));
		if (r->n_members)
			memcpy(given + c->n_peers, r->members, r->n_members * sizeof(*given));
		r->facts.path_mtu = r->ops->path_mtu(r->nl, given, n, c->lane.fwmark,
						     c->lane.interface);
		err = r->ops->build(c, given, n, &r->facts, &desired);
	}
	if (err) {
		free_given(given, n);
		report_fault(report, err, "cannot work out what is desired");
		return;
	}
	reconcile_pass_forget(r);
	r->desired = desired;
	r->given = given;
	r->n_given = n;
}

/* A lane that is lost on the way: the rest of the pass is done without it. */
static void lane_did(struct reconcile *r, int err)
{
	if (err)
		reconcile_lane_lost(r, err);
}

static void add(struct reconcile *r, struct report *report)
{
	r->ops->make_way(r->nl, r->desired, report);
	if (r->lane)
		lane_did(r, r->ops->lane_add(r->lane, r->desired, r->memory, report));
	if (r->lane)
		lane_did(r, r->ops->ports_add(r->lane, r->desired, report));
	report->lane_away = !r->lane;
	for (int i = 0; i < RECONCILE_STAGES; i++)
		r->ops->kernel[i].add(r->nl, r->desired, report);
}

static void take_away(struct reconcile *r, struct report *report)
{
	for (int i = RECONCILE_STAGES - 1; i >= 0; i--)
		r->ops->kernel[i].remove(r->nl, r->desired, report);
	if (r->lane)
		lane_did(r, r->ops->ports_remove(r->lane, r->desired, report));
	if (r->lane)
		lane_did(r, r->ops->lane_remove(r->lane, r->desired, r->memory, report));
}

/* What others change from now on is seen by it. */
static void watch(struct reconcile *r, struct report *report)
{
	struct station_watch *now;
	int err = r->ops->watch_new(r->nl, r->desired, &now);

	if (err) {
		report_fault(report, err, "cannot watch the neighbours");
		return;
	}
	r->ops->watch_free(r->watch);
	r->watch = now;
}

static void tell_conflict(const char *line)
{
	log_error("conflict: %s", line);
}

static void tell_fault(const char *line)
{
	log_error("%s", line);
}

/* Without a lane much cannot be done, and that is told by its being away. */
static void tell_faults(struct reconcile *r, const struct report *report)
{
	const size_t n = report->failed < REPORT_FAULTS_MAX ? report->failed : REPORT_FAULTS_MAX;
	const char *faults[REPORT_FAULTS_MAX];

	for (size_t i = 0; i < n; i++) {
		faults[i] = report->faults[i];
		if (!r->lane)
			log_debug("%s", faults[i]);
	}
	if (r->lane)
		told_update(&r->faults, faults, n, tell_fault);
}

static void tell(struct reconcile *r, const struct report *report)
{
	tell_faults(r, report);
	if (r->desired)
		told_update(&r->conflicts, (const char *const *)r->desired->conflicts,
			    r->desired->n_conflicts, tell_conflict);
	if (report->added || report->changed || report->removed || report->failed)
		log_debug("pass: %u added, %u changed, %u removed, %u failed", report->added,
			  report->changed, report->removed, report->failed);
}

static void note(struct reconcile *r, const struct report *report, uint64_t took_ns)
{
	struct reconcile_state *s = &r->state;

	s->synced = !report->failed && !report->awaited;
	s->pass_ms = uv_now(r->args.loop);
	if (s->synced)
		s->synced_ms = s->pass_ms;
	if (report->failed)
		s->n_failed_passes++;
	s->n_passes++;
	s->n_added += report->added;
	s->n_changed += report->changed;
	s->n_removed += report->removed;
	s->n_conflicts = r->desired ? r->desired->n_conflicts : 0;
	s->last_pass_s = (double)took_ns / 1e9;
	s->last = *report;
	s->last.log = NULL;
	s->last.log_arg = NULL;
}

void reconcile_pass_run(struct reconcile *r)
{
	struct report report = {.log = log_done};
	struct did did = {.report = &report};
	const uint64_t begin_ns = uv_hrtime();

	report.log_arg = &did;
	r->in_pass = true;
	build(r, &report);
	if (r->desired) {
		add(r, &report);
		take_away(r, &report);
		watch(r, &report);
	}
	r->in_pass = false;
	uv_update_time(r->args.loop);
	note(r, &report, uv_hrtime() - begin_ns);
	tell(r, &report);
}
