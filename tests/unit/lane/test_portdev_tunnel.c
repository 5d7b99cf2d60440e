/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tunnels of the host on top of the overlay end. A port that is not to carry their
 * superpackets gets single frames, cut by the kernel, whose checksums are right
 * once the one that was left open is finished.
 */
#include <arpa/inet.h>
#include <linux/udp.h>
#include <netinet/in.h>

#include "agent/lane/portdev.h"
#include "portdev_frames.h"

/* As tcp_frame() and tcp_vnet() make them. */
enum { SEGMENT_LEN = TCP_MSS, N_SEGMENTS = TCP_PAYLOAD / TCP_MSS, INNER_PORT = 2222 };

/* An inner superpacket: of a UDP socket, or of TCP put into the device. */
enum inner { INNER_UDP4, INNER_UDP6, INNER_TCP4, N_INNER };

static const struct tunnel {
	const char *what;
	const char *link; /* what `ip link add tn0` is told */
	uint8_t proto;	  /* of the outer IP header */
	unsigned gap;	  /* from behind that to the inner IP header */
	unsigned can;	  /* bits of enum inner */
	bool checksum;	  /* there must be an outer one */
} tunnels[] = {
	{"VXLAN over IPv4, no checksum",
	 "address 02:00:00:00:00:bb type vxlan id 5 local 10.9.0.1 remote 10.9.0.2 dstport 4789 "
	 "dev sla noudpcsum",
	 17, 30, 7, false},
	{"VXLAN over IPv4, checksum",
	 "address 02:00:00:00:00:bb type vxlan id 5 local 10.9.0.1 remote 10.9.0.2 dstport 4789 "
	 "dev sla udpcsum",
	 17, 30, 7, true},
	{"VXLAN over IPv6, no checksum",
	 "address 02:00:00:00:00:bb type vxlan id 5 local fd00::1 remote fd00::2 dstport 4789 "
	 "dev sla udp6zerocsumtx",
	 17, 30, 7, false},
	{"VXLAN over IPv6, checksum",
	 "address 02:00:00:00:00:bb type vxlan id 5 local fd00::1 remote fd00::2 dstport 4789 "
	 "dev sla noudp6zerocsumtx",
	 17, 30, 7, true},
	/* Skipped where the kernel was built without them. */
	{"GRE", "type gre local 10.9.0.1 remote 10.9.0.2 dev sla", 47, 4, 3, false},
	{"GRETAP", "address 02:00:00:00:00:bb type gretap local 10.9.0.1 remote 10.9.0.2 dev sla",
	 47, 18, 7, false},
	{"IPIP", "type ipip local 10.9.0.1 remote 10.9.0.2 dev sla", 4, 0, 1, false},
};

/* False: this kernel has no such tunnel. */
static bool add_tunnel(struct world *w, const struct tunnel *t)
{
	char command[300];
	int status;

	enter(w->a.netns);
	run("ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:aa dev sla && "
	    "ip neigh add fd00::2 lladdr 02:00:00:00:00:aa dev sla && "
	    "sysctl -qw net.ipv6.conf.default.accept_dad=0");
	snprintf(command, sizeof(command), "ip link add tn0 %s 2>&1 | grep -q 'Unknown device'",
		 t->link);
	status = system(command);
	if (status) {
		run("ip addr add 10.10.0.1/24 dev tn0 && ip link set tn0 mtu 1400 up");
		if (t->can & 1U << INNER_UDP6)
			run("ip addr add fd10::1/64 dev tn0 nodad");
		if (t->can & 1U << INNER_TCP4)
			run("ip neigh add 10.10.0.2 lladdr 02:00:00:00:00:aa dev tn0 && "
			    "ip neigh add fd10::2 lladdr 02:00:00:00:00:aa dev tn0");
	}
	enter(w->home);
	return status;
}

/* Sending */

static uint8_t payload_byte(enum inner inner, size_t i)
{
	return (uint8_t)(inner == INNER_TCP4 ? i * 11 + i / 256 : i * 7 + i / 251);
}

static void send_udp(struct world *w, enum inner inner)
{
	struct sockaddr_in6 to6 = {.sin6_family = AF_INET6, .sin6_port = htons(INNER_PORT)};
	struct sockaddr_in to4 = {.sin_family = AF_INET, .sin_port = htons(INNER_PORT)};
	bool v4 = inner == INNER_UDP4;
	uint8_t buf[N_SEGMENTS * SEGMENT_LEN];
	int fd, segment_len = SEGMENT_LEN;

	inet_pton(AF_INET, "10.10.0.2", &to4.sin_addr);
	inet_pton(AF_INET6, "fd10::2", &to6.sin6_addr);
	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = payload_byte(inner, i);
	enter(w->a.netns);
	fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	enter(w->home);
	assert_int_equal(
		setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment_len, sizeof(segment_len)), 0);
	assert_int_equal(sendto(fd, buf, sizeof(buf), 0, v4 ? (void *)&to4 : (void *)&to6,
				v4 ? sizeof(to4) : sizeof(to6)),
			 sizeof(buf));
	close(fd);
}

static void send_tcp(struct world *w)
{
	uint8_t frame[RAW_MAX], hdr[PACKET_VNET_HDR_LEN];
	size_t len = tcp_frame(frame, 0, N_SEGMENTS * SEGMENT_LEN);
	struct vnet v = tcp_vnet(0);
	int raw = raw_socket_on(w, &w->a, "tn0");

	assert_true(vnet_encode(&v, hdr, sizeof(hdr), 0));
	raw_send(raw, hdr, frame, len);
	close(raw);
}

static void send_inner(struct world *w, enum inner inner)
{
	if (inner == INNER_TCP4)
		send_tcp(w);
	else
		send_udp(w, inner);
}

/* Looking at what comes out */

static uint16_t sum(const uint8_t *p, size_t len, uint32_t start)
{
	uint64_t total = start;

	for (size_t i = 0; i < len; i++)
		total += (uint64_t)p[i] << (i % 2 ? 0 : 8);
	while (total >> 16)
		total = (total & 0xffff) + (total >> 16);
	return (uint16_t)total;
}

struct ip {
	const uint8_t *p, *l4;
	size_t l4_len;
	uint8_t proto;
	uint32_t pseudo; /* sum of the pseudo header */
};

/* One without options. False: its length or header checksum is not that of @len. */
static bool look(const uint8_t *p, size_t len, struct ip *ret)
{
	bool v4 = p[0] >> 4 == 4;
	size_t header = v4 ? 20 : 40;

	if (len < header || be16_load(p + (v4 ? 2 : 4)) != len - (v4 ? 0 : header) ||
	    (v4 && sum(p, header, 0) != 0xffff))
		return false;
	ret->p = p;
	ret->l4 = p + header;
	ret->l4_len = len - header;
	ret->proto = v4 ? p[9] : p[6];
	ret->pseudo = sum(p + (v4 ? 12 : 8), v4 ? 8 : 32, ret->proto + (uint32_t)ret->l4_len);
	return true;
}

static bool checksum_right(const struct ip *ip)
{
	return sum(ip->l4, ip->l4_len, ip->pseudo) == 0xffff;
}

/* What the header says is left to do. */
static void finish(const struct portdev_read *r)
{
	uint8_t *field = r->frame + r->vnet.csum_start + r->vnet.csum_offset;
	uint16_t value;

	if (!r->vnet.needs_csum)
		return;
	assert_true(r->vnet.csum_start + r->vnet.csum_offset + 2U <= r->len);
	value = (uint16_t)~sum(r->frame + r->vnet.csum_start, r->len - r->vnet.csum_start, 0);
	be16_store(field, value ? value : 0xffff);
}

/* Is it a frame of the tunnel with what we sent in it? */
static bool is_ours(const struct portdev_read *r, const struct tunnel *t)
{
	bool v4 = r->len > 14 && be16_load(r->frame + 12) == 0x0800;
	size_t outer = v4 ? 34 : 54, inner = outer + t->gap;
	bool inner_v4;

	if (r->len < inner + 48 || r->frame[v4 ? 23 : 20] != t->proto)
		return false;
	inner_v4 = r->frame[inner] >> 4 == 4;
	return be16_load(r->frame + inner + (inner_v4 ? 22U : 42U)) == INNER_PORT;
}

/* The next of them, or what was dropped; it lives until the next call. */
static const struct portdev_read *next_frame(struct world *w, const struct tunnel *t)
{
	static struct portdev_read r;
	struct pollfd ready = {.fd = portdev_fd(w->a.d), .events = POLLIN};

	while (poll(&ready, 1, WAIT_MS) > 0) {
		int n;

		r = (struct portdev_read){.frame = w->arena + PORTDEV_HEADROOM};
		n = portdev_read(w->a.d, &r, 1);
		assert_true(n >= 0);
		if (n && (r.drop != DROP_NONE || is_ours(&r, t)))
			return &r;
	}
	return NULL;
}

/* Segment @i of what was sent, in a single packet that is right in every part; the
 * text is what was wrong. */
static const char *check_frame(const struct portdev_read *r, const struct tunnel *t,
			       enum inner kind, unsigned i)
{
	size_t header = kind == INNER_TCP4 ? 20 : 8;
	struct ip outer, inner;

	if (r->drop != DROP_NONE)
		return "dropped";
	if (r->vnet.gso != VNET_GSO_NONE)
		return "a superpacket";
	finish(r);
	if (!look(r->frame + 14, r->len - 14, &outer))
		return "outer IP";
	if (t->proto == 17 && be16_load(outer.l4 + 4) != outer.l4_len)
		return "outer UDP length";
	if (t->proto == 17 && (t->checksum || be16_load(outer.l4 + 6)) && !checksum_right(&outer))
		return "outer checksum";
	if (!look(outer.l4 + t->gap, outer.l4_len - t->gap, &inner))
		return "inner IP";
	if (!checksum_right(&inner))
		return "inner checksum";
	if (inner.l4_len != header + SEGMENT_LEN)
		return "inner length";
	if (kind == INNER_TCP4 && be32_load(inner.l4 + 4) != i * SEGMENT_LEN)
		return "sequence number";
	for (size_t k = 0; k < SEGMENT_LEN; k++) {
		if (inner.l4[header + k] != payload_byte(kind, i * SEGMENT_LEN + k))
			return "payload";
	}
	return NULL;
}

static void expect_cut(struct world *w, const struct tunnel *t, enum inner inner)
{
	send_inner(w, inner);
	for (unsigned i = 0; i < N_SEGMENTS; i++) {
		const struct portdev_read *r = next_frame(w, t);
		const char *wrong = r ? check_frame(r, t, inner, i) : "nothing";

		if (wrong)
			fail_msg("kind %u, %s, inner %u, frame %u: %s",
				 (unsigned)portdev_kind_of(w->a.d), t->what, (unsigned)inner, i,
				 wrong);
	}
}

static void test_superpackets_are_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * sizeof(tunnels) / sizeof(tunnels[0]); i++) {
		const struct tunnel *t = &tunnels[i / 2];
		struct world w;

		begin(&w, kinds[i % 2], 65536);
		if (!add_tunnel(&w, t)) {
			print_message("%s: this kernel has none\n", t->what);
			end(&w);
			continue;
		}
		for (unsigned inner = 0; inner < N_INNER; inner++) {
			if (t->can & 1U << inner)
				expect_cut(&w, t, (enum inner)inner);
		}
		end(&w);
	}
}

/* Or the test above shows nothing: they are superpackets until somebody cuts them. */
static void test_superpackets_where_wanted(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct portdev_read *r;
		struct world w;

		begin_with(&w, PORTDEV_VETH, 65536, TUN_OFFLOAD_ALL);
		assert_true(add_tunnel(&w, &tunnels[i]));
		send_inner(&w, INNER_TCP4);
		r = next_frame(&w, &tunnels[i]);
		assert_non_null(r);
		assert_int_equal(r->vnet.gso, VNET_GSO_TCP4);
		assert_true(r->len > N_SEGMENTS * SEGMENT_LEN);
		end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_superpackets_are_cut),
		cmocka_unit_test(test_superpackets_where_wanted),
	};

	stay_on_this_cpu();
	return world_main(tests, sizeof(tests) / sizeof(tests[0]));
}
