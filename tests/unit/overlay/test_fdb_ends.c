/* SPDX-License-Identifier: Apache-2.0 */
#include <net/if.h>

#include "netns.h"
#include "overlay/neighbours.h"
#include "overlay/nl.h"
#include "overlay/nl_batch.h"

static struct fixture {
	struct nl *nl;
	struct nl_batch *b;
	int answer; /* of the last request */
	int v4, v6; /* VXLAN devices, by what is outside */
} f;

static const char show_v4[] = "bridge fdb show dev v4", show_v6[] = "bridge fdb show dev v6";

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
	/* A port of a bridge too: the bridge tells of entries of its own then. */
	if (system("ip link add v4 type vxlan id 5 dstport 4789 local 192.0.2.1 nolearning && "
		   "ip link add v6 type vxlan id 6 dstport 4789 local 2001:db8::1 nolearning && "
		   "ip link set v4 addrgenmode none up && "
		   "ip link set v6 addrgenmode none up && "
		   "ip link add br0 type bridge && ip link set br0 addrgenmode none up && "
		   "ip link set v4 master br0 && "
		   "bridge fdb add 02:00:00:00:00:77 dev v4 master static") ||
	    nl_open(&f.nl) || nl_batch_new(f.nl, on_answer, &f.answer, &f.b))
		return -1;
	f.v4 = (int)if_nametoindex("v4");
	f.v6 = (int)if_nametoindex("v6");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	nl_batch_free(f.b);
	nl_close(f.nl);
	return 0;
}

/* @last_of_mac 0: the flooding list. */
static struct fdb_end make(int ifindex, uint8_t last_of_mac, const char *remote)
{
	struct fdb_end e = {.ifindex = ifindex};

	if (last_of_mac)
		memcpy(e.mac, (const uint8_t[6]){2, 0, 0, 0, 0xcd, last_of_mac}, 6);
	assert_true(ip_addr_parse(remote, &e.remote));
	return e;
}

static int answer_of(int err)
{
	assert_int_equal(err, 0);
	f.answer = 1;
	assert_int_equal(nl_batch_flush(f.b), 0);
	return f.answer;
}

static int put(const struct fdb_end *e)
{
	return answer_of(fdb_end_put(f.b, e, NULL));
}

static int take_away(const struct fdb_end *e)
{
	return answer_of(fdb_end_remove(f.b, e, NULL));
}

static void test_one_end_a_mac(void **state)
{
	const struct fdb_end first = make(f.v4, 1, "203.0.113.1");
	const struct fdb_end second = make(f.v4, 1, "203.0.113.2");
	const struct fdb_end outer6 = make(f.v6, 1, "2001:db8::9");

	(void)state;
	need_netns();
	assert_int_equal(put(&first), 0);
	assert_shows(show_v4, "02:00:00:00:cd:01 dst 203.0.113.1 self extern_learn permanent\n");
	assert_int_equal(put(&second), 0);
	assert_shows(show_v4, "02:00:00:00:cd:01 dst 203.0.113.2 self extern_learn permanent\n");
	assert_shows_not(show_v4, "203.0.113.1 ");
	assert_int_equal(put(&second), 0);

	/* By the end too, so a newer one is not removed by mistake; the kernel answers 0. */
	assert_int_equal(take_away(&first), 0);
	assert_shows(show_v4, "02:00:00:00:cd:01 dst 203.0.113.2 self ");
	assert_int_equal(take_away(&second), 0);
	assert_shows_not(show_v4, "02:00:00:00:cd:01");
	assert_int_equal(take_away(&second), -ENOENT);

	assert_int_equal(put(&outer6), 0);
	assert_shows(show_v6, "02:00:00:00:cd:01 dst 2001:db8::9 self extern_learn permanent\n");
	assert_int_equal(take_away(&outer6), 0);
	assert_shows_not(show_v6, "02:00:00:00:cd:01");
}

static void test_flooding_list(void **state)
{
	const struct fdb_end ends[] = {
		make(f.v4, 0, "203.0.113.1"),
		make(f.v4, 0, "203.0.113.2"),
		make(f.v4, 0, "203.0.113.3"),
	};

	(void)state;
	need_netns();
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(put(&ends[i]), 0);
	assert_int_equal(put(&ends[1]), 0); /* there already */
	assert_shows(show_v4, "00:00:00:00:00:00 dst 203.0.113.1 self extern_learn permanent\n");
	assert_shows(show_v4, "00:00:00:00:00:00 dst 203.0.113.2 self extern_learn permanent\n");
	assert_shows(show_v4, "00:00:00:00:00:00 dst 203.0.113.3 self extern_learn permanent\n");
	assert_int_equal(line_count("bridge fdb show dev v4 | grep 00:00:00:00:00:00 || true"), 3);

	assert_int_equal(take_away(&ends[1]), 0);
	assert_shows_not(show_v4, "203.0.113.2 ");
	assert_int_equal(take_away(&ends[1]), 0);
	assert_shows(show_v4, "203.0.113.1 ");
	assert_shows(show_v4, "203.0.113.3 ");
	assert_int_equal(take_away(&ends[0]), 0);
	assert_int_equal(take_away(&ends[2]), 0);
	assert_int_equal(take_away(&ends[2]), -ENOENT);
	assert_shows_not(show_v4, "203.0.113.");
}

static void test_refuses(void **state)
{
	struct fdb_end e = make(0, 1, "203.0.113.1");

	(void)state;
	need_netns();
	assert_int_equal(fdb_end_put(f.b, &e, NULL), -EINVAL);
	assert_int_equal(fdb_end_remove(f.b, &e, NULL), -EINVAL);
	e = make(f.v4, 1, "203.0.113.1");
	e.remote.len = 0;
	assert_int_equal(fdb_end_put(f.b, &e, NULL), -EINVAL);
	e = make(f.v4, 1, "203.0.113.1");
	e.mac[0] = 3;
	assert_int_equal(fdb_end_put(f.b, &e, NULL), -EINVAL);
	e = make(f.v4, 1, "2001:db8::9");
	assert_int_equal(put(&e), -EAFNOSUPPORT);
	assert_shows_not(show_v4, "02:00:00:00:cd:01");
}

struct seen {
	struct fdb_end e[16];
	size_t count, stop_at;
};

static int keep(const struct fdb_end *e, void *arg)
{
	struct seen *seen = arg;

	assert_true(seen->count < 16);
	seen->e[seen->count++] = *e;
	return seen->count == seen->stop_at ? 42 : 0;
}

/* 0: not listed, 1: a foreign one, 2: ours. */
static int listed(const struct seen *seen, const struct fdb_end *want)
{
	for (size_t i = 0; i < seen->count; i++) {
		const struct fdb_end *e = &seen->e[i];

		if (!memcmp(e->mac, want->mac, 6) && ip_addr_equal(&e->remote, &want->remote) &&
		    e->ifindex == want->ifindex)
			return e->ours ? 2 : 1;
	}
	return 0;
}

static void test_list(void **state)
{
	const struct fdb_end ours = make(f.v4, 0x21, "203.0.113.21");
	const struct fdb_end foreign = make(f.v4, 0x22, "203.0.113.22");
	const struct fdb_end flood1 = make(f.v4, 0, "203.0.113.23");
	const struct fdb_end flood2 = make(f.v4, 0, "203.0.113.24");
	const struct fdb_end other = make(f.v6, 0x25, "2001:db8::25");
	struct seen seen = {.count = 0}, seen6 = {.count = 0}, stopped = {.stop_at = 2};

	(void)state;
	need_netns();
	run("bridge fdb add 02:00:00:00:cd:21 dev v4 dst 203.0.113.21 extern_learn");
	run("bridge fdb add 02:00:00:00:cd:22 dev v4 dst 203.0.113.22");
	run("bridge fdb append 00:00:00:00:00:00 dev v4 dst 203.0.113.23 extern_learn");
	run("bridge fdb append 00:00:00:00:00:00 dev v4 dst 203.0.113.24 extern_learn");
	run("bridge fdb add 02:00:00:00:cd:25 dev v6 dst 2001:db8::25 extern_learn");

	assert_int_equal(fdb_end_list(f.nl, f.v4, keep, &seen), 0);
	assert_int_equal(listed(&seen, &ours), 2);
	assert_int_equal(listed(&seen, &foreign), 1);
	assert_int_equal(listed(&seen, &flood1), 2);
	assert_int_equal(listed(&seen, &flood2), 2);
	assert_int_equal(seen.count, 4);

	assert_int_equal(fdb_end_list(f.nl, f.v6, keep, &seen6), 0);
	assert_int_equal(listed(&seen6, &other), 2);
	assert_int_equal(seen6.count, 1);

	assert_int_equal(fdb_end_list(f.nl, f.v4, keep, &stopped), 42);
	assert_int_equal(stopped.count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_end_a_mac),
		cmocka_unit_test(test_flooding_list),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_list),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
