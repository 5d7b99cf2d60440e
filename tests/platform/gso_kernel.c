/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gso.c and vnet.c against the kernel they imitate. In a network namespace of
 * its own:
 *
 *	this program -> TAP "in" -> bridge -> TAP "out" -> this program
 *
 * A superpacket is written into "in". While "out" offers no offloads, the kernel
 * has to cut it, and every byte must be what gso_next() gives. Then "out" offers
 * them all: the superpacket comes back whole, under a header of the kernel's own
 * making, which must decode to what was written and cut to the same packets.
 *
 * Exit status 77: cannot run here; the reason is the last line.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "offload/gso.h"

#include "../unit/offload/superpacket.h"

/* Not in every libc's and kernel package's headers. */
#define OFFLOAD_PLAIN  (0x01 | 0x02 | 0x04 | 0x08 | 0x20 | 0x40)
#define OFFLOAD_TUNNEL (0x80 | 0x100)

enum { ETH_LEN = 14, SKIP = 77, FRAME_MAX = 24 + ETH_LEN + 65535, DEVICE_MTU = 65000 };

static int in_fd, out_fd, control;
static unsigned n_superpackets, n_segments;
static uint8_t frame[FRAME_MAX], super[FRAME_MAX], cut[FRAME_MAX];

static void skip(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(SKIP);
}

static void die(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

static void device_ioctl(const char *name, unsigned long request, int value)
{
	struct ifreq ifr = {0};

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (request == SIOCBRADDIF)
		ifr.ifr_ifindex = value;
	else if (request == SIOCSIFMTU)
		ifr.ifr_mtu = value;
	else
		ifr.ifr_flags = (short)value;
	if (ioctl(control, request, &ifr))
		die(name);
}

static int add_tap(const char *name)
{
	struct ifreq ifr = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), size = VNET_LEN_TUNNEL;

	if (fd < 0)
		skip("/dev/net/tun");
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (ioctl(fd, TUNSETIFF, &ifr))
		skip("TUNSETIFF");
	if (ioctl(fd, TUNSETVNETHDRSZ, &size))
		skip("TUNSETVNETHDRSZ");
	return fd;
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return; /* no IPv6, no noise from it */
	if (write(fd, text, strlen(text)) < 0)
		die(path);
	close(fd);
}

static void setup(void)
{
	static const char *const names[] = {"in", "out", "between"};
	size_t i;

	if (unshare(CLONE_NEWNET))
		skip("unshare");
	write_text("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
	control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (control < 0)
		die("socket");
	in_fd = add_tap("in");
	out_fd = add_tap("out");
	if (ioctl(control, SIOCBRADDBR, "between"))
		skip("no bridge in this kernel");
	device_ioctl("in", SIOCSIFMTU, DEVICE_MTU);
	device_ioctl("out", SIOCSIFMTU, DEVICE_MTU);
	device_ioctl("between", SIOCBRADDIF, (int)if_nametoindex("in"));
	device_ioctl("between", SIOCBRADDIF, (int)if_nametoindex("out"));
	for (i = 0; i < 3; i++)
		device_ioctl(names[i], SIOCSIFFLAGS, IFF_UP);
}

/* Frames of ours carry this address; whatever the stack itself sends does not. */
static void put_ethernet(uint8_t *p, const uint8_t *ip)
{
	memcpy(p, "\x02sealn\x02tests", 12);
	put16(p + 12, ip[0] >> 4 == 4 ? 0x0800 : 0x86dd);
}

/* The next frame of ours in @frame; its length, or 0 when none comes. */
static size_t read_frame(void)
{
	struct pollfd pfd = {.fd = out_fd, .events = POLLIN};
	ssize_t n;

	while (poll(&pfd, 1, 1000) == 1) {
		n = read(out_fd, frame, sizeof(frame));
		if (n < 0 && errno != EAGAIN)
			die("read");
		if (n > VNET_LEN_TUNNEL + ETH_LEN &&
		    !memcmp(frame + VNET_LEN_TUNNEL, "\x02sealn", 6))
			return (size_t)n;
	}
	return 0;
}

static void describe(const struct spec *s)
{
	printf("inner IPv%u %s, outer %u csum %d shim %d, mss %u payload %u, options %u/%u, "
	       "flags 0x%02x tos 0x%02x: ",
	       s->family, s->udp ? "UDP" : "TCP", s->outer, s->outer_csum, s->shim, s->mss,
	       s->payload_len, s->ip_options, s->tcp_options, s->tcp_flags, s->tos);
}

static void fail(const struct spec *s, const char *what, uint32_t i)
{
	describe(s);
	printf("segment %u: %s\n", i, what);
	exit(1);
}

static void write_frame(const struct spec *s, const struct vnet *v, uint32_t len)
{
	uint8_t *ip = frame + VNET_LEN_TUNNEL + ETH_LEN;
	const size_t n = VNET_LEN_TUNNEL + ETH_LEN + len;

	memcpy(ip, super, len);
	put_ethernet(ip - ETH_LEN, ip);
	if (!vnet_encode(v, frame, VNET_LEN_TUNNEL, ETH_LEN))
		fail(s, "cannot be encoded", 0);
	if (write(in_fd, frame, n) != (ssize_t)n)
		fail(s, strerror(errno), 0);
	n_superpackets++;
}

static void compare(const struct spec *s, const uint8_t *theirs, const uint8_t *ours, size_t len,
		    uint32_t i)
{
	size_t at;

	for (at = 0; at < len; at++)
		if (theirs[at] != ours[at]) {
			describe(s);
			printf("segment %u of %zu bytes differs at %zu: kernel %02x%02x, "
			       "sealane %02x%02x\n",
			       i, len, at, theirs[at], theirs[at + 1], ours[at], ours[at + 1]);
			exit(1);
		}
}

/* @out_fd offers nothing: compares the kernel's packets with ours. */
static void check_cut_by_kernel(const struct spec *s, const struct vnet *v, uint32_t len)
{
	const uint8_t *const ip = frame + VNET_LEN_TUNNEL + ETH_LEN;
	struct vnet none;
	struct gso g;
	size_t n;
	uint32_t i;

	write_frame(s, v, len);
	if (!vnet_check(v, super, len) || !gso_begin(&g, super, len, v))
		fail(s, "refused", 0);
	for (i = 0; i < g.n_segments; i++) {
		n = read_frame();
		if (!n)
			fail(s, "the kernel sent none", i);
		n -= VNET_LEN_TUNNEL + ETH_LEN;
		if (!vnet_decode(frame, VNET_LEN_TUNNEL, ETH_LEN, &none) || none.needs_csum ||
		    none.gso != VNET_GSO_NONE)
			fail(s, "not finished by the kernel", i);
		if (gso_next(&g, cut) != n)
			fail(s, "length", i);
		compare(s, ip, cut, n, i);
		n_segments++;
	}
}

static bool same_vnet(const struct vnet *a, const struct vnet *b)
{
	return a->needs_csum == b->needs_csum && a->ecn == b->ecn && a->gso == b->gso &&
	       a->tunnel == b->tunnel && a->tunnel_csum == b->tunnel_csum &&
	       a->gso_size == b->gso_size && a->csum_start == b->csum_start &&
	       a->csum_offset == b->csum_offset && a->outer_l4_off == b->outer_l4_off &&
	       a->inner_l3_off == b->inner_l3_off;
}

/* @out_fd offers everything: the same superpacket must come back, described
 * alike. */
static void check_passed_whole(const struct spec *s, const struct vnet *v, uint32_t len)
{
	const uint8_t *const ip = frame + VNET_LEN_TUNNEL + ETH_LEN;
	struct vnet got;

	write_frame(s, v, len);
	if (read_frame() != VNET_LEN_TUNNEL + ETH_LEN + len)
		fail(s, "did not come back whole", 0);
	if (!vnet_decode(frame, VNET_LEN_TUNNEL, ETH_LEN, &got) || !same_vnet(v, &got))
		fail(s, "described otherwise", 0);
	if (!vnet_check(&got, ip, len))
		fail(s, "refused on reading", 0);
	compare(s, ip, super, len, 0);
}

typedef void (*check_fn)(const struct spec *s, const struct vnet *v, uint32_t len);

static bool zero_checksums; /* payloads are such that checksums come out as 0 */

static uint8_t *make_payload(const struct spec *s)
{
	uint8_t *payload = spec_payload(s->payload_len);

	if (zero_checksums)
		spec_zero_checksums(s, payload);
	return payload;
}

static void check_spec(const struct spec *s, check_fn check)
{
	uint8_t *payload = make_payload(s);
	const struct vnet v = spec_vnet(s);

	check(s, &v, spec_build(s, payload, true, super));
	free(payload);
}

static bool is_single(const struct spec *s)
{
	return s->payload_len <= s->mss;
}

/*
 * A superpacket of one segment: the kernel takes it for a single packet. But it
 * asks without regard to TCP options, finds nothing to cut then, and drops it;
 * and in a tunnel it keeps the mark of one, at which a read without tunnel
 * offloads fails. So nobody should write those; gso.c cuts them all the same (a
 * TCP checksum of 0 stays 0 then, as in a real train; the kernel's is 0xffff, as
 * in any single packet).
 */
static bool kernel_takes_as_single(const struct spec *s)
{
	return !s->outer && (s->udp || s->payload_len + s->tcp_options <= s->mss);
}

static void check_single(const struct spec *s)
{
	uint8_t *payload = make_payload(s);
	struct vnet v = spec_vnet(s);
	const uint32_t len = spec_build(s, payload, false, super);
	uint8_t *const field = super + v.csum_start + v.csum_offset;
	const uint8_t proto = s->udp ? 17 : 6;

	v.gso = VNET_GSO_NONE;
	v.tunnel = VNET_TUNNEL_NONE;
	v.tunnel_csum = v.ecn = false;
	put16(field, l4_check(super + spec_inner_off(s), proto, super + v.csum_start,
			      len - v.csum_start, true));
	check_cut_by_kernel(s, &v, len);
	free(payload);
}

static const struct outer {
	uint8_t family;
	bool csum;
	enum shim shim;
} outers[] = {
	{0, false, SHIM_NONE},		{4, false, SHIM_VXLAN},
	{4, true, SHIM_VXLAN},		{6, false, SHIM_VXLAN},
	{6, true, SHIM_VXLAN},		{4, false, SHIM_VXLAN_VLAN},
	{4, true, SHIM_VXLAN_VLAN},	{6, true, SHIM_VXLAN_VLAN},
	{4, true, SHIM_GENEVE_OPTIONS}, {6, false, SHIM_GENEVE_OPTIONS},
	{6, true, SHIM_GENEVE_OPTIONS}, {4, false, SHIM_MPLS},
	{6, true, SHIM_MPLS},		{4, true, SHIM_NONE},
};

static const struct headers {
	uint8_t ip_options, tcp_options, tcp_flags, tos;
	bool ecn;
} headers[] = {
	{0, 0, TCP_FLAG_ACK, 0, false},
	{0, 12, TCP_FLAG_ACK | TCP_FLAG_PSH, 2, false},
	{8, 0, TCP_FLAG_ACK | TCP_FLAG_PSH | TCP_FLAG_FIN, 0xb9, false},
	{40, 40, TCP_FLAG_ACK | TCP_FLAG_ECE, 3, false},
	{0, 12, TCP_FLAG_ACK | TCP_FLAG_CWR | TCP_FLAG_PSH, 2, true},
	{0, 0, TCP_FLAG_ACK | TCP_FLAG_CWR | TCP_FLAG_ECE, 2, false},
	{0, 12, 0xff, 1, true},
};

static const struct size {
	uint16_t mss;
	uint32_t payload_len;
} sizes[] = {
	{1000, 1},	     {1000, 1000}, {1000, 1001},  {1000, 2000},
	{1000, 2001},	     {1001, 2500}, {1400, 64001}, {1448, 64000},
	{536, 64 * 536 + 1}, {8, 1024},	   {9000, 64321}, {100, 12800},
};

static void check_kind(const struct spec *s, bool tunnels)
{
	const bool whole = !is_single(s) && (tunnels || !s->outer);

	if (ioctl(out_fd, TUNSETOFFLOAD, 0))
		die("TUNSETOFFLOAD");
	if (is_single(s))
		check_single(s);
	if (!is_single(s) || (kernel_takes_as_single(s) && !zero_checksums))
		check_spec(s, check_cut_by_kernel);
	if (!whole)
		return;
	if (ioctl(out_fd, TUNSETOFFLOAD, OFFLOAD_PLAIN | (tunnels ? OFFLOAD_TUNNEL : 0)))
		die("TUNSETOFFLOAD");
	check_spec(s, check_passed_whole);
}

/* TCP and UDP over both families. */
static void check_kinds(struct spec *s, bool tunnels)
{
	const bool ecn = s->ecn;
	int kind;

	for (kind = 0; kind < 4; kind++) {
		s->family = kind & 1 ? 4 : 6;
		s->udp = kind & 2;
		s->ecn = ecn && !s->udp;
		check_kind(s, tunnels);
	}
}

static void check_zero_checksums(struct spec *s, bool tunnels)
{
	zero_checksums = true;
	s->mss = 1000;
	for (s->payload_len = 1000; s->payload_len <= 3000; s->payload_len += 1000)
		check_kinds(s, tunnels);
	zero_checksums = false;
}

static void check_outer(const struct outer *outer, bool tunnels)
{
	struct spec s = {
		.outer = outer->family,
		.outer_csum = outer->csum,
		.shim = outer->shim,
		.id = 0xfff0,
		.outer_id = 0x1234,
		.seq = 0xfffffc18,
	};
	size_t h, z;

	check_zero_checksums(&s, tunnels);
	for (h = 0; h < sizeof(headers) / sizeof(*headers); h++) {
		s.ip_options = headers[h].ip_options;
		s.tcp_options = headers[h].tcp_options;
		s.tcp_flags = headers[h].tcp_flags;
		s.tos = headers[h].tos;
		for (z = 0; z < sizeof(sizes) / sizeof(*sizes); z++) {
			s.ecn = headers[h].ecn;
			s.mss = sizes[z].mss;
			s.payload_len = sizes[z].payload_len;
			check_kinds(&s, tunnels);
		}
	}
}

int main(void)
{
	bool tunnels;
	size_t i;

	setup();
	/* Kernels before 6.17 know no tunnel superpackets. */
	tunnels = !ioctl(out_fd, TUNSETOFFLOAD, OFFLOAD_PLAIN | OFFLOAD_TUNNEL);
	for (i = 0; i < sizeof(outers) / sizeof(*outers); i++)
		if (tunnels || !outers[i].family)
			check_outer(&outers[i], tunnels);
	printf("%u superpackets written, %u segments equal%s\n", n_superpackets, n_segments,
	       tunnels ? "" : " (no tunnel superpackets in this kernel)");
	return 0;
}
