/* SPDX-License-Identifier: Apache-2.0 */
/* Ports made, found, changed and removed: every refusal, and nothing left behind it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "agent/lane/lane.h"
#include "offload/be.h"

/* A lane that is down, and devices that are nothing but a count. */
struct world {
	struct lane_env env;
	struct port_env port_env;
	struct lane lane;
	uint8_t next_random;
	int open_err, check_err;
	unsigned n_opened, n_closed, n_checked;
	uint8_t mac[6];
};

static struct world w;

static uint64_t now_ns(void *ctx)
{
	(void)ctx;
	return 1000;
}

static void wall_clock(void *ctx, struct timespec *ret)
{
	(void)ctx;
	*ret = (struct timespec){0};
}

static void randomness(void *ctx, void *buf, size_t len)
{
	(void)ctx;
	memset(buf, ++w.next_random, len);
}

static void device_mac(void *ctx, uint8_t mac[6])
{
	memcpy(mac, ((struct world *)ctx)->mac, 6);
}

static int open_device(void *ctx, struct port *port, struct port_io *ret,
		       char err_text[PORT_ERR_LEN])
{
	assert_ptr_equal(ctx, &w);
	assert_ptr_equal(port->lane, &w.lane);
	assert_true(port->config.name[0]);
	if (w.open_err) {
		snprintf(err_text, PORT_ERR_LEN, "no device today");
		return w.open_err;
	}
	*ret = (struct port_io){.ctx = ctx, .mac = device_mac};
	w.n_opened++;
	return 0;
}

static void close_device(void *ctx, struct port_io *io)
{
	assert_ptr_equal(ctx, &w);
	assert_ptr_equal(io->ctx, &w);
	w.n_closed++;
}

static int check(void *ctx, const struct port_config *config, char err_text[PORT_ERR_LEN])
{
	(void)ctx;
	(void)config;
	w.n_checked++;
	if (w.check_err)
		snprintf(err_text, PORT_ERR_LEN, "somebody has it");
	return w.check_err;
}

static int setup(void **state)
{
	static const struct device_io device;
	static const struct udp_io udp;

	(void)state;
	w = (struct world){.mac = {2, 1, 2, 3, 4, 5}};
	w.env = (struct lane_env){.now_ns = now_ns, .wall_clock = wall_clock, .random = randomness};
	w.port_env = (struct port_env){
		.ctx = &w, .open = open_device, .close = close_device, .check = check};
	if (lane_init(&w.lane, &w.env, &device, &udp, 1420))
		return -1;
	w.lane.port_env = &w.port_env;
	return 0;
}

/* Every device that was made is gone with the lane. */
static int teardown(void **state)
{
	(void)state;
	lane_done(&w.lane);
	return w.n_opened == w.n_closed ? 0 : -1;
}

static struct port_config config_of(const char *name, uint32_t vni)
{
	struct port_config c;

	port_config_default(&c);
	snprintf(c.name, sizeof(c.name), "%s", name);
	c.vni = vni;
	c.local = (struct vtep){.addr = {10, 0, 0, 1}, .addr_len = 4};
	c.fdb.limit = c.fdb.learned_limit = 8; /* 1,024 of them are small */
	return c;
}

static struct port *make(const struct port_config *c)
{
	char err_text[PORT_ERR_LEN] = "";
	struct port *port = NULL;
	int err = port_new(&w.lane, c, &port, err_text);

	if (err)
		fail_msg("%s: %d, %s", c->name, err, err_text);
	return port;
}

static struct port *make_named(const char *name, uint32_t vni)
{
	const struct port_config c = config_of(name, vni);

	return make(&c);
}

/* No port comes of it, and the caller's pointer stays. */
static void expect_refusal(const struct port_config *c, int err, const char *text)
{
	const unsigned n = w.lane.ports.n, n_opened = w.n_opened - w.n_closed;
	char err_text[PORT_ERR_LEN] = "nothing was said";
	struct port *const untouched = (struct port *)&w;
	struct port *port = untouched;

	assert_int_equal(port_new(&w.lane, c, &port, err_text), err);
	assert_string_equal(err_text, text);
	assert_ptr_equal(port, untouched);
	assert_int_equal(w.lane.ports.n, n);
	assert_int_equal(w.n_opened - w.n_closed, n_opened);
}

/* What a VXLAN packet for @c, in the middle of another packet, is matched to. */
static struct port *match(const struct port_config *c)
{
	uint8_t p[128] = {0};
	const bool v4 = c->local.addr_len == 4;
	const uint32_t ip_len = v4 ? 20 : 40, frame_len = 20;
	uint8_t *udp = p + ip_len;
	struct ip_view v;
	struct port *port;
	uint32_t off = 0;

	p[0] = v4 ? 0x45 : 0x60;
	be16_store(p + (v4 ? 2 : 4), (uint16_t)(v4 ? ip_len + 16 + frame_len : 16 + frame_len));
	p[v4 ? 9 : 6] = IP_PROTO_UDP;
	p[v4 ? 12 : 8] = 99;
	memcpy(p + (v4 ? 16 : 24), c->local.addr, c->local.addr_len);
	be16_store(udp + 2, c->udp_port);
	be16_store(udp + 4, (uint16_t)(16 + frame_len));
	udp[8] = 0x08;
	be32_store(udp + 12, c->vni << 8);
	assert_true(ip_parse(p, ip_len + 16 + frame_len, &v));
	port = port_match(&w.lane, p, &v, &off);
	assert_int_equal(off, port ? ip_len + 16 : 0);
	return port;
}

static void test_new_and_find(void **state)
{
	const struct port_config c = config_of("first", 7);
	struct port *first, *second;

	(void)state;
	assert_null(port_find(&w.lane, "first"));
	assert_null(match(&c));
	first = make(&c);
	second = make_named("second", 8);
	assert_int_equal(w.lane.ports.n, 2);
	assert_ptr_equal(port_find(&w.lane, "first"), first);
	assert_ptr_equal(port_find(&w.lane, "second"), second);
	assert_null(port_find(&w.lane, "firs"));
	assert_null(port_find(&w.lane, ""));
	assert_ptr_equal(match(&c), first);
	assert_ptr_equal(match(&second->config), second);
	assert_memory_equal(first->queue[0].mac, w.mac, 6);
	assert_false(first->gone);

	port_remove(&w.lane, first);
	assert_null(port_find(&w.lane, "first"));
	assert_null(match(&c));
	assert_ptr_equal(port_find(&w.lane, "second"), second);
	assert_int_equal(w.n_closed, 1);
	assert_int_equal(w.lane.ports.n, 1);
	assert_non_null(make(&c)); /* name and place are free again */
}

static void test_defaults(void **state)
{
	struct port_config c;

	(void)state;
	memset(&c, 0xff, sizeof(c));
	port_config_default(&c);
	assert_string_equal(c.name, "");
	assert_int_equal(c.kind, PORTDEV_AUTO);
	assert_int_equal(c.udp_port, 4789); /* RFC 7348 5 */
	assert_int_equal(c.ttl, 64);
	assert_int_equal(c.local.addr_len, 0);
	assert_false(c.has_mac || c.checksum || c.inherit_dscp || c.answer_neighbours);
	assert_true(c.fdb.learning);
	assert_int_equal(c.fdb.age_ns, 300000000000);
	assert_int_equal(c.fdb.limit, 65536);
	assert_int_equal(c.fdb.learned_limit, 65536);
}

#define V4(a, d)                                                                                   \
	{                                                                                          \
		.addr = {a, 0, 0, d}, .addr_len = 4                                                \
	}

static void test_vtep(void **state)
{
	static const struct vtep bad[] = {
		V4(0, 0),
		V4(127, 1),
		V4(224, 1),
		V4(239, 255),
		{.addr = {255, 255, 255, 255}, .addr_len = 4},
		{.addr = {0}, .addr_len = 16},
		{.addr = {[15] = 1}, .addr_len = 16},
		{.addr = {0xff, 2, [15] = 1}, .addr_len = 16},
		{.addr = {10, 0, 0, 1}, .addr_len = 0},
		{.addr = {10, 0, 0, 1}, .addr_len = 5},
	};
	static const struct vtep good[] = {V4(1, 1),
					   V4(126, 255),
					   V4(128, 1),
					   V4(223, 255),
					   {.addr = {[15] = 2}, .addr_len = 16},
					   {.addr = {0xfe, 0x80, [15] = 1}, .addr_len = 16}};
	struct port_config c = config_of("p", 1);
	struct port *port;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		c.local = bad[i];
		expect_refusal(&c, -EINVAL, "vtep: must be the address of a host");
	}
	c.local = (struct vtep){.addr = {[10] = 0xff, 0xff, 10, 9, 0, 1}, .addr_len = 16};
	expect_refusal(&c, -EINVAL, "vtep: an IPv4 address is written without ::ffff:");
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		c.local = good[i];
		port = make(&c);
		assert_ptr_equal(match(&c), port);
		port_remove(&w.lane, port);
	}
}

static void test_ranges(void **state)
{
	struct port_config c = config_of("p", 1);

	(void)state;
	c.udp_port = 0;
	expect_refusal(&c, -EINVAL, "udp_port: must be 1 to 65535");
	c.udp_port = 65535;
	c.vni = 1 << 24;
	expect_refusal(&c, -EINVAL, "vni: must be 0 to 16777215");
	c.vni--;
	c.ttl = 0;
	expect_refusal(&c, -EINVAL, "ttl: must be 1 to 255");
	c.ttl = 255;
	c.dscp = 64;
	expect_refusal(&c, -EINVAL, "dscp: must be 0 to 63");
	c.dscp--;
	c.mtu = 67;
	expect_refusal(&c, -EINVAL, "mtu: must be 68 to 65535");
	c.mtu = 65536;
	expect_refusal(&c, -EINVAL, "mtu: must be 68 to 65535");
	c.mtu--;
	c.name[0] = '\0';
	expect_refusal(&c, -EINVAL, "name: must not be empty");
	snprintf(c.name, sizeof(c.name), "p");
	c.fdb.learned_limit = 9;
	expect_refusal(&c, -EINVAL, "tables of 8 entries: Invalid argument");
	c.fdb.learned_limit = 8;
	assert_int_equal(w.n_opened, 0);
	make(&c);
	c = config_of("q", 0);
	c.udp_port = 1;
	c.ttl = 1;
	c.mtu = 68;
	make(&c);
}

static void test_conflicts(void **state)
{
	struct port_config c = config_of("p", 1);

	(void)state;
	make(&c);
	expect_refusal(&c, -EEXIST, "port p has this VTEP, UDP port and VNI already");
	snprintf(c.name, sizeof(c.name), "q");
	expect_refusal(&c, -EEXIST, "port p has this VTEP, UDP port and VNI already");
	snprintf(c.name, sizeof(c.name), "p");
	c.vni = 2;
	expect_refusal(&c, -EEXIST, "there is a port p already");
	/* One of the three is enough to be another. */
	snprintf(c.name, sizeof(c.name), "q");
	make(&c);
	c = config_of("r", 1);
	c.udp_port++;
	make(&c);
	c = config_of("s", 1);
	c.local.addr[3]++;
	make(&c);
	/* The same four bytes, and sixteen. */
	c = config_of("t", 1);
	c.local.addr_len = 16;
	make(&c);
	assert_int_equal(w.lane.ports.n, 5);
}

static void test_what_the_owner_says(void **state)
{
	struct port_config c = config_of("p", 1);

	(void)state;
	w.open_err = -EADDRINUSE;
	expect_refusal(&c, -EADDRINUSE, "no device today");
	assert_null(match(&c));
	assert_null(port_find(&w.lane, "p"));
	w.open_err = 0;
	w.lane.port_env = NULL;
	expect_refusal(&c, -EOPNOTSUPP, "this lane makes no ports");
	/* Also to a lane that makes none, nonsense is nonsense. */
	c.ttl = 0;
	expect_refusal(&c, -EINVAL, "ttl: must be 1 to 255");
	w.lane.port_env = &w.port_env;
	c.ttl = 1;
	make(&c);
}

static void test_no_more_than_that(void **state)
{
	struct port_config c;
	char name[IFNAMSIZ];

	(void)state;
	for (unsigned i = 0; i < PORTS_MAX; i++) {
		snprintf(name, sizeof(name), "p%u", i);
		make_named(name, i);
	}
	c = config_of("more", PORTS_MAX);
	expect_refusal(&c, -ENOSPC, "a lane has at most 1024 ports");
	port_remove(&w.lane, port_find(&w.lane, "p77"));
	make(&c);
	c = config_of("p1", 5000);
	expect_refusal(&c, -EEXIST, "there is a port p1 already");
	port_remove_all(&w.lane);
	assert_int_equal(w.lane.ports.n, 0);
	assert_int_equal(w.n_opened, w.n_closed);
	make(&c);
}

static const char fixed_text[] =
	"kind, mtu, mac and gso_max_size are given when a port is created; later they are the "
	"device's (ip link set p ...)";

static void expect_no_change(struct port *port, const struct port_config *c, int err,
			     const char *text)
{
	const struct port_config before = port->config;
	char err_text[PORT_ERR_LEN] = "nothing was said";

	assert_int_equal(port_configure(port, c, err_text), err);
	assert_string_equal(err_text, text);
	assert_memory_equal(&port->config, &before, sizeof(before));
	assert_ptr_equal(match(&before), port);
	assert_ptr_equal(port_find(&w.lane, before.name), port);
}

static void test_fixed_fields(void **state)
{
	struct port *port = make_named("p", 1);
	const struct port_config before = port->config;

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct port_config c = before;

		c.vni = 2; /* what may change does not either */
		if (i == 0)
			c.kind = PORTDEV_TAP;
		else if (i == 1)
			c.mtu = 1400;
		else if (i == 2)
			c.has_mac = true;
		else if (i == 3)
			c.mac[5] = 1;
		else if (i == 4)
			c.gso_max_size = 65536;
		else
			snprintf(c.name, sizeof(c.name), "q");
		expect_no_change(port, &c, -EINVAL, fixed_text);
	}
	assert_int_equal(w.n_checked, 0);
}

static void test_refused_changes(void **state)
{
	static const uint8_t mac[2][6] = {{2, 1}, {2, 2}};
	struct port *port = make_named("p", 1);
	const struct port_config before = port->config;
	struct port_config c = before;

	(void)state;
	make_named("q", 2);
	c.vni = 2;
	expect_no_change(port, &c, -EEXIST, "port q has this VTEP, UDP port and VNI already");
	c.vni = 1 << 24;
	expect_no_change(port, &c, -EINVAL, "vni: must be 0 to 16777215");
	c = before;
	c.dscp = 64;
	expect_no_change(port, &c, -EINVAL, "dscp: must be 0 to 63");
	assert_int_equal(w.n_checked, 0);

	/* The owner is asked about the place, each time that is to change. */
	w.check_err = -EADDRINUSE;
	c = before;
	c.vni = 3;
	expect_no_change(port, &c, -EADDRINUSE, "somebody has it");
	c = before;
	c.udp_port++;
	expect_no_change(port, &c, -EADDRINUSE, "somebody has it");
	c = before;
	c.local.addr[3]++;
	expect_no_change(port, &c, -EADDRINUSE, "somebody has it");
	assert_int_equal(w.n_checked, 3);
	w.check_err = 0;

	c = before;
	c.fdb.learned_limit = 9;
	c.vni = 3;
	expect_no_change(port, &c, -EINVAL, "fdb_limit, learned_limit or age_s: Invalid argument");
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(fdb_set(port->fdb, mac[i], &before.local), 0);
	c.fdb.limit = c.fdb.learned_limit = 1;
	expect_no_change(port, &c, -ENOSPC,
			 "fdb_limit, learned_limit or age_s: more static entries than that");
}

static void test_changes(void **state)
{
	struct port *port = make_named("p", 1);
	const struct port_config before = port->config;
	struct port_config c = before;
	char err_text[PORT_ERR_LEN];

	(void)state;
	w.check_err = -EADDRINUSE; /* nobody asks */
	c.ttl = 3;
	c.dscp = 5;
	c.inherit_dscp = c.checksum = c.answer_neighbours = true;
	c.fdb.learning = false;
	c.fdb.limit = 100;
	assert_int_equal(port_configure(port, &c, err_text), 0);
	assert_memory_equal(&port->config, &c, sizeof(c));
	assert_ptr_equal(match(&before), port);
	assert_int_equal(fdb_learn(port->fdb, (const uint8_t[6]){2, 1}, &c.local, 1), FDB_KNOWN);
	w.check_err = 0;

	for (unsigned i = 0; i < 4; i++) {
		const struct port_config last = c;

		c.vni += i == 0;
		c.udp_port += i == 1;
		c.local.addr[3] += i == 2;
		c.local.addr_len = i == 3 ? 16 : 4;
		assert_int_equal(port_configure(port, &c, err_text), 0);
		assert_ptr_equal(match(&c), port);
		assert_null(match(&last));
		assert_int_equal(w.n_checked, i + 1);
	}
}

/* An address that has aged stays forgotten when the age is raised. */
static void test_raised_age(void **state)
{
	static const uint8_t mac[6] = {2, 1};
	struct port *port = make_named("p", 1);
	struct port_config c = port->config;
	char err_text[PORT_ERR_LEN];

	(void)state;
	assert_int_equal(fdb_learn(port->fdb, mac, &c.local, 1000), FDB_NEW);
	w.lane.self.now_ns = 1000 + c.fdb.age_ns;
	c.fdb.age_ns *= 10;
	assert_int_equal(port_configure(port, &c, err_text), 0);
	assert_null(fdb_lookup(port->fdb, mac, w.lane.self.now_ns));
}

enum { MANY = 600 }; /* more than twice the buckets: many share one */

static struct port *many[MANY];

static void check_many(const struct port_config config[MANY])
{
	for (unsigned i = 0; i < MANY; i++)
		assert_ptr_equal(match(&config[i]), many[i]);
}

/* However they share buckets, each is found where it is, and only there. */
static void test_many_ports(void **state)
{
	static struct port_config config[MANY];
	char err_text[PORT_ERR_LEN], name[IFNAMSIZ];

	(void)state;
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "p%u", i);
		config[i] = config_of(name, i * 77);
		config[i].udp_port = (uint16_t)(4000 + i % 3);
		many[i] = make(&config[i]);
	}
	check_many(config);
	for (unsigned i = 0; i < MANY; i += 2) {
		const struct port_config last = config[i];

		config[i].vni += 1000000 + i % 7;
		config[i].local.addr[2] = (uint8_t)i;
		assert_int_equal(port_configure(many[i], &config[i], err_text), 0);
		assert_null(match(&last));
	}
	check_many(config);
	for (unsigned i = 0; i < MANY; i += 3) {
		port_remove(&w.lane, many[i]);
		many[i] = NULL;
	}
	check_many(config);
	for (unsigned i = 0; i < MANY; i++) {
		if (many[i] && i % 5 == 0) {
			many[i]->gone = true;
			many[i] = NULL;
		}
	}
	port_reap(&w.lane);
	check_many(config);
}

static void test_reap(void **state)
{
	struct port *port[4];

	(void)state;
	port_reap(&w.lane);
	for (unsigned i = 0; i < 4; i++)
		port[i] = make_named((const char *[]){"a", "b", "c", "d"}[i], i);
	port[1]->gone = port[2]->gone = port[3]->gone = true;
	port_reap(&w.lane);
	assert_int_equal(w.n_closed, 3);
	assert_int_equal(w.lane.ports.n, 1);
	assert_ptr_equal(port_find(&w.lane, "a"), port[0]);
	assert_null(port_find(&w.lane, "b"));
	assert_null(port_find(&w.lane, "d"));
}

static void test_withdraw_merging(void **state)
{
	static const enum vnet_gso kinds[] = {VNET_GSO_TCP4, VNET_GSO_TCP6, VNET_GSO_UDP};
	struct port *port, *other;

	(void)state;
	w.lane.offload.port_gro.tcp4 = w.lane.offload.port_gro.tcp6 = true;
	w.lane.offload.port_gro.udp = true;
	other = make_named("other", 2);
	for (unsigned i = 0; i < 3; i++) {
		const struct vnet v = {.gso = kinds[i]};

		port = make_named("p", 1);
		port_withdraw_merging(&port->queue[0], &v);
		port_withdraw_merging(&port->queue[0], &v);
		assert_int_equal(port->queue[0].gro.tcp4, i != 0);
		assert_int_equal(port->queue[0].gro.tcp6, i != 1);
		assert_int_equal(port->queue[0].gro.udp, i != 2);
		assert_int_equal(port->queue[0].stats.merges_refused, 2);
		port_remove(&w.lane, port);
	}
	assert_true(other->queue[0].gro.tcp4 && other->queue[0].gro.tcp6 &&
		    other->queue[0].gro.udp);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_new_and_find),
		TEST(test_defaults),
		TEST(test_vtep),
		TEST(test_ranges),
		TEST(test_conflicts),
		TEST(test_what_the_owner_says),
		TEST(test_fixed_fields),
		TEST(test_no_more_than_that),
		TEST(test_refused_changes),
		TEST(test_changes),
		TEST(test_raised_age),
		TEST(test_many_ports),
		TEST(test_reap),
		TEST(test_withdraw_merging),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
