/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/station_watch.h"

#include "sync_world.h"

#include "overlay/monitor.h"
#include "overlay/owner.h"

static struct monitor *monitor_new(void)
{
	struct monitor *m;

	assert_int_equal(monitor_open(&m), 0);
	assert_int_equal(monitor_watch_neighbours(m), 0);
	return m;
}

static void sync_all(struct world *w)
{
	pass(w, sync_devices_add);
	if (w->report.failed) {
		print_message("skipped: %s\n", w->report.faults[0]);
		world_free(w);
		skip();
	}
	sync_addresses_add(w->nl, &w->desired, &w->report);
	sync_stations_add(w->nl, &w->desired, &w->report);
	sync_stations_remove(w->nl, &w->desired, &w->report);
	assert_int_equal(w->report.failed, 0);
}

struct count {
	const struct station_watch *watch;
	unsigned n, n_wanted;
};

static void on_event(const struct monitor_event *ev, void *arg)
{
	struct count *count = arg;

	if (ev->kind != MONITOR_NEIGH)
		return;
	count->n++;
	count->n_wanted += station_watch_wants_pass(count->watch, ev);
}

/* Of the news that are there now. What was commanded is told before the command ends. */
static struct count news(struct monitor *m, const struct station_watch *watch)
{
	struct count count = {.watch = watch};

	assert_int_equal(monitor_read(m, on_event, &count), 0);
	return count;
}

static struct station_watch *watch_new(struct world *w)
{
	struct station_watch *watch;

	assert_int_equal(station_watch_new(w->nl, &w->desired, &watch), 0);
	return watch;
}

/* What a pass would undo wants one; and that pass's own changes want no other. */
static void test_changes(void **state)
{
	static const char *const commands[] = {
		"ip neigh del 10.20.0.2 dev ov0",
		"ip neigh replace 10.20.0.2 lladdr 02:00:00:00:00:99 dev ov0",
		"ip neigh replace 10.20.0.2 lladdr 02:00:00:00:00:99 nud permanent dev ov0",
		"ip neigh replace fd20::2 lladdr 02:00:00:00:00:02 nud stale dev ov0",
		"ip neigh replace fd20::2 lladdr 02:00:00:00:00:98 protocol 77 dev ov0",
		"ip neigh add 10.20.0.77 lladdr 02:00:00:00:00:02 protocol 94 dev ov0",
		"ip neigh flush dev ov0 nud permanent",
		"bridge fdb del 02:00:00:00:00:02 dev ov0",
		"bridge fdb del 00:00:00:00:00:00 dev ov0 dst 10.10.0.3",
		"bridge fdb replace 02:00:00:00:00:02 dev ov0 dst 10.10.0.9",
		"bridge fdb replace 02:00:00:00:00:02 dev ov0 dst 10.10.0.9 extern_learn",
		"bridge fdb append 00:00:00:00:00:00 dev ov0 dst 10.10.0.9 extern_learn",
		"bridge fdb add 02:00:00:00:00:77 dev ov0 dst 10.10.0.2 extern_learn",
		/* Each takes our mark away. */
		"bridge fdb append 02:00:00:00:00:02 dev ov0 dst 10.10.0.9",
		"bridge fdb replace 02:00:00:00:00:02 dev ov0 dst 10.10.0.2",
		"bridge fdb append 00:00:00:00:00:00 dev ov0 dst 10.10.0.3",
		"bridge fdb append 00:00:00:00:00:00 dev ov0 dst 10.10.0.9",
	};
	struct world *w = world_new(CONFIG_VXLAN);
	struct monitor *m = monitor_new();
	struct station_watch *watch;
	struct count count;

	(void)state;
	sync_all(w);
	watch = watch_new(w);
	count = news(m, watch);
	assert_true(count.n >= 7); /* the first pass's */
	assert_int_equal(count.n_wanted, 0);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		run("%s", commands[i]);
		if (!news(m, watch).n_wanted)
			fail_msg("%s: wants no pass", commands[i]);
		sync_all(w);
		assert_true(w->report.added || w->report.changed || w->report.removed);
		count = news(m, watch);
		if (!count.n || count.n_wanted)
			fail_msg("%s: of %u repairs %u want a pass", commands[i], count.n,
				 count.n_wanted);
	}
	station_watch_free(watch);
	monitor_close(m);
	world_free(w);
}

/* Others' entries, and what the kernel does by itself with entries. */
static void test_foreign(void **state)
{
	static const char *const commands[] = {
		"ip neigh add 10.20.0.88 lladdr 02:00:00:00:00:88 dev ov0",
		"ip neigh replace 10.20.0.88 lladdr 02:00:00:00:00:88 nud reachable dev ov0",
		"ip neigh replace 10.20.0.88 lladdr 02:00:00:00:00:89 nud stale dev ov0",
		"ip neigh replace 10.20.0.88 lladdr 2:0:0:0:0:8a proto 94 nud stale dev ov0",
		"ip neigh del 10.20.0.88 dev ov0",
		"bridge fdb add 02:00:00:00:00:88 dev ov0 dst 10.10.0.8",
		"bridge fdb replace 02:00:00:00:00:88 dev ov0 dst 10.10.0.9",
		"bridge fdb del 02:00:00:00:00:88 dev ov0",
		"ip neigh add 10.20.0.2 lladdr 02:00:00:00:00:99 protocol 94 dev other0",
		"ip neigh del 10.20.0.2 dev other0",
		"bridge fdb add 02:00:00:00:00:02 dev other1 dst 10.10.0.9 extern_learn",
		"bridge fdb del 02:00:00:00:00:02 dev other1",
	};
	struct world *w = world_new(CONFIG_VXLAN);
	struct monitor *m = monitor_new();
	struct station_watch *watch;

	(void)state;
	sync_all(w);
	run("ip link add other0 type veth peer name otherb && ip link set dev other0 up");
	run("ip link add other1 type vxlan id 7 dstport 4790 local 10.10.0.1 nolearning");
	watch = watch_new(w);
	news(m, watch);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct count count;

		run("%s", commands[i]);
		count = news(m, watch);
		if (!count.n || count.n_wanted)
			fail_msg("%s: %u of %u want a pass", commands[i], count.n_wanted, count.n);
	}
	station_watch_free(watch);
	monitor_close(m);
	world_free(w);
}

/* A port's device has neighbours only; nothing is wanted of one that is not there. */
static void test_devices(void **state)
{
	struct world *w = world_new(CONFIG_PORT);
	struct monitor *m = monitor_new();
	struct station_watch *watch;

	(void)state;
	watch = watch_new(w);
	make_port(w);
	sync_all(w);
	assert_int_equal(news(m, watch).n_wanted, 0);
	station_watch_free(watch);
	watch = watch_new(w);
	run("ip neigh replace 10.20.0.2 lladdr 02:00:00:00:00:99 nud permanent dev ov0");
	assert_int_equal(news(m, NULL).n_wanted, 0);
	run("ip neigh replace 10.20.0.2 lladdr 02:00:00:00:00:98 nud permanent dev ov0");
	assert_int_equal(news(m, watch).n_wanted, 1);
	station_watch_free(watch);
	station_watch_free(NULL);
	monitor_close(m);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
