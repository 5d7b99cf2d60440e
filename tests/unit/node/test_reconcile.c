/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcile_world.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>

static void test_order_with_a_lane(void **state)
{
	(void)state;
	prepare();
	w.lane_there = true;
	start(&quiet);
	assert_null(reconcile_desired(w.r));
	run_passes(1);
	assert_string_equal(w.last, WITH_LANE);
	assert_true(reconcile_state(w.r)->lane_there);
	assert_true(reconcile_state(w.r)->synced);
	assert_int_equal(reconcile_state(w.r)->n_passes, 1);
	assert_int_equal(reconcile_state(w.r)->n_failed_passes, 0);
	assert_true(reconcile_state(w.r)->synced_ms > 0);
	assert_non_null(reconcile_desired(w.r));
	assert_memory_equal(w.built_facts.private_key, alice_private, 32);
	assert_memory_equal(w.built_facts.public_key, alice_public, 32);
	assert_int_equal(w.built_facts.path_mtu, 1400);
	assert_true(next_timer_ms() > NEVER / 2);
	finish();
	assert_int_equal(w.n_closes, 1);
	close(w.lane_fd[1]);
}

static void test_order_without_a_lane(void **state)
{
	(void)state;
	prepare();
	start(&quiet);
	run_passes(1);
	assert_string_equal(w.last, WITHOUT_LANE);
	assert_false(reconcile_state(w.r)->lane_there);
	assert_string_equal(reconcile_state(w.r)->lane_reason, "is awaited");
	finish();
}

static void test_period(void **state)
{
	const struct reconcile_times times = {SOON, NEVER, NEVER, NEVER, NEVER};

	(void)state;
	prepare();
	start(&times);
	run_passes(4);
	finish();
}

/* Our own change is an event like others. It causes one pass, and then it is quiet. */
static void test_own_events(void **state)
{
	const struct reconcile_times times = {NEVER, SOON, NEVER, NEVER, NEVER};

	(void)state;
	prepare();
	w.change_passes = 1;
	start(&times);
	run_passes(2);
	assert_int_equal(reconcile_state(w.r)->n_added, 1);
	assert_int_equal(reconcile_state(w.r)->last.added, 0);
	assert_true(next_timer_ms() > NEVER / 2);
	assert_int_equal(w.n_passes, 2);

	wake_monitor(); /* somebody else's */
	run_passes(3);
	assert_true(next_timer_ms() > NEVER / 2);
	assert_int_equal(reconcile_state(w.r)->n_overruns, 0);
	finish();
}

/* News about neighbours want a pass only if they say what is not wanted. */
static void test_news_of_neighbours(void **state)
{
	const struct reconcile_times times = {NEVER, SOON, NEVER, SOON, SOON};

	(void)state;
	prepare();
	start(&times);
	run_passes(1);
	assert_int_equal(w.n_watches, 1);
	w.event = MONITOR_NEIGH;
	w.harmless = true;
	wake_monitor();
	assert_true(next_timer_ms() > NEVER / 2);
	assert_int_equal(w.n_passes, 1);
	w.harmless = false;
	wake_monitor();
	run_passes(2);
	assert_int_equal(w.n_watches, 1);

	/* What cannot be watched is a fault, which is tried again; the last one stays. */
	w.watch_err = -ENOMEM;
	wake_monitor();
	run_passes(3);
	assert_false(reconcile_state(w.r)->synced);
	assert_int_equal(w.n_watches, 1);
	w.watch_err = 0;
	run_passes(4);
	assert_true(reconcile_state(w.r)->synced);
	finish();
	assert_int_equal(w.n_watches, 0);
}

static void test_lost_events(void **state)
{
	const struct reconcile_times times = {NEVER, SOON, NEVER, NEVER, NEVER};

	(void)state;
	prepare();
	start(&times);
	run_passes(1);
	w.event = MONITOR_OVERRUN;
	wake_monitor();
	run_passes(2);
	assert_int_equal(reconcile_state(w.r)->n_overruns, 1);
	w.monitor_err = -EBADMSG;
	wake_monitor();
	run_passes(3);
	assert_int_equal(reconcile_state(w.r)->n_overruns, 2);
	w.event = MONITOR_LINK; /* and it goes on */
	wake_monitor();
	run_passes(4);
	assert_int_equal(reconcile_state(w.r)->n_overruns, 2);
	finish();
}

static void test_faults_are_tried_again(void **state)
{
	const struct reconcile_times times = {NEVER, NEVER, NEVER, SOON, SOON};
	const struct reconcile_state *s;

	(void)state;
	prepare();
	w.fault_passes = 3;
	start(&times);
	s = reconcile_state(w.r);
	run_passes(3);
	assert_false(s->synced);
	assert_int_equal(s->synced_ms, 0);
	assert_int_equal(s->last.failed, 1);
	assert_string_equal(s->last.faults[0], "route x: Network is unreachable");
	run_passes(4);
	assert_true(s->synced);
	assert_int_equal(s->n_failed_passes, 3);
	assert_int_equal(s->last.failed, 0);
	assert_true(next_timer_ms() > NEVER / 2);
	assert_int_equal(w.n_passes, 4);
	finish();
}

/* What comes by itself is no fault, but not done either. */
static void test_awaited(void **state)
{
	const struct reconcile_times times = {NEVER, NEVER, NEVER, SOON, SOON};
	const struct reconcile_state *s;

	(void)state;
	prepare();
	w.await_passes = 2;
	start(&times);
	s = reconcile_state(w.r);
	run_passes(2);
	assert_true(w.lane_away);
	assert_false(s->synced);
	assert_int_equal(s->synced_ms, 0);
	run_passes(3);
	assert_true(s->synced);
	assert_int_equal(s->n_failed_passes, 0);
	finish();
}

/* A lane that came has nothing yet, and all of the last pass was without it. */
static void test_not_in_sync_until_it_has_all(void **state)
{
	const struct reconcile_times times = {NEVER, NEVER, SOON, NEVER, NEVER};
	unsigned opens;

	(void)state;
	prepare();
	start(&times);
	run_passes(1);
	assert_true(reconcile_state(w.r)->synced);
	assert_true(w.lane_away);
	w.lane_there = true;
	opens = w.n_opens;
	run_until(&w.n_opens, opens + 1); /* which ends the loop's turn before the pass */
	if (w.n_passes == 1)
		assert_false(reconcile_state(w.r)->synced);
	run_passes(2);
	assert_true(reconcile_state(w.r)->synced);
	assert_false(w.lane_away);
	finish();
	close(w.lane_fd[1]);
}

static void test_patience_grows(void **state)
{
	static const int want[] = {1000000, 2000000, 4000000, 5000000, 5000000};
	const struct reconcile_times times = {NEVER, NEVER, NEVER, 1000000, 5000000};

	(void)state;
	prepare();
	w.fault_passes = 5;
	start(&times);
	for (unsigned i = 0; i < 5; i++) {
		int ms;

		run_passes(i + 1);
		ms = next_timer_ms();
		if (ms > want[i] || ms <= want[i] - 500000)
			fail_msg("after %u passes %d ms, not %d", i + 1, ms, want[i]);
		reconcile_config(w.r, &w.config);
	}
	run_passes(6);
	w.fault_passes = 1;
	reconcile_config(w.r, &w.config);
	run_passes(7);
	assert_true(next_timer_ms() <= 1000000); /* from the beginning */
	finish();
}

static void test_nothing_desired_can_be_worked_out(void **state)
{
	(void)state;
	prepare();
	start(&quiet);
	run_passes(1);
	w.build_err = -ENOMEM;
	reconcile_config(w.r, &w.config);
	run_passes(2);
	assert_string_equal(w.last, "path build ");
	assert_false(reconcile_state(w.r)->synced);
	assert_null(reconcile_desired(w.r));
	finish();
}

static void test_conflicts_are_counted(void **state)
{
	(void)state;
	prepare();
	w.conflict = "beta: 10.0.0.0/8 is gamma's";
	start(&quiet);
	run_passes(1);
	assert_int_equal(reconcile_state(w.r)->n_conflicts, 1);
	assert_true(reconcile_state(w.r)->synced);
	w.conflict = NULL;
	reconcile_config(w.r, &w.config);
	run_passes(2);
	assert_int_equal(reconcile_state(w.r)->n_conflicts, 0);
	finish();
}

static void test_configuration_and_members(void **state)
{
	struct member peers[2] = {{.name = "p0"}, {.name = "p1"}}, found = {.name = "f0"};
	struct ip_prefix prefix = {.addr = {.bytes = {10}, .len = 4}, .len = 8};
	struct config other;

	(void)state;
	prepare();
	start(&quiet);
	run_passes(1);
	assert_ptr_equal(w.built_config, &w.config);
	assert_int_equal(w.n_built_members, 0);

	other = w.config;
	other.peers = peers;
	other.n_peers = 2;
	reconcile_config(w.r, &other);
	memset(&w.config, 0xff, sizeof(w.config)); /* nobody looks there any more */
	assert_null(reconcile_desired(w.r));
	run_passes(2);
	assert_ptr_equal(w.built_config, &other);
	assert_int_equal(w.n_built_members, 2);
	assert_string_equal(w.built_members[1].name, "p1");

	found.allowed_ips = &prefix;
	found.n_allowed_ips = 1;
	assert_int_equal(reconcile_members(w.r, &found, 1), 0);
	prefix.len = 9; /* copied */
	run_passes(3);
	assert_int_equal(w.n_built_members, 3);
	assert_string_equal(w.built_members[2].name, "f0");
	assert_int_equal(w.built_members[2].allowed_ips[0].len, 8);

	assert_int_equal(reconcile_members(w.r, NULL, 0), 0);
	run_passes(4);
	assert_int_equal(w.n_built_members, 2);
	finish();
}

/* What @n_passes passes write to stderr. */
static void logged(unsigned n_passes, char *text, size_t text_len)
{
	int fds[2], saved;
	ssize_t len;

	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	fflush(stderr);
	saved = dup(STDERR_FILENO);
	dup2(fds[1], STDERR_FILENO);
	start(&quiet);
	for (unsigned i = 1; i <= n_passes; i++) {
		run_passes(i);
		reconcile_config(w.r, &w.config);
	}
	finish();
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(fds[1]);
	len = read(fds[0], text, text_len - 1);
	close(fds[0]);
	assert_true(len > 0);
	text[len] = '\0';
}

/* Rare things are told at level info, each with a verb. */
static void test_what_is_done_is_logged(void **state)
{
	char text[1024];

	(void)state;
	prepare();
	w.tell_all = true;
	logged(1, text, sizeof(text));
	assert_string_equal(text, "sealane-agent: lane sealane0 is awaited\n"
				  "sealane-agent: added peer a\n"
				  "sealane-agent: changed peer b\n"
				  "sealane-agent: removed port c\n"
				  "sealane-agent: changed device d: mtu\n"
				  "sealane-agent: the lane has its key\n");
}

/* What lasts is told once, and without a lane that alone. */
static void test_what_lasts_is_logged_once(void **state)
{
	char text[1024];

	(void)state;
	prepare();
	w.lane_there = true;
	w.fault_passes = 3;
	w.conflict = "beta: x is gamma's";
	logged(3, text, sizeof(text));
	close(w.lane_fd[1]);
	assert_string_equal(text, "sealane-agent: lane sealane0 answers\n"
				  "sealane-agent: route x: Network is unreachable\n"
				  "sealane-agent: conflict: beta: x is gamma's\n");
	prepare();
	w.fault_passes = 3;
	logged(3, text, sizeof(text));
	assert_string_equal(text, "sealane-agent: lane sealane0 is awaited\n");
}

/* A real monitor with a small buffer: lost events are an error on its descriptor. */

static struct monitor *small_monitor;

static int open_small_monitor(struct monitor **ret)
{
	const int small = 4096;

	assert_int_equal(monitor_open(&small_monitor), 0);
	assert_int_equal(
		setsockopt(monitor_fd(small_monitor), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)),
		0);
	*ret = small_monitor;
	return 0;
}

/* The loopback device's flags, for each change an event. */
static void toggle_lo(int times)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (int i = 0; i < times; i++) {
		struct ifreq ifr = {.ifr_name = "lo", .ifr_flags = i % 2 ? 0 : IFF_UP};

		assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &ifr), 0);
	}
	close(fd);
}

static void test_really_lost_events(void **state)
{
	const struct reconcile_times times = {NEVER, SOON, NEVER, NEVER, NEVER};
	struct reconcile_ops ops = fake_ops;

	(void)state;
	if (unshare(CLONE_NEWNET) < 0) {
		print_message("skipped: no network namespace of our own: run as root\n");
		skip();
	}
	ops.monitor_open = open_small_monitor;
	ops.monitor_close = monitor_close;
	ops.monitor_fd = monitor_fd;
	ops.monitor_read = monitor_read;
	prepare();
	start_with(&ops, &times);
	run_passes(1);
	toggle_lo(200);
	run_passes(2);
	assert_true(reconcile_state(w.r)->n_overruns > 0);
	toggle_lo(1);
	run_passes(3); /* still listening */
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_with_a_lane),
		cmocka_unit_test(test_order_without_a_lane),
		cmocka_unit_test(test_period),
		cmocka_unit_test(test_own_events),
		cmocka_unit_test(test_news_of_neighbours),
		cmocka_unit_test(test_lost_events),
		cmocka_unit_test(test_faults_are_tried_again),
		cmocka_unit_test(test_awaited),
		cmocka_unit_test(test_not_in_sync_until_it_has_all),
		cmocka_unit_test(test_patience_grows),
		cmocka_unit_test(test_nothing_desired_can_be_worked_out),
		cmocka_unit_test(test_conflicts_are_counted),
		cmocka_unit_test(test_configuration_and_members),
		cmocka_unit_test(test_what_is_done_is_logged),
		cmocka_unit_test(test_what_lasts_is_logged_once),
		cmocka_unit_test(test_really_lost_events), /* the last: it changes namespace */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
