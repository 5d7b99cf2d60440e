/* SPDX-License-Identifier: Apache-2.0 */
#include "cookie.h"

#include <sodium.h>
#include <string.h>

#include "hash.h"
#include "le.h"

enum { LABEL_LEN = 8, SENDER_INDEX_OFFSET = 4 };
static const char mac1_label[] = "mac1----";
static const char cookie_label[] = "cookie--";

static_assert(sizeof(mac1_label) == LABEL_LEN + 1, "label");
static_assert(sizeof(cookie_label) == LABEL_LEN + 1, "label");
static_assert(offsetof(struct message_initiation, sender_index_le32) == SENDER_INDEX_OFFSET &&
		      offsetof(struct message_response, sender_index_le32) == SENDER_INDEX_OFFSET,
	      "initiation and response have the sender's index in the same place");

/* In both messages the macs are the last 32 bytes: mac1 covers everything before
 * it, mac2 everything before it including mac1. */
static size_t mac1_offset(size_t len)
{
	assert(len == MESSAGE_INITIATION_SIZE || len == MESSAGE_RESPONSE_SIZE);
	return len - sizeof(struct message_macs);
}

static size_t mac2_offset(size_t len)
{
	return mac1_offset(len) + WG_MAC_LEN;
}

static void compute_mac1(uint8_t mac1[WG_MAC_LEN], const uint8_t key[WG_KEY_LEN],
			 const uint8_t *msg, size_t len)
{
	blake2s(mac1, WG_MAC_LEN, msg, mac1_offset(len), key, WG_KEY_LEN);
}

static void compute_mac2(uint8_t mac2[WG_MAC_LEN], const uint8_t cookie[WG_COOKIE_LEN],
			 const uint8_t *msg, size_t len)
{
	blake2s(mac2, WG_MAC_LEN, msg, mac2_offset(len), cookie, WG_COOKIE_LEN);
}

static void derive_key(uint8_t key[WG_KEY_LEN], const char *label,
		       const uint8_t public_key[WG_KEY_LEN])
{
	struct blake2s_state state;

	blake2s_init(&state, WG_KEY_LEN, NULL, 0);
	blake2s_update(&state, label, LABEL_LEN);
	blake2s_update(&state, public_key, WG_KEY_LEN);
	blake2s_final(&state, key);
}

void cookie_checker_init(struct cookie_checker *c, const uint8_t public_key[WG_KEY_LEN])
{
	memset(c, 0, sizeof(*c));
	derive_key(c->mac1_key, mac1_label, public_key);
	derive_key(c->cookie_key, cookie_label, public_key);
}

void cookie_checker_wipe(struct cookie_checker *c)
{
	sodium_memzero(c, sizeof(*c));
}

void cookie_maker_init(struct cookie_maker *m, const uint8_t public_key[WG_KEY_LEN])
{
	memset(m, 0, sizeof(*m));
	derive_key(m->mac1_key, mac1_label, public_key);
	derive_key(m->cookie_key, cookie_label, public_key);
}

void cookie_maker_wipe(struct cookie_maker *m)
{
	sodium_memzero(m, sizeof(*m));
}

bool cookie_check_mac1(const struct cookie_checker *c, const uint8_t *msg, size_t len)
{
	uint8_t mac1[WG_MAC_LEN];
	bool ok;

	compute_mac1(mac1, c->mac1_key, msg, len);
	ok = crypto_verify_16(mac1, msg + mac1_offset(len)) == 0;
	sodium_memzero(mac1, sizeof(mac1));
	return ok;
}

static bool secret_usable(const struct cookie_checker *c, uint64_t now_ns)
{
	return c->have_secret && now_ns < c->secret_birth_ns + COOKIE_SECRET_MAX_AGE_NS;
}

static void bake(const struct cookie_checker *c, uint8_t cookie[WG_COOKIE_LEN], const uint8_t *src,
		 size_t src_len)
{
	blake2s(cookie, WG_COOKIE_LEN, src, src_len, c->secret, sizeof(c->secret));
}

bool cookie_check_mac2(const struct cookie_checker *c, uint64_t now_ns, const uint8_t *msg,
		       size_t len, const uint8_t *src, size_t src_len)
{
	uint8_t cookie[WG_COOKIE_LEN], mac2[WG_MAC_LEN];
	bool ok;

	if (!secret_usable(c, now_ns))
		return false;

	bake(c, cookie, src, src_len);
	compute_mac2(mac2, cookie, msg, len);
	ok = crypto_verify_16(mac2, msg + mac2_offset(len)) == 0;
	sodium_memzero(cookie, sizeof(cookie));
	sodium_memzero(mac2, sizeof(mac2));
	return ok;
}

void cookie_make_reply(struct cookie_checker *c, uint64_t now_ns, const uint8_t *msg, size_t len,
		       const uint8_t *src, size_t src_len, const uint8_t nonce[WG_COOKIE_NONCE_LEN],
		       const uint8_t fresh_secret[WG_KEY_LEN], struct message_cookie_reply *ret)
{
	uint8_t cookie[WG_COOKIE_LEN];

	if (!secret_usable(c, now_ns)) {
		memcpy(c->secret, fresh_secret, WG_KEY_LEN);
		c->secret_birth_ns = now_ns;
		c->have_secret = true;
	}

	le32_store(ret->type_le32, MESSAGE_COOKIE_REPLY);
	memcpy(ret->receiver_index_le32, msg + SENDER_INDEX_OFFSET,
	       sizeof(ret->receiver_index_le32));
	memcpy(ret->nonce, nonce, WG_COOKIE_NONCE_LEN);
	bake(c, cookie, src, src_len);
	crypto_aead_xchacha20poly1305_ietf_encrypt(ret->encrypted_cookie, NULL, cookie,
						   sizeof(cookie), msg + mac1_offset(len),
						   WG_MAC_LEN, NULL, nonce, c->cookie_key);
	sodium_memzero(cookie, sizeof(cookie));
}

static void drop_expired_cookie(struct cookie_maker *m, uint64_t now_ns)
{
	const uint64_t lifetime_ns = COOKIE_SECRET_MAX_AGE_NS - COOKIE_SECRET_LATENCY_NS;

	if (m->have_cookie && now_ns >= m->cookie_birth_ns + lifetime_ns) {
		sodium_memzero(m->cookie, sizeof(m->cookie));
		m->have_cookie = false;
	}
}

void cookie_add_macs(struct cookie_maker *m, uint64_t now_ns, uint8_t *msg, size_t len)
{
	uint8_t *mac1 = msg + mac1_offset(len), *mac2 = msg + mac2_offset(len);

	compute_mac1(mac1, m->mac1_key, msg, len);
	memcpy(m->last_mac1, mac1, WG_MAC_LEN);
	m->have_last_mac1 = true;

	drop_expired_cookie(m, now_ns);
	if (m->have_cookie)
		compute_mac2(mac2, m->cookie, msg, len);
	else
		memset(mac2, 0, WG_MAC_LEN);
}

bool cookie_consume_reply(struct cookie_maker *m, uint64_t now_ns,
			  const struct message_cookie_reply *reply)
{
	uint8_t cookie[WG_COOKIE_LEN];

	if (!m->have_last_mac1)
		return false;
	/* On failure libsodium leaves nothing of the text behind. */
	if (crypto_aead_xchacha20poly1305_ietf_decrypt(
		    cookie, NULL, NULL, reply->encrypted_cookie, sizeof(reply->encrypted_cookie),
		    m->last_mac1, WG_MAC_LEN, reply->nonce, m->cookie_key))
		return false;

	memcpy(m->cookie, cookie, WG_COOKIE_LEN);
	m->cookie_birth_ns = now_ns;
	m->have_cookie = true;
	m->have_last_mac1 = false;
	sodium_memzero(cookie, sizeof(cookie));
	return true;
}
