/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The WireGuard wire format and the protocol's constants, each once.
 *
 * Source of every layout and rule: the WireGuard paper (Donenfeld, "WireGuard:
 * Next Generation Kernel Network Tunnel"), section numbers beside each item;
 * figures the paper leaves open follow drivers/net/wireguard/messages.h.
 *
 * Wire structs are byte arrays only: alignment 1, no padding, sizes asserted.
 * Nothing may be cast to one of them before message_classify() has accepted
 * type and length.
 */
#ifndef SEALANE_CRYPTO_MESSAGES_H
#define SEALANE_CRYPTO_MESSAGES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NSEC_PER_SEC  1000000000ULL
#define NSEC_PER_MSEC 1000000ULL

enum wg_lengths {
	WG_KEY_LEN = 32,
	WG_HASH_LEN = 32,
	WG_TAG_LEN = 16,
	WG_MAC_LEN = 16,
	WG_COOKIE_LEN = 16,
	WG_COOKIE_NONCE_LEN = 24,
	WG_TAI64N_LEN = 12,
	WG_PADDING_MULTIPLE = 16,
};

/* Section 6.1 (time and message limits). */
#define REKEY_AFTER_MESSAGES	    (1ULL << 60)
#define REPLAY_WINDOW_BITS	    8192
#define REPLAY_WINDOW_USABLE	    (REPLAY_WINDOW_BITS - 64)
#define REJECT_AFTER_MESSAGES	    (UINT64_MAX - REPLAY_WINDOW_USABLE - 1)
#define REKEY_AFTER_TIME_NS	    (120 * NSEC_PER_SEC)
#define REJECT_AFTER_TIME_NS	    (180 * NSEC_PER_SEC)
#define REKEY_TIMEOUT_NS	    (5 * NSEC_PER_SEC)
#define REKEY_TIMEOUT_JITTER_MAX_NS (NSEC_PER_SEC / 3)
#define KEEPALIVE_TIMEOUT_NS	    (10 * NSEC_PER_SEC)
#define REKEY_ATTEMPT_TIME_NS	    (90 * NSEC_PER_SEC)
#define MAX_TIMER_HANDSHAKES	    18			 /* REKEY_ATTEMPT_TIME / REKEY_TIMEOUT */
#define INITIATION_FLOOD_WINDOW_NS  (20 * NSEC_PER_MSEC) /* 50 per second */
#define ZERO_KEYS_AFTER_NS	    (3 * REJECT_AFTER_TIME_NS)
#define COOKIE_SECRET_MAX_AGE_NS    (120 * NSEC_PER_SEC)
#define COOKIE_SECRET_LATENCY_NS    (5 * NSEC_PER_SEC)
#define HANDSHAKE_DSCP_TOS	    0x88 /* AF41, as the kernel marks handshakes */
#define MAX_STAGED_PACKETS	    128

/* Section 5.4: the type is a little-endian 32-bit word, so the three reserved
 * bytes must be zero. */
enum message_type {
	MESSAGE_INVALID = 0,
	MESSAGE_INITIATION = 1,
	MESSAGE_RESPONSE = 2,
	MESSAGE_COOKIE_REPLY = 3,
	MESSAGE_DATA = 4,
};

struct message_macs {
	uint8_t mac1[WG_MAC_LEN];
	uint8_t mac2[WG_MAC_LEN];
};

struct message_initiation { /* 5.4.2 */
	uint8_t type_le32[4];
	uint8_t sender_index_le32[4];
	uint8_t unencrypted_ephemeral[WG_KEY_LEN];
	uint8_t encrypted_static[WG_KEY_LEN + WG_TAG_LEN];
	uint8_t encrypted_timestamp[WG_TAI64N_LEN + WG_TAG_LEN];
	struct message_macs macs;
};

struct message_response { /* 5.4.3 */
	uint8_t type_le32[4];
	uint8_t sender_index_le32[4];
	uint8_t receiver_index_le32[4];
	uint8_t unencrypted_ephemeral[WG_KEY_LEN];
	uint8_t encrypted_nothing[WG_TAG_LEN];
	struct message_macs macs;
};

struct message_cookie_reply { /* 5.4.7 */
	uint8_t type_le32[4];
	uint8_t receiver_index_le32[4];
	uint8_t nonce[WG_COOKIE_NONCE_LEN];
	uint8_t encrypted_cookie[WG_COOKIE_LEN + WG_TAG_LEN];
};

struct message_data { /* 5.4.6; ciphertext and tag follow */
	uint8_t type_le32[4];
	uint8_t receiver_index_le32[4];
	uint8_t counter_le64[8];
};

enum message_sizes {
	MESSAGE_INITIATION_SIZE = 148,
	MESSAGE_RESPONSE_SIZE = 92,
	MESSAGE_COOKIE_REPLY_SIZE = 64,
	MESSAGE_DATA_HEADER_SIZE = 16,
	MESSAGE_DATA_OVERHEAD = MESSAGE_DATA_HEADER_SIZE + WG_TAG_LEN,
	MESSAGE_DATA_MIN_SIZE = MESSAGE_DATA_OVERHEAD,
};

static_assert(sizeof(struct message_initiation) == MESSAGE_INITIATION_SIZE, "wire");
static_assert(sizeof(struct message_response) == MESSAGE_RESPONSE_SIZE, "wire");
static_assert(sizeof(struct message_cookie_reply) == MESSAGE_COOKIE_REPLY_SIZE, "wire");
static_assert(sizeof(struct message_data) == MESSAGE_DATA_HEADER_SIZE, "wire");

/*
 * The type of a datagram of @len bytes, or MESSAGE_INVALID when the type word
 * is unknown or the length is not the exact one for that type (data: at least
 * 32). Any thread, pure.
 */
enum message_type message_classify(const uint8_t *msg, size_t len);

/*
 * Length of a data message's plaintext after padding: @len rounded up to 16,
 * but never beyond @mtu; a packet longer than @mtu is padded as its last
 * mtu-sized piece would be (send.c:calculate_skb_padding). @mtu 0: no clamp.
 */
size_t message_padded_len(size_t len, size_t mtu);

#endif
