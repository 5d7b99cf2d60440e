/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands behind crypto/train.h: the implementations, for train*.c alone.
 * They see texts, keys and counters; headers are train.c's business.
 */
#ifndef SEALANE_CRYPTO_TRAIN_ENGINE_H
#define SEALANE_CRYPTO_TRAIN_ENGINE_H

#include "le.h"
#include "train.h"

enum { TRAIN_NONCE_LEN = 12 };

/* ipsec-mb's AVX2 code loads (and does not use) 16 bytes behind a key. They must
 * be readable, as they are behind both keys of a session. */
enum { TRAIN_KEY_ROOM = WG_KEY_LEN + 16 };
static_assert(offsetof(struct keypair, send_key) + TRAIN_KEY_ROOM <= sizeof(struct keypair) &&
		      offsetof(struct keypair, recv_key) + TRAIN_KEY_ROOM <= sizeof(struct keypair),
	      "bytes behind a key");

/* One message with everything RFC 8439 gives it, for known answers. */
struct train_message {
	const uint8_t *key; /* TRAIN_KEY_ROOM readable bytes; so for the engine's
			       functions below */
	const uint8_t *nonce, *aad;
	size_t aad_len;
	uint8_t *text; /* in place */
	size_t text_len;
	uint8_t *tag;
};

struct train_engine {
	/* Encrypt cars[i] under cars[i].counter. */
	void (*seal)(const struct train_engine *engine, const uint8_t key[WG_KEY_LEN],
		     const struct train_car *cars, unsigned n);
	/* Set cars[i].ok, return how many are. */
	unsigned (*open)(const struct train_engine *engine, const uint8_t key[WG_KEY_LEN],
			 struct train_car *cars, unsigned n);
	/* Encrypt one message, for the self-test. */
	void (*seal_message)(const struct train_engine *engine, const struct train_message *m);
	/* seal and open of the engine that this one leaves the rest to. */
	void (*seal_rest)(const struct train_engine *engine, const uint8_t key[WG_KEY_LEN],
			  const struct train_car *cars, unsigned n);
	unsigned (*open_rest)(const struct train_engine *engine, const uint8_t key[WG_KEY_LEN],
			      struct train_car *cars, unsigned n);
	void *mgr; /* the engine's own */
};

static inline uint8_t *train_text(const struct train_car *car)
{
	return car->msg + MESSAGE_DATA_HEADER_SIZE;
}

static inline uint8_t *train_tag(const struct train_car *car)
{
	return car->msg + MESSAGE_DATA_HEADER_SIZE + car->text_len;
}

/* Section 5.4.6: 32 zero bits, then the counter. */
static inline void train_nonce(uint8_t nonce[TRAIN_NONCE_LEN], uint64_t counter)
{
	le32_store(nonce, 0);
	le64_store(nonce + 4, counter);
}

/* libsodium. */
void train_sodium_seal(const uint8_t key[WG_KEY_LEN], const struct train_car *cars, unsigned n);
unsigned train_sodium_open(const uint8_t key[WG_KEY_LEN], struct train_car *cars, unsigned n);

extern const struct train_engine train_sodium;

/* Messages of one length at once, with AVX-512. */
#ifdef __x86_64__
bool train_avx512_supported(void);
/* From now on @engine takes groups of messages itself, and what it was before
 * takes the rest. */
void train_avx512_wrap(struct train_engine *engine);
#else
static inline bool train_avx512_supported(void)
{
	return false;
}

static inline void train_avx512_wrap(struct train_engine *engine)
{
	(void)engine;
}
#endif

/* NULL: the engine gives the known answers; else which one it does not give. */
const char *train_selftest(const struct train_engine *engine);

/* The self-test's verdict; what failed is appended to @reason. */
bool train_engine_accept(const struct train_engine *engine, char reason[TRAIN_REASON_LEN]);

/* Appends what fits of @text. */
void train_reason_add(char reason[TRAIN_REASON_LEN], const char *text);

#ifdef SEALANE_IPSEC_MB
size_t train_ipsecmb_size(void);
/* Fills *@ret and appends to @reason what it is; false: why it cannot be had. */
bool train_ipsecmb_init(void *mem, struct train_engine *ret, char reason[TRAIN_REASON_LEN]);
#else
static inline size_t train_ipsecmb_size(void)
{
	return 0;
}

static inline bool train_ipsecmb_init(void *mem, struct train_engine *ret,
				      char reason[TRAIN_REASON_LEN])
{
	(void)mem;
	(void)ret;
	train_reason_add(reason, "built without ipsec-mb");
	return false;
}
#endif

#endif
