/* SPDX-License-Identifier: Apache-2.0 */
#include "train.h"

#include <sodium.h>

#include "le.h"

static_assert(crypto_aead_chacha20poly1305_ietf_KEYBYTES == WG_KEY_LEN, "libsodium");
static_assert(crypto_aead_chacha20poly1305_ietf_ABYTES == WG_TAG_LEN, "libsodium");

enum { NONCE_LEN = crypto_aead_chacha20poly1305_ietf_NPUBBYTES };

/* Section 5.4.6: 32 zero bits, then the counter. */
static void nonce_of(uint8_t nonce[NONCE_LEN], uint64_t counter)
{
	le32_store(nonce, 0);
	le64_store(nonce + 4, counter);
}

static void seal_car(const struct keypair *kp, struct train_car *car)
{
	struct message_data *header = (struct message_data *)car->msg;
	uint8_t *text = car->msg + MESSAGE_DATA_HEADER_SIZE;
	uint8_t nonce[NONCE_LEN];

	le32_store(header->type_le32, MESSAGE_DATA);
	le32_store(header->receiver_index_le32, kp->remote_index);
	le64_store(header->counter_le64, car->counter);
	nonce_of(nonce, car->counter);
	/* Fails only for texts of 256 GiB. */
	(void)crypto_aead_chacha20poly1305_ietf_encrypt_detached(text, text + car->text_len, NULL,
								 text, car->text_len, NULL, 0, NULL,
								 nonce, kp->send_key);
}

static bool open_car(const struct keypair *kp, struct train_car *car)
{
	uint8_t *text = car->msg + MESSAGE_DATA_HEADER_SIZE;
	uint8_t nonce[NONCE_LEN];

	nonce_of(nonce, car->counter);
	return crypto_aead_chacha20poly1305_ietf_decrypt_detached(text, NULL, text, car->text_len,
								  text + car->text_len, NULL, 0,
								  nonce, kp->recv_key) == 0;
}

void train_seal(const struct keypair *kp, uint64_t first, struct train_car *cars, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		cars[i].counter = first + i;
		seal_car(kp, &cars[i]);
	}
}

unsigned train_open(const struct keypair *kp, struct train_car *cars, unsigned n)
{
	unsigned n_ok = 0;

	for (unsigned i = 0; i < n; i++) {
		cars[i].ok = open_car(kp, &cars[i]);
		n_ok += cars[i].ok;
	}
	return n_ok;
}
