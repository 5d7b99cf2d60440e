/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's crew: one worker is the loop's own thread, as many as there ever were; with
 * more, each is a thread with its queue of the device, its sockets and its ends of the
 * ports (crew.h), and the loop keeps what is not packets. What a worker finds and cannot
 * do itself it leaves as a mark, and wakes the loop.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cpus.h"
#include "crew.h"
#include "crypto/train.h"
#include "daemon_internal.h"
#include "egress.h"
#include "ingress.h"
#include "log.h"
#include "udp.h"

enum { BATCHES_PER_WAKEUP = 4 };

#define LIMITS_PERIOD_NS NSEC_PER_SEC

/* What belongs to one worker beside its struct worker. */
struct daemon_worker {
	struct daemon *d;
	struct gro_config gro;
	void *train_mem;
	struct crew_source device, udp4, udp6;
};

/* How many */

int daemon_workers_parse(const char *text, unsigned *ret, char reason[CPUS_REASON_LEN])
{
	unsigned long n;
	char *end;

	if (!text || !*text || !strcmp(text, "1")) {
		*ret = 1;
		snprintf(reason, CPUS_REASON_LEN, "%s",
			 text && *text ? "SEALANE_WORKERS=1"
				       : "one, unless SEALANE_WORKERS says more");
		return 0;
	}
	if (!strcasecmp(text, "auto")) {
		*ret = cpus_granted(reason);
		if (*ret > CREW_MAX)
			*ret = CREW_MAX;
		return 0;
	}
	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || *end || text[0] < '0' || text[0] > '9' || n < 1 || n > CREW_MAX)
		return -EINVAL;
	*ret = (unsigned)n;
	snprintf(reason, CPUS_REASON_LEN, "SEALANE_WORKERS=%u", *ret);
	return 0;
}

/* Marks for the loop */

static void mark(struct daemon *d, bool *which)
{
	if (!__atomic_exchange_n(which, true, __ATOMIC_RELAXED))
		uv_async_send(&d->wake);
}

static bool marked(bool *which)
{
	return __atomic_exchange_n(which, false, __ATOMIC_RELAXED);
}

static void on_wake(uv_async_t *wake)
{
	struct daemon *d = wake->data;

	if (marked(&d->device_gone) && !device_exists(d->device))
		daemon_stop(d, "the device was deleted");
	if (marked(&d->limits_due)) {
		lane_begin_change(&d->lane);
		lane_refresh_clock(&d->lane);
		follow_limits(d);
		lane_end_change(&d->lane);
	}
}

/* The lane's own thread has work: its deadlines and queues are looked at before it sleeps
 * again. */
static void wake_loop(void *ctx)
{
	struct daemon *d = ctx;

	uv_async_send(&d->wake);
}

/* In the workers' threads */

static bool run_device(struct crew_source *s, struct worker *w, uint32_t events)
{
	struct daemon_worker *dw = s->ctx;

	(void)events;
	for (int i = 0; i < BATCHES_PER_WAKEUP; i++) {
		int n = egress_run(w);

		if (n == -EBADFD) {
			mark(dw->d, &dw->d->device_gone);
			return false;
		}
		if (n <= 0 || w->out->drained)
			return false;
	}
	return false; /* the descriptor tells again */
}

/* The device's limits, of whose change nobody tells, are read again by the loop. */
static void ask_for_limits(struct daemon_worker *dw, const struct worker *w)
{
	const uint64_t at_ns = __atomic_load_n(&dw->d->limits_read_ns, __ATOMIC_RELAXED);

	if (w->now_ns > at_ns && w->now_ns - at_ns >= LIMITS_PERIOD_NS)
		mark(dw->d, &dw->d->limits_due);
}

static void run_sockets(struct daemon_worker *dw, struct worker *w, int family)
{
	for (int i = 0; i < BATCHES_PER_WAKEUP; i++) {
		if (ingress_run(w, family) < MESSAGES_MAX)
			break;
	}
	ask_for_limits(dw, w);
}

static bool run_udp4(struct crew_source *s, struct worker *w, uint32_t events)
{
	(void)events;
	run_sockets(s->ctx, w, AF_INET);
	return false;
}

static bool run_udp6(struct crew_source *s, struct worker *w, uint32_t events)
{
	(void)events;
	run_sockets(s->ctx, w, AF_INET6);
	return false;
}

/* Starting and ending */

static int watch_sockets(struct daemon *d, unsigned i)
{
	struct daemon_worker *dw = &d->workers[i];
	int err;

	crew_unwatch(d->crew, i, &dw->udp4);
	crew_unwatch(d->crew, i, &dw->udp6);
	dw->udp4.fd = udp_fd(d->udp, i, AF_INET);
	dw->udp6.fd = udp_fd(d->udp, i, AF_INET6);
	err = crew_watch(d->crew, i, &dw->udp4);
	return err ? err : crew_watch(d->crew, i, &dw->udp6);
}

void daemon_workers_sockets_changed(struct daemon *d)
{
	for (unsigned i = 0; i < crew_len(d->crew); i++) {
		int err = watch_sockets(d, i);

		if (err)
			log_error("worker %u cannot watch its sockets: %s", i, strerror(-err));
	}
}

static const struct train_engine *make_engine(struct daemon *d, struct daemon_worker *dw)
{
	char reason[TRAIN_REASON_LEN];

	if (!d->train_mem_len)
		return NULL;
	dw->train_mem = aligned_alloc(TRAIN_ENGINE_ALIGN, d->train_mem_len);
	return train_engine_init(dw->train_mem, d->train_mem_len, true, reason);
}

static int init_worker(struct daemon *d, unsigned i)
{
	struct worker *w = crew_worker(d->crew, i);
	struct daemon_worker *dw = &d->workers[i];

	*dw = (struct daemon_worker){
		.d = d,
		.gro = d->lane.offload.gro,
		.device = {.fd = device_queue_fd(d->device, i), .ctx = dw, .run = run_device},
		.udp4 = {.fd = -1, .ctx = dw, .run = run_udp4},
		.udp6 = {.fd = -1, .ctx = dw, .run = run_udp6},
	};
	w->gro = &dw->gro;
	w->device = device_io_of_queue(d->device, i);
	w->udp = udp_io_of_queue(d->udp, i);
	w->train = make_engine(d, dw);
	return crew_watch(d->crew, i, &dw->device);
}

static int make_crew(struct daemon *d)
{
	int err;

	d->workers = calloc(d->n_workers, sizeof(*d->workers));
	if (!d->workers)
		return -ENOMEM;
	err = udp_set_queues(d->udp, d->n_workers);
	if (!err)
		err = crew_new(&d->lane, d->n_workers, &d->crew);
	for (unsigned i = 0; i < d->n_workers && !err; i++)
		err = init_worker(d, i);
	return err ? err : crew_start(d->crew);
}

int daemon_workers_start(struct daemon *d)
{
	int err = 0;

	if (d->n_workers > 1) {
		err = uv_async_init(&d->loop, &d->wake, on_wake);
		if (err)
			return err;
		d->wake.data = d;
		d->wake_ready = true;
		d->lane.wake = wake_loop;
		d->lane.wake_ctx = d;
		err = make_crew(d);
	}
	capability_note(&d->info, "workers", d->n_workers > 1, "%u, %s%s", d->n_workers,
			d->workers_reason,
			d->n_workers > 1 && device_n_queues(d->device) == 1
				? ", but the device has one queue"
				: "");
	return err;
}

void daemon_workers_stop(struct daemon *d)
{
	crew_free(d->crew);
	d->crew = NULL;
	d->lane.wake = NULL;
	for (unsigned i = 0; d->workers && i < d->n_workers; i++) {
		train_engine_wipe(d->workers[i].train_mem, d->train_mem_len);
		free(d->workers[i].train_mem);
	}
	free(d->workers);
	d->workers = NULL;
	if (d->wake_ready)
		uv_close((uv_handle_t *)&d->wake, NULL);
	d->wake_ready = false;
}

void daemon_workers_take_limits(struct daemon *d)
{
	const struct gro_config *gro = &d->lane.offload.gro;

	for (unsigned i = 0; i < crew_len(d->crew); i++) {
		d->workers[i].gro.max_len4 = gro->max_len4;
		d->workers[i].gro.max_len6 = gro->max_len6;
		d->workers[i].gro.max_segments = gro->max_segments;
	}
}
