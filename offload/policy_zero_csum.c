/* SPDX-License-Identifier: Apache-2.0 */
#include "policy.h"

#include <strings.h>

/* A condition of a row. The zero value is the one that always holds. */
enum want { ANY, YES, NO };

struct row {
	enum want lane_port, tunnel, ipv6, kernel_fixed, ends_here;
	bool off, on; /* only with this knob */
	enum zero_csum_verdict verdict;
	const char *reason; /* NULL: what was said about the kernel */
};

/*
 * A plain UDP superpacket always leaves the kernel with checksums filled in, so
 * merging zero-checksum datagrams changes their bytes. Only a tunnel superpacket
 * can say "leave them zero".
 */
static const struct row rows[] = {
	{.lane_port = YES,
	 .verdict = ZERO_CSUM_INNER,
	 .reason = "the port ends in the lane: the outer header never reaches the kernel"},
	{.tunnel = YES,
	 .verdict = ZERO_CSUM_AS_TUNNEL,
	 .reason = "written as a tunnel superpacket (6.17, 288f30435132): it stays zero"},
	{.off = true, .verdict = ZERO_CSUM_NEVER, .reason = "SEALANE_ZERO_CSUM_GRO=off"},
	/* RFC 8200 8.1: only tunnel ends may take such a datagram (RFC 6935). */
	{.ipv6 = YES,
	 .verdict = ZERO_CSUM_NEVER,
	 .reason = "a zero checksum is an exception in IPv6 (RFC 6935): never merged"},
	{.kernel_fixed = NO, .verdict = ZERO_CSUM_NEVER},
	{.ends_here = YES, .verdict = ZERO_CSUM_AS_UDP_L4},
	{.on = true,
	 .verdict = ZERO_CSUM_AS_UDP_L4,
	 .reason = "SEALANE_ZERO_CSUM_GRO=on: forwarded with its checksum filled in"},
	{.verdict = ZERO_CSUM_NEVER,
	 .reason = "forwarded to another host: merging would fill in its checksum"},
};

static bool holds(enum want want, bool is)
{
	return want == ANY || (want == YES) == is;
}

static bool matches(const struct row *row, const struct zero_csum_question *q, bool kernel_fixed)
{
	return holds(row->lane_port, q->terminated_in_lane) &&
	       holds(row->tunnel, q->tunnel_writes && q->inner_mergeable) &&
	       holds(row->ipv6, q->ipv6) && holds(row->kernel_fixed, kernel_fixed) &&
	       holds(row->ends_here, q->ends_here) && (!row->off || q->knob == ZERO_CSUM_OFF) &&
	       (!row->on || q->knob == ZERO_CSUM_ON);
}

struct zero_csum_answer policy_zero_csum(const struct zero_csum_question *q)
{
	const struct zero_csum_answer kernel = policy_encap_udp_l4(&q->release, q->probe);
	const struct row *row = rows;

	/* The last row matches everything. */
	while (!matches(row, q, kernel.verdict != ZERO_CSUM_NEVER))
		row++;
	return (struct zero_csum_answer){.verdict = row->verdict,
					 .reason = row->reason ? row->reason : kernel.reason};
}

bool zero_csum_knob_parse(const char *text, enum zero_csum_knob *ret)
{
	static const char *const words[] = {
		[ZERO_CSUM_AUTO] = "auto", [ZERO_CSUM_ON] = "on", [ZERO_CSUM_OFF] = "off"};
	unsigned i;

	if (!text || !*text)
		text = words[ZERO_CSUM_AUTO];
	for (i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (!strcasecmp(text, words[i])) {
			*ret = (enum zero_csum_knob)i;
			return true;
		}
	}
	return false;
}
