/* SPDX-License-Identifier: Apache-2.0 */
/* Input: flags, then uname's release, NUL, uname's version. */
#include "offload/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* What was understood, written down again, is understood as the same. */
static void check_release(const struct kernel_release *r)
{
	struct kernel_release again;
	char text[64];

	must(r->known || (!r->major && !r->minor && !r->patch && !r->rc && !r->vendor_numbered));
	snprintf(text, sizeof(text), r->rc ? "%u.%u.%u-rc%u" : "%u.%u.%u", r->major, r->minor,
		 r->patch, r->rc);
	again = kernel_release_parse(text);
	must(again.known && !again.vendor_numbered && again.major == r->major &&
	     again.minor == r->minor && again.patch == r->patch && again.rc == r->rc);
	must(!policy_udp_never_equal(r) || (r->major == 7 && policy_udp_segments(r) == 128));
}

static void check_zero_csum(const struct kernel_release *r, uint8_t f)
{
	const struct zero_csum_question q = {*r,     f % 3,  f / 3 % 3, f & 16,
					     f & 32, f & 64, f & 128,	true};
	const struct zero_csum_answer a = policy_zero_csum(&q);

	must(a.reason && *a.reason && (a.verdict == ZERO_CSUM_INNER) == q.terminated_in_lane);
	if (a.verdict != ZERO_CSUM_AS_UDP_L4)
		return;
	must(!q.ipv6 && !q.tunnel_writes && q.knob != ZERO_CSUM_OFF);
	must((q.ends_here || q.knob == ZERO_CSUM_ON) && q.probe != ZERO_CSUM_PROBE_FAILED);
	must(q.probe == ZERO_CSUM_PROBE_PASSED || (r->known && !r->vendor_numbered));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char release[256] = {0};
	struct kernel_release r;

	if (!len || len > sizeof(release) - 2)
		return 0;
	memcpy(release, data + 1, len - 1);
	r = kernel_release_parse(release);
	check_release(&r);
	r = kernel_release_from_uname(release, release + strlen(release) + 1);
	check_release(&r);
	check_zero_csum(&r, data[0]);
	return 0;
}
