/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: configuration (1 byte), then packets. 0x80, length (2), bytes: as it is;
 * 0x81: with right checksums; bits 1-2: so many of the first bytes, {0, 14, 18, 22},
 * are what is in front of it. Less: bits 0-1 packets back is one whose next segment
 * this is, bits 4-6 bytes shorter, with a change (offset 2, mask 1) before the
 * checksums are made, or, bit 2, behind, or, bit 3, in front of the packet.
 */
#include "gro_check.h"
#include "gro_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct fuzz_batch batch;
static struct encap_table encap;

static size_t add_raw(const uint8_t *d, size_t left)
{
	static const uint8_t l2_lens[] = {0, 14, 18, FUZZ_L2_MAX};
	const uint8_t l2_len = l2_lens[d[0] >> 1 & 3];
	const uint32_t len = left < 3 ? 0 : be16_load(d + 1) % FUZZ_PACKET_LEN_MAX;
	uint8_t p[FUZZ_PACKET_LEN_MAX];

	if (len <= l2_len || len > left - 3)
		return left;
	memcpy(p, d + 3 + l2_len, len - l2_len);
	if (d[0] & 1)
		input_fix(&encap, p, len - l2_len);
	fuzz_add(&batch, d + 3, l2_len, p, len - l2_len);
	return 3 + len;
}

static size_t add_next(const uint8_t *d, size_t left)
{
	const uint32_t from = batch.n - 1 - (d[0] & 3), cut = d[0] >> 4 & 7;
	uint8_t p[FUZZ_PACKET_LEN_MAX], l2[FUZZ_L2_MAX];
	uint8_t l2_len;
	uint32_t len;

	if (left < 4 || from >= batch.n || batch.pkts[from].len <= cut)
		return left;
	l2_len = batch.pkts[from].l2_len;
	memcpy(l2, batch.l2[from], l2_len);
	len = batch.pkts[from].len;
	memcpy(p, batch.before[from], len);
	input_advance(&encap, p, len, cut);
	len -= cut;
	input_fix(&encap, p, len);
	if (d[0] & 8 && l2_len)
		l2[be16_load(d + 1) % l2_len] ^= d[3];
	else
		p[be16_load(d + 1) % len] ^= d[3];
	if (!(d[0] & 4))
		input_fix(&encap, p, len);
	fuzz_add(&batch, l2, l2_len, p, len);
	return 4;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct gro_config c;
	size_t at = 1;

	fuzz_config(len ? data[0] : 0, &encap, &c);
	while (at < len && batch.n < FUZZ_PACKETS_MAX)
		at += (data[at] & 0x80 ? add_raw : add_next)(data + at, len - at);
	fuzz_run(&batch, &c);
	return 0;
}
