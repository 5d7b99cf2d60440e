/* SPDX-License-Identifier: Apache-2.0 */
#include "noise.h"

#include <sodium.h>
#include <string.h>

#include "hash.h"
#include "le.h"

static const char construction[] = "Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s";
static const char identifier[] = "WireGuard v1 zx2c4 Jason@zx2c4.com";

/* Noise's SymmetricState. Every call works on one of these on its stack and
 * commits it to the handshake only when nothing can fail any more. */
struct symmetric {
	uint8_t chaining_key[WG_HASH_LEN];
	uint8_t hash[WG_HASH_LEN];
	uint8_t key[WG_KEY_LEN];
};

static void mix_hash(struct symmetric *s, const void *data, size_t len)
{
	struct blake2s_state state;

	blake2s_init(&state, WG_HASH_LEN, NULL, 0);
	blake2s_update(&state, s->hash, sizeof(s->hash));
	blake2s_update(&state, data, len);
	blake2s_final(&state, s->hash);
}

/* The paper's KDF1 where no key follows and KDF2 where one does: the first output
 * is the same, so a key that nobody uses does no harm. */
static void mix_key(struct symmetric *s, const uint8_t *data, size_t len)
{
	kdf(s->chaining_key, s->key, NULL, s->chaining_key, data, len);
}

static void start(struct symmetric *s, const uint8_t responder_static[WG_KEY_LEN])
{
	blake2s(s->chaining_key, WG_HASH_LEN, construction, sizeof(construction) - 1, NULL, 0);
	memcpy(s->hash, s->chaining_key, sizeof(s->hash));
	mix_hash(s, identifier, sizeof(identifier) - 1);
	mix_hash(s, responder_static, WG_KEY_LEN);
}

static void mix_ephemeral(struct symmetric *s, const uint8_t public_key[WG_KEY_LEN])
{
	mix_hash(s, public_key, WG_KEY_LEN);
	mix_key(s, public_key, WG_KEY_LEN);
}

/* False: @public_key has low order, the shared secret would be known to all. */
static bool mix_dh(struct symmetric *s, const uint8_t private_key[WG_KEY_LEN],
		   const uint8_t public_key[WG_KEY_LEN])
{
	uint8_t shared[WG_KEY_LEN];
	bool ok = crypto_scalarmult(shared, private_key, public_key) == 0;

	if (ok)
		mix_key(s, shared, sizeof(shared));
	sodium_memzero(shared, sizeof(shared));
	return ok;
}

static bool mix_precomputed(struct symmetric *s, const uint8_t shared[WG_KEY_LEN])
{
	if (sodium_is_zero(shared, WG_KEY_LEN))
		return false;

	mix_key(s, shared, WG_KEY_LEN);
	return true;
}

static void mix_psk(struct symmetric *s, const uint8_t psk[WG_KEY_LEN])
{
	uint8_t tau[WG_HASH_LEN];

	kdf(s->chaining_key, tau, s->key, s->chaining_key, psk, WG_KEY_LEN);
	mix_hash(s, tau, sizeof(tau));
	sodium_memzero(tau, sizeof(tau));
}

/* A key is used for one message only, so the nonce is always 0. */
static const uint8_t zero_nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];

static void encrypt_and_hash(struct symmetric *s, uint8_t *out, const uint8_t *text, size_t len)
{
	crypto_aead_chacha20poly1305_ietf_encrypt(out, NULL, text, len, s->hash, sizeof(s->hash),
						  NULL, zero_nonce, s->key);
	mix_hash(s, out, len + WG_TAG_LEN);
}

static bool decrypt_and_hash(struct symmetric *s, uint8_t *text, const uint8_t *in, size_t in_len)
{
	if (crypto_aead_chacha20poly1305_ietf_decrypt(text, NULL, NULL, in, in_len, s->hash,
						      sizeof(s->hash), zero_nonce, s->key))
		return false;

	mix_hash(s, in, in_len);
	return true;
}

static void clamp(uint8_t private_key[WG_KEY_LEN])
{
	private_key[0] &= 248;
	private_key[31] = (private_key[31] & 127) | 64;
}

static void commit(struct noise_handshake *hs, const struct symmetric *s, enum noise_state state)
{
	memcpy(hs->chaining_key, s->chaining_key, sizeof(hs->chaining_key));
	memcpy(hs->hash, s->hash, sizeof(hs->hash));
	hs->state = state;
}

void noise_local_set(struct noise_local *l, const uint8_t private_key[WG_KEY_LEN])
{
	noise_local_wipe(l);
	if (sodium_is_zero(private_key, WG_KEY_LEN))
		return;

	memcpy(l->private_key, private_key, WG_KEY_LEN);
	clamp(l->private_key);
	crypto_scalarmult_base(l->public_key, l->private_key);
	l->has_identity = true;
}

void noise_local_wipe(struct noise_local *l)
{
	sodium_memzero(l, sizeof(*l));
}

void noise_handshake_init(struct noise_handshake *hs, const struct noise_local *l,
			  const uint8_t remote_static[WG_KEY_LEN])
{
	memset(hs, 0, sizeof(*hs));
	memcpy(hs->remote_static, remote_static, WG_KEY_LEN);
	noise_handshake_rebase(hs, l);
}

void noise_handshake_rebase(struct noise_handshake *hs, const struct noise_local *l)
{
	noise_handshake_clear(hs);
	if (!l->has_identity ||
	    crypto_scalarmult(hs->precomputed_ss, l->private_key, hs->remote_static))
		sodium_memzero(hs->precomputed_ss, sizeof(hs->precomputed_ss));
}

void noise_handshake_clear(struct noise_handshake *hs)
{
	hs->state = NOISE_ZEROED;
	hs->local_index = 0;
	hs->remote_index = 0;
	sodium_memzero(hs->ephemeral_private, sizeof(hs->ephemeral_private));
	sodium_memzero(hs->remote_ephemeral, sizeof(hs->remote_ephemeral));
	sodium_memzero(hs->chaining_key, sizeof(hs->chaining_key));
	sodium_memzero(hs->hash, sizeof(hs->hash));
}

void noise_handshake_take_stamp(struct noise_handshake *hs, const struct noise_handshake *answering)
{
	memcpy(hs->latest_timestamp, answering->latest_timestamp, WG_TAI64N_LEN);
	hs->have_initiation_time = answering->have_initiation_time;
	hs->last_initiation_ns = answering->last_initiation_ns;
}

void noise_handshake_wipe(struct noise_handshake *hs)
{
	sodium_memzero(hs, sizeof(*hs));
}

bool noise_create_initiation(struct noise_handshake *hs, const struct noise_local *l,
			     const uint8_t ephemeral[WG_KEY_LEN], uint32_t local_index,
			     const uint8_t tai64n[WG_TAI64N_LEN], struct message_initiation *ret)
{
	struct message_initiation msg = {0};
	struct symmetric s = {0};
	bool ok = false;

	noise_handshake_clear(hs);
	if (!l->has_identity)
		return false;

	le32_store(msg.type_le32, MESSAGE_INITIATION);
	le32_store(msg.sender_index_le32, local_index);
	memcpy(hs->ephemeral_private, ephemeral, WG_KEY_LEN);
	clamp(hs->ephemeral_private);
	crypto_scalarmult_base(msg.unencrypted_ephemeral, hs->ephemeral_private);

	start(&s, hs->remote_static);
	/* e */
	mix_ephemeral(&s, msg.unencrypted_ephemeral);
	/* es */
	if (!mix_dh(&s, hs->ephemeral_private, hs->remote_static))
		goto out;
	/* s */
	encrypt_and_hash(&s, msg.encrypted_static, l->public_key, WG_KEY_LEN);
	/* ss */
	if (!mix_precomputed(&s, hs->precomputed_ss))
		goto out;
	/* {t} */
	encrypt_and_hash(&s, msg.encrypted_timestamp, tai64n, WG_TAI64N_LEN);

	hs->local_index = local_index;
	commit(hs, &s, NOISE_CREATED_INITIATION);
	*ret = msg;
	ok = true;
out:
	if (!ok)
		noise_handshake_clear(hs);
	sodium_memzero(&s, sizeof(s));
	return ok;
}

bool noise_open_initiation(const struct noise_local *l, const struct message_initiation *msg,
			   struct noise_incoming *ret)
{
	uint8_t remote_static[WG_KEY_LEN];
	struct symmetric s = {0};
	bool ok = false;

	if (!l->has_identity)
		return false;

	start(&s, l->public_key);
	/* e */
	mix_ephemeral(&s, msg->unencrypted_ephemeral);
	/* es */
	if (!mix_dh(&s, l->private_key, msg->unencrypted_ephemeral))
		goto out;
	/* s */
	if (!decrypt_and_hash(&s, remote_static, msg->encrypted_static,
			      sizeof(msg->encrypted_static)))
		goto out;

	memcpy(ret->remote_static, remote_static, WG_KEY_LEN);
	memcpy(ret->chaining_key, s.chaining_key, WG_HASH_LEN);
	memcpy(ret->hash, s.hash, WG_HASH_LEN);
	ok = true;
out:
	/* Who speaks is hidden from everyone else: the identity is a secret, too. */
	sodium_memzero(remote_static, sizeof(remote_static));
	sodium_memzero(&s, sizeof(s));
	return ok;
}

static enum noise_verdict judge(const struct noise_handshake *hs,
				const uint8_t tai64n[WG_TAI64N_LEN], uint64_t now_ns)
{
	if (memcmp(tai64n, hs->latest_timestamp, WG_TAI64N_LEN) <= 0)
		return NOISE_REPLAY;
	if (hs->have_initiation_time &&
	    now_ns < hs->last_initiation_ns + INITIATION_FLOOD_WINDOW_NS)
		return NOISE_FLOOD;
	return NOISE_OK;
}

enum noise_verdict noise_accept_initiation(struct noise_handshake *hs, const struct noise_local *l,
					   const struct message_initiation *msg,
					   struct noise_incoming *in, uint64_t now_ns)
{
	enum noise_verdict verdict = NOISE_BAD;
	uint8_t tai64n[WG_TAI64N_LEN];
	struct symmetric s = {0};

	memcpy(s.chaining_key, in->chaining_key, WG_HASH_LEN);
	memcpy(s.hash, in->hash, WG_HASH_LEN);
	sodium_memzero(in, sizeof(*in));

	/* ss */
	if (!l->has_identity || !mix_precomputed(&s, hs->precomputed_ss))
		goto out;
	/* {t} */
	if (!decrypt_and_hash(&s, tai64n, msg->encrypted_timestamp,
			      sizeof(msg->encrypted_timestamp)))
		goto out;
	verdict = judge(hs, tai64n, now_ns);
	if (verdict != NOISE_OK)
		goto out;

	noise_handshake_clear(hs);
	hs->remote_index = le32_load(msg->sender_index_le32);
	memcpy(hs->remote_ephemeral, msg->unencrypted_ephemeral, WG_KEY_LEN);
	memcpy(hs->latest_timestamp, tai64n, WG_TAI64N_LEN);
	hs->have_initiation_time = true;
	hs->last_initiation_ns = now_ns;
	commit(hs, &s, NOISE_CONSUMED_INITIATION);
out:
	sodium_memzero(&s, sizeof(s));
	return verdict;
}

bool noise_create_response(struct noise_handshake *hs, const uint8_t ephemeral[WG_KEY_LEN],
			   uint32_t local_index, struct message_response *ret)
{
	uint8_t ephemeral_private[WG_KEY_LEN];
	struct message_response msg = {0};
	struct symmetric s = {0};
	bool ok = false;

	if (hs->state != NOISE_CONSUMED_INITIATION)
		return false;

	le32_store(msg.type_le32, MESSAGE_RESPONSE);
	le32_store(msg.sender_index_le32, local_index);
	le32_store(msg.receiver_index_le32, hs->remote_index);
	memcpy(s.chaining_key, hs->chaining_key, WG_HASH_LEN);
	memcpy(s.hash, hs->hash, WG_HASH_LEN);
	memcpy(ephemeral_private, ephemeral, WG_KEY_LEN);
	clamp(ephemeral_private);
	crypto_scalarmult_base(msg.unencrypted_ephemeral, ephemeral_private);

	/* e */
	mix_ephemeral(&s, msg.unencrypted_ephemeral);
	/* ee */
	if (!mix_dh(&s, ephemeral_private, hs->remote_ephemeral))
		goto out;
	/* se */
	if (!mix_dh(&s, ephemeral_private, hs->remote_static))
		goto out;
	/* psk */
	mix_psk(&s, hs->preshared_key);
	/* {} */
	encrypt_and_hash(&s, msg.encrypted_nothing, (const uint8_t *)"", 0);

	hs->local_index = local_index;
	commit(hs, &s, NOISE_CREATED_RESPONSE);
	*ret = msg;
	ok = true;
out:
	if (!ok)
		noise_handshake_clear(hs);
	sodium_memzero(ephemeral_private, sizeof(ephemeral_private));
	sodium_memzero(&s, sizeof(s));
	return ok;
}

bool noise_consume_response(struct noise_handshake *hs, const struct noise_local *l,
			    const struct message_response *msg)
{
	struct symmetric s = {0};
	uint8_t nothing[1];
	bool ok = false;

	if (hs->state != NOISE_CREATED_INITIATION || !l->has_identity ||
	    le32_load(msg->receiver_index_le32) != hs->local_index)
		return false;

	memcpy(s.chaining_key, hs->chaining_key, WG_HASH_LEN);
	memcpy(s.hash, hs->hash, WG_HASH_LEN);

	/* e */
	mix_ephemeral(&s, msg->unencrypted_ephemeral);
	/* ee */
	if (!mix_dh(&s, hs->ephemeral_private, msg->unencrypted_ephemeral))
		goto out;
	/* se */
	if (!mix_dh(&s, l->private_key, msg->unencrypted_ephemeral))
		goto out;
	/* psk */
	mix_psk(&s, hs->preshared_key);
	/* {} */
	if (!decrypt_and_hash(&s, nothing, msg->encrypted_nothing, sizeof(msg->encrypted_nothing)))
		goto out;

	hs->remote_index = le32_load(msg->sender_index_le32);
	memcpy(hs->remote_ephemeral, msg->unencrypted_ephemeral, WG_KEY_LEN);
	sodium_memzero(hs->ephemeral_private, sizeof(hs->ephemeral_private));
	commit(hs, &s, NOISE_CONSUMED_RESPONSE);
	ok = true;
out:
	sodium_memzero(&s, sizeof(s));
	return ok;
}

bool noise_begin_session(struct noise_handshake *hs, struct keypair *kp, uint64_t now_ns)
{
	static const uint8_t empty[1];

	if (hs->state != NOISE_CREATED_RESPONSE && hs->state != NOISE_CONSUMED_RESPONSE)
		return false;

	keypair_wipe(kp);
	kp->initiator = hs->state == NOISE_CONSUMED_RESPONSE;
	kp->birth_ns = now_ns;
	kp->local_index = hs->local_index;
	kp->remote_index = hs->remote_index;
	if (kp->initiator)
		kdf(kp->send_key, kp->recv_key, NULL, hs->chaining_key, empty, 0);
	else
		kdf(kp->recv_key, kp->send_key, NULL, hs->chaining_key, empty, 0);

	noise_handshake_clear(hs);
	return true;
}
