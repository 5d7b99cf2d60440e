/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <cmocka.h>

#include "vectors.h"

static const uint8_t zeros[sizeof(struct blake2s_state)];

static void test_rfc7693_appendix_b(void **state)
{
	static const uint8_t expected[] = {
		0x50, 0x8c, 0x5e, 0x8c, 0x32, 0x7c, 0x14, 0xe2, 0xe1, 0xa7, 0x2b,
		0xa3, 0x4e, 0xeb, 0x45, 0x2f, 0x37, 0x45, 0x8b, 0x20, 0x9e, 0xd6,
		0x3a, 0x29, 0x4d, 0x99, 0x9b, 0x4c, 0x86, 0x67, 0x59, 0x82,
	};
	uint8_t out[BLAKE2S_HASH_LEN];

	(void)state;
	blake2s(out, sizeof(out), "abc", 3, NULL, 0);
	assert_memory_equal(out, expected, sizeof(expected));
}

/* The pseudo-random input of appendix E: the top bytes of a Fibonacci sequence. */
static void fibonacci_bytes(uint8_t *out, size_t len, uint32_t seed)
{
	uint32_t previous = 0xdead4badU * seed, current = 1;

	for (size_t i = 0; i < len; i++) {
		uint32_t next = previous + current;

		previous = current;
		current = next;
		out[i] = (uint8_t)(next >> 24);
	}
}

/* Appendix E: the digest of the digests of all combinations, with and without
 * a key. */
static void test_rfc7693_appendix_e(void **state)
{
	static const uint8_t expected[] = {
		0x6a, 0x41, 0x1f, 0x08, 0xce, 0x25, 0xad, 0xcd, 0xfb, 0x02, 0xab,
		0xa6, 0x41, 0x45, 0x1c, 0xec, 0x53, 0xc5, 0x98, 0xb2, 0x4f, 0x4f,
		0xc7, 0x87, 0xfb, 0xdc, 0x88, 0x79, 0x7f, 0x4c, 0x1d, 0xfe,
	};
	static const uint32_t out_lens[] = {16, 20, 28, 32}, in_lens[] = {0, 3, 64, 65, 255, 1024};
	uint8_t in[1024], key[32], out[BLAKE2S_HASH_LEN];
	struct blake2s_state all;

	(void)state;
	blake2s_init(&all, BLAKE2S_HASH_LEN, NULL, 0);
	for (unsigned i = 0; i < 4; i++) {
		for (unsigned j = 0; j < 6; j++) {
			fibonacci_bytes(in, in_lens[j], in_lens[j]);
			blake2s(out, out_lens[i], in, in_lens[j], NULL, 0);
			blake2s_update(&all, out, out_lens[i]);

			fibonacci_bytes(key, out_lens[i], out_lens[i]);
			blake2s(out, out_lens[i], in, in_lens[j], key, out_lens[i]);
			blake2s_update(&all, out, out_lens[i]);
		}
	}
	blake2s_final(&all, out);
	assert_memory_equal(out, expected, sizeof(expected));
}

static void test_blake2s_vectors(void **state)
{
	struct vectors v = vectors_open("hash.txt");

	(void)state;
	while (vectors_next(&v, "blake2s", 3)) {
		const struct vector_field *key = &v.field[0], *in = &v.field[1];
		size_t out_len = v.field[2].len;
		uint8_t *out = malloc(out_len);

		blake2s(out, out_len, in->bytes, in->len, key->bytes, key->len);
		vector_assert_field(&v, 2, out, out_len);
		free(out);
	}
}

/* However the input is cut, the digest is the same. */
static void test_blake2s_in_pieces(void **state)
{
	static const size_t piece_lens[] = {1, 7, 63, 64, 65, 128};
	struct vectors v = vectors_open("hash.txt");

	(void)state;
	while (vectors_next(&v, "blake2s", 3)) {
		const struct vector_field *key = &v.field[0], *in = &v.field[1];

		for (unsigned i = 0; i < sizeof(piece_lens) / sizeof(piece_lens[0]); i++) {
			uint8_t out[BLAKE2S_HASH_LEN];
			struct blake2s_state s;

			blake2s_init(&s, v.field[2].len, key->bytes, key->len);
			for (size_t at = 0, n; at < in->len; at += n) {
				n = in->len - at < piece_lens[i] ? in->len - at : piece_lens[i];
				blake2s_update(&s, in->bytes + at, n);
				blake2s_update(&s, NULL, 0);
			}
			blake2s_final(&s, out);
			vector_assert_field(&v, 2, out, v.field[2].len);
		}
	}
}

static void test_blake2s_final_wipes(void **state)
{
	uint8_t key[BLAKE2S_KEY_LEN], out[BLAKE2S_HASH_LEN];
	struct blake2s_state s;

	(void)state;
	memset(key, 0xa5, sizeof(key));
	blake2s_init(&s, sizeof(out), key, sizeof(key));
	blake2s_update(&s, key, sizeof(key));
	assert_memory_not_equal(&s, zeros, sizeof(s));
	blake2s_final(&s, out);
	assert_memory_equal(&s, zeros, sizeof(s));
}

static void test_hmac_vectors(void **state)
{
	struct vectors v = vectors_open("hash.txt");

	(void)state;
	while (vectors_next(&v, "hmac", 3)) {
		uint8_t out[BLAKE2S_HASH_LEN];

		hmac_blake2s(out, v.field[0].bytes, v.field[0].len, v.field[1].bytes,
			     v.field[1].len);
		vector_assert_field(&v, 2, out, sizeof(out));
	}
}

static void test_kdf_vectors(void **state)
{
	struct vectors v = vectors_open("hash.txt");

	(void)state;
	while (vectors_next(&v, "kdf", 5)) {
		const struct vector_field *ck = &v.field[0], *in = &v.field[1];

		/* kdf() with 1, 2 and 3 outputs: outputs never change with the
		 * number asked for. */
		for (unsigned n = 1; n <= 3; n++) {
			uint8_t out[3][BLAKE2S_HASH_LEN];

			kdf(out[0], n > 1 ? out[1] : NULL, n > 2 ? out[2] : NULL, ck->bytes,
			    in->bytes, in->len);
			for (unsigned i = 0; i < n; i++)
				vector_assert_field(&v, 2 + i, out[i], sizeof(out[i]));
		}
	}
}

static void test_kdf_output_may_alias_chaining_key(void **state)
{
	struct vectors v = vectors_open("hash.txt");

	(void)state;
	while (vectors_next(&v, "kdf", 5)) {
		/* The chaining key's own buffer as output 1, 2, 3 in turn. */
		for (unsigned aliased = 0; aliased < 3; aliased++) {
			uint8_t out[3][BLAKE2S_HASH_LEN];

			memcpy(out[aliased], v.field[0].bytes, BLAKE2S_HASH_LEN);
			kdf(out[0], out[1], out[2], out[aliased], v.field[1].bytes, v.field[1].len);
			for (unsigned i = 0; i < 3; i++)
				vector_assert_field(&v, 2 + i, out[i], sizeof(out[i]));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rfc7693_appendix_b),
		cmocka_unit_test(test_rfc7693_appendix_e),
		cmocka_unit_test(test_blake2s_vectors),
		cmocka_unit_test(test_blake2s_in_pieces),
		cmocka_unit_test(test_blake2s_final_wipes),
		cmocka_unit_test(test_hmac_vectors),
		cmocka_unit_test(test_kdf_vectors),
		cmocka_unit_test(test_kdf_output_may_alias_chaining_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
