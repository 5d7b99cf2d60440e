/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/ratelimiter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#define MS NSEC_PER_MSEC
#define T0 (1000 * NSEC_PER_SEC)

static const uint8_t hash_key[16] = {7, 1, 8, 2, 8, 1, 8, 2, 8, 4, 5, 9, 0, 4, 5, 2};

/* A quarter of a megabyte: on the heap, fresh for every test. */
static int setup(void **state)
{
	struct ratelimiter *r = malloc(sizeof(*r));

	memset(r, 0xee, sizeof(*r));
	ratelimiter_init(r, hash_key);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

/* Figures worked out by hand: 50 ms a message, at most 250 ms of credit. */
static void credit_over_time(void **state)
{
	static const struct {
		uint64_t at_ms;
		bool allowed;
	} table[] = {
		{0, true},    {0, true},    {0, true},	  {0, true},	 {0, true},    {0, false},
		{49, false},  {50, true},   {50, false},  {99, false},	 {100, true},  {149, false},
		{200, true},  {200, true},  {200, false}, {449, true},	 {449, true},  {449, true},
		{449, true},  {449, false}, {450, true},  {450, false},	 {1449, true}, {1449, true},
		{1449, true}, {1449, true}, {1449, true}, {1449, false},
	};
	static const uint8_t addr[4] = {192, 0, 2, 1};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (ratelimiter_allow(*state, T0 + table[i].at_ms * MS, 4, addr) !=
		    table[i].allowed)
			fail_msg("message %zu at %u ms", i, (unsigned)table[i].at_ms);
}

/* In the long run it is 20 a second, however fast they come. */
static void steady_rate(void **state)
{
	static const uint8_t addr[4] = {192, 0, 2, 1};
	unsigned n = 0;

	for (unsigned ms = 0; ms < 10000; ms++)
		n += ratelimiter_allow(*state, T0 + ms * MS, 4, addr);
	assert_int_equal(n, 5 + 199);
}

static void exhaust(struct ratelimiter *r, uint64_t now_ns, int version, const uint8_t *addr)
{
	for (unsigned i = 0; i < RATELIMITER_BURST; i++)
		assert_true(ratelimiter_allow(r, now_ns, version, addr));
	assert_false(ratelimiter_allow(r, now_ns, version, addr));
}

static void what_counts_as_one_source(void **state)
{
	static const uint8_t v4[4] = {0x20, 0x01, 0x0d, 0xb8};
	static const uint8_t v6[16] = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 1};
	uint8_t addr[16];

	exhaust(*state, T0, 4, v4);
	/* The same first bytes, another family. */
	exhaust(*state, T0, 6, v6);

	for (unsigned bit = 0; bit < 32; bit++) {
		memcpy(addr, v4, sizeof(v4));
		addr[bit / 8] ^= 1U << bit % 8;
		assert_true(ratelimiter_allow(*state, T0, 4, addr));
	}
	for (unsigned bit = 0; bit < 128; bit++) {
		memcpy(addr, v6, sizeof(v6));
		addr[bit / 8] ^= 1U << bit % 8;
		assert_int_equal(ratelimiter_allow(*state, T0, 6, addr), bit < 64);
	}
}

/* SipHash of the family and the prefix, here the first three bytes after 10. */
static unsigned bucket_of(uint8_t family, uint32_t i)
{
	uint8_t in[9] = {family, 10, i >> 16, i >> 8, i}, out[crypto_shorthash_BYTES];

	crypto_shorthash(out, in, sizeof(in), hash_key);
	return (out[0] | out[1] << 8) % RATELIMITER_BUCKETS;
}

/* Sources that share a bucket. */
static void colliding_sources(uint8_t (*addr)[4], unsigned n)
{
	for (uint32_t i = 0, found = 0; found < n; i++) {
		const uint8_t candidate[4] = {10, i >> 16, i >> 8, i};

		if (bucket_of(4, i) == bucket_of(4, 0))
			memcpy(addr[found++], candidate, sizeof(candidate));
	}
}

/* Even where they meet in one bucket. */
static void families_do_not_mix(void **state)
{
	uint32_t i = 0;

	while (bucket_of(4, i) != bucket_of(6, i))
		i++;

	const uint8_t addr[16] = {10, i >> 16, i >> 8, i};

	exhaust(*state, T0, 4, addr);
	exhaust(*state, T0, 6, addr);
	assert_false(ratelimiter_allow(*state, T0, 4, addr));
}

static void free_entries_serve_right_after_boot(void **state)
{
	static const uint8_t addr[4] = {192, 0, 2, 1};

	exhaust(*state, 1, 4, addr);
}

static void full_bucket_refuses_until_idle(void **state)
{
	uint8_t addr[RATELIMITER_WAYS + 2][4];
	const uint8_t *late = addr[RATELIMITER_WAYS], *later = addr[RATELIMITER_WAYS + 1];
	const uint8_t elsewhere[4] = {192, 0, 2, 99};

	colliding_sources(addr, RATELIMITER_WAYS + 2);
	for (unsigned i = 0; i < RATELIMITER_WAYS; i++)
		assert_true(ratelimiter_allow(*state, T0 + i, 4, addr[i]));
	assert_false(ratelimiter_allow(*state, T0 + 100, 4, late));
	assert_true(ratelimiter_allow(*state, T0 + 100, 4, addr[0])); /* known: served */
	assert_true(ratelimiter_allow(*state, T0 + 100, 4, elsewhere));

	/* addr[1] was last seen at T0 + 1 and is free a nanosecond past the second. */
	assert_false(ratelimiter_allow(*state, T0 + 1 + NSEC_PER_SEC, 4, late));
	assert_true(ratelimiter_allow(*state, T0 + 2 + NSEC_PER_SEC, 4, late));
	assert_false(ratelimiter_allow(*state, T0 + 2 + NSEC_PER_SEC, 4, later));
	assert_false(ratelimiter_allow(*state, T0 + 2 + NSEC_PER_SEC, 4, addr[1]));

	/* Who takes over an entry starts with its own full credit: four more. */
	for (unsigned i = 1; i < RATELIMITER_BURST; i++)
		assert_true(ratelimiter_allow(*state, T0 + 2 + NSEC_PER_SEC, 4, late));
	assert_false(ratelimiter_allow(*state, T0 + 2 + NSEC_PER_SEC, 4, late));
}

/* Keyed: where a source lands depends on the key, so nobody can aim. */
static void bucket_depends_on_key(void **state)
{
	uint8_t addr[RATELIMITER_WAYS + 1][4], other_key[16] = {1};
	unsigned n = 0;

	colliding_sources(addr, RATELIMITER_WAYS + 1);
	ratelimiter_init(*state, other_key);
	for (unsigned i = 0; i <= RATELIMITER_WAYS; i++)
		n += ratelimiter_allow(*state, T0, 4, addr[i]);
	assert_int_equal(n, RATELIMITER_WAYS + 1);
}

/* The naive twin: a list of all sources ever seen, tokens counted by refilling
 * one bucket a nanosecond at a time (in closed form). */
struct twin_source {
	int version;
	uint8_t prefix[8];
	uint64_t full_at_ns; /* when the bucket would be full again */
};

struct twin {
	struct twin_source source[64];
	unsigned n;
};

static bool twin_allow(struct twin *t, uint64_t now_ns, int version, const uint8_t *addr)
{
	uint8_t prefix[8] = {0};
	struct twin_source *s;
	unsigned i;

	memcpy(prefix, addr, version == 4 ? 4 : 8);
	for (i = 0; i < t->n; i++)
		if (t->source[i].version == version && !memcmp(t->source[i].prefix, prefix, 8))
			break;
	s = &t->source[i];
	if (i == t->n) {
		t->n++;
		s->version = version;
		memcpy(s->prefix, prefix, sizeof(prefix));
		s->full_at_ns = now_ns;
	}
	if (s->full_at_ns < now_ns)
		s->full_at_ns = now_ns;
	if (s->full_at_ns + 50 * MS > now_ns + 250 * MS)
		return false;
	s->full_at_ns += 50 * MS;
	return true;
}

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return *seed >> 33;
}

/* Few enough sources that no bucket fills: then both must always agree. */
static void agrees_with_twin(void **state)
{
	static const uint64_t gaps_ns[] = {0, 1, MS, 7 * MS, 50 * MS, 333 * MS, 2000 * MS};
	uint64_t now_ns = T0, seed = 1;
	struct twin twin = {.n = 0};
	unsigned n_allowed = 0;

	for (unsigned i = 0; i < 50000; i++) {
		uint32_t rnd = next_random(&seed);
		int version = rnd & 1 ? 4 : 6;
		uint8_t addr[16] = {0x20, 1, 2, rnd >> 8 & 3};
		bool allowed;

		addr[7] = rnd >> 10 & 1;  /* inside the /64, outside IPv4 */
		addr[15] = rnd >> 11 & 1; /* the host part */
		/* Mostly short gaps, so that sources run dry. */
		now_ns += gaps_ns[rnd >> 12 & 63 ? rnd >> 18 & 3 : (rnd >> 18) % 7];
		allowed = ratelimiter_allow(*state, now_ns, version, addr);
		if (allowed != twin_allow(&twin, now_ns, version, addr))
			fail_msg("message %u", i);
		n_allowed += allowed;
	}
	assert_in_range(n_allowed, 1000, 49000);
	assert_int_equal(twin.n, 4 + 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(credit_over_time, setup, teardown),
		cmocka_unit_test_setup_teardown(steady_rate, setup, teardown),
		cmocka_unit_test_setup_teardown(what_counts_as_one_source, setup, teardown),
		cmocka_unit_test_setup_teardown(families_do_not_mix, setup, teardown),
		cmocka_unit_test_setup_teardown(free_entries_serve_right_after_boot, setup,
						teardown),
		cmocka_unit_test_setup_teardown(full_bucket_refuses_until_idle, setup, teardown),
		cmocka_unit_test_setup_teardown(bucket_depends_on_key, setup, teardown),
		cmocka_unit_test_setup_teardown(agrees_with_twin, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
