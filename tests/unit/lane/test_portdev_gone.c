/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a port device: whoever deletes it, and whatever is going on then. */
#include <pthread.h>

#include "agent/lane/portdev.h"
#include "overlay/packet.h"
#include "portdev_frames.h"

/* Ends that are deleted by others. */
static const struct end_case {
	const char *what;
	enum portdev_kind kind;
	const char *there; /* done in the overlay end's namespace, which then goes: NULL */
	const char *here;  /* done to the lane end before that */
	bool read_first;   /* before the end: what @here brought is read then */
} end_cases[] = {
	{"veth deleted", PORTDEV_VETH, "ip link del sla", NULL, false},
	{"tap deleted", PORTDEV_TAP, "ip link del sla", NULL, false},
	{"veth deleted while down", PORTDEV_VETH, "ip link set sla down && ip link del sla", NULL,
	 false},
	{"tap deleted while down", PORTDEV_TAP, "ip link set sla down && ip link del sla", NULL,
	 false},
	{"veth's namespace", PORTDEV_VETH, NULL, NULL, false},
	{"tap's namespace", PORTDEV_TAP, NULL, NULL, false},
	{"the lane end", PORTDEV_VETH, "true", "del dev", false},
	/* Of these the socket is told nothing when they end. */
	{"veth deleted, lane end down", PORTDEV_VETH, "ip link del sla", "set down dev", true},
	{"veth's namespace, lane end down", PORTDEV_VETH, NULL, "set down dev", true},
};

static void meet_end(struct world *w, const struct end_case *c)
{
	struct portdev_read r[PORTDEV_BATCH_MAX];
	char name[IFNAMSIZ];

	if (c->here) {
		if_indextoname((unsigned)portdev_lane_ifindex(w->a.d), name);
		run("ip link %s %s", c->here, name);
	}
	while (c->read_first && read_batch(w, &w->a, r))
		;
	if (c->there) {
		run_in(w->a.netns, w->home, c->there);
	} else {
		close(w->a.netns);
		w->a.netns = dup(w->home);
	}
}

static void test_deleted(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * sizeof(end_cases) / sizeof(end_cases[0]); i++) {
		const struct end_case *c = &end_cases[i / 2];
		const struct vnet plain = {0};
		uint64_t until = now_ms() + WAIT_MS;
		uint8_t frame[FRAME_LEN];
		struct portdev_read r[PORTDEV_BATCH_MAX];
		struct world w;
		bool write_first = i % 2;
		int got = 0;

		begin(&w, c->kind, 65536);
		meet_end(&w, c);
		tagged_frame(frame, NULL, mac_x);
		/* A namespace goes some time after its last user. */
		while (write_first && port_send(&w.a, &plain, frame, sizeof(frame)) != -ENODEV &&
		       now_ms() < until)
			usleep(1000);
		/* What was queued before may still come out. */
		while ((got = read_batch(&w, &w.a, r)) != -ENODEV && now_ms() < until)
			usleep(1000);
		if (got != -ENODEV)
			fail_msg("%s: %d", c->what, got);
		assert_int_equal(read_batch(&w, &w.a, r), -ENODEV);
		assert_int_equal(port_send(&w.a, &plain, frame, sizeof(frame)), -ENODEV);
		end(&w);
	}
}

/* Waits in poll() and reads when told to, as an event loop does. */
struct reader {
	struct portdev *d;
	uint8_t *memory;
	unsigned n_reads;
	int result; /* of the last read; 1: poll said nothing for long */
};

static void *read_until_gone(void *arg)
{
	struct reader *reader = arg;
	struct pollfd ready = {.fd = portdev_fd(reader->d), .events = POLLIN};

	do {
		struct portdev_read r = {.frame = reader->memory + PORTDEV_HEADROOM};

		reader->result = 1;
		if (poll(&ready, 1, WAIT_MS) <= 0)
			break;
		reader->result = portdev_read(reader->d, &r, 1);
		reader->n_reads++;
	} while (reader->result >= 0);
	return NULL;
}

/*
 * The kernel says "down" first and unbinds the socket some time later, which takes
 * the longer the more devices go at once. Who reads in between must still get to
 * know, and not by asking without end.
 */
static void test_deleted_while_polled(void **state)
{
	static const enum portdev_kind rounds[] = {PORTDEV_VETH, PORTDEV_VETH, PORTDEV_VETH,
						   PORTDEV_TAP};
	enum { READS_MAX = 2000 };
	struct world w;

	(void)state;
	for (size_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
		struct reader reader;
		pthread_t thread;

		begin(&w, rounds[i], 65536);
		run_in(w.a.netns, w.home,
		       "for i in 1 2 3 4 5 6 7 8 9 10; do echo link add type veth; done | "
		       "ip -batch -");
		reader = (struct reader){.d = w.a.d, .memory = w.arena};
		assert_int_equal(pthread_create(&thread, NULL, read_until_gone, &reader), 0);
		close(w.a.netns);
		w.a.netns = dup(w.home);
		pthread_join(thread, NULL);
		assert_int_equal(reader.result, -ENODEV);
		if (rounds[i] == PORTDEV_VETH)
			assert_in_range(reader.n_reads, 1, READS_MAX);
		end(&w);
	}
}

static void test_lane_end_down_is_not_gone(void **state)
{
	const struct vnet plain = {0};
	char name[IFNAMSIZ];
	uint8_t frame[FRAME_LEN], got[RAW_MAX], hdr[PACKET_VNET_HDR_LEN];
	struct portdev_read r[PORTDEV_BATCH_MAX];
	struct world w;
	int raw;

	(void)state;
	begin(&w, PORTDEV_VETH, 65536);
	raw = raw_socket(&w, &w.a);
	if_indextoname((unsigned)portdev_lane_ifindex(w.a.d), name);
	run("ip link set %s down", name);
	/* that it is down, and then what was there before */
	assert_int_equal(read_batch(&w, &w.a, r), 0);
	while (read_batch(&w, &w.a, r) > 0)
		;
	assert_int_equal(read_batch(&w, &w.a, r), 0);
	run("ip link set %s up", name);
	tagged_frame(frame, NULL, mac_x);
	raw_send(raw, NULL, frame, sizeof(frame));
	assert_non_null(port_receive(&w, &w.a));

	/* What a read has not been told yet is no reason to lose a write. */
	run("ip link set %s down && ip link set %s up", name, name);
	assert_int_equal(port_send(&w.a, &plain, frame, sizeof(frame)), 0);
	assert_int_equal(raw_receive(raw, hdr, got), sizeof(frame));
	assert_int_equal(portdev_take_drops(w.a.d), 0);
	run("ip link set %s down", name);
	assert_int_equal(port_send(&w.a, &plain, frame, sizeof(frame)), -ENOBUFS);
	close(raw);
	end(&w);
}

static void test_close_deletes(void **state)
{
	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct world w;
		int ifindex;
		char name[IFNAMSIZ];

		begin(&w, kinds[k], 65536);
		ifindex = portdev_lane_ifindex(w.a.d);
		portdev_close(w.a.d);
		w.a.d = NULL;
		assert_null(if_indextoname((unsigned)ifindex, name));
		enter(w.a.netns);
		assert_int_equal(if_nametoindex("sla"), 0);
		enter(w.home);
		end(&w);
	}
}

/* Pairs that are in the way when a port of the name sla is opened. */
static const struct in_the_way {
	const char *what, *pair; /* commands */
	bool read;		 /* by somebody: slport9 */
	int err;		 /* 0: it is taken over */
} in_the_way[] = {
	{"left by a killed lane",
	 "ip link add sla type veth peer name slport9 && "
	 "ip link set slport9 alias 'sealane port sla' up",
	 false, 0},
	{"another lane's",
	 "ip link add sla type veth peer name slport9 && "
	 "ip link set slport9 alias 'sealane port sla' up",
	 true, -EEXIST},
	{"another lane's, just being made",
	 "ip link add sla type veth peer name slport9 && "
	 "ip link set slport9 alias 'sealane port sla'",
	 false, -EEXIST},
	{"another port's",
	 "ip link add sla type veth peer name slport9 && "
	 "ip link set slport9 alias 'sealane port slb' up",
	 false, -EEXIST},
	{"no lane's",
	 "ip link add sla type veth peer name slx && "
	 "ip link set slx alias 'sealane port sla' up",
	 false, -EEXIST},
	{"no pair", "ip link add sla type dummy 2>/dev/null || ip link add sla type bridge", false,
	 -EEXIST},
};

static void test_abandoned(void **state)
{
	const struct portdev_args args = {
		.name = "sla", .kind = PORTDEV_VETH, .mtu = 1500, .gso_max_size = 65536};
	char err_text[200];
	struct nl *nl;

	(void)state;
	need_netns();
	assert_int_equal(nl_open(&nl), 0);
	for (size_t i = 0; i < sizeof(in_the_way) / sizeof(in_the_way[0]); i++) {
		const struct in_the_way *c = &in_the_way[i];
		struct packet reader = {.fd = -1};
		struct portdev *d = NULL;
		int err;

		run("%s", c->pair);
		if (c->read)
			assert_int_equal(packet_open((int)if_nametoindex("slport9"), &reader), 0);
		err = portdev_open(&args, nl, &d, err_text);
		if (err != c->err)
			fail_msg("%s: %d, %s", c->what, err, err_text);
		if (c->read)
			close(reader.fd);
		if (!err)
			assert_int_equal(portdev_lane_ifindex(d), (int)if_nametoindex("slport9"));
		portdev_close(d);
		if (err)
			run("ip link del sla");
		assert_int_equal(if_nametoindex("sla"), 0);
	}
	nl_close(nl);
}

static const char ingress[] = "tc filter show dev $(ip -o link | "
			      "sed -n 's/^[0-9]*: \\(slport[0-9]*\\)@.*/\\1/p') ingress";

/* The next lane finds everything as it was, here and in another namespace, and until
 * it comes what is sent there goes nowhere. */
static void test_left(void **state)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 0x55};
	struct portdev_args args = {
		.name = "sla", .kind = PORTDEV_VETH, .mtu = 1500, .gso_max_size = 65536};
	char err_text[200], command[300], lane_name[IFNAMSIZ];
	uint8_t got[6];

	(void)state;
	need_netns();
	for (int moved = 0; moved < 2; moved++) {
		struct portdev *d;
		struct nl *nl;
		int ifindex, netns = -1, home = netns_here();

		assert_int_equal(nl_open(&nl), 0);
		args.mtu = 1500;
		args.has_mac = false;
		assert_int_equal(portdev_open(&args, nl, &d, err_text), 0);
		ifindex = portdev_lane_ifindex(d);
		if (moved) {
			assert_int_equal(unshare(CLONE_NEWNET), 0);
			netns = netns_here();
			enter(home);
			move_to(nl, "sla", netns);
			enter(netns);
			run("ip link set sla name slc");
		}
		run("ip addr add 10.9.9.1/24 dev %s && ip link set %s address "
		    "02:00:00:00:00:55 up",
		    moved ? "slc" : "sla", moved ? "slc" : "sla");
		enter(home);

		portdev_leave(d);
		snprintf(command, sizeof(command), "%s | grep -q bpf", ingress);
		run("%s", command);
		/* Somebody sets it down meanwhile. */
		if (moved)
			run("ip link set %s down mtu 1300",
			    if_indextoname((unsigned)ifindex, lane_name));
		args.mtu = 1400;
		args.has_mac = moved;
		memset(args.mac, 2, sizeof(args.mac));
		assert_int_equal(portdev_open(&args, nl, &d, err_text), 0);
		assert_int_equal(portdev_lane_ifindex(d), ifindex);
		portdev_mac_get(d, got);
		assert_memory_equal(got, mac, sizeof(got));
		run("%s", command);
		run("ip link show dev %s | grep -q 'UP.* mtu 65535'",
		    if_indextoname((unsigned)ifindex, lane_name));
		if (moved)
			enter(netns);
		run("ip -o addr show dev %s | grep -q 10.9.9.1/24", moved ? "slc" : "sla");
		run("ip -o link show dev %s | grep -q 'mtu %s .*state UP'", moved ? "slc" : "sla",
		    moved ? "1500" : "1400");
		enter(home);
		portdev_close(d);
		if (netns >= 0)
			close(netns);
		close(home);
		nl_close(nl);
	}
}

/* Somebody takes away what keeps the lane end from the host's stack. */
static void test_held(void **state)
{
	static const char *const openings[] = {"qdisc del dev", "filter del ingress dev"};
	const struct portdev_args args = {
		.name = "sla", .kind = PORTDEV_VETH, .mtu = 1500, .gso_max_size = 65536};
	char err_text[200], name[IFNAMSIZ];
	struct portdev *d;
	struct nl *nl;

	(void)state;
	need_netns();
	assert_int_equal(nl_open(&nl), 0);
	assert_int_equal(portdev_open(&args, nl, &d, err_text), 0);
	assert_non_null(if_indextoname((unsigned)portdev_lane_ifindex(d), name));
	assert_int_equal(portdev_hold(d), 0);
	for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]); i++) {
		run("tc %s %s%s", openings[i], name, i ? "" : " clsact");
		assert_int_equal(portdev_hold(d), 1);
		run("tc filter show dev %s ingress | grep -q bpf", name);
		assert_int_equal(portdev_hold(d), 0);
	}
	/* With filters of others it is there all the same. */
	run("tc filter add dev %s ingress prio 7 matchall action drop 2>/dev/null || "
	    "tc filter add dev %s ingress prio 7 bpf bytecode '1,6 0 0 0,'",
	    name, name);
	assert_int_equal(portdev_hold(d), 0);
	portdev_close(d);
	nl_close(nl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deleted),
		cmocka_unit_test(test_deleted_while_polled),
		cmocka_unit_test(test_lane_end_down_is_not_gone),
		cmocka_unit_test(test_close_deletes),
		cmocka_unit_test(test_abandoned),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_held),
	};

	return world_main(tests, sizeof(tests) / sizeof(tests[0]));
}
