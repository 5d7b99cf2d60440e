/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gso.c and gro.c against the kernel beyond 64 KB, where a TAP does not reach. In a
 * network namespace of its own:
 *
 *	this program -> packet socket on "in" -> veth pair -> packet socket on "out"
 *
 * "in" offers no offloads, so the kernel has to cut what is written, and every byte
 * must be what gso_next() gives. And the packets that the kernel made, merged by
 * gro_merge(), must be the superpacket that was written.
 *
 * Exit status 77: cannot run here; the reason is the last line.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "offload/gro.h"
#include "offload/gso.h"
#include "overlay/nl.h"
#include "overlay/veth.h"

#include "../unit/offload/superpacket.h"

enum { ETH_LEN = 14, SKIP = 77, DEVICE_MTU = 9000, SUPER_MAX = 300000, SEGMENTS_MAX = 600 };
enum { SOCKET_BUFFER = 32 << 20, NO_MEMORY_TRIES = 200 };

static int in_fd, out_fd;
static unsigned n_superpackets, n_segments;
static uint8_t super[SUPER_MAX], frame[VNET_LEN_MIN + ETH_LEN + SUPER_MAX];
static struct gro_packet pkts[SEGMENTS_MAX];
static uint8_t received[SEGMENTS_MAX][VNET_LEN_MIN + ETH_LEN + DEVICE_MTU];

static void finish(int status, const char *what, int err)
{
	printf("%s: %s\n", what, strerror(err));
	exit(status);
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return; /* no IPv6, no noise from it */
	fputs(text, file);
	fclose(file);
}

static void device_up(int control, const char *name)
{
	struct ifreq ifr = {.ifr_flags = IFF_UP};

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (ioctl(control, SIOCSIFFLAGS, &ifr))
		finish(1, name, errno);
}

/* Without checksums the kernel turns off segmentation, too, and finishes them. */
static void device_without_offloads(int control, const char *name)
{
	struct ethtool_value value = {.cmd = ETHTOOL_STXCSUM};
	struct ifreq ifr = {.ifr_data = (char *)&value};

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (ioctl(control, SIOCETHTOOL, &ifr))
		finish(SKIP, "ETHTOOL_STXCSUM", errno);
}

static int packet_socket(const char *name, uint16_t protocol)
{
	struct sockaddr_ll addr = {.sll_family = AF_PACKET,
				   .sll_protocol = htons(protocol),
				   .sll_ifindex = (int)if_nametoindex(name)};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), on = 1, size = SOCKET_BUFFER;

	if (fd < 0)
		finish(SKIP, "packet socket", errno);
	if (setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)))
		finish(SKIP, "PACKET_VNET_HDR", errno);
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		finish(SKIP, "socket buffers", errno);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		finish(1, "bind", errno);
	return fd;
}

static void setup(void)
{
	const struct veth_args pair = {{.name = "in", .mtu = DEVICE_MTU},
				       {.name = "out", .mtu = DEVICE_MTU}};
	int control, err, ifindex, peer_ifindex;
	struct nl *nl;

	if (unshare(CLONE_NEWNET))
		finish(SKIP, "unshare", errno);
	write_text("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
	err = nl_open(&nl);
	if (!err)
		err = veth_create(nl, &pair, &ifindex, &peer_ifindex);
	if (err)
		finish(SKIP, "veth", -err);
	nl_close(nl);
	control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (control < 0)
		finish(1, "socket", errno);
	device_without_offloads(control, "in");
	/* In this order: a veth end that comes up before its peer gets its queue later, from
	 * a work queue of the kernel, and until then loses without a word what is sent. */
	device_up(control, "out");
	device_up(control, "in");
	close(control);
	in_fd = packet_socket("in", 0);
	out_fd = packet_socket("out", ETH_P_ALL);
}

static void fail(const struct spec *s, const char *what, uint32_t i)
{
	printf("IPv%u, mss %u payload %u, options %u, flags 0x%02x: segment %u: %s\n", s->family,
	       s->mss, s->payload_len, s->tcp_options, s->tcp_flags, i, what);
	exit(1);
}

/* Frames of ours carry this address; whatever the stack itself sends does not. */
static void put_ethernet(uint8_t *p, uint8_t family)
{
	memcpy(p, "\x02sealn\x02tests", 12);
	put16(p + 12, family == 4 ? ETH_P_IP : ETH_P_IPV6);
}

/* Old kernels take nothing of that length, and any may be short of large pages. */
static void write_frame(const struct spec *s, const struct vnet *v, uint32_t len)
{
	const size_t n = VNET_LEN_MIN + ETH_LEN + len;
	unsigned tries;

	if (!vnet_encode(v, frame, VNET_LEN_MIN, ETH_LEN))
		fail(s, "cannot be encoded", 0);
	put_ethernet(frame + VNET_LEN_MIN, s->family);
	memcpy(frame + VNET_LEN_MIN + ETH_LEN, super, len);
	for (tries = 0; send(in_fd, frame, n, 0) != (ssize_t)n; tries++) {
		if (errno != ENOBUFS && errno != EMSGSIZE)
			fail(s, strerror(errno), 0);
		if (errno == EMSGSIZE || tries == NO_MEMORY_TRIES)
			finish(SKIP, "the packet socket takes no BIG TCP", errno);
		usleep(10000);
	}
	n_superpackets++;
}

/* The next frame of ours; the length of its IP packet. */
static uint32_t read_packet(const struct spec *s, uint32_t i)
{
	struct pollfd pfd = {.fd = out_fd, .events = POLLIN};
	struct vnet v;
	ssize_t n;

	while (poll(&pfd, 1, 10000) == 1) {
		n = recv(out_fd, received[i], sizeof(received[i]), MSG_TRUNC);
		if (n <= VNET_LEN_MIN + ETH_LEN ||
		    memcmp(received[i] + VNET_LEN_MIN, "\x02sealn", 6) != 0)
			continue;
		if (n > (ssize_t)sizeof(received[i]))
			fail(s, "not cut", i);
		if (!vnet_decode(received[i], VNET_LEN_MIN, ETH_LEN, &v) || v.needs_csum || v.gso)
			fail(s, "not finished by the kernel", i);
		return (uint32_t)n - VNET_LEN_MIN - ETH_LEN;
	}
	fail(s, "the kernel sent none", i);
	return 0;
}

/* What the kernel cut is merged into what it was cut of. */
static void check_merge(const struct spec *s, const struct vnet *v, uint32_t len, uint32_t n)
{
	const struct gro_config config = {
		.tcp4 = true, .tcp6 = true, .max_len4 = len, .max_len6 = len, .max_segments = n};
	static struct gro_super out[SEGMENTS_MAX];
	static struct gro gro;
	uint32_t i, at = 0;

	if (gro_merge(&gro, &config, pkts, n, out) != 1 || out[0].len != len)
		fail(s, "not merged", 0);
	if (out[0].vnet.gso != v->gso || out[0].vnet.gso_size != v->gso_size ||
	    out[0].vnet.csum_start != v->csum_start)
		fail(s, "described otherwise", 0);
	for (i = 0; i < n; i++) {
		const uint32_t off = i ? pkts[i].payload_off : 0;

		if (memcmp(pkts[i].ip + off, super + at, pkts[i].len - off) != 0)
			fail(s, "differs when merged", i);
		at += pkts[i].len - off;
	}
}

static void take(const struct spec *s, uint32_t i, uint32_t len)
{
	struct gro_packet *p = &pkts[i];

	*p = (struct gro_packet){
		.ip = received[i] + VNET_LEN_MIN + ETH_LEN, .len = len, .l2_len = ETH_LEN};
	if (!ip_parse(p->ip, len, &p->view))
		fail(s, "not IP", i);
}

static void check_spec(const struct spec *s)
{
	const bool mergeable = !(s->tcp_flags & ~(TCP_FLAG_ACK | TCP_FLAG_PSH | TCP_FLAG_ECE));
	static uint8_t cut[DEVICE_MTU];
	const struct vnet v = spec_vnet(s);
	uint8_t *payload = spec_payload(s->payload_len);
	const uint32_t len = spec_build(s, payload, true, super);
	uint32_t i, n;
	struct gso g;

	free(payload);
	write_frame(s, &v, len);
	if (!vnet_check(&v, super, len) || !gso_begin(&g, super, len, &v))
		fail(s, "refused", 0);
	for (i = 0; i < g.n_segments; i++) {
		n = read_packet(s, i);
		take(s, i, n);
		if (gso_next(&g, cut) != n || memcmp(cut, pkts[i].ip, n) != 0)
			fail(s, "differs", i);
		n_segments++;
	}
	if (mergeable)
		check_merge(s, &v, len, i);
}

static const struct {
	uint8_t options, flags, tos;
	bool ecn;
} headers[] = {
	{0, TCP_FLAG_ACK, 0, false},
	{12, TCP_FLAG_ACK | TCP_FLAG_PSH, 2, false},
	{40, TCP_FLAG_ACK | TCP_FLAG_PSH | TCP_FLAG_ECE, 0xb9, false},
	{12, TCP_FLAG_ACK | TCP_FLAG_PSH | TCP_FLAG_FIN | TCP_FLAG_CWR, 2, true},
};

/* The pseudo header counts 16 bits more than the length fields have, from 65536 on in
 * TCP's length, 131072 and 196608. */
static const uint32_t payloads[] = {65000,  65495,  65496,  65515,  65516,  65536,  100000,
				    131051, 131052, 131072, 196548, 196568, 196588, 262000};
static const uint16_t sizes[] = {540, 1448, 8900};

int main(void)
{
	struct spec s = {.id = 0xfff0, .seq = 0xfffffc18};
	unsigned way, i, k;

	setup();
	for (way = 0; way < 8; way++) {
		s.family = way & 1 ? 4 : 6;
		s.tcp_options = headers[way / 2].options;
		s.tcp_flags = headers[way / 2].flags;
		s.tos = headers[way / 2].tos;
		s.ecn = headers[way / 2].ecn;
		for (i = 0; i < sizeof(payloads) / sizeof(*payloads); i++)
			for (k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
				s.payload_len = payloads[i];
				s.mss = sizes[k];
				check_spec(&s);
			}
	}
	printf("%u superpackets written, %u segments equal\n", n_superpackets, n_segments);
	return 0;
}
