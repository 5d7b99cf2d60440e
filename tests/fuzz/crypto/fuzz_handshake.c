/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: which message, then a mask XORed over an authentic one, so any bytes
 * can come about. They may be accepted only when no bit that the handshake
 * authenticates was flipped; a refusal changes nothing.
 */
#include <string.h>

#include "authentic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct authentic a;

/* Nothing from the ephemeral key (or nonce) at 8 up to @end was flipped. */
static bool intact(const union message *mask, size_t end)
{
	static const union message zero;

	return !memcmp(mask->bytes + 8, zero.bytes, end - 8);
}

#define CHECK(ok, end, state)                                                                      \
	must((ok) == intact(&mask, end) && (ok) == !!memcmp(&a.state, &b.state, sizeof(a.state)))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	union message mask = {{0}}, msg;
	struct noise_incoming in;
	struct authentic b;
	bool ok;

	if (!a.us.has_identity)
		authentic_init(&a);
	if (!len)
		return 0;
	memcpy(&b, &a, sizeof(b));
	memcpy(mask.bytes, data + 1, len - 1 < sizeof(mask) ? len - 1 : sizeof(mask));
	switch (data[0] % 3) {
	case 0:
		message_flip(&msg, &a.initiation, &mask);
		ok = noise_open_initiation(&b.them, &msg.initiation, &in);
		must(ok == intact(&mask, offsetof(struct message_initiation, encrypted_timestamp)));
		ok = ok && noise_accept_initiation(&b.their_hs, &b.them, &msg.initiation, &in, 1) ==
				   NOISE_OK;
		CHECK(ok, offsetof(struct message_initiation, macs), their_hs);
		break;
	case 1:
		message_flip(&msg, &a.response, &mask);
		ok = noise_consume_response(&b.our_hs, &b.us, &msg.response);
		CHECK(ok, offsetof(struct message_response, macs), our_hs);
		break;
	default:
		message_flip(&msg, &a.reply, &mask);
		ok = cookie_consume_reply(&b.our_cookie, 2, &msg.reply);
		CHECK(ok, sizeof(struct message_cookie_reply), our_cookie);
		break;
	}
	return 0;
}
