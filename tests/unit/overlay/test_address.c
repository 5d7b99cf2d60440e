/* SPDX-License-Identifier: Apache-2.0 */
#include "overlay/address.h"

#include <net/if.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include "netns.h"
#include "overlay/nl.h"

enum { FAMILY_PROTO = 94 };

static int setup(void **state)
{
	struct nl *nl = NULL;

	netns_enter();
	if (!netns_skip_reason && (system("ip link add aa type veth peer name ab && "
					  "ip link set aa addrgenmode none up && "
					  "ip link set ab addrgenmode none up") ||
				   nl_open(&nl)))
		return -1;
	*state = nl;
	return 0;
}

static int teardown(void **state)
{
	nl_close(*state);
	return 0;
}

static struct address make(const char *device, const char *prefix, uint8_t protocol)
{
	struct address address = {.ifindex = (int)if_nametoindex(device), .protocol = protocol};

	assert_true(ip_prefix_parse(prefix, &address.prefix));
	return address;
}

static const struct {
	const char *prefix, *shown;
} rows[] = {
	{"198.51.100.9/25", "inet 198.51.100.9/25 scope global aa"},
	{"198.51.100.77/32", "inet 198.51.100.77/32 scope global aa"},
	{"2001:db8::9/64", "inet6 2001:db8::9/64 scope global nodad"},
	{"2001:db8:1::/128", "inet6 2001:db8:1::/128 scope global nodad"},
	{"fe80::77/64", "inet6 fe80::77/64 scope link nodad"},
};

enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };

static void test_add_and_delete(void **state)
{
	need_netns();
	for (size_t i = 0; i < N_ROWS; i++) {
		const struct address address = make("aa", rows[i].prefix, FAMILY_PROTO);

		assert_int_equal(address_add(*state, &address), 0);
		assert_shows("ip -o address show dev aa", rows[i].shown);
		assert_int_equal(address_add(*state, &address), -EEXIST);
		assert_int_equal(address_delete(*state, &address), 0);
		assert_shows_not("ip -o address show dev aa", rows[i].prefix);
		assert_int_equal(address_delete(*state, &address), -EADDRNOTAVAIL);
	}
}

static void test_refuses(void **state)
{
	struct address address;

	need_netns();
	address = make("aa", "198.51.100.9/25", 0);
	address.prefix.len = 33;
	assert_int_equal(address_add(*state, &address), -EINVAL);
	assert_int_equal(address_delete(*state, &address), -EINVAL);
	address = make("aa", "2001:db8::9/64", 0);
	address.prefix.len = 129;
	assert_int_equal(address_add(*state, &address), -EINVAL);
	address = make("aa", "198.51.100.9/25", 0);
	address.prefix.addr.len = 0;
	assert_int_equal(address_add(*state, &address), -EINVAL);
	address = make("aa", "198.51.100.9/25", 0);
	address.ifindex = 0;
	assert_int_equal(address_add(*state, &address), -EINVAL);
	address.ifindex = 99999;
	assert_int_equal(address_add(*state, &address), -ENODEV);
	assert_shows_not("ip -o address", "198.51.100.9");
}

/* IFA_PROTO as the kernel has it; ip(8) of Debian 12 does not show it. */
struct proto_search {
	const uint8_t *addr;
	size_t len;
	int found; /* -1: no IFA_PROTO */
};

static int look_for_proto(const struct nlmsghdr *nlh, void *arg)
{
	struct proto_search *s = arg;
	struct nlattr *attr;
	bool match = false;
	int proto = -1;

	mnl_attr_for_each(attr, nlh, sizeof(struct ifaddrmsg))
	{
		if (mnl_attr_get_type(attr) == IFA_ADDRESS &&
		    mnl_attr_get_payload_len(attr) == s->len)
			match = !memcmp(mnl_attr_get_payload(attr), s->addr, s->len);
		else if (mnl_attr_get_type(attr) == IFA_PROTO)
			proto = mnl_attr_get_u8(attr);
	}
	if (match)
		s->found = proto;
	return 0;
}

static int proto_of(struct nl *nl, const struct ip_addr *addr)
{
	struct proto_search s = {.addr = addr->bytes, .len = addr->len};
	char buf[128] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = RTM_GETADDR;
	nlh->nlmsg_flags = NLM_F_DUMP;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifaddrmsg));
	assert_int_equal(nl_call(nl, nlh, look_for_proto, &s), 0);
	return s.found;
}

struct seen {
	struct address addresses[64];
	size_t n;
	size_t stop_at;
};

static int keep(const struct address *address, void *arg)
{
	struct seen *seen = arg;

	assert_true(seen->n < 64);
	seen->addresses[seen->n++] = *address;
	return seen->n == seen->stop_at ? 42 : 0;
}

/* How many that are just this one. */
static unsigned count(const struct seen *seen, const struct address *want)
{
	unsigned n = 0;

	for (size_t i = 0; i < seen->n; i++) {
		const struct address *got = &seen->addresses[i];

		n += got->ifindex == want->ifindex && got->protocol == want->protocol &&
		     ip_prefix_equal(&got->prefix, &want->prefix);
	}
	return n;
}

static void test_list(void **state)
{
	struct seen all = {.n = 0}, of_aa = {.n = 0}, stopped = {.stop_at = 2};
	struct address far, other, by_ip, v4, link_local;

	need_netns();
	v4 = make("aa", "192.0.2.9/31", FAMILY_PROTO);
	link_local = make("aa", "fe80::1234/64", FAMILY_PROTO);
	assert_int_equal(address_add(*state, &v4), 0);
	assert_int_equal(address_add(*state, &link_local), 0);
	run("ip address add 203.0.113.1 peer 203.0.113.2/24 dev aa");
	run("ip address add 2001:db8:5::1/64 dev aa nodad");
	run("ip address add 192.0.2.33/27 dev ab");
	assert_int_equal(proto_of(*state, &v4.prefix.addr), FAMILY_PROTO);
	assert_int_equal(proto_of(*state, &link_local.prefix.addr), FAMILY_PROTO);
	far = make("aa", "203.0.113.1/24", 0);
	by_ip = make("aa", "2001:db8:5::1/64", 0);
	other = make("ab", "192.0.2.33/27", 0);

	assert_int_equal(address_list(*state, v4.ifindex, keep, &of_aa), 0);
	assert_int_equal(count(&of_aa, &v4), 1);
	assert_int_equal(count(&of_aa, &far), 1);
	assert_int_equal(count(&of_aa, &by_ip), 1);
	assert_int_equal(count(&of_aa, &other), 0);
	assert_int_equal(count(&of_aa, &link_local), 1);
	assert_int_equal((int)of_aa.n, line_count("ip -o address show dev aa"));

	assert_int_equal(address_list(*state, 0, keep, &all), 0);
	assert_int_equal(count(&all, &other), 1);
	assert_int_equal(count(&all, &v4), 1);
	assert_int_equal((int)all.n, line_count("ip -o address show"));

	assert_int_equal(address_list(*state, 0, keep, &stopped), 42);
	assert_int_equal(stopped.n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add_and_delete),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_list),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
