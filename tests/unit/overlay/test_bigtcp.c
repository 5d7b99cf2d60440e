/* SPDX-License-Identifier: Apache-2.0 */
#include "overlay/bigtcp.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "overlay/bigtcp_internal.h"
#include "overlay/nl.h"

enum { KERNEL_MOST = 524280 }; /* GSO_MAX_SIZE of Linux */

static const char *skip_reason;

/* A pair of veth in a bridge, and a VXLAN device that takes no more than 64 KB. */
static struct nl *begin(void)
{
	struct nl *nl;

	if (skip_reason) {
		print_message("skipped: %s\n", skip_reason);
		skip();
	}
	assert_int_equal(nl_open(&nl), 0);
	assert_int_equal(system("ip link add br0 type bridge"), 0);
	assert_int_equal(system("ip link add va type veth peer name vb"), 0);
	assert_int_equal(system("ip link set va master br0 up"), 0);
	assert_int_equal(system("ip link add vx type vxlan id 42 dstport 4789"), 0);
	return nl;
}

static void end(struct nl *nl)
{
	assert_int_equal(system("for d in va br0 vx; do ip link delete $d; done"), 0);
	nl_close(nl);
}

static int index_of(const char *name)
{
	return (int)if_nametoindex(name);
}

static void assert_sizes(struct nl *nl, int ifindex, const struct bigtcp_sizes *want)
{
	struct bigtcp b;

	assert_int_equal(bigtcp_get(nl, ifindex, &b), 0);
	assert_int_equal(b.gso_max_size, want->gso);
	assert_int_equal(b.gro_max_size, want->gro);
	/* Linux 6.3 */
	assert_true(!b.gso_ipv4_max_size || b.gso_ipv4_max_size == want->gso_ipv4);
	assert_true(!b.gro_ipv4_max_size || b.gro_ipv4_max_size == want->gro_ipv4);
}

static void assert_all(struct nl *nl, int ifindex, uint32_t size)
{
	const struct bigtcp_sizes want = {size, size, size, size};

	assert_sizes(nl, ifindex, &want);
}

static void test_get(void **state)
{
	struct nl *nl = begin();
	struct bigtcp b = {.ifindex = 7};

	(void)state;
	assert_int_equal(bigtcp_get(nl, 99999, &b), -ENODEV);
	assert_int_equal(bigtcp_get(nl, 0, &b), -ENODEV);
	assert_int_equal(b.ifindex, 7);

	assert_int_equal(bigtcp_get(nl, index_of("va"), &b), 0);
	assert_int_equal(b.ifindex, index_of("va"));
	assert_string_equal(b.name, "va");
	assert_string_equal(b.kind, "veth");
	assert_int_equal(b.master, index_of("br0"));
	assert_true(b.up);
	assert_int_equal(b.gso_max_size, 65536);
	assert_true(b.tso_max_size == KERNEL_MOST || !b.tso_max_size);
	assert_int_equal(bigtcp_get(nl, index_of("vb"), &b), 0);
	assert_int_equal(b.master, 0);
	assert_false(b.up);
	assert_int_equal(bigtcp_get(nl, index_of("lo"), &b), 0);
	assert_string_equal(b.kind, "");
	end(nl);
}

/* ip(8) set what is read: none can be taken for another. */
static void test_get_each(void **state)
{
	struct nl *nl = begin();
	struct bigtcp_sizes want = {40000, 50000, 0, 0};
	struct bigtcp b;

	(void)state;
	assert_int_equal(system("ip link set vb gso_max_size 40000 gro_max_size 50000"), 0);
	assert_int_equal(bigtcp_get(nl, index_of("vb"), &b), 0);
	assert_int_equal(b.gso_max_size, want.gso);
	assert_int_equal(b.gro_max_size, want.gro);
	/* What the kernel does to the twins. */
	assert_true(!b.gso_ipv4_max_size || b.gso_ipv4_max_size == 40000);
	assert_true(!b.gro_ipv4_max_size || b.gro_ipv4_max_size == 50000);
	end(nl);
}

/* Raised, lowered, raised: every one of the four ends where it should. */
static void test_set(void **state)
{
	static const uint32_t sizes[] = {65536, 196608, 65536, 30000, KERNEL_MOST, 65537, 40000};
	struct nl *nl = begin();

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(bigtcp_set(nl, index_of("vb"), sizes[i]), 0);
		assert_all(nl, index_of("vb"), sizes[i]);
	}
	assert_all(nl, index_of("va"), 65536);
	end(nl);
}

static void test_set_refused(void **state)
{
	static const struct bigtcp_sizes before = {40000, 50000, 30000, 35000};
	struct nl *nl = begin();
	int vx = index_of("vx"), vb = index_of("vb");

	(void)state;
	assert_int_equal(bigtcp_put_sizes(nl, vx, &before), 0);
	assert_sizes(nl, vx, &before);
	assert_int_equal(bigtcp_put_sizes(nl, vb, &before), 0);

	assert_int_equal(bigtcp_set(nl, vb, KERNEL_MOST + 1), -EINVAL);
	assert_sizes(nl, vb, &before);
	assert_int_equal(bigtcp_set(nl, 0, 65536), -ENODEV);
	assert_int_equal(bigtcp_set(nl, 99999, 65536), -ENODEV);
	/* Linux 7.3 takes more. */
	if (bigtcp_set(nl, vx, 65537) != 0)
		assert_sizes(nl, vx, &before);
	else
		assert_all(nl, vx, 65537);
	end(nl);
}

/* Whichever of the four is refused, the others go back too, over the kernel's habit to
 * set the IPv4 twin along with a small main one. */
static void test_roll_back(void **state)
{
	static const struct bigtcp_sizes befores[] = {
		{40000, 50000, 30000, 35000},
		{196608, 131072, 65536, 65535},
	};
	static const struct bigtcp_sizes wants[] = {
		{KERNEL_MOST + 1, 60000, 60000, 60000},
		{60000, KERNEL_MOST + 1, 60000, 60000},
		{60000, 60000, KERNEL_MOST + 1, 60000},
		{60000, 60000, 60000, KERNEL_MOST + 1},
	};
	struct nl *nl = begin();
	int vb = index_of("vb");
	struct bigtcp b;
	size_t n;

	(void)state;
	/* Before Linux 6.3 there is no second pair, and any GRO size is taken. */
	assert_int_equal(bigtcp_get(nl, vb, &b), 0);
	n = b.gso_ipv4_max_size ? 4 : 1;
	for (size_t i = 0; i < 2; i++) {
		for (size_t j = 0; j < n; j++) {
			assert_int_equal(bigtcp_put_sizes(nl, vb, &befores[i]), 0);
			assert_int_equal(bigtcp_change_sizes(nl, vb, &befores[i], &wants[j]),
					 -EINVAL);
			assert_sizes(nl, vb, &befores[i]);
		}
	}
	end(nl);
}

static const struct {
	const char *kind;
	unsigned major, minor;
	bool lower_is_tun;
	uint32_t tso_max_size, want;
} caps[] = {
	/* Ports, and what they are tied to. */
	{"veth", 6, 18, false, 524280, 196608},
	{"veth", 7, 0, false, 524280, 196608},
	{"veth", 7, 3, false, 524280, 196608},
	{"veth", 6, 17, false, 524280, 65536},
	{"veth", 6, 12, false, 524280, 65536},
	{"veth", 6, 1, false, 524280, 65536},
	{"veth", 5, 19, false, 524280, 65536},
	{"veth", 6, 18, false, 131072, 131072},
	{"veth", 6, 18, false, 196607, 196607},
	{"veth", 6, 18, false, 0, 65536},
	{"veth", 6, 18, true, 524280, 65536},
	{"dummy", 6, 18, false, 524280, 196608},
	{"bridge", 6, 18, false, 65536, 65536},
	/* Hardware. */
	{"", 6, 18, false, 524280, 196608},
	{"", 6, 18, false, 32768, 32768},
	{"", 6, 1, false, 32768, 32768},
	/* The kernel's tunnels: accepted is not carried. */
	{"vxlan", 6, 18, false, 524280, 65536},
	{"vxlan", 7, 2, false, 524280, 65536},
	{"vxlan", 7, 3, false, 524280, 196608},
	{"vxlan", 7, 4, false, 524280, 196608},
	{"vxlan", 8, 0, false, 524280, 196608},
	{"vxlan", 7, 3, true, 524280, 65536},
	{"vxlan", 7, 3, false, 65536, 65536},
	{"vxlan", 6, 1, false, 16384, 16384},
	{"geneve", 7, 2, false, 524280, 65536},
	{"geneve", 7, 3, false, 524280, 196608},
	{"geneve", 7, 3, true, 524280, 65536},
	{"bareudp", 7, 3, false, 524280, 65536},
	{"bareudp", 8, 0, false, 524280, 65536},
	/* The lane's own device, and kinds that nobody has tried. */
	{"tun", 7, 3, false, 65536, 65536},
	{"tun", 7, 3, false, 524280, 65536},
	{"wireguard", 7, 3, false, 524280, 65536},
	{"ipip", 7, 3, false, 524280, 65536},
};

static void test_cap(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		uint32_t got = bigtcp_cap(caps[i].kind, caps[i].major, caps[i].minor,
					  caps[i].lower_is_tun, caps[i].tso_max_size);

		if (got != caps[i].want)
			fail_msg("case %zu: %s on %u.%u: %u", i, caps[i].kind, caps[i].major,
				 caps[i].minor, got);
	}
}

struct seen {
	int n_calls;
	bool lo, va, vb, br, vx;
};

static int note(const struct bigtcp *b, void *arg)
{
	struct seen *seen = arg;

	seen->n_calls++;
	seen->lo |= !strcmp(b->name, "lo") && !b->kind[0];
	seen->va |= !strcmp(b->name, "va") && b->master == index_of("br0") && b->up;
	seen->vb |= !strcmp(b->name, "vb") && b->gro_max_size == 50000;
	seen->br |= !strcmp(b->name, "br0") && b->ifindex == index_of("br0");
	seen->vx |= !strcmp(b->name, "vx") && !strcmp(b->kind, "vxlan");
	return 0;
}

static int stop_at_once(const struct bigtcp *b, void *arg)
{
	int *n_calls = arg;

	(void)b;
	++*n_calls;
	return 42;
}

static void test_list(void **state)
{
	struct nl *nl = begin();
	struct seen seen = {0};
	int n_calls = 0;

	(void)state;
	assert_int_equal(system("ip link set vb gro_max_size 50000"), 0);
	assert_int_equal(bigtcp_list(nl, note, &seen), 0);
	assert_true(seen.n_calls >= 5);
	assert_true(seen.lo && seen.va && seen.vb && seen.br && seen.vx);
	assert_int_equal(bigtcp_list(nl, stop_at_once, &n_calls), 42);
	assert_int_equal(n_calls, 1);
	end(nl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cap),	    cmocka_unit_test(test_get),
		cmocka_unit_test(test_get_each),    cmocka_unit_test(test_set),
		cmocka_unit_test(test_set_refused), cmocka_unit_test(test_roll_back),
		cmocka_unit_test(test_list),
	};

	if (unshare(CLONE_NEWNET) < 0)
		skip_reason = "no network namespace of our own: run as root";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
