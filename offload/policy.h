/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel can be trusted with: a table over releases with a reason for each
 * row, the zero-checksum rule, and the environment's escape hatches. Pure: the
 * caller reads uname and the environment.
 */
#ifndef SEALANE_OFFLOAD_POLICY_H
#define SEALANE_OFFLOAD_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_release {
	unsigned major, minor, patch;
	unsigned rc; /* 5 of "7.1.0-rc5", which comes before 7.1.0; 0: a release */
	/* More behind the three numbers than a -rc: "6.8.0-31-generic". The
	 * number then tells little about fixes (Debian's x.y.z+debNN and
	 * x.y.z-N-amd64 keep upstream's patch level and are not vendor-numbered
	 * unless patch is 0). */
	bool vendor_numbered;
	bool known; /* could be parsed at all */
};

/* "6.8.0-31-generic", "6.12.43+deb13-amd64", "7.1.0-rc5", "6.18.44". Everything
 * is zero unless the result is known. */
struct kernel_release kernel_release_parse(const char *text);

/* The same from both texts of uname(2): Debian's own kernels hide the patch level
 * in @release ("6.1.0-35-amd64") and tell it in @version ("#1 SMP PREEMPT_DYNAMIC
 * Debian 6.1.137-1 (2025-05-07)"), which then counts. Either may be NULL. */
struct kernel_release kernel_release_from_uname(const char *release, const char *version);

/* The features that a kernel release or the environment may forbid. */
/* X(ENUM, name, environment variables that switch it off) */
#define OFFLOAD_LIST(X)                                                                            \
	X(VNET_HDR, "vnet_hdr", "SEALANE_DISABLE_VNET_HDR")                                        \
	X(TUN_GSO, "tun_gso", "SEALANE_DISABLE_TUN_GSO")                                           \
	X(TUN_TCP_GRO, "tun_tcp_gro", "SEALANE_DISABLE_TUN_TCP_GRO TS_TUN_DISABLE_TCP_GRO")        \
	X(TUN_UDP_GRO, "tun_udp_gro", "SEALANE_DISABLE_TUN_UDP_GRO TS_TUN_DISABLE_UDP_GRO")        \
	X(TUNNEL_GSO, "tunnel_gso", "SEALANE_DISABLE_TUNNEL_GSO")                                  \
	X(UDP_GSO, "udp_gso", "SEALANE_DISABLE_UDP_GSO TS_DEBUG_DISABLE_UDP_GSO")                  \
	X(UDP_GRO, "udp_gro", "SEALANE_DISABLE_UDP_GRO TS_DEBUG_DISABLE_UDP_GRO")                  \
	X(BIG_TCP, "big_tcp", "SEALANE_DISABLE_BIG_TCP")                                           \
	X(SIMD, "simd", "SEALANE_DISABLE_SIMD")                                                    \
	X(ECN, "ecn", "SEALANE_DISABLE_ECN")

enum offload {
#define X(id, name, env) OFFLOAD_##id,
	OFFLOAD_LIST(X)
#undef X
		N_OFFLOADS
};

const char *offload_name(enum offload o);

enum { POLICY_REASON_LEN = 120 };

struct policy_state {
	bool on;
	char reason[POLICY_REASON_LEN];
};

/* Why @r makes @o useless or harmful (static text that names the commit), or NULL.
 * An unknown release forbids nothing: what the kernel lacks is found by probing. */
const char *policy_release_forbids(enum offload o, const struct kernel_release *r);

/* May @o be used on this kernel, as far as release and environment tell?
 * @getenv_fn (may be NULL) is asked for the variables of the list ("1" and "true",
 * any case, switch off; "0", "false" and empty do not; anything else is treated as
 * 0 and said in the reason). What lives in the vnet header goes with VNET_HDR. */
struct policy_state policy_offload(enum offload o, const struct kernel_release *r,
				   const char *(*getenv_fn)(void *ctx, const char *name),
				   void *ctx);

/* Segments one UDP_SEGMENT send may have by release: 63, 64 or 128 (the caller
 * probes 128, which stable branches took over too). */
unsigned policy_udp_segments(const struct kernel_release *r);
/* The kernel may mangle a UDP_SEGMENT run whose segments are all equal. */
bool policy_udp_never_equal(const struct kernel_release *r);

/* The zero-checksum rule (merging UDP datagrams with checksum 0 on writes). */
enum zero_csum_knob { ZERO_CSUM_AUTO, ZERO_CSUM_ON, ZERO_CSUM_OFF };
enum zero_csum_probe { ZERO_CSUM_UNPROBED, ZERO_CSUM_PROBE_PASSED, ZERO_CSUM_PROBE_FAILED };

/* "auto", "on", "off" (any case; NULL and "" are auto); false: unknown word. */
bool zero_csum_knob_parse(const char *text, enum zero_csum_knob *ret);

struct zero_csum_question {
	struct kernel_release release;
	enum zero_csum_knob knob;
	enum zero_csum_probe probe; /* of this very release */
	bool tunnel_writes;	    /* device takes tunnel superpackets */
	bool terminated_in_lane;    /* the lane's own VXLAN port */
	bool ends_here;		    /* destination is a tunnel end on this host;
				       false: forwarded to another */
	bool ipv6;
	bool inner_mergeable; /* known encapsulation with inner TCP or UDP */
};

enum zero_csum_verdict {
	ZERO_CSUM_NEVER,
	ZERO_CSUM_AS_TUNNEL, /* tunnel superpacket: checksum stays zero */
	ZERO_CSUM_AS_UDP_L4,
	ZERO_CSUM_INNER, /* the outer header never reaches the kernel */
};

struct zero_csum_answer {
	enum zero_csum_verdict verdict;
	const char *reason; /* static text */
};

/* The first row of the table that matches decides. The knob rules what is merged
 * as plain UDP: tunnel superpackets and the lane's own ports keep the checksum as
 * it is and have their own switches. Not asked here, for the merger to refuse: a
 * zero checksum beside a non-zero one, a UDP length that is not the IP remainder. */
struct zero_csum_answer policy_zero_csum(const struct zero_csum_question *q);

/* May non-zero-checksum UDP towards a local vxlan/geneve port be merged as
 * UDP_L4? (The same kernel fix.) */
struct zero_csum_answer policy_encap_udp_l4(const struct kernel_release *r,
					    enum zero_csum_probe probe);

/* For an environment variable (@name ends at NUL or "=") that starts with SEALANE_:
 * the nearest known name, or NULL when nothing is near; *ret_known tells whether it
 * is known, the result is its own name then. Known are those that a lane reads and those of
 * @more, a list that NULL ends (NULL: none). */
const char *policy_nearest_variable(const char *name, const char *const *more, bool *ret_known);

#endif
