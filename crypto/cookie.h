/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mac1, mac2 and cookies (paper 5.3, 5.4.4, 5.4.7). Pure; control thread, except
 * cookie_check_mac1(), which reads only constant fields and may run on any.
 */
#ifndef SEALANE_CRYPTO_COOKIE_H
#define SEALANE_CRYPTO_COOKIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "messages.h"

/* The receiving side: one per device. */
struct cookie_checker {
	uint8_t mac1_key[WG_KEY_LEN];	/* H("mac1----" || our public key) */
	uint8_t cookie_key[WG_KEY_LEN]; /* H("cookie--" || our public key) */
	uint8_t secret[WG_KEY_LEN];
	uint64_t secret_birth_ns;
	bool have_secret;
};

/* The sending side: one per peer. */
struct cookie_maker {
	uint8_t mac1_key[WG_KEY_LEN];	/* H("mac1----" || peer's public key) */
	uint8_t cookie_key[WG_KEY_LEN]; /* H("cookie--" || peer's public key) */
	uint8_t last_mac1[WG_MAC_LEN];
	bool have_last_mac1; /* cleared when a reply to it was accepted */
	uint8_t cookie[WG_COOKIE_LEN];
	uint64_t cookie_birth_ns;
	bool have_cookie;
};

void cookie_checker_init(struct cookie_checker *c, const uint8_t public_key[WG_KEY_LEN]);
void cookie_checker_wipe(struct cookie_checker *c);
void cookie_maker_init(struct cookie_maker *m, const uint8_t public_key[WG_KEY_LEN]);
void cookie_maker_wipe(struct cookie_maker *m);

/* @msg is an initiation or response of its exact length @len. Constant time. */
bool cookie_check_mac1(const struct cookie_checker *c, const uint8_t *msg, size_t len)
	__attribute__((warn_unused_result));

/*
 * @src is what the cookie binds to: the 4 or 16 address bytes followed by the 2
 * port bytes, network order. False also when the secret has expired.
 */
bool cookie_check_mac2(const struct cookie_checker *c, uint64_t now_ns, const uint8_t *msg,
		       size_t len, const uint8_t *src, size_t src_len)
	__attribute__((warn_unused_result));

/*
 * A cookie reply to @msg (initiation or response). @fresh_secret replaces the
 * secret when there is none or it is 120 s old. Both random arguments
 * are the caller's.
 */
void cookie_make_reply(struct cookie_checker *c, uint64_t now_ns, const uint8_t *msg, size_t len,
		       const uint8_t *src, size_t src_len, const uint8_t nonce[WG_COOKIE_NONCE_LEN],
		       const uint8_t fresh_secret[WG_KEY_LEN], struct message_cookie_reply *ret);

/* Fills mac1 and, while a cookie younger than 115 s is held, mac2; remembers
 * mac1 for the reply. */
void cookie_add_macs(struct cookie_maker *m, uint64_t now_ns, uint8_t *msg, size_t len);

/* Takes the cookie out of a reply to our last mac1. False: no mac1 outstanding
 * or not authentic; nothing changes then. */
bool cookie_consume_reply(struct cookie_maker *m, uint64_t now_ns,
			  const struct message_cookie_reply *reply)
	__attribute__((warn_unused_result));

#endif
