/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the reconciliation share: a world of fakes that keep what a pass
 * called, and a loop that runs until so many passes were.
 */
#ifndef SEALANE_TESTS_NODE_RECONCILE_WORLD_H
#define SEALANE_TESTS_NODE_RECONCILE_WORLD_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/node/desired.h"
#include "agent/node/reconcile.h"
#include "overlay/monitor.h"

/* Times that matter to a case are short, all others never come. */
enum { SOON = 1, NEVER = 100000000, GUARD_MS = 60000 };

/* The world around the reconciliation under test, of which there is one at a time. */
static struct world {
	uv_loop_t loop;
	uv_timer_t guard;
	struct reconcile *r;
	struct config config;
	char calls[1024]; /* of the running pass */
	char last[1024];  /* of the one before */
	unsigned n_passes;

	bool lane_there, uapi_only;
	unsigned n_opens, n_closes;
	int lane_fd[2];	 /* ours, the other end's */
	int uapi_fd[2];	 /* likewise */
	bool lane_full;	 /* it accepts no connection */
	bool lane_stops; /* what it is asked by looks it answers later, by lane_goes_on() */
	unsigned n_looks;
	bool in_look[2]; /* by enum lane_socket */
	unsigned n_owner_changes;
	int lane_add_err;

	unsigned fault_passes, change_passes, await_passes; /* so many more passes will ... */
	bool tell_all;	/* of each kind of thing something is done */
	bool lane_away; /* as the last pass was told */
	int build_err;
	const char *conflict;
	const struct config *built_config;
	struct member built_members[4];
	size_t n_built_members;
	struct desired_facts built_facts;

	int monitor_fd;
	enum monitor_kind event;
	bool harmless; /* it says what is wanted */
	int monitor_err;
	unsigned n_watches; /* made, less those freed */
	int watch_err;
} w;

static void call(const char *what)
{
	strcat(w.calls, what);
	strcat(w.calls, " ");
}

/* The functions of a pass */

static int fake_build(const struct config *config, const struct member *members, size_t n_members,
		      const struct desired_facts *facts, struct desired **ret)
{
	struct desired *d;

	call("build");
	w.built_config = config;
	w.n_built_members = n_members;
	memcpy(w.built_members, members, n_members * sizeof(*members));
	w.built_facts = *facts;
	if (w.build_err)
		return w.build_err;
	d = calloc(1, sizeof(*d));
	assert_non_null(d);
	d->config = config;
	if (w.conflict) {
		d->conflicts = calloc(1, sizeof(*d->conflicts));
		assert_non_null(d->conflicts);
		d->conflicts[0] = strdup(w.conflict);
		d->n_conflicts = 1;
	}
	*ret = d;
	return 0;
}

static void fake_desired_free(struct desired *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n_conflicts; i++)
		free(d->conflicts[i]);
	free(d->conflicts);
	free(d);
}

static uint32_t fake_path_mtu(struct nl *nl, const struct member *members, size_t n_members,
			      uint32_t fwmark, const char *lane_ifname)
{
	(void)members;
	(void)n_members;
	assert_non_null(nl);
	assert_int_equal(fwmark, 77);
	assert_string_equal(lane_ifname, "sealane0");
	call("path");
	return 1400;
}

static struct sync_lane_memory *fake_memory_new(void)
{
	return malloc(1);
}

static void fake_memory_free(struct sync_lane_memory *m)
{
	free(m);
}

static struct lane_client *the_lane(void)
{
	return (struct lane_client *)(void *)w.lane_fd;
}

static int fake_lane_connect(const char *ifname, struct lane_client **ret, bool *ret_uapi_only)
{
	assert_string_equal(ifname, "sealane0");
	w.n_opens++;
	uv_stop(&w.loop);
	*ret_uapi_only = w.uapi_only;
	if (w.lane_full)
		return -EAGAIN;
	if (!w.lane_there)
		return -ENOENT;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, w.lane_fd), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, w.uapi_fd), 0);
	*ret = the_lane();
	return 0;
}

static void fake_lane_close(struct lane_client *c)
{
	assert_ptr_equal(c, the_lane());
	w.n_closes++;
	close(w.lane_fd[0]);
	close(w.uapi_fd[0]);
	close(w.uapi_fd[1]);
}

static int fake_lane_fd(const struct lane_client *c, enum lane_socket which)
{
	assert_ptr_equal(c, the_lane());
	return which == LANE_UAPI ? w.uapi_fd[0] : w.lane_fd[0];
}

/* An answer is one byte. */
static void answer_look(enum lane_socket which)
{
	const int fd = which == LANE_UAPI ? w.uapi_fd[1] : w.lane_fd[1];

	assert_int_equal(send(fd, "!", 1, MSG_NOSIGNAL), 1);
}

static int fake_lane_look(struct lane_client *c, enum lane_socket which)
{
	assert_ptr_equal(c, the_lane());
	assert_false(w.in_look[which]);
	w.in_look[which] = true;
	w.n_looks++;
	uv_stop(&w.loop);
	if (!w.lane_stops)
		answer_look(which);
	return 0;
}

static int fake_lane_look_more(struct lane_client *c, enum lane_socket which, char **ret)
{
	const ssize_t len = recv(fake_lane_fd(c, which), &(char){0}, 1, MSG_DONTWAIT);

	if (len < 0)
		return -EAGAIN;
	w.in_look[which] = false;
	if (!len)
		return -EPIPE;
	*ret = lane_answer_copy(which == LANE_UAPI ? "uapi" : "control");
	assert_non_null(*ret);
	return 0;
}

static inline void lane_goes_on(void)
{
	w.lane_stops = false;
	for (int i = 0; i < LANE_SOCKETS; i++) {
		if (w.in_look[i])
			answer_look((enum lane_socket)i);
	}
}

static int fake_lane_add(struct lane_client *c, const struct desired *d,
			 struct sync_lane_memory *memory, struct report *r)
{
	(void)r;
	assert_ptr_equal(c, the_lane());
	assert_non_null(d);
	assert_non_null(memory);
	assert_false(w.in_look[LANE_UAPI] || w.in_look[LANE_CONTROL]);
	call("+lane");
	return w.lane_add_err;
}

static int fake_lane_remove(struct lane_client *c, const struct desired *d,
			    struct sync_lane_memory *memory, struct report *r)
{
	(void)d;
	(void)memory;
	(void)r;
	assert_ptr_equal(c, the_lane());
	call("-lane");
	return 0;
}

static int fake_ports_add(struct lane_client *c, const struct desired *d, struct report *r)
{
	(void)c;
	(void)d;
	(void)r;
	call("+ports");
	return 0;
}

static int fake_ports_remove(struct lane_client *c, const struct desired *d, struct report *r)
{
	(void)c;
	(void)d;
	(void)r;
	call("-ports");
	return 0;
}

static inline void wake_monitor(void)
{
	const uint64_t one = 1;

	assert_int_equal(write(w.monitor_fd, &one, sizeof(one)), sizeof(one));
}

/* The stage at which a pass has its faults and changes; a change is an event, too. */
static void fake_add_devices(struct nl *nl, const struct desired *d, struct report *r)
{
	(void)nl;
	(void)d;
	call("+devices");
	if (w.fault_passes) {
		w.fault_passes--;
		report_fault(r, -ENETUNREACH, "route %s", "x");
	}
	if (w.await_passes) {
		w.await_passes--;
		r->awaited++;
	}
	w.lane_away = r->lane_away;
	if (w.tell_all) {
		report_did(r, &r->added, "peer a");
		report_did(r, &r->added, "added route x");
		report_did(r, &r->changed, "peer b");
		report_did(r, &r->changed, "changed neighbour x dev y");
		report_did(r, &r->removed, "port c");
		report_did(r, &r->changed, "changed device d: mtu");
		report_did(r, &r->changed, "the lane has its key");
	}
	if (w.change_passes) {
		w.change_passes--;
		report_did(r, &r->added, "added route x");
		wake_monitor();
	}
}

#define STAGE(name, text)                                                                          \
	static void name(struct nl *nl, const struct desired *d, struct report *r)                 \
	{                                                                                          \
		(void)r;                                                                           \
		assert_non_null(nl);                                                               \
		assert_non_null(d);                                                                \
		call(text);                                                                        \
	}
STAGE(fake_make_way, "way")
STAGE(fake_remove_devices, "-devices")
STAGE(fake_add_addresses, "+addresses")
STAGE(fake_remove_addresses, "-addresses")
STAGE(fake_add_stations, "+stations")
STAGE(fake_remove_stations, "-stations")
STAGE(fake_add_routes, "+routes")
STAGE(fake_remove_routes, "-routes")

static int fake_watch_new(struct nl *nl, const struct desired *d, struct station_watch **ret)
{
	assert_non_null(nl);
	assert_non_null(d);
	if (w.watch_err)
		return w.watch_err;
	w.n_watches++;
	*ret = malloc(1);
	return 0;
}

static void fake_watch_free(struct station_watch *watch)
{
	w.n_watches -= !!watch;
	free(watch);
}

static bool fake_watch_wants_pass(const struct station_watch *watch, const struct monitor_event *ev)
{
	assert_int_equal(ev->kind, MONITOR_NEIGH);
	return watch && !w.harmless;
}

static int fake_monitor_open(struct monitor **ret)
{
	w.monitor_fd = eventfd(0, EFD_CLOEXEC);
	assert_true(w.monitor_fd >= 0);
	*ret = (struct monitor *)(void *)&w.monitor_fd;
	return 0;
}

static void fake_monitor_close(struct monitor *m)
{
	assert_ptr_equal(m, &w.monitor_fd);
	close(w.monitor_fd);
}

static int fake_monitor_fd(const struct monitor *m)
{
	(void)m;
	return w.monitor_fd;
}

static int fake_monitor_read(struct monitor *m,
			     void (*fn)(const struct monitor_event *ev, void *arg), void *arg)
{
	const struct monitor_event ev = {.kind = w.event};
	const int err = w.monitor_err;
	uint64_t n;

	(void)m;
	assert_int_equal(read(w.monitor_fd, &n, sizeof(n)), sizeof(n));
	w.monitor_err = 0;
	if (!err)
		fn(&ev, arg);
	return err;
}

static const struct reconcile_ops fake_ops = {
	.build = fake_build,
	.desired_free = fake_desired_free,
	.path_mtu = fake_path_mtu,
	.memory_new = fake_memory_new,
	.memory_free = fake_memory_free,
	.lane_connect = fake_lane_connect,
	.lane_close = fake_lane_close,
	.lane_fd = fake_lane_fd,
	.lane_look = fake_lane_look,
	.lane_look_more = fake_lane_look_more,
	.lane_add = fake_lane_add,
	.lane_remove = fake_lane_remove,
	.ports_add = fake_ports_add,
	.ports_remove = fake_ports_remove,
	.make_way = fake_make_way,
	.kernel = {{fake_add_devices, fake_remove_devices},
		   {fake_add_addresses, fake_remove_addresses},
		   {fake_add_stations, fake_remove_stations},
		   {fake_add_routes, fake_remove_routes}},
	.watch_new = fake_watch_new,
	.watch_free = fake_watch_free,
	.watch_wants_pass = fake_watch_wants_pass,
	.monitor_open = fake_monitor_open,
	.monitor_close = fake_monitor_close,
	.monitor_fd = fake_monitor_fd,
	.monitor_read = fake_monitor_read,
};

/* Running it */

static void on_pass(void *ctx)
{
	assert_ptr_equal(ctx, &w);
	w.n_passes++;
	uv_stop(&w.loop);
	memcpy(w.last, w.calls, sizeof(w.last));
	w.calls[0] = '\0';
}

static void on_lane(void *ctx)
{
	assert_ptr_equal(ctx, &w);
	w.n_owner_changes++;
	uv_stop(&w.loop);
}

static void on_guard(uv_timer_t *timer)
{
	(void)timer;
	fail_msg("nothing happened for %d s; passes: %u, last: %s", GUARD_MS / 1000, w.n_passes,
		 w.last);
}

static inline void prepare(void)
{
	memset(&w, 0, sizeof(w));
	w.event = MONITOR_ROUTE;
	snprintf(w.config.lane.interface, sizeof(w.config.lane.interface), "sealane0");
	w.config.lane.fwmark = 77;
	assert_int_equal(uv_loop_init(&w.loop), 0);
	uv_timer_init(&w.loop, &w.guard);
}

/* Alice's keys of RFC 7748, section 6.1. */
static const uint8_t alice_private[32] =
	"\x77\x07\x6d\x0a\x73\x18\xa5\x7d\x3c\x16\xc1\x72\x51\xb2\x66\x45"
	"\xdf\x4c\x2f\x87\xeb\xc0\x99\x2a\xb1\x77\xfb\xa5\x1d\xb9\x2c\x2a";
static const uint8_t alice_public[32] =
	"\x85\x20\xf0\x09\x89\x30\xa7\x54\x74\x8b\x7d\xdc\xb4\x3e\xf7\x5a"
	"\x0d\xbf\x3a\x0d\x26\x38\x1a\xf4\xeb\xa4\xa9\x8e\xaa\x9b\x4e\x6a";

static inline void start_at_lane_times(const struct reconcile_ops *ops,
				       const struct reconcile_times *times,
				       const struct reconcile_lane_times *lane_times)
{
	struct reconcile_args args = {
		.loop = &w.loop,
		.ops = ops,
		.times = *times,
		.lane_times = *lane_times,
		.on_pass = on_pass,
		.on_lane = on_lane,
		.ctx = &w,
	};

	memcpy(args.private_key, alice_private, sizeof(alice_private));
	assert_int_equal(reconcile_start(&args, &w.config, &w.r), 0);
}

static inline void start_with(const struct reconcile_ops *ops, const struct reconcile_times *times)
{
	static const struct reconcile_lane_times never = {NEVER, NEVER};

	start_at_lane_times(ops, times, &never);
}

static inline void start(const struct reconcile_times *times)
{
	start_with(&fake_ops, times);
}

/* Until there were so many; passes and attempts stop the loop. Fails if nothing comes. */
static inline void run_until(const unsigned *counter, unsigned n)
{
	uv_timer_start(&w.guard, on_guard, GUARD_MS, 0);
	while (*counter < n)
		uv_run(&w.loop, UV_RUN_DEFAULT);
	uv_timer_stop(&w.guard);
}

static inline void run_passes(unsigned n)
{
	run_until(&w.n_passes, n);
}

/* What the next timer is set to, after all that is due now. */
static inline int next_timer_ms(void)
{
	uv_run(&w.loop, UV_RUN_NOWAIT);
	uv_run(&w.loop, UV_RUN_NOWAIT);
	return uv_backend_timeout(&w.loop);
}

static inline void finish(void)
{
	reconcile_stop(w.r);
	uv_close((uv_handle_t *)&w.guard, NULL);
	while (uv_run(&w.loop, UV_RUN_DEFAULT)) /* it may have been stopped before */
		;
	assert_int_equal(uv_loop_close(&w.loop), 0);
}

#define ADDED	     "+devices +addresses +stations +routes "
#define REMOVED	     "-routes -stations -addresses -devices "
#define WITH_LANE    "path build way +lane +ports " ADDED REMOVED "-ports -lane "
#define WITHOUT_LANE "path build way " ADDED REMOVED

__attribute__((unused)) static const struct reconcile_times quiet = {NEVER, NEVER, NEVER, NEVER,
								     NEVER};

#endif
