/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s as WireGuard uses it (paper 5.4).
 * Pure: ephemeral keys, indices, time stamps and the time come in as arguments.
 * One thread at a time per handshake (control).
 */
#ifndef SEALANE_CRYPTO_NOISE_H
#define SEALANE_CRYPTO_NOISE_H

#include <stdbool.h>
#include <stdint.h>

#include "keypair.h"
#include "messages.h"

/* Our own identity. All-zero private key: has_identity is false. */
struct noise_local {
	uint8_t private_key[WG_KEY_LEN]; /* clamped */
	uint8_t public_key[WG_KEY_LEN];
	bool has_identity;
};

/*
 * State of the handshake with one peer. create_initiation and accept_initiation
 * are allowed in every state and replace what was in flight; its local_index is
 * gone from here then, so the caller takes it down before and unindexes it after.
 *
 *  ZEROED              nothing in flight; both indices are 0.
 *  CREATED_INITIATION  we sent one; its ephemeral is live under local_index.
 *                      Calls: consume_response.
 *  CONSUMED_INITIATION accepted the peer's; remote_ephemeral/remote_index
 *                      valid. Calls: create_response.
 *  CREATED_RESPONSE    responder may derive. Calls: begin_session.
 *  CONSUMED_RESPONSE   initiator may derive. Calls: begin_session.
 */
enum noise_state {
	NOISE_ZEROED,
	NOISE_CREATED_INITIATION,
	NOISE_CONSUMED_INITIATION,
	NOISE_CREATED_RESPONSE,
	NOISE_CONSUMED_RESPONSE,
};

struct noise_handshake {
	enum noise_state state;
	uint32_t local_index;
	uint32_t remote_index;
	uint8_t ephemeral_private[WG_KEY_LEN];
	uint8_t remote_ephemeral[WG_KEY_LEN];
	uint8_t chaining_key[WG_HASH_LEN];
	uint8_t hash[WG_HASH_LEN];
	/* The peer's identity; outlives single handshakes. */
	uint8_t remote_static[WG_KEY_LEN];
	uint8_t preshared_key[WG_KEY_LEN];
	uint8_t precomputed_ss[WG_KEY_LEN]; /* all zero: refused (low order) */
	uint8_t latest_timestamp[WG_TAI64N_LEN];
	bool have_initiation_time;
	uint64_t last_initiation_ns; /* when the last was accepted */
};

/* An initiation whose static key was read but whose sender is not yet known. */
struct noise_incoming {
	uint8_t remote_static[WG_KEY_LEN];
	uint8_t chaining_key[WG_HASH_LEN];
	uint8_t hash[WG_HASH_LEN];
};

enum noise_verdict {
	NOISE_OK,
	NOISE_BAD,    /* did not authenticate, or a zero DH result */
	NOISE_REPLAY, /* time stamp not newer than the last accepted one */
	NOISE_FLOOD,  /* less than 20 ms after the last accepted one */
};

/* Clamps and stores @private_key (all zero = none) and derives the rest. */
void noise_local_set(struct noise_local *l, const uint8_t private_key[WG_KEY_LEN]);
void noise_local_wipe(struct noise_local *l);

/* Sets the peer's identity; precomputes static-static. Everything else zero. */
void noise_handshake_init(struct noise_handshake *hs, const struct noise_local *l,
			  const uint8_t remote_static[WG_KEY_LEN]);
/* Our identity changed: recompute static-static, forget what is in flight. */
void noise_handshake_rebase(struct noise_handshake *hs, const struct noise_local *l);
/* Forgets what is in flight (ephemerals, chaining key); identity, psk and
 * latest_timestamp stay. */
void noise_handshake_clear(struct noise_handshake *hs);
/* @answering, a copy of @hs, accepted an initiation: @hs remembers its time stamp
 * and arrival, so that it is not accepted again. */
void noise_handshake_take_stamp(struct noise_handshake *hs,
				const struct noise_handshake *answering);
/* Wipes everything. */
void noise_handshake_wipe(struct noise_handshake *hs);

/*
 * Builds an initiation (macs left zero: cookie_add_macs() fills them). @ephemeral
 * is 32 random bytes, clamped inside; the copy in @hs goes with consume_response
 * or noise_handshake_clear(). @local_index must be unique among the caller's
 * indices. False: no identity, or a DH result was zero; @hs is cleared then.
 */
bool noise_create_initiation(struct noise_handshake *hs, const struct noise_local *l,
			     const uint8_t ephemeral[WG_KEY_LEN], uint32_t local_index,
			     const uint8_t tai64n[WG_TAI64N_LEN], struct message_initiation *ret)
	__attribute__((warn_unused_result));

/* First half of the responder: who claims to speak? Touches no peer state. */
bool noise_open_initiation(const struct noise_local *l, const struct message_initiation *msg,
			   struct noise_incoming *ret) __attribute__((warn_unused_result));
/* Second half, on the handshake of the peer that owns in->remote_static (any
 * other peer's: NOISE_BAD). A replay is told before a flood. Anything but NOISE_OK leaves @hs
 * untouched. @in is wiped in every case. */
enum noise_verdict noise_accept_initiation(struct noise_handshake *hs, const struct noise_local *l,
					   const struct message_initiation *msg,
					   struct noise_incoming *in, uint64_t now_ns)
	__attribute__((warn_unused_result));

/* Answers what accept_initiation took. False: wrong state (@hs is untouched then)
 * or zero DH (@hs is cleared). */
bool noise_create_response(struct noise_handshake *hs, const uint8_t ephemeral[WG_KEY_LEN],
			   uint32_t local_index, struct message_response *ret)
	__attribute__((warn_unused_result));

/* False leaves @hs untouched: wrong state, not for local_index, or the message
 * does not authenticate. */
bool noise_consume_response(struct noise_handshake *hs, const struct noise_local *l,
			    const struct message_response *msg) __attribute__((warn_unused_result));

/*
 * Derives the transport keys into @kp (wholly overwritten: birth = @now_ns,
 * indices, role, empty replay window) and clears @hs. False: wrong state.
 */
bool noise_begin_session(struct noise_handshake *hs, struct keypair *kp, uint64_t now_ns)
	__attribute__((warn_unused_result));

#endif
