/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In a network namespace of its own: everything the agent may have made beside the
 * same things of somebody else. What is there is asked of ip(8).
 */
#include "agent/cli/cleanup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli_world.h"
#include "overlay/address.h"
#include "overlay/neighbours.h"
#include "overlay/nl.h"
#include "overlay/nl_batch.h"
#include "overlay/owner.h"
#include "overlay/routes.h"

static const char *skip_reason;

enum { FOREIGN_PROTOCOL = 95 };

static void run(const char *command)
{
	if (system(command) != 0)
		fail_msg("failed: %s", command);
}

/* Does the output of a command have the text? */
static bool shows(const char *command, const char *text)
{
	FILE *pipe = popen(command, "r");
	bool found = false;
	char line[500];

	assert_non_null(pipe);
	while (fgets(line, sizeof(line), pipe))
		found = found || strstr(line, text) != NULL;
	pclose(pipe);
	return found;
}

static struct ip_prefix prefix(const char *text)
{
	struct ip_prefix ret;

	assert_true(ip_prefix_parse(text, &ret));
	return ret;
}

static void must_succeed(void *cookie, int err, void *arg)
{
	(void)arg;
	if (err)
		fail_msg("%s: %s", (const char *)cookie, strerror(-err));
}

/* On "host", which is nobody's: addresses, neighbours and routes under a protocol. */
static void put_all(struct nl *nl, uint8_t protocol, const char *addr4, const char *addr6,
		    const char *neighbour, const char *route4, const char *route6)
{
	static char what[] = "a request";
	const int host = (int)if_nametoindex("host");
	struct address address = {.ifindex = host, .protocol = protocol};
	struct neighbour n = {.ifindex = host, .mac = {2, 0, 0, 0, 0, 9}, .protocol = protocol};
	struct route route = {.protocol = protocol, .oif = host};
	struct nl_batch *batch;

	address.prefix = prefix(addr4);
	assert_int_equal(address_add(nl, &address), 0);
	address.prefix = prefix(addr6);
	assert_int_equal(address_add(nl, &address), 0);

	assert_int_equal(nl_batch_new(nl, must_succeed, NULL, &batch), 0);
	assert_true(ip_addr_parse(neighbour, &n.addr));
	assert_int_equal(neighbour_put(batch, &n, what), 0);
	route.dst = prefix(route4);
	assert_int_equal(route_put(batch, &route, what), 0);
	route.dst = prefix(route6);
	route.table = 100;
	assert_int_equal(route_put(batch, &route, what), 0);
	route = (struct route){.protocol = protocol, .dst = prefix(route4), .unreachable = true};
	route.metric = 1000;
	assert_int_equal(route_put(batch, &route, what), 0);
	assert_int_equal(nl_batch_flush(batch), 0);
	nl_batch_free(batch);
}

/* Reads the device, as a lane reads its end of a port. */
static int read_device(const char *name)
{
	const struct sockaddr_ll addr = {.sll_family = AF_PACKET,
					 .sll_protocol = htons(ETH_P_ALL),
					 .sll_ifindex = (int)if_nametoindex(name)};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static void populate(void)
{
	struct nl *nl;

	run("ip link set lo up");
	run("ip link add host type veth peer name far");
	run("ip link set host up && ip link set far up");
	run("ip tuntap add mode tap name lane && ip link set lane alias sealane");
	run("ip tuntap add mode tap name tap0 && ip link set tap0 alias somebody");
	run("ip link add ours type bridge && ip link set ours alias sealane");
	run("ip link add theirs type bridge");
	run("ip link add ov0 type veth peer name slport0");
	run("ip link set slport0 alias 'sealane port ov0'");
	run("ip link add ov1 type veth peer name slport1");
	run("ip link set slport1 alias 'sealane port ov1'");
	assert_int_equal(nl_open(&nl), 0);
	put_all(nl, OWNER_PROTOCOL, "10.1.0.1/24", "fd01::1/64", "10.1.0.9", "10.11.0.0/16",
		"fd11::/64");
	put_all(nl, FOREIGN_PROTOCOL, "10.2.0.1/24", "fd02::1/64", "10.2.0.9", "10.12.0.0/16",
		"fd12::/64");
	nl_close(nl);
}

static const struct {
	const char *command, *ours, *theirs;
} things[] = {
	{"ip address show dev host", "10.1.0.1/24", "10.2.0.1/24"},
	{"ip address show dev host", "fd01::1/64", "fd02::1/64"},
	{"ip neigh show dev host", "10.1.0.9", "10.2.0.9"},
	{"ip route show", "10.11.0.0/16 dev host", "10.12.0.0/16 dev host"},
	{"ip route show", "unreachable 10.11.0.0/16", "unreachable 10.12.0.0/16"},
	{"ip -6 route show table 100", "fd11::/64", "fd12::/64"},
	{"ip link show", " lane:", " tap0:"},
	{"ip link show", " ours:", " theirs:"},
	{"ip link show", " slport0@", " slport1@"},
	{"ip link show", " ov0@", " ov1@"},
};

static void assert_there(bool ours)
{
	for (size_t i = 0; i < sizeof(things) / sizeof(*things); i++) {
		if (shows(things[i].command, things[i].ours) != ours)
			fail_msg("%s: %s is %s there", things[i].command, things[i].ours,
				 ours ? "not" : "still");
		if (!shows(things[i].command, things[i].theirs))
			fail_msg("%s: %s is not there", things[i].command, things[i].theirs);
	}
}

static void write_line(enum cleanup_kind kind, const char *text, int err, void *arg)
{
	fprintf(arg, "%s %s %d\n", cleanup_kind_name(kind), text, err);
}

static void assert_counts(const struct cleanup *c, const unsigned want[N_CLEANUP_KINDS])
{
	for (unsigned i = 0; i < N_CLEANUP_KINDS; i++) {
		assert_int_equal(c->removed[i], want[i]);
		assert_int_equal(c->failed[i], 0);
	}
}

static void test_cleanup(void **state)
{
	static const unsigned all[N_CLEANUP_KINDS] = {3, 1, 2, 3}, none[N_CLEANUP_KINDS];
	struct cleanup dry = {.dry_run = true}, wet = {.tell = write_line}, again = {0};
	const char *what = NULL, *device;
	struct printed p;
	int fd;

	(void)state;
	if (skip_reason) {
		print_message("skipped: %s\n", skip_reason);
		skip();
	}
	populate();
	fd = read_device("slport1");
	assert_there(true);
	assert_int_equal(cleanup_run(&dry, &what), 0);
	assert_counts(&dry, all);
	assert_there(true);

	printed_begin(&p);
	wet.arg = p.out;
	assert_int_equal(cleanup_run(&wet, &what), 0);
	assert_counts(&wet, all);
	assert_there(false);
	assert_non_null(strstr(printed_text(&p), "route 10.11.0.0/16 dev host 0\n"));
	assert_non_null(strstr(p.text, "route unreachable 10.11.0.0/16 0\n"));
	assert_non_null(strstr(p.text, "route fd11::/64 dev host table 100 0\n"));
	assert_non_null(strstr(p.text, "neighbour 10.1.0.9 dev host 0\n"));
	assert_non_null(strstr(p.text, "address 10.1.0.1/24 dev host 0\n"));
	/* The lane's device is the last of all. */
	device = strstr(p.text, "device lane (tun) 0\n");
	assert_non_null(device);
	assert_string_equal(device, "device lane (tun) 0\n");
	printed_end(&p);

	assert_int_equal(cleanup_run(&again, &what), 0);
	assert_counts(&again, none);
	assert_there(false);
	close(fd);
}

static void write_left(const struct cleanup_left *left, void *arg)
{
	fprintf(arg, "left %s %s \"%s\"\n", left->name, left->kind, left->alias);
}

/* Devices of which ours took their marks and their places. Of those of the lane it is
 * told where it is sure that no lane takes them along. */
static void test_left(void **state)
{
	static const char devices[] =
		"ip tuntap add mode tap name lane && ip link set lane alias mine up;"
		"ip link add ov5 type veth peer name slport5 && ip link set slport5 alias stray;"
		"ip link add ov6 type veth peer name slport6 && ip link set slport6 alias stray;"
		"ip link add ov7 type veth peer name slport7 && "
		"ip link set slport7 alias 'sealane port ov7';"
		"ip link add ov8 type veth peer name slport8 && ip link set ov8 alias sealane;"
		"ip link add br0 type bridge;"
		"for d in ov5 ov6 ov7 ov8 br0; do ip link set $d up; done;"
		"n=1; for d in lane ov5 ov6 ov7 ov8 br0 lo; do"
		"  ip route add 10.$n.0.0/16 dev $d proto 94 metric 5; n=$((n + 1)); done";
	const char *what;
	struct printed p;
	struct cleanup c = {.tell_left = write_left, .dry_run = true};
	int fd;

	(void)state;
	if (skip_reason) {
		print_message("skipped: %s\n", skip_reason);
		skip();
	}
	run("ip link set lo up");
	run(devices);
	fd = read_device("slport6");
	printed_begin(&p);
	c.arg = p.out;
	assert_int_equal(cleanup_run(&c, &what), 0);
	assert_int_equal(c.left, 2);
	assert_printed(&p, "left lane tun \"mine\"\nleft ov5 veth \"\"\n");

	/* With a lane's device that goes, a TAP may be a port of that lane. */
	run("ip tuntap add mode tap name real && ip link set real alias sealane");
	c = (struct cleanup){.dry_run = true};
	assert_int_equal(cleanup_run(&c, &what), 0);
	assert_int_equal(c.left, 1);
	c.dry_run = false;
	c.left = 0;
	assert_int_equal(cleanup_run(&c, &what), 0);
	assert_int_equal(c.left, 1);
	assert_int_not_equal(if_nametoindex("lane"), 0);
	assert_int_not_equal(if_nametoindex("ov5"), 0);
	assert_int_equal(if_nametoindex("ov7"), 0);
	close(fd);
	run("ip link delete lane; ip link delete ov5; ip link delete ov6; ip link delete br0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cleanup),
		cmocka_unit_test(test_left),
	};

	if (unshare(CLONE_NEWNET) < 0)
		skip_reason = "no network namespace of our own: run as root";
	else if (access("/dev/net/tun", R_OK | W_OK))
		skip_reason = "no /dev/net/tun to make devices with";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
