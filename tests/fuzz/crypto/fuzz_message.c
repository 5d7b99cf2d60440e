/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a datagram; its first eight bytes serve as length and MTU as well. */
#include "crypto/messages.h"

#include <stdlib.h>
#include <string.h>

#include "crypto/le.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_classify(const uint8_t *data, size_t len)
{
	static const size_t exact[] = {[1] = 148, [2] = 92, [3] = 64, [4] = 0};
	static const uint8_t zero[3];
	const enum message_type type = message_classify(data, len);
	const bool known = len >= 4 && data[0] >= 1 && data[0] <= 4 &&
			   !memcmp(data + 1, zero, sizeof(zero));

	if (type == MESSAGE_INVALID) {
		/* Then some rule is broken. */
		must(!known || (data[0] == MESSAGE_DATA ? len < 32 : len != exact[data[0]]));
		return;
	}
	must(known && (uint8_t)type == data[0]);
	must(type == MESSAGE_DATA ? len >= 32 : len == exact[type]);
}

static void check_padding(size_t len, size_t mtu)
{
	const size_t padded = message_padded_len(len, mtu);
	const size_t last = mtu && len > mtu ? len % mtu : len;
	const size_t last_padded = padded - (len - last);

	must(padded >= len && padded - len < WG_PADDING_MULTIPLE);
	must(!mtu || last_padded <= mtu);
	must(last_padded % WG_PADDING_MULTIPLE == 0 || last_padded == mtu);
	/* What is padded already stays as it is. */
	must(message_padded_len(padded, mtu) == padded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	check_classify(data, len);
	if (len >= 8) {
		check_padding(le32_load(data), le32_load(data + 4));
		check_padding(le32_load(data) & 0xffff, le32_load(data + 4) & 0x7ff);
	}
	return 0;
}
