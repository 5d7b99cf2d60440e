/* SPDX-License-Identifier: Apache-2.0 */
/* Two ends of a handshake and how far they are: what the tests of noise.c share. */
#ifndef SEALANE_TESTS_NOISE_PAIR_H
#define SEALANE_TESTS_NOISE_PAIR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "crypto/le.h"
#include "crypto/noise.h"
#include "vectors.h"

#define T0 (1000 * NSEC_PER_SEC)

enum { INDEX_I = 0x01020304, INDEX_R = 0x60b0c0d0 };

static const uint8_t zero_key[WG_HASH_LEN];

static inline void vector_get(const char *section, const char *name, uint8_t *out, size_t len)
{
	struct vectors v = vectors_open("ikpsk2.txt");
	char full[64];

	snprintf(full, sizeof(full), "%s.%s", section, name);
	while (vectors_next(&v, full, 1)) {
		assert_int_equal(v.field[0].len, len);
		memcpy(out, v.field[0].bytes, len);
	}
}

static inline uint32_t vector_index(const char *section, const char *name)
{
	uint8_t le32[4];

	vector_get(section, name, le32, sizeof(le32));
	return le32_load(le32);
}

/* Both ends of one peering. */
struct pair {
	struct noise_local li, lr;
	struct noise_handshake hi, hr;
};

/* Different bytes for every @seed, the same in every run. */
static inline void fill(uint8_t *out, size_t len, uint32_t seed)
{
	uint8_t key[randombytes_SEEDBYTES] = {0};

	le32_store(key, seed);
	randombytes_buf_deterministic(out, len, key);
}

static inline void stamp(uint8_t tai64n[WG_TAI64N_LEN], uint8_t n)
{
	memset(tai64n, 0, WG_TAI64N_LEN);
	tai64n[0] = 0x40;
	tai64n[WG_TAI64N_LEN - 1] = n;
}

static inline void pair_init(struct pair *p)
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

static inline bool initiate(struct noise_handshake *hs, const struct noise_local *l, uint32_t index,
			    uint8_t n, struct message_initiation *ret)
{
	uint8_t tai64n[WG_TAI64N_LEN], ephemeral[WG_KEY_LEN];

	stamp(tai64n, n);
	fill(ephemeral, sizeof(ephemeral), 100 + n + index);
	return noise_create_initiation(hs, l, ephemeral, index, tai64n, ret);
}

/* Both halves of the responder. */
static inline enum noise_verdict take(struct noise_handshake *hs, const struct noise_local *l,
				      const struct message_initiation *msg, uint64_t now_ns)
{
	struct noise_incoming in;

	if (!noise_open_initiation(l, msg, &in))
		return NOISE_BAD;
	assert_memory_equal(in.remote_static, hs->remote_static, WG_KEY_LEN);
	return noise_accept_initiation(hs, l, msg, &in, now_ns);
}

static inline bool respond(struct noise_handshake *hs, uint32_t index, struct message_response *ret)
{
	uint8_t ephemeral[WG_KEY_LEN];

	fill(ephemeral, sizeof(ephemeral), 200 + index);
	return noise_create_response(hs, ephemeral, index, ret);
}

/* Runs the handshake up to @state on the side that gets there; the other side is
 * as far as it is then. */
static inline struct noise_handshake *advance(struct pair *p, enum noise_state state,
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

static inline void assert_nothing_in_flight(const struct noise_handshake *hs)
{
	assert_int_equal(hs->state, NOISE_ZEROED);
	assert_int_equal(hs->local_index, 0);
	assert_int_equal(hs->remote_index, 0);
	assert_memory_equal(hs->ephemeral_private, zero_key, WG_KEY_LEN);
	assert_memory_equal(hs->remote_ephemeral, zero_key, WG_KEY_LEN);
	assert_memory_equal(hs->chaining_key, zero_key, WG_HASH_LEN);
	assert_memory_equal(hs->hash, zero_key, WG_HASH_LEN);
}

#endif
