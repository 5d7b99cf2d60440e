/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known about kernel releases, as tables. A row says for which releases it
 * holds, from the first one up to but without the second, and why. Commits are
 * mainline's; releases are those of the stable announcements.
 *
 * A vendor's number is a lower bound: what a release has, a kernel built from it
 * has too, and its fixes may be newer. So "too old" and "known bad" hold for
 * vendor-numbered kernels as for others (every bad range but 7.0's starts above
 * patch level 0, which a vendor that numbers for itself does not reach), but the
 * tunnel fix, where being wrong loses packets in silence, is only believed of
 * kernels that carry upstream's numbers.
 */
#include "policy.h"

#include <limits.h>
#include <string.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))
#define BIT(o)	      (1u << (o))

enum { NUMBER_MAX = 99999 };

/* A point in the history of releases: {6, 9, 0, 3} is 6.9-rc3, {6, 9, 0, 0} is 6.9. */
struct point {
	unsigned major, minor, patch, rc;
};

struct range {
	struct point from, until; /* until is the first release outside */
};

/* ---- Tables ---- */

static const struct {
	unsigned offloads; /* BIT()s */
	struct range bad;
	const char *why;
} forbidden[] = {
	{BIT(OFFLOAD_UDP_GSO),
	 {{0, 0, 0, 0}, {4, 18, 0, 1}},
	 "UDP_SEGMENT came with 4.18 (bec1f6f69736)"},
	/* The option itself is older, but whether it took could not be asked. */
	{BIT(OFFLOAD_UDP_GRO),
	 {{0, 0, 0, 0}, {5, 12, 0, 1}},
	 "UDP_GRO cannot be read back before 5.12 (98184612aca0)"},
	{BIT(OFFLOAD_TUN_UDP_GRO),
	 {{0, 0, 0, 0}, {6, 2, 0, 1}},
	 "a TUN takes no UDP superpackets before 6.2 (399e0827642f)"},
	{BIT(OFFLOAD_TUNNEL_GSO),
	 {{0, 0, 0, 0}, {6, 17, 0, 1}},
	 "a TUN has no UDP tunnel offload before 6.17 (288f30435132)"},
	/* Of a port's own device; not a fault of the kernel, but not tried either. */
	{BIT(OFFLOAD_BIG_TCP),
	 {{0, 0, 0, 0}, {6, 18, 0, 1}},
	 "superpackets above 64 KB are not relied on before 6.18"},
	/* e269d79c7d35 refuses superpackets whose last segment is short;
	 * 89add40066f9 takes that back. */
	{BIT(OFFLOAD_TUN_TCP_GRO) | BIT(OFFLOAD_TUN_UDP_GRO),
	 {{5, 15, 165, 0}, {5, 15, 167, 0}},
	 "TUN writes fail with EINVAL in 5.15.165-166 (e269d79c7d35)"},
	{BIT(OFFLOAD_TUN_TCP_GRO) | BIT(OFFLOAD_TUN_UDP_GRO),
	 {{6, 1, 103, 0}, {6, 1, 107, 0}},
	 "TUN writes fail with EINVAL in 6.1.103-106 (e269d79c7d35)"},
	{BIT(OFFLOAD_TUN_TCP_GRO) | BIT(OFFLOAD_TUN_UDP_GRO),
	 {{6, 6, 44, 0}, {6, 6, 46, 0}},
	 "TUN writes fail with EINVAL in 6.6.44-45 (e269d79c7d35)"},
	{BIT(OFFLOAD_TUN_TCP_GRO) | BIT(OFFLOAD_TUN_UDP_GRO),
	 {{6, 10, 3, 0}, {6, 10, 5, 0}},
	 "TUN writes fail with EINVAL in 6.10.3-4 (e269d79c7d35)"},
};

/*
 * 3d010c8031e3 "udp: do not accept non-tunnel GSO skbs landing in a tunnel"
 * (CVE-2024-35884). Before it a local tunnel takes a UDP superpacket for one
 * datagram and all but the first are lost. 6.2 to 6.5 and 6.7 never got it.
 */
static const struct {
	struct range fixed;
	const char *why;
} tunnel_fix[] = {
	{{{5, 10, 215, 0}, {5, 11, 0, 1}}, "fixed in 5.10.215 (3391b157780b)"},
	{{{5, 15, 154, 0}, {5, 16, 0, 1}}, "fixed in 5.15.154 (d49ae15a5767)"},
	{{{6, 1, 85, 0}, {6, 2, 0, 1}}, "fixed in 6.1.85 (d12245080cb2)"},
	{{{6, 6, 26, 0}, {6, 7, 0, 1}}, "fixed in 6.6.26 (3001e7aa43d6)"},
	{{{6, 8, 5, 0}, {6, 9, 0, 1}}, "fixed in 6.8.5 (35fe0e0b5c00)"},
	{{{6, 9, 0, 3}, {UINT_MAX, 0, 0, 0}}, "fixed in 6.9 (3d010c8031e3)"},
};

/*
 * b10b446ce7ad "udp: gso: Use single MSS length in UDP header for GSO_PARTIAL"
 * (7.0-rc1): where the device segments, a run that is a multiple of the segment
 * size gets a wrong UDP length and checksum. Fixed by 78effd896eee and
 * 5f17ae0f595a, both in 7.1-rc5 and, as c10fecc60305 and 8886312cc164, in 7.0.11
 * (patches 422 and 423 of 461, announced on 1 June 2026). So every 7.1 release is
 * good: that 7.1.0 to 7.1.4 are bad and 7.1.5 is the first good one, as is said
 * elsewhere, fits no changelog and looks like "7.1-rc5" misread.
 */
static const struct range mangles_equal_runs[] = {
	{{7, 0, 0, 1}, {7, 0, 11, 0}},
	{{7, 1, 0, 1}, {7, 1, 0, 5}},
};

static const struct {
	struct point since;
	unsigned segments;
} udp_segments[] = {
	/* 1382e3b6a350 raised UDP_MAX_SEGMENTS. */
	{{6, 9, 0, 0}, 128},
	/* 158390e45612 no longer counts the UDP header as payload. */
	{{5, 16, 0, 0}, 64},
	{{0, 0, 0, 0}, 63},
};

/* What Debian puts behind x.y.z, without the "+debNN" or "+bpo" and ABI number. */
static const char *const debian_flavours[] = {
	"-amd64",      "-cloud-amd64", "-rt-amd64", "-arm64",	   "-cloud-arm64", "-rt-arm64",
	"-arm64-16k",  "-armmp",       "-rt-armmp", "-armmp-lpae", "-686",	   "-686-pae",
	"-rt-686-pae", "-powerpc64le", "-riscv64",  "-s390x",	   "-loong64",
};

/* ---- Parsing ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Takes a number off *text; both stay as they are if there is none. */
static bool take_number(const char **text, unsigned *ret)
{
	const char *p = *text;
	unsigned value = 0;

	if (!is_digit(*p))
		return false;
	for (; is_digit(*p); p++) {
		value = value * 10 + (unsigned)(*p - '0');
		if (value > NUMBER_MAX)
			return false;
	}
	*text = p;
	*ret = value;
	return true;
}

/* Takes "6.1.137", or "6.1" as of 6.1.0, off *text. */
static bool take_numbers(const char **text, struct kernel_release *r)
{
	const char *p = *text, *third;

	if (!take_number(&p, &r->major) || *p++ != '.' || !take_number(&p, &r->minor))
		return false;
	if (*p == '.') {
		third = p + 1;
		if (take_number(&third, &r->patch))
			p = third;
	}
	*text = p;
	return true;
}

/* Takes a release candidate's mark off *text: "-rc5", or Debian's "~rc5". */
static void take_rc(const char **text, char mark, unsigned *ret)
{
	const char *p = *text;
	unsigned rc;

	if (*p++ != mark || strncmp(p, "rc", 2) != 0)
		return;
	p += 2;
	if (!take_number(&p, &rc) || !rc)
		return;
	*text = p;
	*ret = rc;
}

static bool is_debian_suffix(const char *text)
{
	const char *number;
	unsigned abi;
	size_t i;

	/* "+bpo", "+deb13", "+deb13+1" */
	if (!strncmp(text, "+deb", 4) || !strncmp(text, "+bpo", 4))
		text += strcspn(text, "-");
	number = text + 1;
	if (*text == '-' && take_number(&number, &abi) && *number == '-')
		text = number;
	for (i = 0; i < N_ELEMENTS(debian_flavours); i++)
		if (!strcmp(text, debian_flavours[i]))
			return true;
	return false;
}

struct kernel_release kernel_release_parse(const char *text)
{
	static const struct kernel_release unknown;
	struct kernel_release r = unknown;

	if (!text || !take_numbers(&text, &r))
		return unknown;
	r.known = true;
	take_rc(&text, '-', &r.rc);
	/* Debian's patch level 0 stands for any: the number is in uname's version. */
	r.vendor_numbered = *text && (!r.patch || !is_debian_suffix(text));
	return r;
}

/* The package's version behind "Debian ": upstream's number, "-", the revision. */
static bool find_debian_version(const char *version, struct kernel_release *ret)
{
	static const char word[] = "Debian ";
	struct kernel_release r;

	while ((version = strstr(version, word))) {
		version += sizeof(word) - 1;
		memset(&r, 0, sizeof(r));
		if (!take_numbers(&version, &r))
			continue;
		take_rc(&version, '~', &r.rc);
		if (*version != '-')
			continue;
		r.known = true;
		*ret = r;
		return true;
	}
	return false;
}

struct kernel_release kernel_release_from_uname(const char *release, const char *version)
{
	const struct kernel_release r = kernel_release_parse(release);
	struct kernel_release debian;

	/* Two texts that contradict each other are not Debian's own. */
	if (r.known && version && find_debian_version(version, &debian) &&
	    debian.major == r.major && debian.minor == r.minor)
		return debian;
	return r;
}

/* ---- Looking up ---- */

static bool is_before(const struct kernel_release *r, const struct point *p)
{
	if (r->major != p->major)
		return r->major < p->major;
	if (r->minor != p->minor)
		return r->minor < p->minor;
	if (r->patch != p->patch)
		return r->patch < p->patch;
	/* Release candidates come before their release; 0 wraps to the far end. */
	return r->rc - 1 < p->rc - 1;
}

static bool is_within(const struct kernel_release *r, const struct range *range)
{
	return r->known && !is_before(r, &range->from) && is_before(r, &range->until);
}

const char *policy_release_forbids(enum offload o, const struct kernel_release *r)
{
	size_t i;

	for (i = 0; i < N_ELEMENTS(forbidden); i++)
		if ((forbidden[i].offloads & BIT(o)) && is_within(r, &forbidden[i].bad))
			return forbidden[i].why;
	return NULL;
}

unsigned policy_udp_segments(const struct kernel_release *r)
{
	size_t i = 0;

	/* The last row is for all others, unknown ones too. */
	while (i < N_ELEMENTS(udp_segments) - 1 && is_before(r, &udp_segments[i].since))
		i++;
	return udp_segments[i].segments;
}

bool policy_udp_never_equal(const struct kernel_release *r)
{
	size_t i;

	for (i = 0; i < N_ELEMENTS(mangles_equal_runs); i++)
		if (is_within(r, &mangles_equal_runs[i]))
			return true;
	return false;
}

static struct zero_csum_answer answer(enum zero_csum_verdict verdict, const char *reason)
{
	return (struct zero_csum_answer){.verdict = verdict, .reason = reason};
}

struct zero_csum_answer policy_encap_udp_l4(const struct kernel_release *r,
					    enum zero_csum_probe probe)
{
	size_t i;

	/* The probe saw packets getting lost: no number outweighs that. */
	if (probe == ZERO_CSUM_PROBE_FAILED)
		return answer(ZERO_CSUM_NEVER, "the functional probe failed on this kernel");
	if (!r->known || r->vendor_numbered) {
		if (probe == ZERO_CSUM_PROBE_PASSED)
			return answer(ZERO_CSUM_AS_UDP_L4,
				      "the functional probe passed on this kernel");
		return answer(ZERO_CSUM_NEVER, "release unknown or numbered by a vendor, and the "
					       "functional probe has not passed");
	}
	for (i = 0; i < N_ELEMENTS(tunnel_fix); i++)
		if (is_within(r, &tunnel_fix[i].fixed))
			return answer(ZERO_CSUM_AS_UDP_L4, tunnel_fix[i].why);
	return answer(ZERO_CSUM_NEVER, "local tunnels lose UDP superpackets on this kernel "
				       "(3d010c8031e3 is missing)");
}
