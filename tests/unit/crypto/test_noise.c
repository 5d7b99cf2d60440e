/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/noise.h"

#include "crypto/cookie.h"
#include "noise_pair.h"

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
		cmocka_unit_test(calls_by_state),
		cmocka_unit_test(state_alone_stops_a_response),
		cmocka_unit_test(crossed_initiations),
		cmocka_unit_test(unclamped_keys_work_alike),
		cmocka_unit_test(no_identity_no_handshake),
		cmocka_unit_test(rebase_follows_our_new_key),
		cmocka_unit_test(replay_and_flood),
		cmocka_unit_test(first_initiation_is_no_flood),
		cmocka_unit_test(time_stamps_compare_big_endian),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
