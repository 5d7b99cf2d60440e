/* SPDX-License-Identifier: Apache-2.0 */
#include "messages.h"

#include "le.h"

enum message_type message_classify(const uint8_t *msg, size_t len)
{
	if (len < sizeof(uint32_t))
		return MESSAGE_INVALID;

	switch (le32_load(msg)) {
	case MESSAGE_INITIATION:
		return len == MESSAGE_INITIATION_SIZE ? MESSAGE_INITIATION : MESSAGE_INVALID;
	case MESSAGE_RESPONSE:
		return len == MESSAGE_RESPONSE_SIZE ? MESSAGE_RESPONSE : MESSAGE_INVALID;
	case MESSAGE_COOKIE_REPLY:
		return len == MESSAGE_COOKIE_REPLY_SIZE ? MESSAGE_COOKIE_REPLY : MESSAGE_INVALID;
	case MESSAGE_DATA:
		return len >= MESSAGE_DATA_MIN_SIZE ? MESSAGE_DATA : MESSAGE_INVALID;
	default:
		return MESSAGE_INVALID;
	}
}

size_t message_padded_len(size_t len, size_t mtu)
{
	const size_t mask = WG_PADDING_MULTIPLE - 1;
	size_t last = len, padded;

	if (!mtu)
		return (len + mask) & ~mask;
	if (len > mtu)
		last = len % mtu;

	padded = (last + mask) & ~mask;
	if (padded > mtu)
		padded = mtu;
	return len - last + padded;
}
