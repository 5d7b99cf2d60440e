/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "crypto/cookie.h"
#include "crypto/le.h"
#include "vectors.h"

#define T0 (1000 * NSEC_PER_SEC)

enum { INDEX_I = 0x01020304, INDEX_R = 0x60b0c0d0, N_LOW_ORDER = 7 };

static const uint8_t zero_key[WG_KEY_LEN];

static void vector_get(const char *section, const char *name, uint8_t *out, size_t len)
{
	struct vectors v = vectors_open("ikpsk2.txt");
	char full[64];

	snprintf(full, sizeof(full), "%s.%s", section, name);
	while (vectors_next(&v, full, 1)) {
		assert_int_equal(v.field[0].len, len);
		memcpy(out, v.field[0].bytes, len);
	}
}

/* Both ends of one peering. */
struct pair {
	struct noise_local li, lr;
	struct noise_handshake hi, hr;
};

/* Different bytes for every @seed, the same in every run. */
static void fill(uint8_t *out, size_t len, uint32_t seed)
{
	uint8_t key[randombytes_SEEDBYTES] = {0};

	le32_store(key, seed);
	randombytes_buf_deterministic(out, len, key);
}

static void stamp(uint8_t tai64n[WG_TAI64N_LEN], uint8_t n)
{
	memset(tai64n, 0, WG_TAI64N_LEN);
	tai64n[0] = 0x40;
	tai64n[WG_TAI64N_LEN - 1] = n;
}

static void pair_init(struct pair *p)
{
	uint8_t key[WG_KEY_LEN];

	fill(key, sizeof(key), 1);
	noise_local_set(&p->li, key);
	fill(key, sizeof(key), 2);
	noise_local_set(&p->lr, key);
	noise_handshake_init(&p->hi, &p->li, p->lr.public_key);
	noise_handshake_init(&p->hr, &p->lr, p->li.public_key);
	fill(p->hi.preshared_key, WG_KEY_LEN, 3);
	fill(p->hr.preshared_key, WG_KEY_LEN, 3);
}

static bool initiate(struct noise_handshake *hs, const struct noise_local *l, uint32_t index,
		     uint8_t n, struct message_initiation *ret)
{
	uint8_t tai64n[WG_TAI64N_LEN], ephemeral[WG_KEY_LEN];

	stamp(tai64n, n);
	fill(ephemeral, sizeof(ephemeral), 100 + n + index);
	return noise_create_initiation(hs, l, ephemeral, index, tai64n, ret);
}

/* Both halves of the responder. */
static enum noise_verdict take(struct noise_handshake *hs, const struct noise_local *l,
			       const struct message_initiation *msg, uint64_t now_ns)
{
	struct noise_incoming in;

	if (!noise_open_initiation(l, msg, &in))
		return NOISE_BAD;
	assert_memory_equal(in.remote_static, hs->remote_static, WG_KEY_LEN);
	return noise_accept_initiation(hs, l, msg, &in, now_ns);
}

static bool respond(struct noise_handshake *hs, uint32_t index, struct message_response *ret)
{
	uint8_t ephemeral[WG_KEY_LEN];

	fill(ephemeral, sizeof(ephemeral), 200 + index);
	return noise_create_response(hs, ephemeral, index, ret);
}

/* Runs the handshake up to @state on the side that gets there; the other side is
 * as far as it is then. */
static struct noise_handshake *advance(struct pair *p, enum noise_state state,
				       struct message_initiation *first,
				       struct message_response *second)
{
	pair_init(p);
	assert_true(initiate(&p->hi, &p->li, INDEX_I, 1, first));
	if (state == NOISE_CREATED_INITIATION)
		return &p->hi;
	assert_int_equal(take(&p->hr, &p->lr, first, T0), NOISE_OK);
	if (state == NOISE_CONSUMED_INITIATION)
		return &p->hr;
	assert_true(respond(&p->hr, INDEX_R, second));
	if (state == NOISE_CREATED_RESPONSE)
		return &p->hr;
	assert_true(noise_consume_response(&p->hi, &p->li, second));
	return &p->hi;
}

static void assert_nothing_in_flight(const struct noise_handshake *hs)
{
	assert_int_equal(hs->state, NOISE_ZEROED);
	assert_int_equal(hs->local_index, 0);
	assert_int_equal(hs->remote_index, 0);
	assert_memory_equal(hs->ephemeral_private, zero_key, WG_KEY_LEN);
	assert_memory_equal(hs->remote_ephemeral, zero_key, WG_KEY_LEN);
	assert_memory_equal(hs->chaining_key, zero_key, WG_HASH_LEN);
	assert_memory_equal(hs->hash, zero_key, WG_HASH_LEN);
}

/* Can the holder of @key produce and read the messages of the vectors? */
static void assert_data(const char *section, const char *text_name, const char *data_name,
			size_t text_len, const struct keypair *sender,
			const struct keypair *receiver)
{
	uint8_t text[64], expected[128], msg[128], got[64], nonce[12] = {0};
	const size_t msg_len = text_len + MESSAGE_DATA_OVERHEAD;

	vector_get(section, text_name, text, text_len);
	vector_get(section, data_name, expected, msg_len);

	memset(msg, 0, sizeof(msg));
	le32_store(msg, MESSAGE_DATA);
	le32_store(msg + 4, sender->remote_index);
	crypto_aead_chacha20poly1305_ietf_encrypt(msg + MESSAGE_DATA_HEADER_SIZE, NULL, text,
						  text_len, NULL, 0, NULL, nonce, sender->send_key);
	assert_memory_equal(msg, expected, msg_len);

	assert_int_equal(le32_load(expected + 4), receiver->local_index);
	assert_int_equal(crypto_aead_chacha20poly1305_ietf_decrypt(
				 got, NULL, NULL, expected + MESSAGE_DATA_HEADER_SIZE,
				 text_len + WG_TAG_LEN, NULL, 0, nonce, receiver->recv_key),
			 0);
	assert_memory_equal(got, text, text_len);
}

static uint32_t vector_index(const char *section, const char *name)
{
	uint8_t le32[4];

	vector_get(section, name, le32, sizeof(le32));
	return le32_load(le32);
}

/* Every message byte for byte as the independent computation has it. */
static void replay_exchange(const char *section)
{
	uint8_t key[WG_KEY_LEN], expected[MESSAGE_INITIATION_SIZE], tai64n[WG_TAI64N_LEN];
	uint32_t index_i = vector_index(section, "init_index_le32");
	uint32_t index_r = vector_index(section, "resp_index_le32");
	struct message_initiation first;
	struct message_response second;
	struct cookie_maker maker;
	struct keypair ki, kr;
	struct pair p;

	vector_get(section, "init_static_private", key, sizeof(key));
	noise_local_set(&p.li, key);
	vector_get(section, "init_static_public", key, sizeof(key));
	assert_memory_equal(p.li.public_key, key, sizeof(key));
	vector_get(section, "resp_static_private", key, sizeof(key));
	noise_local_set(&p.lr, key);
	vector_get(section, "resp_static_public", key, sizeof(key));
	assert_memory_equal(p.lr.public_key, key, sizeof(key));

	noise_handshake_init(&p.hi, &p.li, p.lr.public_key);
	noise_handshake_init(&p.hr, &p.lr, p.li.public_key);
	vector_get(section, "psk", p.hi.preshared_key, WG_KEY_LEN);
	vector_get(section, "psk", p.hr.preshared_key, WG_KEY_LEN);

	vector_get(section, "init_ephemeral_private", key, sizeof(key));
	vector_get(section, "timestamp", tai64n, sizeof(tai64n));
	assert_true(noise_create_initiation(&p.hi, &p.li, key, index_i, tai64n, &first));
	cookie_maker_init(&maker, p.lr.public_key);
	cookie_add_macs(&maker, T0, (uint8_t *)&first, sizeof(first));
	vector_get(section, "initiation", expected, sizeof(first));
	assert_memory_equal(&first, expected, sizeof(first));

	assert_int_equal(take(&p.hr, &p.lr, &first, T0), NOISE_OK);
	assert_memory_equal(p.hr.latest_timestamp, tai64n, sizeof(tai64n));
	vector_get(section, "resp_ephemeral_private", key, sizeof(key));
	assert_true(noise_create_response(&p.hr, key, index_r, &second));
	cookie_maker_init(&maker, p.li.public_key);
	cookie_add_macs(&maker, T0, (uint8_t *)&second, sizeof(second));
	vector_get(section, "response", expected, sizeof(second));
	assert_memory_equal(&second, expected, sizeof(second));

	assert_true(noise_consume_response(&p.hi, &p.li, &second));
	assert_true(noise_begin_session(&p.hi, &ki, T0));
	assert_true(noise_begin_session(&p.hr, &kr, T0));
	vector_get(section, "init_send_key", key, sizeof(key));
	assert_memory_equal(ki.send_key, key, sizeof(key));
	vector_get(section, "init_recv_key", key, sizeof(key));
	assert_memory_equal(ki.recv_key, key, sizeof(key));
	assert_data(section, "init_text", "init_data", 32, &ki, &kr);
	assert_data(section, "resp_text", "resp_data", 16, &kr, &ki);
}

static void exchange_without_psk_matches_vectors(void **state)
{
	(void)state;
	replay_exchange("zero_psk");
}

static void exchange_with_psk_matches_vectors(void **state)
{
	(void)state;
	replay_exchange("psk");
}

static void session_is_wholly_overwritten(void **state)
{
	struct message_initiation first;
	struct message_response second;
	struct keypair ki, kr;
	struct pair p;

	(void)state;
	advance(&p, NOISE_CONSUMED_RESPONSE, &first, &second);
	assert_memory_equal(p.hi.ephemeral_private, zero_key, WG_KEY_LEN);
	memset(&ki, 0xa5, sizeof(ki));
	memset(&kr, 0x5a, sizeof(kr));
	assert_true(noise_begin_session(&p.hi, &ki, T0 + 1));
	assert_true(noise_begin_session(&p.hr, &kr, T0 + 2));

	assert_true(ki.initiator);
	assert_false(kr.initiator);
	assert_true(ki.birth_ns == T0 + 1 && kr.birth_ns == T0 + 2);
	assert_true(ki.local_index == INDEX_I && ki.remote_index == INDEX_R);
	assert_true(kr.local_index == INDEX_R && kr.remote_index == INDEX_I);
	assert_true(ki.send_counter == 0 && kr.send_counter == 0);
	assert_true(sodium_is_zero((const uint8_t *)&ki.replay, sizeof(ki.replay)));
	assert_true(sodium_is_zero((const uint8_t *)&kr.replay, sizeof(kr.replay)));

	assert_memory_equal(ki.send_key, kr.recv_key, WG_KEY_LEN);
	assert_memory_equal(ki.recv_key, kr.send_key, WG_KEY_LEN);
	assert_memory_not_equal(ki.send_key, ki.recv_key, WG_KEY_LEN);
	assert_nothing_in_flight(&p.hi);
	assert_nothing_in_flight(&p.hr);
}

/* The peer's identity and what it has proven so far outlive the handshake. */
static void clear_keeps_identity(void **state)
{
	struct message_initiation first;
	struct message_response second;
	struct noise_handshake before;
	struct pair p;

	(void)state;
	advance(&p, NOISE_CREATED_RESPONSE, &first, &second);
	before = p.hr;
	noise_handshake_clear(&p.hr);
	assert_nothing_in_flight(&p.hr);
	assert_memory_equal(p.hr.remote_static, p.li.public_key, WG_KEY_LEN);
	assert_memory_equal(p.hr.preshared_key, before.preshared_key, WG_KEY_LEN);
	assert_memory_equal(p.hr.precomputed_ss, before.precomputed_ss, WG_KEY_LEN);
	assert_memory_equal(p.hr.latest_timestamp, before.latest_timestamp, WG_TAI64N_LEN);
	assert_int_equal(p.hr.last_initiation_ns, T0);

	noise_handshake_wipe(&p.hr);
	assert_true(sodium_is_zero((const uint8_t *)&p.hr, sizeof(p.hr)));
}

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

/* Per state: which of the calls that have one allowed state go through? The other
 * two are allowed everywhere and replace what is in flight. */
static void calls_by_state(void **state)
{
	static const struct {
		enum noise_state state;
		bool create_response, consume_response, begin_session;
	} table[] = {
		{NOISE_ZEROED, false, false, false},
		{NOISE_CREATED_INITIATION, false, true, false},
		{NOISE_CONSUMED_INITIATION, true, false, false},
		{NOISE_CREATED_RESPONSE, false, false, true},
		{NOISE_CONSUMED_RESPONSE, false, false, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct message_response second, unused;
		struct noise_handshake start, hs, fresh;
		struct message_initiation first, later;
		const struct noise_local *l, *remote;
		struct keypair kp;
		struct pair p;

		/* A complete exchange first, so that there is a response to offer. */
		advance(&p, NOISE_CREATED_RESPONSE, &first, &second);
		pair_init(&p);
		hs = table[i].state == NOISE_ZEROED ? p.hi
						    : *advance(&p, table[i].state, &first, &unused);
		assert_int_equal(hs.state, table[i].state);
		l = memcmp(hs.remote_static, p.lr.public_key, WG_KEY_LEN) ? &p.lr : &p.li;
		remote = l == &p.li ? &p.lr : &p.li;
		start = hs;

		assert_int_equal(respond(&hs, 77, &unused), table[i].create_response);
		if (!table[i].create_response)
			assert_memory_equal(&hs, &start, sizeof(hs));
		hs = start;
		assert_int_equal(noise_consume_response(&hs, l, &second),
				 table[i].consume_response);
		if (!table[i].consume_response)
			assert_memory_equal(&hs, &start, sizeof(hs));
		hs = start;
		assert_int_equal(noise_begin_session(&hs, &kp, T0), table[i].begin_session);
		if (!table[i].begin_session)
			assert_memory_equal(&hs, &start, sizeof(hs));

		hs = start;
		assert_true(initiate(&hs, l, 78, 9, &later));
		assert_int_equal(hs.state, NOISE_CREATED_INITIATION);
		assert_int_equal(hs.local_index, 78);
		assert_int_equal(hs.remote_index, 0);

		hs = start;
		noise_handshake_init(&fresh, remote, l->public_key);
		assert_true(initiate(&fresh, remote, 79, 9, &later));
		assert_int_equal(take(&hs, l, &later, T0 + NSEC_PER_SEC), NOISE_OK);
		assert_int_equal(hs.state, NOISE_CONSUMED_INITIATION);
		assert_int_equal(hs.local_index, 0);
		assert_int_equal(hs.remote_index, 79);
		assert_memory_equal(hs.ephemeral_private, zero_key, WG_KEY_LEN);
	}
}

/* Nothing but the state tells these apart from the handshake that may go on. */
static void state_alone_stops_a_response(void **state)
{
	struct message_initiation first;
	struct message_response second;
	struct pair p;

	(void)state;
	advance(&p, NOISE_CREATED_RESPONSE, &first, &second);
	for (int other = NOISE_ZEROED; other <= NOISE_CONSUMED_RESPONSE; other++) {
		struct noise_handshake hs = p.hi;

		hs.state = other;
		assert_int_equal(noise_consume_response(&hs, &p.li, &second),
				 other == NOISE_CREATED_INITIATION);
	}
}

/* Both sides initiate at once; one takes the other's initiation, gives up its own
 * and they end with one session. */
static void crossed_initiations(void **state)
{
	struct message_initiation from_i, from_r;
	struct message_response to_i, to_r;
	struct noise_handshake answerer;
	struct keypair ki, kr;
	struct pair p;

	(void)state;
	pair_init(&p);
	assert_true(initiate(&p.hi, &p.li, INDEX_I, 1, &from_i));
	assert_true(initiate(&p.hr, &p.lr, INDEX_R, 1, &from_r));

	assert_int_equal(take(&p.hr, &p.lr, &from_i, T0), NOISE_OK);
	assert_int_equal(p.hr.state, NOISE_CONSUMED_INITIATION);
	assert_memory_equal(p.hr.ephemeral_private, zero_key, WG_KEY_LEN);
	assert_true(respond(&p.hr, INDEX_R + 1, &to_i));

	/* An answer to the initiation that was given up comes too late. */
	noise_handshake_init(&answerer, &p.li, p.lr.public_key);
	memcpy(answerer.preshared_key, p.hi.preshared_key, WG_KEY_LEN);
	assert_int_equal(take(&answerer, &p.li, &from_r, T0), NOISE_OK);
	assert_true(respond(&answerer, 5, &to_r));
	assert_false(noise_consume_response(&p.hr, &p.lr, &to_r));

	assert_true(noise_consume_response(&p.hi, &p.li, &to_i));
	assert_true(noise_begin_session(&p.hi, &ki, T0));
	assert_true(noise_begin_session(&p.hr, &kr, T0));
	assert_true(ki.initiator && !kr.initiator);
	assert_memory_equal(ki.send_key, kr.recv_key, WG_KEY_LEN);
	assert_memory_equal(ki.recv_key, kr.send_key, WG_KEY_LEN);
	assert_int_equal(ki.remote_index, INDEX_R + 1);
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

static void unclamped_keys_work_alike(void **state)
{
	uint8_t raw[WG_KEY_LEN], clamped[WG_KEY_LEN], tai64n[WG_TAI64N_LEN] = {0x40};
	struct message_initiation from_raw, from_clamped;
	struct noise_local a, b;
	struct pair p;

	(void)state;
	fill(raw, sizeof(raw), 4);
	raw[0] |= 7;
	raw[31] = (raw[31] | 128) & ~64;
	memcpy(clamped, raw, sizeof(raw));
	clamped[0] -= 7;
	clamped[31] = (clamped[31] - 128) + 64;

	noise_local_set(&a, raw);
	noise_local_set(&b, clamped);
	assert_memory_equal(a.private_key, clamped, sizeof(clamped));
	assert_memory_equal(&a, &b, sizeof(a));

	pair_init(&p);
	assert_true(noise_create_initiation(&p.hi, &p.li, raw, INDEX_I, tai64n, &from_raw));
	assert_memory_equal(p.hi.ephemeral_private, clamped, sizeof(clamped));
	assert_true(noise_create_initiation(&p.hi, &p.li, clamped, INDEX_I, tai64n, &from_clamped));
	assert_memory_equal(&from_raw, &from_clamped, sizeof(from_raw));
}

static void no_identity_no_handshake(void **state)
{
	struct message_initiation first, other;
	struct noise_incoming in;
	struct noise_local none;
	struct pair p;

	(void)state;
	memset(&none, 0xff, sizeof(none));
	noise_local_set(&none, zero_key);
	assert_false(none.has_identity);
	assert_memory_equal(none.public_key, zero_key, WG_KEY_LEN);

	pair_init(&p);
	assert_true(initiate(&p.hi, &p.li, INDEX_I, 1, &first));
	assert_false(noise_open_initiation(&none, &first, &in));
	assert_true(noise_open_initiation(&p.lr, &first, &in));
	assert_int_equal(noise_accept_initiation(&p.hr, &none, &first, &in, T0), NOISE_BAD);
	assert_false(initiate(&p.hi, &none, INDEX_I, 2, &other));
	assert_nothing_in_flight(&p.hi);

	noise_handshake_rebase(&p.hi, &none);
	assert_memory_equal(p.hi.precomputed_ss, zero_key, WG_KEY_LEN);
}

static void rebase_follows_our_new_key(void **state)
{
	struct message_initiation first;
	uint8_t key[WG_KEY_LEN];
	struct pair p;

	(void)state;
	pair_init(&p);
	assert_true(initiate(&p.hi, &p.li, INDEX_I, 1, &first));
	fill(key, sizeof(key), 5);
	noise_local_set(&p.li, key);
	noise_handshake_rebase(&p.hi, &p.li);
	assert_nothing_in_flight(&p.hi);
	assert_memory_equal(p.hi.remote_static, p.lr.public_key, WG_KEY_LEN);

	noise_handshake_init(&p.hr, &p.lr, p.li.public_key);
	assert_memory_equal(p.hi.precomputed_ss, p.hr.precomputed_ss, WG_KEY_LEN);
	assert_true(initiate(&p.hi, &p.li, INDEX_I, 1, &first));
	assert_int_equal(take(&p.hr, &p.lr, &first, T0), NOISE_OK);
}

/* Initiations in the order they reach the responder; refused ones leave no trace. */
static void replay_and_flood(void **state)
{
	static const struct {
		uint8_t n;
		uint64_t now_ns;
		enum noise_verdict verdict;
	} table[] = {
		{10, T0, NOISE_OK},
		{10, T0, NOISE_REPLAY}, /* a replay first, then a flood */
		{10, T0 + NSEC_PER_SEC, NOISE_REPLAY},
		{9, T0 + NSEC_PER_SEC, NOISE_REPLAY},
		{11, T0, NOISE_FLOOD},
		{11, T0 + 20 * NSEC_PER_MSEC - 1, NOISE_FLOOD},
		{11, T0 + 20 * NSEC_PER_MSEC, NOISE_OK},
		{12, T0 + 39 * NSEC_PER_MSEC, NOISE_FLOOD},
		{12, T0 + 40 * NSEC_PER_MSEC, NOISE_OK},
		{255, T0 + 3600 * NSEC_PER_SEC, NOISE_OK},
		{254, T0 + 7200 * NSEC_PER_SEC, NOISE_REPLAY},
	};
	struct pair p;

	(void)state;
	pair_init(&p);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct noise_handshake before = p.hr;
		struct message_initiation first;
		enum noise_verdict verdict;

		assert_true(initiate(&p.hi, &p.li, INDEX_I, table[i].n, &first));
		verdict = take(&p.hr, &p.lr, &first, table[i].now_ns);
		if (verdict != table[i].verdict)
			fail_msg("row %zu: verdict %d", i, verdict);
		if (verdict != NOISE_OK)
			assert_memory_equal(&p.hr, &before, sizeof(before));
		else
			assert_int_equal(p.hr.last_initiation_ns, table[i].now_ns);
	}
}

/* Right after boot there is no earlier initiation to be too close to. */
static void first_initiation_is_no_flood(void **state)
{
	struct message_initiation first;
	struct pair p;

	(void)state;
	pair_init(&p);
	assert_true(initiate(&p.hi, &p.li, INDEX_I, 1, &first));
	assert_int_equal(take(&p.hr, &p.lr, &first, 1), NOISE_OK);
	assert_true(initiate(&p.hi, &p.li, INDEX_I, 2, &first));
	assert_int_equal(take(&p.hr, &p.lr, &first, 2), NOISE_FLOOD);
}

/* A time stamp that is whole seconds ahead counts by its first bytes. */
static void time_stamps_compare_big_endian(void **state)
{
	uint8_t low[WG_TAI64N_LEN] = {0x40, 0, 0, 0, 0, 0, 0, 1, 0xff};
	uint8_t high[WG_TAI64N_LEN] = {0x40, 0, 0, 0, 0, 0, 1, 0, 0};
	uint8_t key[WG_KEY_LEN];
	struct message_initiation first;
	struct pair p;

	(void)state;
	pair_init(&p);
	fill(key, sizeof(key), 6);
	assert_true(noise_create_initiation(&p.hi, &p.li, key, 1, high, &first));
	assert_int_equal(take(&p.hr, &p.lr, &first, T0), NOISE_OK);
	assert_true(noise_create_initiation(&p.hi, &p.li, key, 1, low, &first));
	assert_int_equal(take(&p.hr, &p.lr, &first, 2 * T0), NOISE_REPLAY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exchange_without_psk_matches_vectors),
		cmocka_unit_test(exchange_with_psk_matches_vectors),
		cmocka_unit_test(session_is_wholly_overwritten),
		cmocka_unit_test(clear_keeps_identity),
		cmocka_unit_test(wrong_psk_fails_at_the_response),
		cmocka_unit_test(initiation_to_another_key_does_not_open),
		cmocka_unit_test(initiation_of_another_peer_is_bad),
		cmocka_unit_test(response_answers_one_initiation_only),
		cmocka_unit_test(response_needs_our_own_key),
		cmocka_unit_test(flipped_bits_in_initiation),
		cmocka_unit_test(flipped_bits_in_response),
		cmocka_unit_test(flipped_header_bits_fail_mac1),
		cmocka_unit_test(calls_by_state),
		cmocka_unit_test(state_alone_stops_a_response),
		cmocka_unit_test(crossed_initiations),
		cmocka_unit_test(low_order_peer_is_never_initiated_to),
		cmocka_unit_test(zero_static_static_is_refused),
		cmocka_unit_test(low_order_messages_are_refused),
		cmocka_unit_test(low_order_keys_get_no_response),
		cmocka_unit_test(unclamped_keys_work_alike),
		cmocka_unit_test(no_identity_no_handshake),
		cmocka_unit_test(rebase_follows_our_new_key),
		cmocka_unit_test(replay_and_flood),
		cmocka_unit_test(first_initiation_is_no_flood),
		cmocka_unit_test(time_stamps_compare_big_endian),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
