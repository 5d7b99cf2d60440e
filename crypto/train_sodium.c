/* SPDX-License-Identifier: Apache-2.0 */
#include <sodium.h>

#include "train_engine.h"

static_assert(crypto_aead_chacha20poly1305_ietf_KEYBYTES == WG_KEY_LEN, "libsodium");
static_assert(crypto_aead_chacha20poly1305_ietf_ABYTES == WG_TAG_LEN, "libsodium");
static_assert(crypto_aead_chacha20poly1305_ietf_NPUBBYTES == TRAIN_NONCE_LEN, "libsodium");

static void seal_car(const uint8_t key[WG_KEY_LEN], const struct train_car *car)
{
	uint8_t *text = train_text(car), nonce[TRAIN_NONCE_LEN];

	train_nonce(nonce, car->counter);
	/* Fails only for texts of 256 GiB. */
	(void)crypto_aead_chacha20poly1305_ietf_encrypt_detached(
		text, train_tag(car), NULL, text, car->text_len, NULL, 0, NULL, nonce, key);
}

static bool open_car(const uint8_t key[WG_KEY_LEN], const struct train_car *car)
{
	uint8_t *text = train_text(car), nonce[TRAIN_NONCE_LEN];

	train_nonce(nonce, car->counter);
	return crypto_aead_chacha20poly1305_ietf_decrypt_detached(
		       text, NULL, text, car->text_len, train_tag(car), NULL, 0, nonce, key) == 0;
}

static void seal_message(const struct train_engine *engine, const struct train_message *m)
{
	(void)engine;
	(void)crypto_aead_chacha20poly1305_ietf_encrypt_detached(m->text, m->tag, NULL, m->text,
								 m->text_len, m->aad, m->aad_len,
								 NULL, m->nonce, m->key);
}

void train_sodium_seal(const uint8_t key[WG_KEY_LEN], const struct train_car *cars, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		seal_car(key, &cars[i]);
}

unsigned train_sodium_open(const uint8_t key[WG_KEY_LEN], struct train_car *cars, unsigned n)
{
	unsigned n_ok = 0;

	for (unsigned i = 0; i < n; i++) {
		cars[i].ok = open_car(key, &cars[i]);
		n_ok += cars[i].ok;
	}
	return n_ok;
}

static void seal_train(const struct train_engine *engine, const uint8_t key[WG_KEY_LEN],
		       const struct train_car *cars, unsigned n)
{
	(void)engine;
	train_sodium_seal(key, cars, n);
}

static unsigned open_train(const struct train_engine *engine, const uint8_t key[WG_KEY_LEN],
			   struct train_car *cars, unsigned n)
{
	(void)engine;
	return train_sodium_open(key, cars, n);
}

const struct train_engine train_sodium = {
	.seal = seal_train,
	.open = open_train,
	.seal_message = seal_message,
};
