/* SPDX-License-Identifier: Apache-2.0 */
/* Input: flags, then a frame. Bit 0: the checksum of an untagged solicitation is put
 * right first, which no fuzzer guesses. */
#include "offload/neigh.h"

#undef NDEBUG /* the properties are the point */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "offload/be.h"
#include "offload/checksum.h"
#include "offload/ip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { IP_OFF = 14, ICMP_OFF = IP_OFF + IPV6_HDR_LEN };

static const uint8_t mac[6] = {2, 0, 0, 0, 0, 0xb};

static uint64_t sum_of(const uint8_t *ip, size_t len)
{
	const uint64_t sum = checksum_pseudo(ip + 8, ip + 24, 16, IP_PROTO_ICMP6, (uint32_t)len);

	return checksum_add(sum, ip + IPV6_HDR_LEN, len);
}

static void put_checksum(uint8_t *frame, size_t len)
{
	const size_t l4_len = len < ICMP_OFF ? 0 : be16_load(frame + IP_OFF + 4);

	if (l4_len < 4 || l4_len > len - ICMP_OFF)
		return;
	be16_store(frame + ICMP_OFF + 2, 0);
	be16_store(frame + ICMP_OFF + 2, checksum_finish(sum_of(frame + IP_OFF, l4_len)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t out[NEIGH_ANSWER_MAX_LEN], *frame;
	struct neigh_question q, again;
	size_t n;

	if (!len)
		return 0;
	frame = malloc(--len);
	memcpy(frame, data + 1, len);
	if (data[0] & 1)
		put_checksum(frame, len);
	if (neigh_parse(frame, len, &q)) {
		assert(neigh_is_host(q.target, q.addr_len) && neigh_is_station(q.asker));
		n = neigh_answer(frame, len, &q, mac, out);
		assert(n == q.l2_len + (q.addr_len == 4 ? 28u : 72u) && n <= sizeof(out));
		assert(!memcmp(out, q.asker, 6) && !memcmp(out + 6, mac, 6));
		assert(q.addr_len == 4 || !checksum_finish(sum_of(out + q.l2_len, 32)));
		assert(!neigh_parse(out, n, &again));
	}
	free(frame);
	return 0;
}
