/* SPDX-License-Identifier: Apache-2.0 */
/* What must not get through: strangers, changed bits, keys that give no secret. */
#include "crypto/noise.h"

#include "crypto/cookie.h"
#include "noise_pair.h"

enum { N_LOW_ORDER = 7 };

/* The responder answers anyone who knows its public key; a wrong psk shows only
 * when the initiator reads the response. */
static void wrong_psk_fails_at_the_response(void **state)
{
	struct message_initiation first;
	struct message_response second;
	struct noise_handshake before;
	struct pair p;

	(void)state;
	advance(&p, NOISE_CONSUMED_INITIATION, &first, &second);
	p.hr.preshared_key[31] ^= 0x80;
	assert_true(respond(&p.hr, INDEX_R, &second));
	before = p.hi;
	assert_false(noise_consume_response(&p.hi, &p.li, &second));
	assert_memory_equal(&p.hi, &before, sizeof(before));
}

static void initiation_to_another_key_does_not_open(void **state)
{
	struct noise_incoming in, before;
	struct message_initiation first;
	struct message_response second;
	struct pair p;

	(void)state;
	advance(&p, NOISE_CREATED_INITIATION, &first, &second);
	memset(&in, 0x77, sizeof(in));
	before = in;
	assert_false(noise_open_initiation(&p.li, &first, &in));
	assert_memory_equal(&in, &before, sizeof(in));
}

static void initiation_of_another_peer_is_bad(void **state)
{
	struct noise_handshake stranger, before;
	struct message_initiation first;
	struct message_response second;
	struct noise_local other;
	struct noise_incoming in;
	uint8_t key[WG_KEY_LEN];
	struct pair p;

	(void)state;
	advance(&p, NOISE_CREATED_INITIATION, &first, &second);
	fill(key, sizeof(key), 9);
	noise_local_set(&other, key);
	noise_handshake_init(&stranger, &p.lr, other.public_key);
	before = stranger;

	assert_true(noise_open_initiation(&p.lr, &first, &in));
	assert_int_equal(noise_accept_initiation(&stranger, &p.lr, &first, &in, T0), NOISE_BAD);
	assert_memory_equal(&stranger, &before, sizeof(before));
	assert_true(sodium_is_zero((const uint8_t *)&in, sizeof(in)));
}

/* Indices alike, ephemeral keys not. */
static void response_answers_one_initiation_only(void **state)
{
	struct message_initiation first, other;
	struct message_response second;
	struct noise_handshake before;
	struct pair p;

	(void)state;
	advance(&p, NOISE_CREATED_INITIATION, &first, &second);
	before = p.hi;
	assert_true(initiate(&p.hi, &p.li, INDEX_I, 2, &other));
	assert_int_equal(take(&p.hr, &p.lr, &other, T0), NOISE_OK);
	assert_true(respond(&p.hr, INDEX_R, &second));

	/* The answer to the later initiation, given to the earlier. */
	p.hi = before;
	assert_false(noise_consume_response(&p.hi, &p.li, &second));
	assert_memory_equal(&p.hi, &before, sizeof(before));
}

static void response_needs_our_own_key(void **state)
{
	struct message_initiation first;
	struct message_response second;
	struct noise_handshake before;
	struct pair p;

	(void)state;
	advance(&p, NOISE_CREATED_RESPONSE, &first, &second);
	before = p.hi;
	assert_false(noise_consume_response(&p.hi, &p.lr, &second));
	p.li.has_identity = false;
	assert_false(noise_consume_response(&p.hi, &p.li, &second));
	assert_memory_equal(&p.hi, &before, sizeof(before));
}

struct field {
	const char *name;
	size_t offset, len;
};

#define FIELD(type, member)                                                                        \
	{                                                                                          \
#member, offsetof(struct type, member), sizeof(((struct type *)NULL)->member)      \
	}

static void flipped_bits_in_initiation(void **state)
{
	static const struct field fields[] = {
		FIELD(message_initiation, unencrypted_ephemeral),
		FIELD(message_initiation, encrypted_static),
		FIELD(message_initiation, encrypted_timestamp),
	};
	struct message_initiation first;
	struct message_response second;
	struct noise_handshake before;
	struct pair p;

	(void)state;
	advance(&p, NOISE_CREATED_INITIATION, &first, &second);
	before = p.hr;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		for (size_t bit = 0; bit < 8 * fields[i].len; bit++) {
			struct message_initiation bad = first;

			((uint8_t *)&bad)[fields[i].offset + bit / 8] ^= 1U << bit % 8;
			if (take(&p.hr, &p.lr, &bad, T0) != NOISE_BAD)
				fail_msg("%s: bit %zu", fields[i].name, bit);
			assert_memory_equal(&p.hr, &before, sizeof(before));
		}
	}
	assert_int_equal(take(&p.hr, &p.lr, &first, T0), NOISE_OK);
}

static void flipped_bits_in_response(void **state)
{
	static const struct field fields[] = {
		FIELD(message_response, receiver_index_le32),
		FIELD(message_response, unencrypted_ephemeral),
		FIELD(message_response, encrypted_nothing),
	};
	struct message_initiation first;
	struct message_response second;
	struct noise_handshake before;
	struct pair p;

	(void)state;
	advance(&p, NOISE_CREATED_RESPONSE, &first, &second);
	before = p.hi;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		for (size_t bit = 0; bit < 8 * fields[i].len; bit++) {
			struct message_response bad = second;

			((uint8_t *)&bad)[fields[i].offset + bit / 8] ^= 1U << bit % 8;
			if (noise_consume_response(&p.hi, &p.li, &bad))
				fail_msg("%s: bit %zu", fields[i].name, bit);
			assert_memory_equal(&p.hi, &before, sizeof(before));
		}
	}
	assert_true(noise_consume_response(&p.hi, &p.li, &second));
}

/* What the Noise hash does not cover is left to mac1. */
static void flipped_header_bits_fail_mac1(void **state)
{
	struct message_initiation first;
	struct message_response second;
	struct cookie_checker checker;
	struct cookie_maker maker;
	struct pair p;

	(void)state;
	advance(&p, NOISE_CREATED_INITIATION, &first, &second);
	cookie_maker_init(&maker, p.lr.public_key);
	cookie_checker_init(&checker, p.lr.public_key);
	cookie_add_macs(&maker, T0, (uint8_t *)&first, sizeof(first));
	for (size_t bit = 0; bit < 64; bit++) {
		struct message_initiation bad = first;

		((uint8_t *)&bad)[bit / 8] ^= 1U << bit % 8;
		assert_false(cookie_check_mac1(&checker, (const uint8_t *)&bad, sizeof(bad)));
	}
	assert_true(cookie_check_mac1(&checker, (const uint8_t *)&first, sizeof(first)));
}

static void low_order_peer_is_never_initiated_to(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_LOW_ORDER; i++) {
		uint8_t point[WG_KEY_LEN], tai64n[WG_TAI64N_LEN] = {0x40};
		struct message_initiation msg, before;
		struct noise_handshake hs;
		char section[32];
		struct pair p;

		snprintf(section, sizeof(section), "low_order_%u", i);
		vector_get(section, "point", point, sizeof(point));
		pair_init(&p);
		noise_handshake_init(&hs, &p.li, point);
		assert_memory_equal(hs.precomputed_ss, zero_key, WG_KEY_LEN);

		memset(&msg, 0x11, sizeof(msg));
		before = msg;
		assert_false(noise_create_initiation(&hs, &p.li, point, INDEX_I, tai64n, &msg));
		assert_nothing_in_flight(&hs);
		assert_memory_equal(&msg, &before, sizeof(msg));
	}
}

/* es alone would let this one pass. */
static void zero_static_static_is_refused(void **state)
{
	struct message_initiation first;
	struct pair p;

	(void)state;
	pair_init(&p);
	memset(p.hi.precomputed_ss, 0, WG_KEY_LEN);
	assert_false(initiate(&p.hi, &p.li, INDEX_I, 1, &first));
	assert_nothing_in_flight(&p.hi);
}

/* These messages authenticate for anyone who goes on with a shared secret of zero:
 * only the refusal of that secret can make these calls fail. */
static void low_order_messages_are_refused(void **state)
{
	uint8_t key[WG_KEY_LEN], point[WG_KEY_LEN], tai64n[WG_TAI64N_LEN];
	const uint32_t index_i = vector_index("zero_psk", "init_index_le32");
	struct message_initiation first, forged;
	struct message_response response;
	struct noise_handshake hs, before;
	struct noise_incoming in;
	char section[32];
	struct pair p;

	(void)state;
	vector_get("zero_psk", "init_static_private", key, sizeof(key));
	noise_local_set(&p.li, key);
	vector_get("zero_psk", "resp_static_private", key, sizeof(key));
	noise_local_set(&p.lr, key);
	vector_get("zero_psk", "init_ephemeral_private", key, sizeof(key));
	vector_get("zero_psk", "timestamp", tai64n, sizeof(tai64n));

	for (unsigned i = 0; i < N_LOW_ORDER; i++) {
		snprintf(section, sizeof(section), "low_order_%u", i);
		vector_get(section, "point", point, sizeof(point));

		vector_get(section, "as_init_ephemeral", (uint8_t *)&forged, sizeof(forged));
		assert_false(noise_open_initiation(&p.lr, &forged, &in));

		vector_get(section, "as_init_static", (uint8_t *)&forged, sizeof(forged));
		noise_handshake_init(&hs, &p.lr, point);
		before = hs;
		assert_true(noise_open_initiation(&p.lr, &forged, &in));
		assert_memory_equal(in.remote_static, point, sizeof(point));
		assert_int_equal(noise_accept_initiation(&hs, &p.lr, &forged, &in, T0), NOISE_BAD);
		assert_memory_equal(&hs, &before, sizeof(hs));

		vector_get(section, "as_resp_ephemeral", (uint8_t *)&response, sizeof(response));
		noise_handshake_init(&hs, &p.li, p.lr.public_key);
		assert_true(noise_create_initiation(&hs, &p.li, key, index_i, tai64n, &first));
		before = hs;
		assert_false(noise_consume_response(&hs, &p.li, &response));
		assert_memory_equal(&hs, &before, sizeof(hs));
	}
}

/* Neither can a response be built on such keys, should they have got that far. */
static void low_order_keys_get_no_response(void **state)
{
	struct message_initiation first;
	struct message_response second;
	struct pair p;

	(void)state;
	advance(&p, NOISE_CONSUMED_INITIATION, &first, &second);
	memset(p.hr.remote_ephemeral, 0, WG_KEY_LEN);
	assert_false(respond(&p.hr, INDEX_R, &second));
	assert_nothing_in_flight(&p.hr);

	advance(&p, NOISE_CONSUMED_INITIATION, &first, &second);
	memset(p.hr.remote_static, 0, WG_KEY_LEN);
	assert_false(respond(&p.hr, INDEX_R, &second));
	assert_nothing_in_flight(&p.hr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_psk_fails_at_the_response),
		cmocka_unit_test(initiation_to_another_key_does_not_open),
		cmocka_unit_test(initiation_of_another_peer_is_bad),
		cmocka_unit_test(response_answers_one_initiation_only),
		cmocka_unit_test(response_needs_our_own_key),
		cmocka_unit_test(flipped_bits_in_initiation),
		cmocka_unit_test(flipped_bits_in_response),
		cmocka_unit_test(flipped_header_bits_fail_mac1),
		cmocka_unit_test(low_order_peer_is_never_initiated_to),
		cmocka_unit_test(zero_static_static_is_refused),
		cmocka_unit_test(low_order_messages_are_refused),
		cmocka_unit_test(low_order_keys_get_no_response),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
