/* SPDX-License-Identifier: Apache-2.0 */
/* The trie against a twin that scans an array of prefixes byte by byte. */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/lane/allowedips.h"

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* --- the twin -------------------------------------------------------------- */

#define N_OWNERS  12
#define TWIN_SIZE 400

struct twin_prefix {
	uint8_t addr[16];
	size_t addr_len;
	unsigned cidr;
	struct allowedips_owner *owner; /* NULL: free place */
	unsigned since;			/* when this owner got it */
};

static struct twin_prefix twin[TWIN_SIZE];
static unsigned twin_clock;

static int bit_of(const uint8_t *addr, unsigned i)
{
	return addr[i / 8] >> (7 - i % 8) & 1;
}

static void clear_host_bits(uint8_t *addr, size_t addr_len, unsigned cidr)
{
	unsigned i;

	for (i = cidr; i < 8 * addr_len; i++)
		addr[i / 8] = (uint8_t)(addr[i / 8] & ~(0x80 >> i % 8));
}

static struct twin_prefix *twin_find(const uint8_t *addr, size_t addr_len, unsigned cidr)
{
	uint8_t net[16] = {0};
	size_t i;

	memcpy(net, addr, addr_len);
	clear_host_bits(net, addr_len, cidr);
	for (i = 0; i < TWIN_SIZE; i++) {
		if (twin[i].owner && twin[i].addr_len == addr_len && twin[i].cidr == cidr &&
		    memcmp(twin[i].addr, net, 16) == 0)
			return &twin[i];
	}
	return NULL;
}

/* False: the twin is full. */
static bool twin_insert(const uint8_t *addr, size_t addr_len, unsigned cidr,
			struct allowedips_owner *owner)
{
	struct twin_prefix *p = twin_find(addr, addr_len, cidr);
	size_t i;

	for (i = 0; !p && i < TWIN_SIZE; i++) {
		if (!twin[i].owner)
			p = &twin[i];
	}
	if (!p)
		return false;
	if (p->owner == owner)
		return true;
	memset(p->addr, 0, sizeof(p->addr));
	memcpy(p->addr, addr, addr_len);
	clear_host_bits(p->addr, addr_len, cidr);
	p->addr_len = addr_len;
	p->cidr = cidr;
	p->owner = owner;
	p->since = ++twin_clock;
	return true;
}

static struct allowedips_owner *twin_lookup(const uint8_t *addr, size_t addr_len)
{
	const struct twin_prefix *best = NULL;
	unsigned bit;
	size_t i;

	for (i = 0; i < TWIN_SIZE; i++) {
		const struct twin_prefix *p = &twin[i];

		if (!p->owner || p->addr_len != addr_len || (best && best->cidr > p->cidr))
			continue;
		for (bit = 0; bit < p->cidr && bit_of(p->addr, bit) == bit_of(addr, bit);)
			bit++;
		if (bit == p->cidr)
			best = p;
	}
	return best ? best->owner : NULL;
}

/* --- comparing the two ----------------------------------------------------- */

static void check_lookup(const struct allowedips *t, const uint8_t *addr, size_t addr_len)
{
	assert_ptr_equal(allowedips_lookup(t, addr, addr_len), twin_lookup(addr, addr_len));
}

/* One more or one less than @addr as a number, wrapping around. */
static void step_address(uint8_t *addr, size_t addr_len, int by)
{
	size_t i = addr_len;

	while (i-- > 0) {
		addr[i] = (uint8_t)(addr[i] + by);
		if (addr[i] != (by > 0 ? 0 : 0xff))
			break;
	}
}

/* First and last address of a prefix, and their neighbours outside. */
static void check_boundaries(const struct allowedips *t, const uint8_t *addr, size_t addr_len,
			     unsigned cidr)
{
	uint8_t a[16] = {0};
	unsigned i;

	memcpy(a, addr, addr_len);
	clear_host_bits(a, addr_len, cidr);
	check_lookup(t, a, addr_len);
	step_address(a, addr_len, -1);
	check_lookup(t, a, addr_len);
	step_address(a, addr_len, 1);
	for (i = cidr; i < 8 * addr_len; i++)
		a[i / 8] = (uint8_t)(a[i / 8] | 0x80 >> i % 8);
	check_lookup(t, a, addr_len);
	step_address(a, addr_len, 1);
	check_lookup(t, a, addr_len);
}

static void check_list(const struct allowedips_owner *owner)
{
	struct allowedips_node *cursor = NULL;
	unsigned n = 0, last_since = 0;
	struct allowedips_prefix p;
	size_t i;

	for (i = 0; i < TWIN_SIZE; i++)
		n += twin[i].owner == owner;
	while (allowedips_next(owner, &cursor, &p)) {
		const struct twin_prefix *w = twin_find(p.addr, p.addr_len, p.cidr);

		assert_non_null(w);
		assert_memory_equal(p.addr, w->addr, 16);
		assert_ptr_equal(w->owner, owner);
		assert_true(w->since > last_since);
		last_since = w->since;
		n--;
	}
	assert_int_equal(n, 0);
}

/* Bytes with few values, so that prefixes nest, and near-copies of known ones. */
static void random_address(uint64_t *seed, uint8_t *addr)
{
	static const uint8_t bytes[] = {0x00, 0xff, 0x80, 0x7f, 0x01};
	const uint64_t r = random_next(seed);
	unsigned bit;
	size_t i;

	if (r % 4 == 0) {
		memcpy(addr, twin[(r >> 8) % TWIN_SIZE].addr, 16);
		bit = (r >> 32) % 128;
		addr[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
		return;
	}
	for (i = 0; i < 16; i++) {
		const uint64_t q = random_next(seed) >> 24;

		addr[i] = r % 4 == 1 ? (uint8_t)q : bytes[q % sizeof(bytes)];
	}
}

static unsigned random_cidr(uint64_t r, size_t addr_len)
{
	static const unsigned edges[] = {0, 1, 8, 63, 64, 65, 127, 128};
	const unsigned max = 8 * (unsigned)addr_len;

	if (r % 4 == 0)
		return max;
	if (r % 4 == 1 && edges[(r >> 8) % 8] <= max)
		return edges[(r >> 8) % 8];
	return (r >> 8) % (max + 1);
}

static void twin_disown(const struct allowedips_owner *owner)
{
	size_t i;

	for (i = 0; i < TWIN_SIZE; i++) {
		if (twin[i].owner == owner)
			twin[i].owner = NULL;
	}
}

static void remove_one(struct allowedips *t, const uint8_t *addr, size_t addr_len, unsigned cidr,
		       const struct allowedips_owner *owner)
{
	struct twin_prefix *p = twin_find(addr, addr_len, cidr);

	assert_int_equal(allowedips_remove(t, addr, addr_len, (uint8_t)cidr, owner), 0);
	if (p && p->owner == owner)
		p->owner = NULL;
}

static void change(struct allowedips *t, struct allowedips_owner *owners, uint64_t *seed)
{
	const uint64_t r = random_next(seed);
	struct allowedips_owner *owner = &owners[r % N_OWNERS];
	size_t addr_len = (r >> 8) % 2 ? 4 : 16;
	unsigned cidr = random_cidr(random_next(seed) >> 8, addr_len);
	const struct twin_prefix *p = &twin[(r >> 16) % TWIN_SIZE];
	uint8_t addr[16];

	random_address(seed, addr);
	if ((r >> 32) % 3 == 0 && p->owner) { /* a known prefix, mostly its owner's */
		addr_len = p->addr_len;
		cidr = p->cidr;
		memcpy(addr, p->addr, 16);
		owner = (r >> 36) % 4 ? p->owner : owner;
	}
	if ((r >> 40) % 200 == 0) {
		allowedips_remove_owner(t, owner);
		twin_disown(owner);
		assert_true(TAILQ_EMPTY(&owner->prefixes));
	} else if ((r >> 50) % 3 == 0) {
		remove_one(t, addr, addr_len, cidr, owner);
	} else if (twin_insert(addr, addr_len, cidr, owner)) {
		assert_int_equal(allowedips_insert(t, addr, addr_len, (uint8_t)cidr, owner), 0);
	}
	check_boundaries(t, addr, addr_len, cidr);
}

static void test_against_twin(void **state)
{
	struct allowedips_owner owners[N_OWNERS] = {0};
	struct allowedips t = {0};
	uint64_t seed = 0xa110ed;
	unsigned op, i;
	uint8_t addr[16];

	(void)state;
	memset(twin, 0, sizeof(twin));
	for (op = 0; op < 30000; op++) {
		change(&t, owners, &seed);
		random_address(&seed, addr);
		check_lookup(&t, addr, 4);
		check_lookup(&t, addr, 16);
		for (i = 0; op % 64 == 0 && i < N_OWNERS; i++)
			check_list(&owners[i]);
	}
	/* One by one, so that a fork left behind keeps a root. */
	for (i = 0; i < TWIN_SIZE; i++) {
		if (twin[i].owner)
			remove_one(&t, twin[i].addr, twin[i].addr_len, twin[i].cidr, twin[i].owner);
	}
	assert_null(t.root4);
	assert_null(t.root6);
}

/* --- scripts --------------------------------------------------------------- */

static size_t parse(const char *text, uint8_t *addr)
{
	if (inet_pton(AF_INET, text, addr) == 1)
		return 4;
	assert_int_equal(inet_pton(AF_INET6, text, addr), 1);
	return 16;
}

static void insert(struct allowedips *t, const char *text, uint8_t cidr,
		   struct allowedips_owner *owner)
{
	uint8_t addr[16];
	const size_t addr_len = parse(text, addr);

	assert_int_equal(allowedips_insert(t, addr, addr_len, cidr, owner), 0);
}

static struct allowedips_owner *lookup(const struct allowedips *t, const char *text)
{
	uint8_t addr[16];
	const size_t addr_len = parse(text, addr);

	return allowedips_lookup(t, addr, addr_len);
}

static void test_longest_match(void **state)
{
	static const struct {
		const char *addr;
		uint8_t cidr;
		int owner;
	} prefixes[] = {
		{"10.1.2.3", 32, 3}, {"10.0.0.0", 8, 1},	{"10.1.255.255", 16, 2},
		{"0.0.0.0", 0, 0},   {"2001:db8::", 32, 1},	{"::", 0, 0},
		{"::1", 128, 3},     {"2001:db8:0:1::", 64, 2},
	};
	static const struct {
		const char *addr;
		int owner;
	} rows[] = {
		{"10.1.2.3", 3},
		{"10.1.2.2", 2},
		{"10.1.2.4", 2},
		{"10.2.0.0", 1},
		{"10.0.255.255", 1},
		{"9.255.255.255", 0},
		{"11.0.0.0", 0},
		{"255.255.255.255", 0},
		{"::1", 3},
		{"::", 0},
		{"::2", 0},
		{"2001:db8:0:1:ffff:ffff:ffff:ffff", 2},
		{"2001:db8:0:2::", 1},
		{"2001:db8::", 1},
		{"2001:db9::", 0},
	};
	struct allowedips_owner owners[4] = {0};
	struct allowedips t = {0};
	size_t i;

	(void)state;
	assert_null(lookup(&t, "10.1.2.3"));
	for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		insert(&t, prefixes[i].addr, prefixes[i].cidr, &owners[prefixes[i].owner]);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_ptr_equal(lookup(&t, rows[i].addr), &owners[rows[i].owner]);
	allowedips_done(&t);
	assert_null(t.root4);
	assert_null(t.root6);
	for (i = 0; i < 4; i++)
		assert_true(TAILQ_EMPTY(&owners[i].prefixes));
}

static void test_list_order(void **state)
{
	struct allowedips_owner a = {0}, b = {0};
	struct allowedips_node *cursor = NULL;
	struct allowedips_prefix p;
	struct allowedips t = {0};

	(void)state;
	insert(&t, "2001:db8:ffff:ffff::", 33, &a);
	insert(&t, "192.0.2.77", 24, &a);
	insert(&t, "2001:db8:ffff::", 33, &a); /* its own already: keeps its place */

	assert_true(allowedips_next(&a, &cursor, &p));
	assert_int_equal(p.addr_len, 16);
	assert_int_equal(p.cidr, 33);
	assert_memory_equal(p.addr, ((uint8_t[16]){0x20, 0x01, 0x0d, 0xb8, 0x80}), 16);
	assert_true(allowedips_next(&a, &cursor, &p));
	assert_int_equal(p.addr_len, 4);
	assert_int_equal(p.cidr, 24);
	assert_memory_equal(p.addr, ((uint8_t[16]){192, 0, 2}), 16);
	assert_false(allowedips_next(&a, &cursor, &p));

	insert(&t, "192.0.2.0", 24, &b);
	cursor = NULL;
	assert_true(allowedips_next(&b, &cursor, &p));
	assert_false(allowedips_next(&b, &cursor, &p));
	assert_true(allowedips_next(&a, &cursor, &p));
	assert_int_equal(p.addr_len, 16);
	assert_false(allowedips_next(&a, &cursor, &p));
	allowedips_done(&t);
}

static void test_bad_arguments(void **state)
{
	static const struct {
		size_t addr_len;
		uint8_t cidr;
		int err;
	} rows[] = {
		{4, 32, 0},	    {4, 33, -EINVAL}, {16, 128, 0},    {16, 129, -EINVAL},
		{16, 255, -EINVAL}, {0, 0, -EINVAL},  {6, 0, -EINVAL}, {5, 8, -EINVAL},
	};
	const uint8_t addr[16] = {1};
	struct allowedips_owner a = {0};
	struct allowedips t = {0};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(allowedips_insert(&t, addr, rows[i].addr_len, rows[i].cidr, &a),
				 rows[i].err);
		assert_int_equal(allowedips_remove(&t, addr, rows[i].addr_len, rows[i].cidr, &a),
				 rows[i].err);
	}
	assert_null(t.root4);
	assert_null(t.root6);
	assert_null(allowedips_lookup(&t, addr, 5));
}

static void test_remove_of_another(void **state)
{
	struct allowedips_owner a = {0}, b = {0};
	struct allowedips t = {0};
	uint8_t addr[16];

	(void)state;
	insert(&t, "10.0.0.0", 9, &a);
	insert(&t, "10.128.0.0", 9, &a);
	parse("10.0.0.0", addr);
	assert_int_equal(allowedips_remove(&t, addr, 4, 9, &b), 0);
	/* The fork above both is a /8 nobody owns. */
	assert_int_equal(allowedips_remove(&t, addr, 4, 8, &a), 0);
	assert_int_equal(allowedips_remove(&t, addr, 4, 8, NULL), 0);
	assert_int_equal(allowedips_remove(&t, addr, 4, 10, &a), 0);
	assert_ptr_equal(lookup(&t, "10.0.0.1"), &a);
	assert_ptr_equal(lookup(&t, "10.255.255.255"), &a);
	allowedips_remove_owner(&t, &a);
	assert_null(t.root4);
	allowedips_remove_owner(&t, &a);
}

/* 1e5 prefixes come and go around 64 that stay; nothing may stay with them. */
static void test_churn(void **state)
{
	struct allowedips_owner a = {0}, stays = {0};
	struct allowedips t = {0};
	uint64_t seed = 0xc0de;
	unsigned i, j;

	(void)state;
	for (i = 0; i < 64; i++)
		assert_int_equal(allowedips_insert(&t, (uint8_t[]){(uint8_t)(4 * i), 0, 0, 0}, 4,
						   (uint8_t)(8 + i % 24), &stays),
				 0);
	for (i = 0; i < 1000; i++) {
		const uint64_t round = random_next(&seed);
		uint64_t r = round;
		uint8_t addr[16];

		for (j = 0; j < 100; j++) {
			r = r * 6364136223846793005ULL + 1;
			memcpy(addr, &r, 8);
			memcpy(addr + 8, &round, 8);
			assert_int_equal(allowedips_insert(&t, addr, i % 2 ? 4 : 16,
							   (uint8_t)(1 + (r >> 40) % 32), &a),
					 0);
		}
		allowedips_remove_owner(&t, &a);
		assert_null(t.root6);
	}
	/* Insertion took some of the staying ones over; what is left goes. */
	allowedips_remove_owner(&t, &stays);
	assert_null(t.root4);
}

static void peer_address(unsigned i, uint8_t addr[16])
{
	memset(addr, 0, 16);
	addr[0] = 0xfd;
	addr[1] = (uint8_t)(i >> 16);
	addr[2] = (uint8_t)(i >> 8);
	addr[3] = (uint8_t)i;
	addr[7] = (uint8_t)(i * 7);
}

static void test_many_owners(void **state)
{
	enum { N = 30000 };
	struct allowedips_owner *owners = calloc(N, sizeof(*owners));
	struct allowedips t = {0};
	uint8_t addr[16];
	unsigned i;

	(void)state;
	assert_non_null(owners);
	for (i = 0; i < N; i++) {
		peer_address(i, addr);
		assert_int_equal(allowedips_insert(&t, addr, 4, 32, &owners[i]), 0);
		assert_int_equal(allowedips_insert(&t, addr, 16, 64, &owners[i]), 0);
	}
	for (i = 0; i < N; i += 2)
		allowedips_remove_owner(&t, &owners[i]);
	for (i = 0; i < N; i++) {
		peer_address(i, addr);
		assert_ptr_equal(allowedips_lookup(&t, addr, 4), i % 2 ? &owners[i] : NULL);
		addr[15] = 0xff; /* within the /64 */
		assert_ptr_equal(allowedips_lookup(&t, addr, 16), i % 2 ? &owners[i] : NULL);
	}
	allowedips_done(&t);
	free(owners);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_longest_match), cmocka_unit_test(test_list_order),
		cmocka_unit_test(test_bad_arguments), cmocka_unit_test(test_remove_of_another),
		cmocka_unit_test(test_against_twin),  cmocka_unit_test(test_churn),
		cmocka_unit_test(test_many_owners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
