/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "members_text.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static struct desired *build(const struct world *w)
{
	struct desired *d = NULL;

	assert_int_equal(desired_build(&w->config, w->members, w->n_members, &w->facts, &d), 0);
	assert_non_null(d);
	return d;
}

/* From Python:
 *	h = bytearray(hashlib.blake2b(key + vni.to_bytes(4, 'big'), digest_size=16,
 *				      person=b'sealane-mac').digest()[:6])
 *	h[0] = h[0] & 0xfe | 2
 * The hashes begin with a7, d8, 21, 65 and f4: each of the two bits in both values. */
static const struct {
	const char *key;
	uint32_t vni;
	const char *mac;
} macs[] = {
	{"0101010101010101010101010101010101010101010101010101010101010101", 1, "a6188261cbda"},
	{"0202020202020202020202020202020202020202020202020202020202020202", 10, "dacef39703b6"},
	{"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", 0xabcdef,
	 "220554951596"},
	{"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", 0x01020304,
	 "661af218936e"},
	{"0000000000000000000000000000000000000000000000000000000000000000", 0, "f67f6396c8a4"},
};

static void from_hex(const char *hex, uint8_t *ret, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		ret[i] = (uint8_t)byte;
	}
}

static void test_mac(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(macs); i++) {
		uint8_t key[NODE_KEY_LEN], expected[6], mac[6];

		from_hex(macs[i].key, key, sizeof(key));
		from_hex(macs[i].mac, expected, sizeof(expected));
		desired_mac(key, macs[i].vni, mac);
		assert_memory_equal(mac, expected, sizeof(mac));
	}
}

static void test_overhead(void **state)
{
	static const struct {
		enum config_type type;
		uint32_t over4, over6;
	} rows[] = {
		{CONFIG_PORT, 50, 70},
		{CONFIG_VXLAN, 50, 70},
		{CONFIG_GENEVE, 50, 70},
		{CONFIG_BAREUDP, 28, 48},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(desired_overhead(rows[i].type, false), rows[i].over4);
		assert_int_equal(desired_overhead(rows[i].type, true), rows[i].over6);
	}
}

/* Of the overlays ov0 (port), ov6 (geneve over IPv6) and bare (bareudp). */
static const struct {
	uint32_t lane_config, path, overlay_config;
	uint32_t lane, ov0, ov6, bare;
} mtus[] = {
	{0, 0, 0, 1420, 1370, 1350, 1392},
	{0, 1440, 0, 1440, 1390, 1370, 1412},
	{0, 1279, 0, 1280, 1230, 1210, 1252},
	{0, 1280, 0, 1280, 1230, 1210, 1252},
	{0, 1281, 0, 1281, 1231, 1211, 1253},
	{0, 1, 0, 1280, 1230, 1210, 1252},
	{0, 65535, 0, 65535, 65485, 65465, 65507},
	{0, 65536, 0, 65535, 65485, 65465, 65507},
	{0, UINT32_MAX, 0, 65535, 65485, 65465, 65507},
	{9000, 0, 0, 9000, 8950, 8930, 8972},
	{9000, 1440, 0, 9000, 8950, 8930, 8972},
	{1000, 1440, 0, 1000, 950, 930, 972},
	{1420, 0, 1300, 1420, 1300, 1300, 1300},
	{0, 0, 9000, 1420, 9000, 9000, 9000},
	{139, 0, 0, 139, 89, 69, 111},
	{138, 0, 0, 138, 88, 68, 110},
	{137, 0, 0, 137, 87, 68, 109},
	{117, 0, 0, 117, 68, 68, 89},
	{95, 0, 0, 95, 68, 68, 68},
	{10, 0, 0, 10, 68, 68, 68},
};

static void test_mtu(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(mtus); i++) {
		struct desired *d;
		struct world w;

		world_init(&w);
		w.config.lane.mtu = mtus[i].lane_config;
		w.facts.path_mtu = mtus[i].path;
		for (size_t j = 0; j < WORLD_OVERLAYS; j++)
			w.overlays[j].mtu = mtus[i].overlay_config;
		d = build(&w);
		assert_int_equal(d->lane_mtu, mtus[i].lane);
		assert_int_equal(d->overlays[0].mtu, mtus[i].ov0);
		assert_int_equal(d->overlays[2].mtu, mtus[i].ov6);
		assert_int_equal(d->overlays[3].mtu, mtus[i].bare);
		desired_free(d);
	}
}

static void test_checksum(void **state)
{
	static const struct {
		enum config_checksum config;
		bool over4, over6;
	} rows[] = {
		{CONFIG_CHECKSUM_AUTO, false, true},
		{CONFIG_CHECKSUM_ON, true, true},
		{CONFIG_CHECKSUM_OFF, false, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct desired *d;
		struct world w;

		world_init(&w);
		for (size_t j = 0; j < WORLD_OVERLAYS; j++)
			w.overlays[j].checksum = rows[i].config;
		d = build(&w);
		assert_int_equal(d->overlays[0].csum, rows[i].over4);
		assert_int_equal(d->overlays[2].csum, rows[i].over6);
		desired_free(d);
	}
}

static void expect_addr(const struct ip_addr *addr, const char *text)
{
	char buf[IP_ADDR_TEXT_LEN];

	assert_string_equal(ip_addr_format(addr, buf), text);
}

static void test_own(void **state)
{
	static const char *const vteps[] = {"10.10.0.1", "10.10.0.1", "fd10::1", "10.10.0.1"};
	static const uint8_t ov0_mac[6] = {2, 0, 0, 0, 0, 1};
	uint8_t derived[6];
	struct desired *d;
	struct world w;

	(void)state;
	world_init(&w);
	d = build(&w);
	assert_ptr_equal(d->config, &w.config);
	assert_memory_equal(d->private_key, w.facts.private_key, NODE_KEY_LEN);
	assert_memory_equal(d->public_key, w.facts.public_key, NODE_KEY_LEN);
	assert_int_equal(d->n_peers, 0);
	assert_int_equal(d->n_overlays, WORLD_OVERLAYS);
	for (size_t i = 0; i < WORLD_OVERLAYS; i++) {
		assert_ptr_equal(d->overlays[i].config, &w.overlays[i]);
		expect_addr(&d->overlays[i].vtep, vteps[i]);
		desired_mac(w.facts.public_key, w.overlays[i].vni, derived);
		assert_memory_equal(d->overlays[i].mac, i ? derived : ov0_mac, 6);
	}
	desired_free(d);
	w.config.n_overlays = 0;
	w.config.overlays = NULL;
	d = build(&w);
	assert_int_equal(d->n_overlays, 0);
	desired_free(d);
	desired_free(NULL);
}

static void test_stations(void **state)
{
	uint8_t derived[6];
	struct desired *d;
	struct world w;

	(void)state;
	world_init(&w);
	/* In the order of the keys, which is neither that of time nor that of names. */
	world_add(&w, "delta 4 7 tunnel=10.10.0.4,fd10::4 ov0=mac:9 ov6=10.246.0.4");
	world_add(&w, "zeta 2 5 tunnel=fd10::2,10.10.0.2 ov0=10.244.0.9,10.244.0.2,fd45::9,"
		      "fd01::/64,10.3.0.0/24,10.2.0.0/16 ov6=mac:8");
	world_add(&w, "beta 3 6 tunnel=10.10.0.3 ov0=10.244.0.3");
	d = build(&w);
	assert_int_equal(d->n_peers, 3);
	assert_ptr_equal(d->peers[0].member, &w.members[1]);
	assert_ptr_equal(d->peers[1].member, &w.members[2]);
	assert_ptr_equal(d->peers[2].member, &w.members[0]);
	assert_int_equal(d->overlays[0].n_stations, 3);
	assert_int_equal(d->overlays[2].n_stations, 2);
	assert_ptr_equal(d->overlays[0].stations[0].member, &w.members[1]);
	assert_ptr_equal(d->overlays[0].stations[1].member, &w.members[2]);
	assert_ptr_equal(d->overlays[0].stations[2].member, &w.members[0]);
	assert_ptr_equal(d->overlays[0].stations[0].attachment, &w.members[1].overlays[0]);
	assert_ptr_equal(d->overlays[2].stations[0].attachment, &w.members[1].overlays[1]);
	expect_addr(&d->overlays[0].stations[0].vtep, "10.10.0.2");
	expect_addr(&d->overlays[2].stations[0].vtep, "fd10::2");
	expect_addr(&d->overlays[2].stations[1].vtep, "fd10::4");
	/* Given, or derived from the station's own key and that overlay's VNI. */
	desired_mac(w.members[1].public_key, 10, derived);
	assert_memory_equal(d->overlays[0].stations[0].mac, derived, 6);
	assert_memory_equal(d->overlays[0].stations[2].mac, ((uint8_t[]){2, 0, 0, 0, 0, 9}), 6);
	assert_memory_equal(d->overlays[2].stations[0].mac, ((uint8_t[]){2, 0, 0, 0, 0, 8}), 6);
	desired_mac(w.members[0].public_key, 16, derived);
	assert_memory_equal(d->overlays[2].stations[1].mac, derived, 6);
	expect_addr(&d->overlays[0].stations[0].addresses[0], "10.244.0.2");
	expect_addr(&d->overlays[0].stations[0].addresses[2], "fd45::9");
	expect_addr(&d->overlays[0].stations[0].routes[0].addr, "10.2.0.0");
	expect_addr(&d->overlays[0].stations[0].routes[2].addr, "fd01::");
	desired_free(d);
	world_done(&w);
}

/* Many members, where anything that is done for each pair of them would not end within
 * the test's time. Every tenth wants what the one before it has. */
enum { MANY = 20000, WANTED = 5 };

static struct ip_prefix numbered(uint8_t first, uint32_t number, uint8_t len)
{
	struct ip_prefix p = {.addr = {.len = 4}, .len = len};

	p.addr.bytes[0] = first;
	p.addr.bytes[1] = (uint8_t)(number >> 16);
	p.addr.bytes[2] = (uint8_t)(number >> 8);
	p.addr.bytes[3] = (uint8_t)number;
	return p;
}

static struct member *make_many(void)
{
	struct member *members = calloc(MANY, sizeof(*members));
	struct member_overlay *overlays = calloc(MANY, sizeof(*overlays));
	struct ip_prefix *prefixes = calloc(MANY * WANTED, sizeof(*prefixes));
	struct ip_addr *addresses = calloc(MANY, sizeof(*addresses));

	assert_true(members && overlays && prefixes && addresses);
	for (uint32_t i = 0; i < MANY; i++) {
		struct member *m = &members[i];
		uint32_t wanted = i % 10 == 9 ? i - 1 : i;

		snprintf(m->name, sizeof(m->name), "node%u", i);
		memset(m->public_key, 0xff, NODE_KEY_LEN);
		memcpy(m->public_key + 20, &i, sizeof(i));
		m->since = i;
		m->tunnel[0] = numbered(10, i + 256, 32).addr;
		addresses[i] = numbered(11, i + 256, 32).addr;
		for (uint32_t j = 0; j < WANTED; j++)
			prefixes[i * WANTED + j] = numbered(100, wanted * WANTED + j, 32);
		m->allowed_ips = &prefixes[i * WANTED];
		m->n_allowed_ips = 2;
		m->n_overlays = 1;
		m->overlays = &overlays[i];
		strcpy(overlays[i].name, "ov0");
		overlays[i].routes = &prefixes[i * WANTED + 2];
		overlays[i].n_routes = WANTED - 2;
		overlays[i].addresses = &addresses[i];
		overlays[i].n_addresses = 1;
	}
	return members;
}

static void free_many(struct member *members)
{
	free(members[0].overlays[0].addresses);
	free(members[0].allowed_ips);
	free(members[0].overlays);
	free(members);
}

static void test_many(void **state)
{
	struct member *members = make_many();
	struct desired *d;
	struct world w;

	(void)state;
	world_init(&w);
	assert_int_equal(desired_build(&w.config, members, MANY, &w.facts, &d), 0);
	assert_int_equal(d->n_peers, MANY);
	assert_int_equal(d->overlays[0].n_stations, MANY);
	assert_int_equal(d->n_conflicts, MANY / 10 * WANTED);
	for (size_t i = 0; i < MANY; i++) {
		const struct desired_peer *peer = &d->peers[i];
		const struct desired_station *station = &d->overlays[0].stations[i];
		bool has_lost = (peer->member - members) % 10 == 8;

		assert_ptr_equal(peer->member, station->member);
		assert_int_equal(peer->n_allowed, has_lost ? 1 : 3);
		assert_int_equal(station->n_routes, has_lost ? 0 : WANTED - 2);
		assert_int_equal(station->n_addresses, 1);
	}
	desired_free(d);
	free_many(members);
}

static size_t count_flood_conflicts(const struct desired *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n_conflicts; i++)
		n += !!strstr(d->conflicts[i], "ov0: more than the 1024 members");
	return n;
}

/* To how many a port floods (sealaned(8)); the kernel's devices know no bound. */
static void test_floods(void **state)
{
	static const struct {
		enum config_type type;
		bool flood;
		size_t n_members;
		bool floods, conflict;
	} rows[] = {
		{CONFIG_PORT, true, 0, true, false},	  {CONFIG_PORT, true, 1024, true, false},
		{CONFIG_PORT, true, 1025, false, true},	  {CONFIG_PORT, false, 1025, false, false},
		{CONFIG_PORT, false, 1024, false, false}, {CONFIG_VXLAN, true, 1025, true, false},
	};
	struct member *members = make_many();
	struct world w;

	(void)state;
	world_init(&w);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct desired *d;

		w.overlays[0].type = rows[i].type;
		w.overlays[0].flood = rows[i].flood;
		assert_int_equal(desired_build(&w.config, members, rows[i].n_members, &w.facts, &d),
				 0);
		assert_int_equal(d->overlays[0].n_stations, rows[i].n_members);
		assert_int_equal(desired_floods(&d->overlays[0]), rows[i].floods);
		assert_int_equal(count_flood_conflicts(d), rows[i].conflict);
		desired_free(d);
	}
	free_many(members);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mac),  cmocka_unit_test(test_overhead),
		cmocka_unit_test(test_mtu),  cmocka_unit_test(test_checksum),
		cmocka_unit_test(test_own),  cmocka_unit_test(test_stations),
		cmocka_unit_test(test_many), cmocka_unit_test(test_floods),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
