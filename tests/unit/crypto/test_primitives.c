/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What we rely on libsodium for, checked against the published vectors: the two
 * AEADs, X25519, and that an all-zero Diffie-Hellman result is an error. Run
 * with the portable code and, after sodium_init(), with what it chose for this
 * CPU.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sodium.h>

#include "vectors.h"

typedef int encrypt_fn(unsigned char *c, unsigned char *mac, unsigned long long *mac_len,
		       const unsigned char *m, unsigned long long m_len, const unsigned char *ad,
		       unsigned long long ad_len, const unsigned char *nsec,
		       const unsigned char *npub, const unsigned char *k);
typedef int decrypt_fn(unsigned char *m, unsigned char *nsec, const unsigned char *c,
		       unsigned long long c_len, const unsigned char *mac, const unsigned char *ad,
		       unsigned long long ad_len, const unsigned char *npub,
		       const unsigned char *k);

/* Fields: key nonce aad text ciphertext tag. All in place, as we use it. */
static void check_aead(const char *name, encrypt_fn *encrypt, decrypt_fn *decrypt)
{
	struct vectors v = vectors_open("primitives.txt");

	while (vectors_next(&v, name, 6)) {
		const struct vector_field *key = &v.field[0], *nonce = &v.field[1];
		const struct vector_field *aad = &v.field[2], *text = &v.field[3];
		uint8_t *buf = malloc(text->len), tag[16];
		unsigned long long tag_len = 0;

		memcpy(buf, text->bytes, text->len);
		assert_int_equal(encrypt(buf, tag, &tag_len, buf, text->len, aad->bytes, aad->len,
					 NULL, nonce->bytes, key->bytes),
				 0);
		assert_int_equal(tag_len, sizeof(tag));
		vector_assert_field(&v, 4, buf, text->len);
		vector_assert_field(&v, 5, tag, sizeof(tag));

		assert_int_equal(decrypt(buf, NULL, buf, text->len, tag, aad->bytes, aad->len,
					 nonce->bytes, key->bytes),
				 0);
		vector_assert_field(&v, 3, buf, text->len);

		memcpy(buf, v.field[4].bytes, text->len);
		aad->bytes[0] ^= 1;
		assert_int_equal(decrypt(buf, NULL, buf, text->len, tag, aad->bytes, aad->len,
					 nonce->bytes, key->bytes),
				 -1);
		free(buf);
	}
}

static void test_chacha20poly1305(void **state)
{
	(void)state;
	check_aead("chacha20poly1305", crypto_aead_chacha20poly1305_ietf_encrypt_detached,
		   crypto_aead_chacha20poly1305_ietf_decrypt_detached);
}

static void test_xchacha20poly1305(void **state)
{
	(void)state;
	check_aead("xchacha20poly1305", crypto_aead_xchacha20poly1305_ietf_encrypt_detached,
		   crypto_aead_xchacha20poly1305_ietf_decrypt_detached);
}

static void test_x25519(void **state)
{
	struct vectors v = vectors_open("primitives.txt");
	uint8_t q[32];

	(void)state;
	while (vectors_next(&v, "x25519", 3)) {
		assert_int_equal(crypto_scalarmult(q, v.field[0].bytes, v.field[1].bytes), 0);
		vector_assert_field(&v, 2, q, sizeof(q));
	}
}

static void test_x25519_iterated(void **state)
{
	struct vectors v = vectors_open("primitives.txt");

	(void)state;
	while (vectors_next(&v, "x25519_iterated", 2)) {
		uint8_t k[32] = {9}, u[32] = {9}, q[32];

		for (uint64_t n = vector_number(&v, 0); n > 0; n--) {
			assert_int_equal(crypto_scalarmult(q, k, u), 0);
			memcpy(u, k, sizeof(u));
			memcpy(k, q, sizeof(k));
		}
		vector_assert_field(&v, 1, k, sizeof(k));
	}
}

/* Fields: a_private a_public b_private b_public shared. */
static void test_x25519_exchange(void **state)
{
	struct vectors v = vectors_open("primitives.txt");
	uint8_t q[32];

	(void)state;
	while (vectors_next(&v, "x25519_exchange", 5)) {
		assert_int_equal(crypto_scalarmult_base(q, v.field[0].bytes), 0);
		vector_assert_field(&v, 1, q, sizeof(q));
		assert_int_equal(crypto_scalarmult_base(q, v.field[2].bytes), 0);
		vector_assert_field(&v, 3, q, sizeof(q));
		assert_int_equal(crypto_scalarmult(q, v.field[0].bytes, v.field[3].bytes), 0);
		vector_assert_field(&v, 4, q, sizeof(q));
		assert_int_equal(crypto_scalarmult(q, v.field[2].bytes, v.field[1].bytes), 0);
		vector_assert_field(&v, 4, q, sizeof(q));
	}
}

static void test_x25519_zero_is_an_error(void **state)
{
	struct vectors v = vectors_open("primitives.txt");
	uint8_t scalar[32], q[32];

	(void)state;
	while (vectors_next(&v, "x25519_zero", 1)) {
		memset(scalar, 0x5a, sizeof(scalar));
		if (crypto_scalarmult(q, scalar, v.field[0].bytes) != -1)
			fail_msg("%s:%u: accepted", v.name, v.line_number);
	}
	/* Whether q is written then differs between versions: callers must not
	 * look at it. */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chacha20poly1305),
		cmocka_unit_test(test_xchacha20poly1305),
		cmocka_unit_test(test_x25519),
		cmocka_unit_test(test_x25519_iterated),
		cmocka_unit_test(test_x25519_exchange),
		cmocka_unit_test(test_x25519_zero_is_an_error),
	};
	int failed = cmocka_run_group_tests_name("portable", tests, NULL, NULL);

	if (sodium_init() < 0)
		return 1;
	return failed + cmocka_run_group_tests_name("this CPU", tests, NULL, NULL);
}
