/* SPDX-License-Identifier: Apache-2.0 */
#include "overlay/neighbours.h"

#include <net/if.h>

#include "netns.h"
#include "overlay/nl.h"
#include "overlay/nl_batch.h"
#include "overlay/owner.h"

static struct fixture {
	struct nl *nl;
	struct nl_batch *b;
	int answer; /* of the last request */
	int na, nb; /* the two ends of a veth pair */
} f;

static void on_answer(void *cookie, int err, void *arg)
{
	(void)cookie;
	*(int *)arg = err;
}

static int setup(void **state)
{
	(void)state;
	netns_enter();
	if (netns_skip_reason)
		return 0;
	if (system("ip link add na type veth peer name nb && "
		   "ip link set na addrgenmode none up && "
		   "ip link set nb addrgenmode none up") ||
	    nl_open(&f.nl) || nl_batch_new(f.nl, on_answer, &f.answer, &f.b))
		return -1;
	f.na = (int)if_nametoindex("na");
	f.nb = (int)if_nametoindex("nb");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	nl_batch_free(f.b);
	nl_close(f.nl);
	return 0;
}

static struct neighbour make(int ifindex, const char *addr, uint8_t last_of_mac)
{
	struct neighbour n = {
		.ifindex = ifindex,
		.mac = {2, 0, 0, 0, 0xab, last_of_mac},
		.protocol = OWNER_PROTOCOL,
	};

	assert_true(ip_addr_parse(addr, &n.addr));
	return n;
}

static int answer_of(int err)
{
	assert_int_equal(err, 0);
	f.answer = 1;
	assert_int_equal(nl_batch_flush(f.b), 0);
	return f.answer;
}

static int put(const struct neighbour *n)
{
	return answer_of(neighbour_put(f.b, n, NULL));
}

static int take_away(const struct neighbour *n)
{
	return answer_of(neighbour_remove(f.b, n, NULL));
}

static void test_put_and_remove(void **state)
{
	static const struct {
		const char *addr, *shown, *replaced;
	} rows[] = {
		{"192.0.2.7", "192.0.2.7 lladdr 02:00:00:00:ab:01 PERMANENT proto 94 ",
		 "192.0.2.7 lladdr 02:00:00:00:ab:02 PERMANENT proto 94 "},
		{"2001:db8::7", "2001:db8::7 lladdr 02:00:00:00:ab:01 PERMANENT proto 94 ",
		 "2001:db8::7 lladdr 02:00:00:00:ab:02 PERMANENT proto 94 "},
	};

	(void)state;
	need_netns();
	for (size_t i = 0; i < 2; i++) {
		struct neighbour n = make(f.na, rows[i].addr, 1);

		assert_int_equal(put(&n), 0);
		assert_shows("ip neighbour show dev na", rows[i].shown);
		n.mac[5] = 2;
		assert_int_equal(put(&n), 0);
		assert_shows("ip neighbour show dev na", rows[i].replaced);
		assert_shows_not("ip neighbour show dev na", rows[i].shown);
		assert_int_equal(take_away(&n), 0);
		assert_shows_not("ip neighbour show dev na", rows[i].addr);
		assert_int_equal(take_away(&n), -ENOENT);
	}
}

/* An entry that the host made itself becomes permanent and ours. */
static void test_put_replaces_dynamic(void **state)
{
	const struct neighbour n = make(f.na, "192.0.2.8", 3);

	(void)state;
	need_netns();
	run("ip neighbour add 192.0.2.8 lladdr 02:00:00:00:00:99 nud stale dev na");
	assert_int_equal(put(&n), 0);
	assert_shows("ip neighbour show dev na",
		     "192.0.2.8 lladdr 02:00:00:00:ab:03 PERMANENT proto 94 ");
	assert_int_equal(take_away(&n), 0);
}

static void test_refuses(void **state)
{
	struct neighbour n = make(0, "192.0.2.7", 1);

	(void)state;
	need_netns();
	assert_int_equal(neighbour_put(f.b, &n, NULL), -EINVAL);
	assert_int_equal(neighbour_remove(f.b, &n, NULL), -EINVAL);
	n = make(f.na, "192.0.2.7", 1);
	n.addr.len = 0;
	assert_int_equal(neighbour_put(f.b, &n, NULL), -EINVAL);
	n = make(99999, "192.0.2.7", 1);
	assert_int_equal(put(&n), -ENODEV);
}

struct seen {
	struct neighbour n[64];
	size_t count, stop_at;
};

static int keep(const struct neighbour *n, void *arg)
{
	struct seen *seen = arg;

	assert_true(seen->count < 64);
	seen->n[seen->count++] = *n;
	return seen->count == seen->stop_at ? 42 : 0;
}

static const struct neighbour *find(const struct seen *seen, const char *text)
{
	struct ip_addr addr;

	assert_true(ip_addr_parse(text, &addr));
	for (size_t i = 0; i < seen->count; i++) {
		if (ip_addr_equal(&seen->n[i].addr, &addr))
			return &seen->n[i];
	}
	return NULL;
}

static void assert_seen(const struct seen *seen, const char *text, uint8_t last_of_mac,
			bool permanent, uint8_t protocol)
{
	const struct neighbour *n = find(seen, text);

	if (!n)
		fail_msg("%s is not listed", text);
	assert_int_equal(n->ifindex, f.na);
	assert_int_equal(n->mac[5], last_of_mac);
	assert_int_equal(n->permanent, permanent);
	assert_int_equal(n->protocol, protocol);
}

static void test_list(void **state)
{
	struct seen seen = {.count = 0}, stopped = {.stop_at = 2};

	(void)state;
	need_netns();
	run("ip neighbour add 192.0.2.11 lladdr 02:00:00:00:ab:11 dev na protocol 94");
	run("ip neighbour add 192.0.2.12 lladdr 02:00:00:00:ab:12 nud stale dev na");
	run("ip neighbour add 192.0.2.13 nud incomplete dev na");
	run("ip neighbour add 2001:db8::14 lladdr 02:00:00:00:ab:14 dev na");
	run("ip neighbour add 2001:db8::15 lladdr 02:00:00:00:ab:15 nud stale dev na protocol 7");
	run("ip neighbour add 192.0.2.16 lladdr 02:00:00:00:ab:16 dev nb protocol 94");
	run("ip neighbour add proxy 192.0.2.17 dev na");

	assert_int_equal(neighbour_list(f.nl, f.na, keep, &seen), 0);
	assert_seen(&seen, "192.0.2.11", 0x11, true, 94);
	assert_seen(&seen, "192.0.2.12", 0x12, false, 0);
	assert_seen(&seen, "192.0.2.13", 0, false, 0);
	assert_seen(&seen, "2001:db8::14", 0x14, true, 0);
	assert_seen(&seen, "2001:db8::15", 0x15, false, 7);
	assert_null(find(&seen, "192.0.2.16"));
	assert_null(find(&seen, "192.0.2.17"));
	assert_memory_equal(find(&seen, "192.0.2.11")->mac, "\x02\0\0\0\xab\x11", 6);

	assert_int_equal(neighbour_list(f.nl, f.na, keep, &stopped), 42);
	assert_int_equal(stopped.count, 2);
}

static void test_many(void **state)
{
	struct neighbour n = make(f.nb, "10.1.0.0", 0);

	(void)state;
	need_netns();
	for (unsigned i = 0; i < 300; i++) {
		n.addr.bytes[2] = (uint8_t)(i >> 8);
		n.addr.bytes[3] = (uint8_t)i;
		assert_int_equal(neighbour_put(f.b, &n, NULL), 0);
	}
	assert_int_equal(nl_batch_flush(f.b), 0);
	assert_int_equal(line_count("ip neighbour show dev nb to 10.1.0.0/16"), 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put_and_remove), cmocka_unit_test(test_put_replaces_dynamic),
		cmocka_unit_test(test_refuses),	       cmocka_unit_test(test_list),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
