/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/cookie.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "vectors.h"

#define T0 (1000 * NSEC_PER_SEC)

/* One case of cookie.txt, made without sealane. */
struct cookie_case {
	const char *section;
	size_t len, src_len;
	uint8_t public_key[WG_KEY_LEN], mac1_key[WG_KEY_LEN], cookie_key[WG_KEY_LEN];
	uint8_t secret[WG_KEY_LEN], src[18], cookie[WG_COOKIE_LEN], nonce[WG_COOKIE_NONCE_LEN];
	uint8_t msg[MESSAGE_INITIATION_SIZE], msg_with_mac2[MESSAGE_INITIATION_SIZE];
	struct message_cookie_reply reply;
};

enum { N_CASES = 2 };

static void vector_get(const char *section, const char *name, uint8_t *out, size_t len)
{
	struct vectors v = vectors_open("cookie.txt");
	char full[64];

	snprintf(full, sizeof(full), "%s.%s", section, name);
	while (vectors_next(&v, full, 1)) {
		assert_int_equal(v.field[0].len, len);
		memcpy(out, v.field[0].bytes, len);
	}
}

static void load_case(struct cookie_case *c, unsigned i)
{
	memset(c, 0, sizeof(*c));
	c->section = i == 0 ? "initiation_ipv4" : "response_ipv6";
	c->len = i == 0 ? MESSAGE_INITIATION_SIZE : MESSAGE_RESPONSE_SIZE;
	c->src_len = i == 0 ? 6 : 18;
	vector_get(c->section, "public_key", c->public_key, WG_KEY_LEN);
	vector_get(c->section, "mac1_key", c->mac1_key, WG_KEY_LEN);
	vector_get(c->section, "cookie_key", c->cookie_key, WG_KEY_LEN);
	vector_get(c->section, "secret", c->secret, WG_KEY_LEN);
	vector_get(c->section, "src", c->src, c->src_len);
	vector_get(c->section, "cookie", c->cookie, WG_COOKIE_LEN);
	vector_get(c->section, "nonce", c->nonce, WG_COOKIE_NONCE_LEN);
	vector_get(c->section, "msg", c->msg, c->len);
	vector_get(c->section, "msg_with_mac2", c->msg_with_mac2, c->len);
	vector_get(c->section, "reply", (uint8_t *)&c->reply, sizeof(c->reply));
}

static void reply_to(struct cookie_checker *checker, const struct cookie_case *c, uint64_t now_ns,
		     struct message_cookie_reply *ret)
{
	cookie_make_reply(checker, now_ns, c->msg, c->len, c->src, c->src_len, c->nonce, c->secret,
			  ret);
}

static bool mac2_ok(const struct cookie_checker *checker, const struct cookie_case *c,
		    uint64_t now_ns)
{
	return cookie_check_mac2(checker, now_ns, c->msg_with_mac2, c->len, c->src, c->src_len);
}

static void round_matches_vectors(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_CASES; i++) {
		struct message_cookie_reply reply;
		struct cookie_checker checker;
		uint8_t msg[MESSAGE_INITIATION_SIZE];
		struct cookie_maker maker;
		struct cookie_case c;

		load_case(&c, i);
		cookie_maker_init(&maker, c.public_key);
		cookie_checker_init(&checker, c.public_key);
		assert_memory_equal(maker.mac1_key, c.mac1_key, WG_KEY_LEN);
		assert_memory_equal(maker.cookie_key, c.cookie_key, WG_KEY_LEN);
		assert_memory_equal(checker.mac1_key, c.mac1_key, WG_KEY_LEN);
		assert_memory_equal(checker.cookie_key, c.cookie_key, WG_KEY_LEN);

		/* What was in the mac fields before does not matter. */
		memcpy(msg, c.msg, c.len);
		memset(msg + c.len - 32, 0xee, 32);
		cookie_add_macs(&maker, T0, msg, c.len);
		assert_memory_equal(msg, c.msg, c.len);
		assert_true(cookie_check_mac1(&checker, msg, c.len));

		memset(&reply, 0xee, sizeof(reply));
		reply_to(&checker, &c, T0, &reply);
		assert_memory_equal(&reply, &c.reply, sizeof(reply));

		assert_true(cookie_consume_reply(&maker, T0, &reply));
		assert_memory_equal(maker.cookie, c.cookie, WG_COOKIE_LEN);
		cookie_add_macs(&maker, T0, msg, c.len);
		assert_memory_equal(msg, c.msg_with_mac2, c.len);
		assert_true(cookie_check_mac1(&checker, msg, c.len));
		assert_true(mac2_ok(&checker, &c, T0));
	}
}

static void flipped_bits_fail_mac1(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_CASES; i++) {
		struct cookie_checker checker;
		struct cookie_case c;

		load_case(&c, i);
		cookie_checker_init(&checker, c.public_key);
		for (size_t bit = 0; bit < 8 * (c.len - WG_MAC_LEN); bit++) {
			c.msg[bit / 8] ^= 1U << bit % 8;
			if (cookie_check_mac1(&checker, c.msg, c.len))
				fail_msg("%s: bit %zu", c.section, bit);
			c.msg[bit / 8] ^= 1U << bit % 8;
		}
		/* mac2 is not covered by mac1. */
		c.msg[c.len - 1] ^= 1;
		assert_true(cookie_check_mac1(&checker, c.msg, c.len));

		c.public_key[0] ^= 1;
		cookie_checker_init(&checker, c.public_key);
		assert_false(cookie_check_mac1(&checker, c.msg, c.len));
	}
}

static void flipped_bits_fail_mac2(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_CASES; i++) {
		struct message_cookie_reply reply;
		struct cookie_checker checker;
		struct cookie_case c;

		load_case(&c, i);
		cookie_checker_init(&checker, c.public_key);
		reply_to(&checker, &c, T0, &reply);
		for (size_t bit = 0; bit < 8 * c.len; bit++) {
			c.msg_with_mac2[bit / 8] ^= 1U << bit % 8;
			if (mac2_ok(&checker, &c, T0))
				fail_msg("%s: bit %zu", c.section, bit);
			c.msg_with_mac2[bit / 8] ^= 1U << bit % 8;
		}
		assert_true(mac2_ok(&checker, &c, T0));
	}
}

/* A cookie is worth nothing from another address or port. */
static void cookie_is_bound_to_source(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_CASES; i++) {
		struct message_cookie_reply reply;
		struct cookie_checker checker;
		struct cookie_case c;

		load_case(&c, i);
		cookie_checker_init(&checker, c.public_key);
		reply_to(&checker, &c, T0, &reply);
		for (size_t byte = 0; byte < c.src_len; byte++) {
			c.src[byte] ^= 0x10;
			assert_false(mac2_ok(&checker, &c, T0));
			c.src[byte] ^= 0x10;
		}
		assert_true(mac2_ok(&checker, &c, T0));
	}
}

/* Without a secret no cookie was ever given out; not even one made of zeros. */
static void no_secret_no_mac2(void **state)
{
	static const uint8_t zero_secret[WG_KEY_LEN];
	struct cookie_checker checker, used;
	struct message_cookie_reply reply;
	struct cookie_maker maker;
	struct cookie_case c;

	(void)state;
	load_case(&c, 0);
	cookie_checker_init(&checker, c.public_key);
	cookie_checker_init(&used, c.public_key);
	cookie_maker_init(&maker, c.public_key);
	cookie_add_macs(&maker, 1, c.msg_with_mac2, c.len);
	cookie_make_reply(&used, 1, c.msg_with_mac2, c.len, c.src, c.src_len, c.nonce, zero_secret,
			  &reply);
	assert_true(cookie_consume_reply(&maker, 1, &reply));
	cookie_add_macs(&maker, 1, c.msg_with_mac2, c.len);
	assert_true(mac2_ok(&used, &c, 1));
	assert_false(mac2_ok(&checker, &c, 1));
}

static void secret_lives_120_seconds(void **state)
{
	const uint64_t end_ns = T0 + 120 * NSEC_PER_SEC;
	struct message_cookie_reply first, reply;
	struct cookie_checker checker;
	uint8_t other[WG_KEY_LEN];
	struct cookie_case c;

	(void)state;
	load_case(&c, 0);
	memset(other, 0x42, sizeof(other));
	cookie_checker_init(&checker, c.public_key);
	reply_to(&checker, &c, T0, &first);

	/* A fresh secret is offered each time, but taken only when due. */
	cookie_make_reply(&checker, end_ns - 1, c.msg, c.len, c.src, c.src_len, c.nonce, other,
			  &reply);
	assert_memory_equal(&reply, &first, sizeof(reply));
	assert_true(mac2_ok(&checker, &c, end_ns - 1));
	assert_false(mac2_ok(&checker, &c, end_ns));

	cookie_make_reply(&checker, end_ns, c.msg, c.len, c.src, c.src_len, c.nonce, other, &reply);
	assert_memory_not_equal(&reply, &first, sizeof(reply));
	assert_memory_equal(checker.secret, other, sizeof(other));
	assert_false(mac2_ok(&checker, &c, end_ns));

	/* The new one counts from its own birth. */
	cookie_make_reply(&checker, 2 * end_ns - T0 - 1, c.msg, c.len, c.src, c.src_len, c.nonce,
			  c.secret, &reply);
	assert_memory_equal(checker.secret, other, sizeof(other));
}

static void sender_uses_cookie_115_seconds(void **state)
{
	static const struct {
		uint64_t age_ns;
		bool mac2;
	} table[] = {
		{0, true},
		{115 * NSEC_PER_SEC - 1, true},
		{115 * NSEC_PER_SEC, false},
		{120 * NSEC_PER_SEC, false},
		{1, false}, /* gone for good: not even if the clock went back */
	};
	struct cookie_maker maker;
	struct cookie_case c;

	(void)state;
	load_case(&c, 0);
	cookie_maker_init(&maker, c.public_key);
	cookie_add_macs(&maker, T0 - 5, c.msg, c.len);
	assert_true(cookie_consume_reply(&maker, T0, &c.reply));
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint8_t msg[MESSAGE_INITIATION_SIZE];

		memcpy(msg, c.msg, c.len);
		cookie_add_macs(&maker, T0 + table[i].age_ns, msg, c.len);
		assert_memory_equal(msg, table[i].mac2 ? c.msg_with_mac2 : c.msg, c.len);
	}
}

static void reply_counts_once_per_mac1(void **state)
{
	struct cookie_maker maker, before;
	struct cookie_case c;

	(void)state;
	load_case(&c, 0);
	cookie_maker_init(&maker, c.public_key);
	before = maker;
	assert_false(cookie_consume_reply(&maker, T0, &c.reply)); /* nothing sent */
	assert_memory_equal(&maker, &before, sizeof(maker));

	cookie_add_macs(&maker, T0, c.msg, c.len);
	assert_true(cookie_consume_reply(&maker, T0, &c.reply));
	before = maker;
	assert_false(cookie_consume_reply(&maker, T0 + 1, &c.reply));
	assert_memory_equal(&maker, &before, sizeof(maker));

	/* The same message sent again may be answered again. */
	cookie_add_macs(&maker, T0, c.msg, c.len);
	assert_true(cookie_consume_reply(&maker, T0 + 1, &c.reply));
}

static void forged_reply_changes_nothing(void **state)
{
	const size_t sealed = offsetof(struct message_cookie_reply, nonce);
	struct cookie_maker maker, before;
	struct cookie_case c, other;

	(void)state;
	load_case(&c, 0);
	cookie_maker_init(&maker, c.public_key);
	cookie_add_macs(&maker, T0, c.msg, c.len);
	before = maker;
	for (size_t bit = 8 * sealed; bit < 8 * sizeof(c.reply); bit++) {
		struct message_cookie_reply bad = c.reply;

		((uint8_t *)&bad)[bit / 8] ^= 1U << bit % 8;
		if (cookie_consume_reply(&maker, T0, &bad))
			fail_msg("bit %zu", bit);
		assert_memory_equal(&maker, &before, sizeof(maker));
	}

	/* Right key, but the reply to an earlier message of ours. */
	load_case(&other, 0);
	other.msg[10] ^= 1;
	cookie_add_macs(&maker, T0, other.msg, other.len);
	assert_false(cookie_consume_reply(&maker, T0, &c.reply));
	cookie_add_macs(&maker, T0, c.msg, c.len);
	assert_true(cookie_consume_reply(&maker, T0, &c.reply));
}

static void wipe_leaves_nothing(void **state)
{
	struct message_cookie_reply reply;
	struct cookie_checker checker;
	struct cookie_maker maker;
	struct cookie_case c;

	(void)state;
	load_case(&c, 1);
	cookie_checker_init(&checker, c.public_key);
	reply_to(&checker, &c, T0, &reply);
	cookie_checker_wipe(&checker);
	assert_true(sodium_is_zero((const uint8_t *)&checker, sizeof(checker)));

	cookie_maker_init(&maker, c.public_key);
	cookie_add_macs(&maker, T0, c.msg, c.len);
	cookie_maker_wipe(&maker);
	assert_true(sodium_is_zero((const uint8_t *)&maker, sizeof(maker)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_matches_vectors),
		cmocka_unit_test(flipped_bits_fail_mac1),
		cmocka_unit_test(flipped_bits_fail_mac2),
		cmocka_unit_test(cookie_is_bound_to_source),
		cmocka_unit_test(no_secret_no_mac2),
		cmocka_unit_test(secret_lives_120_seconds),
		cmocka_unit_test(sender_uses_cookie_115_seconds),
		cmocka_unit_test(reply_counts_once_per_mac1),
		cmocka_unit_test(forged_reply_changes_nothing),
		cmocka_unit_test(wipe_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
