/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One authentic handshake message of each kind and the states in which they
 * are acceptable: what fuzz_handshake.c damages.
 */
#ifndef SEALANE_TESTS_FUZZ_AUTHENTIC_H
#define SEALANE_TESTS_FUZZ_AUTHENTIC_H

#include <stdlib.h>

#include "crypto/cookie.h"
#include "crypto/noise.h"

union message {
	uint8_t bytes[MESSAGE_INITIATION_SIZE];
	struct message_initiation initiation;
	struct message_response response;
	struct message_cookie_reply reply;
};

struct authentic {
	struct noise_local us, them;	 /* we initiate, they respond */
	struct noise_handshake our_hs;	 /* awaits the response */
	struct noise_handshake their_hs; /* awaits the initiation */
	struct cookie_maker our_cookie;	 /* awaits the cookie reply */
	union message initiation, response, reply;
};

static inline void message_flip(union message *ret, const union message *m,
				const union message *mask)
{
	for (size_t i = 0; i < sizeof(ret->bytes); i++)
		ret->bytes[i] = m->bytes[i] ^ mask->bytes[i];
}

static inline void must(bool holds)
{
	if (!holds)
		abort();
}

static inline void authentic_init(struct authentic *a)
{
	static const uint8_t key[5][WG_KEY_LEN] = {{1}, {2}, {3}, {4}, {5}};
	struct cookie_checker checker;
	struct noise_handshake hs;
	struct noise_incoming in;

	noise_local_set(&a->us, key[0]);
	noise_local_set(&a->them, key[1]);
	noise_handshake_init(&a->our_hs, &a->us, a->them.public_key);
	noise_handshake_init(&a->their_hs, &a->them, a->us.public_key);
	cookie_maker_init(&a->our_cookie, a->them.public_key);
	cookie_checker_init(&checker, a->them.public_key);

	must(noise_create_initiation(&a->our_hs, &a->us, key[2], 7, key[4],
				     &a->initiation.initiation));
	cookie_add_macs(&a->our_cookie, 1, a->initiation.bytes, MESSAGE_INITIATION_SIZE);
	hs = a->their_hs;
	must(noise_open_initiation(&a->them, &a->initiation.initiation, &in));
	must(noise_accept_initiation(&hs, &a->them, &a->initiation.initiation, &in, 1) == NOISE_OK);
	must(noise_create_response(&hs, key[3], 8, &a->response.response));
	cookie_make_reply(&checker, 1, a->initiation.bytes, MESSAGE_INITIATION_SIZE, key[0], 6,
			  key[4], key[4], &a->reply.reply);
}

#endif
