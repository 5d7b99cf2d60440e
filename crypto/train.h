/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transport AEAD over a train: n messages under one key with consecutive
 * counters (seal), or n messages under one key with any counters (open).
 * ChaCha20-Poly1305 (RFC 8439), nonce = 4 zero bytes || LE64 counter, no AAD
 * (paper 5.4.6). In place; no allocation.
 *
 * Two implementations: libsodium (engine NULL; any thread), and a faster one in
 * memory that the caller gives, one for each thread.
 */
#ifndef SEALANE_CRYPTO_TRAIN_H
#define SEALANE_CRYPTO_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keypair.h"

struct train_car {
	/* Start of the data message: 16 header bytes, the text, 16 tag bytes. */
	uint8_t *msg;
	/* Length of the text alone: plaintext already padded (seal), or the
	 * message length minus MESSAGE_DATA_OVERHEAD (open). */
	size_t text_len;
	uint64_t counter; /* open: read from the header by the caller; seal: set */
	bool ok;	  /* open: authentic, text decrypted in place */
};

struct train_engine;

enum { TRAIN_ENGINE_ALIGN = 64, TRAIN_REASON_LEN = 120 };

/* Bytes that train_engine_init() needs, a multiple of TRAIN_ENGINE_ALIGN; 0 when
 * this build on this CPU has libsodium alone. */
size_t train_engine_size(void);

/*
 * Makes an engine in the @len bytes at @mem, aligned to TRAIN_ENGINE_ALIGN, and
 * tries it on known answers. NULL: use libsodium. In either case @ret_reason
 * says what is used and why, in a few words. The engine is for one thread at a
 * time and lives in @mem, which the caller owns, until train_engine_wipe().
 */
const struct train_engine *train_engine_init(void *mem, size_t len, bool allow_simd,
					     char ret_reason[TRAIN_REASON_LEN]);
/* Before the memory is given back. NULL is fine. */
void train_engine_wipe(void *mem, size_t len);

/*
 * Writes the header of every car (type 4, kp->remote_index, counter
 * first + i), encrypts its text in place and appends the tag. Cannot fail.
 */
void train_seal(const struct train_engine *engine, const struct keypair *kp, uint64_t first,
		struct train_car *cars, unsigned n);

/*
 * Authenticates and decrypts every car in place, sets car->ok. A car that fails
 * leaves its text undefined. Returns how many are ok. Does not look at the
 * replay window.
 */
unsigned train_open(const struct train_engine *engine, const struct keypair *kp,
		    struct train_car *cars, unsigned n);

#endif
