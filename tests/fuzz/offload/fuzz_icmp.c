/* SPDX-License-Identifier: Apache-2.0 */
/* Input: one byte for the reason, four for the MTU, then the offending packet. */
#include "offload/icmp.h"

#include <stdlib.h>
#include <string.h>

#include "offload/be.h"
#include "offload/checksum.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const uint8_t our_address[16] = {192, 0, 2, 1};

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_error(const uint8_t *p, const struct ip_view *v, const uint8_t *out, size_t n)
{
	const bool v4 = v->version == 4;
	const size_t limit = v4 ? 576 : 1280, quote_off = v4 ? 28 : 48;
	struct ip_view e;
	uint8_t again[ICMP_ERROR_MAX_LEN];
	uint64_t sum = 0;

	must(n <= limit && ip_parse(out, n, &e) && e.total_len == n && e.version == v->version);
	must(e.has_l4 && !e.fragment && e.proto == (v4 ? IP_PROTO_ICMP : IP_PROTO_ICMP6));
	must(!memcmp(out + e.src_off, our_address, e.addr_len));
	must(!memcmp(out + e.dst_off, p + v->src_off, e.addr_len));

	if (v4)
		must(!checksum_finish(checksum_add(0, out, e.l4_off)));
	else
		sum = checksum_pseudo(out + e.src_off, out + e.dst_off, 16, e.proto,
				      (uint32_t)(n - e.l4_off));
	must(!checksum_finish(checksum_add(sum, out + e.l4_off, n - e.l4_off)));

	must(n == limit || n - quote_off == v->total_len);
	must(n - quote_off <= v->total_len && !memcmp(out + quote_off, p, n - quote_off));
	for (int r = ICMP_NO_PEER; r <= ICMP_PACKET_TOO_BIG; r++)
		must(!icmp_error(out, &e, r, our_address, 1280, again, sizeof(again)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t out[ICMP_ERROR_MAX_LEN];
	struct ip_view v;
	size_t n;

	if (len < 5 || !ip_parse(data + 5, len - 5, &v))
		return 0;
	n = icmp_error(data + 5, &v, data[0] % 3, our_address, be32_load(data + 1), out,
		       sizeof(out));
	if (n)
		check_error(data + 5, &v, out, n);
	return 0;
}
