/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation: with one worker, poll handles on the device and the two UDP sockets run
 * the walks, a few batches per wake-up so that none starves the others; a
 * timerfd on CLOCK_BOOTTIME (libuv's timers stand still in suspend) carries the
 * lane's next deadline; netlink tells of link state, MTU and routes (follow.c);
 * queued handshakes are worked off once per turn, with an idle handle keeping
 * the loop awake while some are left. With more workers than one, packets are theirs
 * (daemon_workers.c).
 */
#include "daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "control_ports.h"
#include "control_set.h"
#include "crew.h"
#include "crypto/train.h"
#include "daemon_internal.h"
#include "egress.h"
#include "ingress.h"
#include "log.h"
#include "offload/checksum.h"
#include "overlay/nl.h"
#include "uapi.h"
#include "udp.h"

enum {
	BATCHES_PER_WAKEUP = 4,
	HANDSHAKES_PER_TURN = 32,
};

/* Watches */

static void free_handle(uv_handle_t *h)
{
	free(h);
}

int watch_open(struct daemon *d, struct watch *w, int fd, uv_poll_cb cb)
{
	int err;

	watch_close(w);
	if (fd < 0)
		return 0;
	/* On the heap, for libuv keeps a closed handle until its next turn. */
	w->poll = calloc(1, sizeof(*w->poll));
	if (!w->poll)
		return -ENOMEM;
	err = uv_poll_init(&d->loop, w->poll, fd);
	if (err) {
		free(w->poll);
		w->poll = NULL;
		return err;
	}
	w->poll->data = d;
	return uv_poll_start(w->poll, UV_READABLE, cb);
}

void watch_close(struct watch *w)
{
	if (w->poll)
		uv_close((uv_handle_t *)w->poll, free_handle);
	w->poll = NULL;
}

void daemon_stop(struct daemon *d, const char *why)
{
	if (d->stopping)
		return;
	d->stopping = true;
	/* With the tunnel's device deleted nothing is to be left. */
	d->leave_ports = d->args.device.persist && device_exists(d->device);
	log_info("stopping: %s", why);
	uv_stop(&d->loop);
}

/* The walks */

static void on_device(uv_poll_t *poll, int status, int events)
{
	struct daemon *d = poll->data;

	(void)events;
	for (int i = 0; i < BATCHES_PER_WAKEUP; i++) {
		int n = egress_run(&d->lane.self);

		if (n == -EBADFD || (status < 0 && !device_exists(d->device))) {
			daemon_stop(d, "the device was deleted");
			return;
		}
		if (n <= 0 || d->lane.self.out->drained)
			return;
	}
}

static void drain_sockets(struct daemon *d, int family)
{
	for (int i = 0; i < BATCHES_PER_WAKEUP; i++) {
		if (ingress_run(&d->lane.self, family) < MESSAGES_MAX)
			break;
	}
	follow_limits(d);
}

static void on_udp4(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	drain_sockets(poll->data, AF_INET);
}

static void on_udp6(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	drain_sockets(poll->data, AF_INET6);
}

static void on_sockets_changed(void *ctx)
{
	struct daemon *d = ctx;

	if (d->crew) {
		daemon_workers_sockets_changed(d);
	} else {
		watch_open(d, &d->on_udp4, udp_fd(d->udp, 0, AF_INET), on_udp4);
		watch_open(d, &d->on_udp6, udp_fd(d->udp, 0, AF_INET6), on_udp6);
	}
	daemon_note_sockets(d);
}

/* Handshakes and timers */

static void on_idle(uv_idle_t *idle)
{
	(void)idle; /* its being active keeps the loop from sleeping */
}

/* Syncing a file takes long, so not on this thread. */
static void write_stamp(uv_work_t *work)
{
	struct daemon *d = work->data;

	d->stamp_err = stampfile_write(d->stamps.path, d->stamp);
}

static void on_stamp_written(uv_work_t *work, int status)
{
	struct daemon *d = work->data;

	(void)status;
	d->stamp_busy = false;
	if (d->stamp_err)
		log_error("%s: %s; should the clock be set back, peers may refuse handshakes "
			  "after a restart",
			  d->stamps.path, strerror(-d->stamp_err));
}

static void follow_stamps(struct daemon *d)
{
	bool due;

	if (d->stamp_busy)
		return;
	lane_lock(&d->lane);
	due = stampfile_due(&d->stamps, &d->lane.tai64n, d->stamp);
	lane_unlock(&d->lane);
	if (!due)
		return;
	d->stamp_work.data = d;
	d->stamp_busy = !uv_queue_work(&d->loop, &d->stamp_work, write_stamp, on_stamp_written);
}

static void on_check(uv_check_t *check)
{
	struct daemon *d = check->data;
	bool more = daemon_ports_run_pending(d);

	port_reap(&d->lane);
	lane_reap(&d->lane);
	follow_stamps(d);
	more |= handshake_run(&d->lane, HANDSHAKES_PER_TURN);
	if (more)
		uv_idle_start(&d->idle, on_idle);
	else
		uv_idle_stop(&d->idle);
}

/* Before the loop sleeps: set the timer to the lane's next deadline. */
static void on_prepare(uv_prepare_t *prepare)
{
	struct daemon *d = prepare->data;
	struct itimerspec when = {0};
	uint64_t at;

	lane_lock(&d->lane);
	at = lane_next_deadline(&d->lane);
	lane_unlock(&d->lane);
	if (at == d->timer_at_ns)
		return;
	d->timer_at_ns = at;
	if (at != UINT64_MAX) {
		when.it_value.tv_sec = (time_t)(at / NSEC_PER_SEC);
		when.it_value.tv_nsec = (long)(at % NSEC_PER_SEC);
	}
	timerfd_settime(d->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void on_timer(uv_poll_t *poll, int status, int events)
{
	struct daemon *d = poll->data;
	uint64_t expirations;

	(void)status;
	(void)events;
	if (read(d->timer_fd, &expirations, sizeof(expirations)) < 0 && errno != EAGAIN)
		log_error("timer: %s", strerror(errno));
	d->timer_at_ns = 0; /* set it anew */
	lane_lock(&d->lane);
	lane_expire(&d->lane);
	lane_unlock(&d->lane);
}

static void on_signal(uv_signal_t *sig, int signum)
{
	daemon_stop(sig->data, signum == SIGTERM  ? "SIGTERM"
			       : signum == SIGINT ? "SIGINT"
						  : "SIGHUP");
}

/* The two configuration sockets */

/* One pause of the workers for all lines of a client that came at once; the operations
 * themselves may nest in it, and have their own where they come from elsewhere. */
static void enter_lane(void *lane)
{
	lane_begin_change(lane);
}

static void leave_lane(void *lane)
{
	lane_end_change(lane);
}

static void enter_daemon(void *ctx)
{
	lane_begin_change(&((struct daemon *)ctx)->lane);
}

static void leave_daemon(void *ctx)
{
	lane_end_change(&((struct daemon *)ctx)->lane);
}

static void uapi_op_get(void *ctx, struct textbuf *out)
{
	lane_begin_change(ctx); /* all of one moment */
	uapi_get(ctx, out);
	lane_end_change(ctx);
}

static void uapi_op_set_begin(void *ctx, void *state)
{
	uapi_set_begin(state, ctx);
}

static int uapi_op_set_line(void *state, const char *line, size_t len)
{
	struct lane *lane = ((struct uapi_set *)state)->lane;
	int err;

	lane_begin_change(lane);
	err = uapi_set_line(state, line, len);
	lane_end_change(lane);
	return err;
}

static void uapi_op_set_end(void *state)
{
	struct lane *lane = ((struct uapi_set *)state)->lane;

	lane_begin_change(lane);
	uapi_set_end(state);
	lane_end_change(lane);
}

static void control_op_get(void *ctx, struct textbuf *out)
{
	struct daemon *d = ctx;

	lane_begin_change(&d->lane);
	lane_refresh_clock(&d->lane); /* ages are told */
	control_get(&d->lane, &d->info, out);
	lane_end_change(&d->lane);
}

static void control_op_get_of(void *ctx, const char *lines, struct textbuf *out)
{
	struct daemon *d = ctx;

	lane_begin_change(&d->lane);
	lane_refresh_clock(&d->lane);
	control_ports_get(&d->lane, lines, out);
	lane_end_change(&d->lane);
}

static void control_op_set_begin(void *ctx, void *state)
{
	struct daemon *d = ctx;

	lane_begin_change(&d->lane);
	control_set_begin(state, &d->lane);
	lane_end_change(&d->lane);
}

static int control_op_set_line(void *state, const char *line, size_t len)
{
	struct lane *lane = ((struct control_set *)state)->lane;
	int err;

	lane_begin_change(lane);
	err = control_set_line(state, line, len);
	lane_end_change(lane);
	return err;
}

static int control_op_set_finish(void *state)
{
	struct lane *lane = ((struct control_set *)state)->lane;
	int err;

	lane_begin_change(lane);
	err = control_set_finish(state);
	lane_end_change(lane);
	return err;
}

static const char *control_op_set_error(void *state)
{
	return control_set_error(state);
}

static void control_op_set_end(void *state)
{
	control_set_end(state);
}

static void on_uapi_gone(void *ctx)
{
	daemon_stop(ctx, "the configuration socket was removed");
}

static int start_servers(struct daemon *d, char err_text[DAEMON_ERR_LEN])
{
	static const struct lineserver_ops uapi_ops = {
		.set_state_len = sizeof(struct uapi_set),
		.enter = enter_lane,
		.leave = leave_lane,
		.get = uapi_op_get,
		.set_begin = uapi_op_set_begin,
		.set_line = uapi_op_set_line,
		.set_end = uapi_op_set_end,
	};
	static const struct lineserver_ops control_ops = {
		.set_state_len = sizeof(struct control_set),
		.enter = enter_daemon,
		.leave = leave_daemon,
		.get = control_op_get,
		.get_of = control_op_get_of,
		.set_begin = control_op_set_begin,
		.set_line = control_op_set_line,
		.set_finish = control_op_set_finish,
		.set_error = control_op_set_error,
		.set_end = control_op_set_end,
	};
	int err;

	snprintf(d->uapi_path, sizeof(d->uapi_path), "/var/run/wireguard/%s.sock", d->ifname);
	err = lineserver_start(&d->loop, d->uapi_path, d->args.uapi_fd, &uapi_ops, &d->lane,
			       on_uapi_gone, d, &d->uapi);
	if (err == -EADDRINUSE) {
		snprintf(err_text, DAEMON_ERR_LEN,
			 "%s answers already: another WireGuard daemon runs as %s (on any network "
			 "namespace of this host); stop it or choose another name",
			 d->uapi_path, d->ifname);
		return err;
	}
	if (err) {
		snprintf(err_text, DAEMON_ERR_LEN, "cannot listen at %s: %s", d->uapi_path,
			 strerror(-err));
		return err;
	}

	snprintf(d->control_path, sizeof(d->control_path), "/var/run/sealane/%s.sock", d->ifname);
	err = lineserver_start(&d->loop, d->control_path, -1, &control_ops, d, NULL, NULL,
			       &d->control);
	if (err)
		snprintf(err_text, DAEMON_ERR_LEN, "cannot listen at %s: %s", d->control_path,
			 strerror(-err));
	return err;
}

/* Start and end */

int daemon_new(const struct daemon_args *args, struct daemon **ret, char err_text[DAEMON_ERR_LEN])
{
	struct daemon *d = calloc(1, sizeof(*d));
	char text[200] = "";
	int err;

	if (!d) {
		snprintf(err_text, DAEMON_ERR_LEN, "out of memory");
		return -ENOMEM;
	}
	d->args = *args;
	d->timer_fd = -1;
	err = offloads_choose(&d->offloads);
	if (err) {
		free(d);
		*err_text = '\0'; /* said already */
		return err;
	}
	offloads_device_args(&d->offloads, &d->args.device);
	d->n_workers = args->n_workers;
	d->workers_reason = d->args.workers_reason;
	d->args.device.n_queues = d->n_workers;
	err = nl_open(&d->nl);
	if (err)
		snprintf(text, sizeof(text), "cannot talk to the kernel by netlink: %s",
			 strerror(-err));
	else
		err = device_open(&d->args.device, d->nl, &d->device, text);
	if (err) {
		snprintf(err_text, DAEMON_ERR_LEN, "%s", text);
		daemon_free(d);
		return err;
	}
	/* The sockets keep the first name, whatever the device is called later. */
	snprintf(d->ifname, sizeof(d->ifname), "%s", device_name(d->device));
	*ret = d;
	return 0;
}

/* Faster instructions where CPU and environment allow them. */
static void start_simd(struct daemon *d)
{
	const struct policy_state *simd = &d->offloads.state[OFFLOAD_SIMD];
	char reason[TRAIN_REASON_LEN];

	checksum_select(simd->on);
	d->train_mem_len = simd->on ? train_engine_size() : 0;
	if (d->train_mem_len)
		d->train_mem = aligned_alloc(TRAIN_ENGINE_ALIGN, d->train_mem_len);
	d->lane.self.train = train_engine_init(d->train_mem, d->train_mem_len, simd->on, reason);
	daemon_note_simd(d, simd->on ? reason : simd->reason);
}

static void open_stamps(struct daemon *d)
{
	char path[STAMPFILE_PATH_LEN];
	int err;

	snprintf(path, sizeof(path), "/var/lib/sealane/%s.tai64n", d->ifname);
	err = stampfile_open(&d->stamps, path, &d->lane.tai64n);
	if (err)
		log_error("%s: %s", path, err == -EINVAL ? "no time stamp in it" : strerror(-err));
}

static int start_lane(struct daemon *d)
{
	struct device_io device_io = device_io_of(d->device);
	struct udp_io udp_io;
	int err = udp_new(d->nl, &d->udp);

	if (err)
		return err;
	udp_io = udp_io_of(d->udp);
	udp_on_change(d->udp, on_sockets_changed, d);
	err = lane_init(&d->lane, &lane_env_system, &device_io, &udp_io, DEVICE_DEFAULT_MTU);
	if (err)
		return err;
	d->lane_ready = true;
	if (d->args.device.persist)
		open_stamps(d);
	daemon_ports_start(d);
	daemon_note_device(d);
	start_simd(d);
	offloads_apply(&d->offloads, d->device, d->udp, &d->lane, &d->info);
	return daemon_workers_start(d);
}

static int start_loop(struct daemon *d)
{
	int err = uv_loop_init(&d->loop);

	if (err)
		return err;
	d->loop_ready = true;
	d->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	if (d->timer_fd < 0)
		return -errno;

	uv_prepare_init(&d->loop, &d->prepare);
	uv_check_init(&d->loop, &d->check);
	uv_idle_init(&d->loop, &d->idle);
	uv_signal_init(&d->loop, &d->sigterm);
	uv_signal_init(&d->loop, &d->sigint);
	uv_signal_init(&d->loop, &d->sighup);
	d->handles_ready = true;
	d->prepare.data = d->check.data = d->idle.data = d->sigterm.data = d->sigint.data = d;
	d->sighup.data = d;
	uv_prepare_start(&d->prepare, on_prepare);
	uv_check_start(&d->check, on_check);
	err = uv_signal_start(&d->sigterm, on_signal, SIGTERM);
	if (!err)
		err = uv_signal_start(&d->sigint, on_signal, SIGINT);
	/* The terminal is gone: end in order, or keys stay in memory. */
	if (!err)
		err = uv_signal_start(&d->sighup, on_signal, SIGHUP);
	return err;
}

static int start_following(struct daemon *d)
{
	int err;

	lane_begin_change(&d->lane);
	err = follow_start(d);
	lane_end_change(&d->lane);
	return err;
}

int daemon_start(struct daemon *d, char err_text[DAEMON_ERR_LEN])
{
	int err = start_loop(d);

	if (!err)
		err = start_lane(d);
	if (!err)
		err = watch_open(d, &d->on_timer, d->timer_fd, on_timer);
	if (!err && !d->crew)
		err = watch_open(d, &d->on_device, device_fd(d->device), on_device);
	if (!err)
		err = start_following(d);
	if (err) {
		snprintf(err_text, DAEMON_ERR_LEN, "cannot start: %s", strerror(-err));
		return err;
	}
	return start_servers(d, err_text);
}

void daemon_run(struct daemon *d)
{
	while (!d->stopping)
		uv_run(&d->loop, UV_RUN_DEFAULT);
}

static void close_handles(struct daemon *d)
{
	watch_close(&d->on_timer);
	watch_close(&d->on_device);
	watch_close(&d->on_udp4);
	watch_close(&d->on_udp6);
	follow_stop(d);
	lineserver_stop(d->uapi);
	lineserver_stop(d->control);
	if (!d->handles_ready)
		return;
	uv_close((uv_handle_t *)&d->prepare, NULL);
	uv_close((uv_handle_t *)&d->check, NULL);
	uv_close((uv_handle_t *)&d->idle, NULL);
	uv_close((uv_handle_t *)&d->sigterm, NULL);
	uv_close((uv_handle_t *)&d->sigint, NULL);
	uv_close((uv_handle_t *)&d->sighup, NULL);
}

void daemon_free(struct daemon *d)
{
	if (!d)
		return;
	if (d->udp)
		udp_on_change(d->udp, NULL, NULL);
	crew_pause(d->crew); /* for good: daemon_workers_stop() ends it */
	if (d->lane_ready)   /* their watches are on the loop */
		port_remove_all(&d->lane);
	crew_resume(d->crew);
	daemon_workers_stop(d);
	if (d->loop_ready) {
		close_handles(d);
		uv_run(&d->loop, UV_RUN_DEFAULT);
		uv_loop_close(&d->loop);
	}
	/* The last one itself: nothing is lost this time. */
	if (d->lane_ready && d->stamps.path[0] && d->lane.tai64n.last[0])
		(void)stampfile_write(d->stamps.path, d->lane.tai64n.last);
	if (d->lane_ready)
		lane_done(&d->lane);
	train_engine_wipe(d->train_mem, d->train_mem_len);
	free(d->train_mem);
	udp_free(d->udp);
	device_close(d->device);
	nl_close(d->nl);
	if (d->timer_fd >= 0)
		close(d->timer_fd);
	free(d);
}
