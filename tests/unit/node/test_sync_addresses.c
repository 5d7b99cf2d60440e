/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/sync.h"

#include "sync_world.h"

#include "overlay/address.h"
#include "overlay/owner.h"

static const char show[] = "ip -o addr show";

static void sync_both(struct world *w)
{
	pass(w, sync_addresses_add);
	sync_addresses_remove(w->nl, &w->desired, &w->report);
}

struct search {
	struct ip_prefix prefix;
	int ifindex;
	unsigned n, protocol;
};

static int on_address(const struct address *address, void *arg)
{
	struct search *search = arg;

	if (address->ifindex == search->ifindex &&
	    ip_prefix_equal(&address->prefix, &search->prefix)) {
		search->n++;
		search->protocol = address->protocol;
	}
	return 0;
}

/* The protocol of an address, or -1 where there is none. */
static int protocol_of(struct world *w, const char *ifname, const char *text)
{
	struct search search = {.prefix = prefix(text), .ifindex = (int)if_nametoindex(ifname)};

	assert_int_equal(address_list(w->nl, search.ifindex, on_address, &search), 0);
	return search.n ? (int)search.protocol : -1;
}

static void give(struct world *w, const char *ifname, const char *text, uint8_t protocol)
{
	const struct address address = {.ifindex = (int)if_nametoindex(ifname),
					.prefix = prefix(text),
					.protocol = protocol};

	assert_int_equal(address_add(w->nl, &address), 0);
}

static const struct {
	const char *ifname, *text;
} wanted[] = {
	{"sealane0", "10.10.0.1/32"},
	{"sealane0", "fd10::1/128"},
	{"ov0", "10.20.0.1/24"},
	{"ov0", "fd20::1/64"},
};
enum { N_WANTED = sizeof(wanted) / sizeof(wanted[0]) };

static void expect_wanted(struct world *w)
{
	for (size_t i = 0; i < N_WANTED; i++)
		assert_int_equal(protocol_of(w, wanted[i].ifname, wanted[i].text), OWNER_PROTOCOL);
}

/* Devices up, and addresses as they should be. */
static struct world *address_world(void)
{
	struct world *w = world_new(CONFIG_PORT);

	make_port(w);
	pass(w, sync_devices_add);
	sync_both(w);
	expect_did(w, N_WANTED, 0, 0);
	return w;
}

static void test_added(void **state)
{
	struct world *w = address_world();

	(void)state;
	expect_wanted(w);
	/* As another program sees them; IPv6 without the tentative time. */
	expect(w, show, "inet 10.10.0.1/32");
	expect(w, show, "inet6 fd10::1/128");
	expect(w, show, "inet 10.20.0.1/24");
	expect(w, show, "inet6 fd20::1/64");
	expect_not(w, show, "tentative");
	expect_quiet(w, sync_addresses_add, sync_addresses_remove);
	world_free(w);
}

static void test_taken_away(void **state)
{
	struct world *w = address_world();

	(void)state;
	for (size_t i = 0; i < N_WANTED; i++) {
		run("ip addr del %s dev %s", wanted[i].text, wanted[i].ifname);
		sync_both(w);
		expect_did(w, 1, 0, 0);
		expect_wanted(w);
	}
	world_free(w);
}

static void test_removed(void **state)
{
	struct world *w = address_world();

	(void)state;
	/* Ours, of a former configuration, also on a device of somebody else. */
	run("ip link add other0 type veth peer name other1");
	give(w, "other0", "10.99.0.1/24", OWNER_PROTOCOL);
	give(w, "ov0", "fd99::1/64", OWNER_PROTOCOL);
	/* Wanted, but on another device. */
	give(w, "lo", "10.10.0.1/32", OWNER_PROTOCOL);
	pass(w, sync_addresses_add);
	expect_did(w, 0, 0, 0);
	sync_addresses_remove(w->nl, &w->desired, &w->report);
	expect_did(w, 0, 0, 3);
	expect_wanted(w);
	expect_not(w, show, "10.99.0.1");
	expect_not(w, show, "fd99::1");
	assert_int_equal(protocol_of(w, "lo", "10.10.0.1/32"), -1);
	expect_quiet(w, sync_addresses_add, sync_addresses_remove);
	world_free(w);
}

static void test_foreign_left_alone(void **state)
{
	struct world *w = address_world();

	(void)state;
	give(w, "ov0", "10.98.0.1/24", 0);
	give(w, "sealane0", "fd98::1/64", 77);
	expect_quiet(w, sync_addresses_add, sync_addresses_remove);
	assert_int_equal(protocol_of(w, "ov0", "10.98.0.1/24"), 0);
	assert_int_equal(protocol_of(w, "sealane0", "fd98::1/64"), 77);
	world_free(w);
}

/* Somebody else gave the device what it should have. */
static void test_foreign_accepted(void **state)
{
	struct world *w = world_new(CONFIG_PORT);

	(void)state;
	make_port(w);
	pass(w, sync_devices_add);
	for (size_t i = 0; i < N_WANTED; i++)
		give(w, wanted[i].ifname, wanted[i].text, 77);
	expect_quiet(w, sync_addresses_add, sync_addresses_remove);
	for (size_t i = 0; i < N_WANTED; i++)
		assert_int_equal(protocol_of(w, wanted[i].ifname, wanted[i].text), 77);
	world_free(w);
}

/* Another length: another address for IPv4, the same one for IPv6. */
static void test_other_length(void **state)
{
	struct world *w = address_world();

	(void)state;
	w->own[0] = prefix("10.20.0.1/16");
	w->own[1] = prefix("fd20::1/48");
	pass(w, sync_addresses_add);
	expect_did(w, 2, 0, 0);
	/* The new one is there before the old one goes. */
	assert_int_equal(protocol_of(w, "ov0", "10.20.0.1/16"), OWNER_PROTOCOL);
	assert_int_equal(protocol_of(w, "ov0", "10.20.0.1/24"), OWNER_PROTOCOL);
	sync_addresses_remove(w->nl, &w->desired, &w->report);
	expect_did(w, 2, 0, 1);
	assert_int_equal(protocol_of(w, "ov0", "10.20.0.1/16"), OWNER_PROTOCOL);
	assert_int_equal(protocol_of(w, "ov0", "fd20::1/48"), OWNER_PROTOCOL);
	assert_int_equal(protocol_of(w, "ov0", "10.20.0.1/24"), -1);
	assert_int_equal(protocol_of(w, "ov0", "fd20::1/64"), -1);
	expect_quiet(w, sync_addresses_add, sync_addresses_remove);
	world_free(w);
}

/* A foreign IPv6 address of another length is in the way, and stays. */
static void test_foreign_other_length(void **state)
{
	struct world *w = world_new(CONFIG_PORT);

	(void)state;
	make_port(w);
	pass(w, sync_devices_add);
	give(w, "ov0", "fd20::1/80", 77);
	sync_both(w);
	assert_int_equal(w->report.failed, 1);
	expect_fault(w, "address fd20::1/64 dev ov0");
	assert_int_equal(protocol_of(w, "ov0", "fd20::1/80"), 77);
	assert_int_equal(protocol_of(w, "ov0", "10.20.0.1/24"), OWNER_PROTOCOL);
	world_free(w);
}

/* With the first address of a subnet the kernel takes the later ones away. */
static void test_first_of_subnet_removed(void **state)
{
	struct world *w = address_world();

	(void)state;
	set_sysctl("/proc/sys/net/ipv4/conf/all/promote_secondaries", "0");
	set_sysctl("/proc/sys/net/ipv4/conf/ov0/promote_secondaries", "0");
	w->own[1] = prefix("10.20.0.5/24");
	sync_both(w);
	expect_did(w, 1, 0, 1);

	w->own[0] = prefix("10.20.0.5/24");
	w->overlay.n_addresses = 1;
	sync_both(w);
	assert_int_equal(w->report.failed, 0);
	assert_int_equal(protocol_of(w, "ov0", "10.20.0.5/24"), OWNER_PROTOCOL);
	assert_int_equal(protocol_of(w, "ov0", "10.20.0.1/24"), -1);
	expect_quiet(w, sync_addresses_add, sync_addresses_remove);
	world_free(w);
}

/* No fault, and nothing on a device that has the name but is not ours. */
static void test_device_away(void **state)
{
	struct world *w = world_new(CONFIG_PORT);

	(void)state;
	sync_both(w);
	expect_did(w, 2, 0, 0);
	w->overlay.type = CONFIG_VXLAN;
	run("ip link add ov0 type veth peer name ov0x");
	expect_quiet(w, sync_addresses_add, sync_addresses_remove);
	run("ip link del dev sealane0");
	expect_quiet(w, sync_addresses_add, sync_addresses_remove);
	world_free(w);
}

static void test_one_family(void **state)
{
	struct world *w = world_new(CONFIG_PORT);

	(void)state;
	w->config.node.tunnel[1].len = 0;
	w->desired.n_overlays = 0;
	sync_both(w);
	expect_did(w, 1, 0, 0);
	assert_int_equal(protocol_of(w, "sealane0", "10.10.0.1/32"), OWNER_PROTOCOL);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_added),
		cmocka_unit_test(test_taken_away),
		cmocka_unit_test(test_removed),
		cmocka_unit_test(test_foreign_left_alone),
		cmocka_unit_test(test_foreign_accepted),
		cmocka_unit_test(test_other_length),
		cmocka_unit_test(test_foreign_other_length),
		cmocka_unit_test(test_first_of_subnet_removed),
		cmocka_unit_test(test_device_away),
		cmocka_unit_test(test_one_family),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
