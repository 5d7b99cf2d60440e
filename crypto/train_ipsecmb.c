/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intel's multi-buffer library, x86-64. Its job interface, measured, is as fast
 * as the burst interface and faster than the direct one, most of all for short
 * messages; and unlike bursts it needs no session from version 1.4 on.
 *
 * A job names the key by its address, and its round keys live in registers and
 * on the library's stack, which builds with SAFE_DATA (the default) clear. So no
 * key stays in the manager; addresses of keys do, until the job slot's next use.
 */
#include <intel-ipsec-mb.h>
#include <sodium.h>
#include <string.h>

#include "train_engine.h"

static_assert(crypto_verify_16_BYTES == WG_TAG_LEN, "libsodium");

/* Bounds the stack; far more than the library can work on at once. */
enum { JOBS_MAX = 64 };

static void fill_job(IMB_JOB *job, const struct train_message *m, IMB_CIPHER_DIRECTION direction)
{
	job->cipher_mode = IMB_CIPHER_CHACHA20_POLY1305;
	job->hash_alg = IMB_AUTH_CHACHA20_POLY1305;
	job->cipher_direction = direction;
	job->chain_order = direction == IMB_DIR_ENCRYPT ? IMB_ORDER_CIPHER_HASH
							: IMB_ORDER_HASH_CIPHER;
	job->enc_keys = job->dec_keys = m->key;
	job->key_len_in_bytes = WG_KEY_LEN;
	job->src = job->dst = m->text;
	job->cipher_start_src_offset_in_bytes = job->hash_start_src_offset_in_bytes = 0;
	job->msg_len_to_cipher_in_bytes = job->msg_len_to_hash_in_bytes = m->text_len;
	job->iv = m->nonce;
	job->iv_len_in_bytes = TRAIN_NONCE_LEN;
	job->auth_tag_output = m->tag;
	job->auth_tag_output_len_in_bytes = WG_TAG_LEN;
	job->u.CHACHA20_POLY1305.aad = m->aad;
	job->u.CHACHA20_POLY1305.aad_len_in_bytes = m->aad_len;
}

static unsigned is_done(const IMB_JOB *job)
{
	return job->status == IMB_STATUS_COMPLETED;
}

/* Returns how many jobs came to a good end, of this message or earlier ones. */
static unsigned submit(IMB_MGR *mgr, const struct train_message *m, IMB_CIPHER_DIRECTION direction)
{
	unsigned n_done = 0;

	fill_job(IMB_GET_NEXT_JOB(mgr), m, direction);
	for (IMB_JOB *job = IMB_SUBMIT_JOB_NOCHECK(mgr); job; job = IMB_GET_COMPLETED_JOB(mgr))
		n_done += is_done(job);
	return n_done;
}

static unsigned flush(IMB_MGR *mgr)
{
	unsigned n_done = 0;

	for (IMB_JOB *job = IMB_FLUSH_JOB(mgr); job; job = IMB_FLUSH_JOB(mgr))
		n_done += is_done(job);
	return n_done;
}

/* Cannot happen; but should the library ever leave a job undone, a text that may
 * still be plain must not leave the host. */
static void spoil(const struct train_car *cars, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sodium_memzero(train_text(&cars[i]), cars[i].text_len);
}

static void seal_some(IMB_MGR *mgr, const uint8_t *key, const struct train_car *cars, unsigned n)
{
	uint8_t nonces[JOBS_MAX][TRAIN_NONCE_LEN];
	unsigned n_done = 0;

	for (unsigned i = 0; i < n; i++) {
		struct train_message m = {.key = key,
					  .nonce = nonces[i],
					  .text = train_text(&cars[i]),
					  .text_len = cars[i].text_len,
					  .tag = train_tag(&cars[i])};

		train_nonce(nonces[i], cars[i].counter);
		n_done += submit(mgr, &m, IMB_DIR_ENCRYPT);
	}
	n_done += flush(mgr);
	if (n_done != n)
		spoil(cars, n);
}

static unsigned open_some(IMB_MGR *mgr, const uint8_t *key, struct train_car *cars, unsigned n)
{
	uint8_t nonces[JOBS_MAX][TRAIN_NONCE_LEN], tags[JOBS_MAX][WG_TAG_LEN];
	unsigned n_done = 0, n_ok = 0;

	for (unsigned i = 0; i < n; i++) {
		struct train_message m = {.key = key,
					  .nonce = nonces[i],
					  .text = train_text(&cars[i]),
					  .text_len = cars[i].text_len,
					  .tag = tags[i]};

		train_nonce(nonces[i], cars[i].counter);
		n_done += submit(mgr, &m, IMB_DIR_DECRYPT);
	}
	n_done += flush(mgr);
	/* The library decrypts before anybody has compared the tags: what fails
	 * here has lost its ciphertext, which the contract allows. */
	for (unsigned i = 0; i < n; i++) {
		cars[i].ok = n_done == n && crypto_verify_16(tags[i], train_tag(&cars[i])) == 0;
		n_ok += cars[i].ok;
	}
	/* The right tag of a forged message is an oracle: leave none behind. */
	sodium_memzero(tags, n * sizeof(tags[0]));
	return n_ok;
}

static unsigned at_most(unsigned n, unsigned max)
{
	return n < max ? n : max;
}

static void seal_train(const struct train_engine *engine, const uint8_t key[WG_KEY_LEN],
		       const struct train_car *cars, unsigned n)
{
	for (unsigned i = 0; i < n; i += JOBS_MAX)
		seal_some(engine->mgr, key, cars + i, at_most(n - i, JOBS_MAX));
}

static unsigned open_train(const struct train_engine *engine, const uint8_t key[WG_KEY_LEN],
			   struct train_car *cars, unsigned n)
{
	unsigned n_ok = 0;

	for (unsigned i = 0; i < n; i += JOBS_MAX)
		n_ok += open_some(engine->mgr, key, cars + i, at_most(n - i, JOBS_MAX));
	return n_ok;
}

static void seal_message(const struct train_engine *engine, const struct train_message *m)
{
	if (submit(engine->mgr, m, IMB_DIR_ENCRYPT) + flush(engine->mgr) != 1)
		sodium_memzero(m->text, m->text_len);
}

size_t train_ipsecmb_size(void)
{
	return imb_get_mb_mgr_size();
}

static const char *arch_name(const IMB_MGR *mgr)
{
	switch (mgr->used_arch) {
	case IMB_ARCH_AVX2:
		return " avx2";
	case IMB_ARCH_AVX512:
		return " avx512";
	default:
		return NULL;
	}
}

bool train_ipsecmb_init(void *mem, struct train_engine *ret, char reason[TRAIN_REASON_LEN])
{
	IMB_MGR *mgr = imb_set_pointers_mb_mgr(mem, 0, 1);
	int err;

	train_reason_add(reason, "ipsec-mb ");
	train_reason_add(reason, imb_get_version_str());
	init_mb_mgr_auto(mgr, NULL);
	err = imb_get_errno(mgr);
	if (err) {
		train_reason_add(reason, " cannot start: ");
		train_reason_add(reason, imb_get_strerror(err));
		return false;
	}
	/* Below AVX2 libsodium is the faster one for long messages. */
	if (!arch_name(mgr)) {
		train_reason_add(reason, " wants AVX2, which this CPU lacks");
		return false;
	}
	train_reason_add(reason, arch_name(mgr));
	*ret = (struct train_engine){
		.seal = seal_train,
		.open = open_train,
		.seal_message = seal_message,
		.mgr = mgr,
	};
	return true;
}
