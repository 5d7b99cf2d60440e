/* SPDX-License-Identifier: Apache-2.0 */
/* Frames through a port device: tags, what must not leak, the longest, the lost. */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>

#include "agent/lane/portdev.h"
#include "overlay/veth.h"
#include "portdev_frames.h"

static const struct {
	const char *what;
	uint16_t tags[5]; /* type and tci of each, 0 */
	uint8_t to[6];
} tag_cases[] = {
	{"no tag", {0}, {2, 0, 0, 0, 0, 0xaa}},
	{"802.1Q", {0x8100, 42}, {2, 0, 0, 0, 0, 0xaa}},
	{"802.1Q with priority", {0x8100, 0xa00f}, {2, 0, 0, 0, 0, 0xaa}},
	{"802.1Q, VID 0", {0x8100, 0x2000}, {2, 0, 0, 0, 0, 0xaa}},
	{"802.1ad", {0x88a8, 100}, {2, 0, 0, 0, 0, 0xaa}},
	{"QinQ", {0x88a8, 100, 0x8100, 7}, {2, 0, 0, 0, 0, 0xaa}},
	{"twice 802.1Q", {0x8100, 100, 0x8100, 7}, {2, 0, 0, 0, 0, 0xaa}},
	{"broadcast", {0x8100, 42}, {255, 255, 255, 255, 255, 255}},
};

static void test_tags(void **state)
{
	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct world w;
		int raw_a, raw_b;

		begin(&w, kinds[k], 65536);
		raw_a = raw_socket(&w, &w.a);
		raw_b = raw_socket(&w, &w.b);
		for (size_t i = 0; i < sizeof(tag_cases) / sizeof(tag_cases[0]); i++) {
			uint8_t frame[FRAME_LEN], got[RAW_MAX], hdr[PACKET_VNET_HDR_LEN];
			const struct vnet plain = {0};
			const struct portdev_read *r;

			tagged_frame(frame, tag_cases[i].tags, tag_cases[i].to);
			raw_send(raw_a, NULL, frame, sizeof(frame));
			r = port_receive(&w, &w.a);
			if (!r || r->len != sizeof(frame) || memcmp(r->frame, frame, r->len))
				fail_msg("kind %u, read: %s: %u bytes", (unsigned)kinds[k],
					 tag_cases[i].what, r ? r->len : 0);
			assert_int_equal(r->drop, DROP_NONE);
			assert_int_equal(port_send(&w.b, &plain, frame, sizeof(frame)), 0);
			if (raw_receive(raw_b, hdr, got) != sizeof(frame) ||
			    memcmp(got, frame, sizeof(frame)))
				fail_msg("kind %u, write: %s", (unsigned)kinds[k],
					 tag_cases[i].what);
		}
		close(raw_a);
		close(raw_b);
		end(&w);
	}
}

/* Superpackets with 0 to 2 tags: the offsets count from the frame as it is read and
 * written, tags included. */
static void test_tagged_superpackets(void **state)
{
	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct world w;
		int raw_a, raw_b;

		begin(&w, kinds[k], 65536);
		raw_a = raw_socket(&w, &w.a);
		raw_b = raw_socket(&w, &w.b);
		for (unsigned n_tags = 0; n_tags <= 2; n_tags++) {
			uint8_t frame[RAW_MAX], got[RAW_MAX], hdr[PACKET_VNET_HDR_LEN];
			size_t len = tcp_frame(frame, n_tags, TCP_PAYLOAD), got_len;
			struct vnet v = tcp_vnet(n_tags), at_end;
			const struct portdev_read *r;

			assert_true(vnet_encode(&v, hdr, sizeof(hdr), 0));
			raw_send(raw_a, hdr, frame, len);
			r = port_receive(&w, &w.a);
			assert_non_null(r);
			if (r->len != len || memcmp(r->frame, frame, len) ||
			    r->vnet.csum_start != v.csum_start || r->vnet.gso != v.gso ||
			    r->vnet.gso_size != v.gso_size || r->vnet.csum_offset != 16)
				fail_msg("kind %u, %u tags: read %u of %u, csum_start %u",
					 (unsigned)kinds[k], n_tags, r->len, (unsigned)len,
					 r->vnet.csum_start);

			assert_int_equal(port_send(&w.b, &v, frame, len), 0);
			got_len = raw_receive(raw_b, hdr, got);
			if (got_len != len || memcmp(got, frame, len) ||
			    !vnet_decode(hdr, sizeof(hdr), 0, &at_end) || at_end.gso != v.gso ||
			    at_end.gso_size != v.gso_size)
				fail_msg("kind %u, %u tags: %u of %u arrive", (unsigned)kinds[k],
					 n_tags, (unsigned)got_len, (unsigned)len);
		}
		close(raw_a);
		close(raw_b);
		end(&w);
	}
}

/* IPv4 and UDP to 10.8.0.2 (behind the neighbour device) or the group or everybody. */
static size_t udp_frame(uint8_t *p, const uint8_t *mac, const uint8_t *dst)
{
	uint32_t sum = 0;

	memset(p, 0, 60);
	memcpy(p, mac, 6);
	memcpy(p + 6, mac_y, 6);
	be16_store(p + 12, 0x0800);
	be16_store(p + 14, 0x4500);
	be16_store(p + 16, 46);
	be16_store(p + 22, 0x4011);
	memcpy(p + 26, (const uint8_t[]){10, 9, 0, 1}, 4);
	memcpy(p + 30, dst, 4);
	for (unsigned i = 14; i < 34; i += 2)
		sum += be16_load(p + i);
	sum = (sum & 0xffff) + (sum >> 16);
	be16_store(p + 24, (uint16_t)~sum);
	be16_store(p + 34, 4000);
	be16_store(p + 36, 4001);
	be16_store(p + 38, 26);
	return 60;
}

/* Sends the three frames and counts what got through, to a socket of the host and
 * out of its neighbour device. */
static void send_three(struct world *w, int raw, int udp, int neighbour, unsigned *ret_host,
		       unsigned *ret_out)
{
	struct link_info lane;
	uint8_t frame[60], buf[200];

	assert_int_equal(link_get_index(w->nl, portdev_lane_ifindex(w->a.d), &lane), 0);
	udp_frame(frame, lane.mac, (const uint8_t[]){10, 8, 0, 2});
	raw_send(raw, NULL, frame, sizeof(frame));
	udp_frame(frame, broadcast, (const uint8_t[]){255, 255, 255, 255});
	raw_send(raw, NULL, frame, sizeof(frame));
	udp_frame(frame, group, (const uint8_t[]){224, 0, 0, 1});
	raw_send(raw, NULL, frame, sizeof(frame));
	assert_int_equal(port_count(w, &w->a, raw), 3);
	*ret_host = *ret_out = 0;
	while (recv(udp, buf, sizeof(buf), MSG_DONTWAIT) >= 0)
		(*ret_host)++;
	for (ssize_t len; (len = recv(neighbour, buf, sizeof(buf), MSG_DONTWAIT)) >= 0;)
		*ret_out += len >= 34 && !memcmp(buf + 26, (const uint8_t[]){10, 9, 0, 1}, 4);
}

static void test_no_leak(void **state)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(4001)};
	struct sockaddr_ll on = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	unsigned to_host, out;
	int raw, udp, neighbour;
	char name[IFNAMSIZ];
	struct world w;

	(void)state;
	begin(&w, PORTDEV_VETH, 65536);
	run("ip link set lo up; ip link add nb0 type veth peer name nb1 && ip link set nb0 up && "
	    "ip link set nb1 up && ip addr add 10.8.0.1/24 dev nb0 && "
	    "ip neigh add 10.8.0.2 lladdr 02:00:00:00:00:99 dev nb0");
	run("sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 "
	    "net.ipv4.conf.default.rp_filter=0 net.ipv4.conf.%s.rp_filter=0",
	    if_indextoname((unsigned)portdev_lane_ifindex(w.a.d), name));
	udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(udp, (struct sockaddr *)&any, sizeof(any)), 0);
	on.sll_ifindex = (int)if_nametoindex("nb0");
	neighbour = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(neighbour, (struct sockaddr *)&on, sizeof(on)), 0);
	raw = raw_socket(&w, &w.a);

	send_three(&w, raw, udp, neighbour, &to_host, &out);
	assert_int_equal(to_host, 0);
	assert_int_equal(out, 0);

	/* The same without the drop leaks, or this test would show nothing. */
	run("tc qdisc del dev %s clsact", name);
	send_three(&w, raw, udp, neighbour, &to_host, &out);
	assert_true(to_host > 0);
	assert_true(out > 0);
	close(raw);
	close(udp);
	close(neighbour);
	end(&w);
	run("ip link del nb0");
}

/* A reader that is too slow: what it missed is counted. The buffer is that of
 * packet_open() and made small here, where a full one would take 60000 frames. */
static void test_drops_counted(void **state)
{
	enum { N_FRAMES = 300, FOREIGN_MAX = 20 };
	struct portdev_read r[PORTDEV_BATCH_MAX];
	uint64_t n_read = 0, n_dropped = 0, until;
	uint8_t frame[FRAME_LEN];
	int raw, n, buf_len = 0, small = 4096;
	socklen_t len = sizeof(buf_len);
	struct world w;

	(void)state;
	begin(&w, PORTDEV_VETH, 65536);
	assert_int_equal(getsockopt(portdev_fd(w.a.d), SOL_SOCKET, SO_RCVBUF, &buf_len, &len), 0);
	assert_true(buf_len >= 16 << 20);
	raw = raw_socket(&w, &w.a);
	(void)port_count(&w, &w.a, raw);
	assert_int_equal(portdev_take_drops(w.a.d), 0);
	assert_int_equal(
		setsockopt(portdev_fd(w.a.d), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	tagged_frame(frame, NULL, mac_x);
	for (int i = 0; i < N_FRAMES; i++)
		raw_send(raw, NULL, frame, sizeof(frame));
	for (until = now_ms() + WAIT_MS; n_read + n_dropped < N_FRAMES && now_ms() < until;) {
		n = read_batch(&w, &w.a, r);
		for (int i = 0; i < n; i++)
			n_read += !memcmp(r[i].frame + 6, mac_y, 6);
		n_dropped += portdev_take_drops(w.a.d);
	}
	assert_true(n_dropped > 0);
	assert_in_range(n_read + n_dropped, N_FRAMES, N_FRAMES + FOREIGN_MAX);
	/* Told once, and the rest comes. */
	assert_true(portdev_take_drops(w.a.d) <= FOREIGN_MAX);
	assert_int_equal(setsockopt(portdev_fd(w.a.d), SOL_SOCKET, SO_RCVBUFFORCE, &buf_len, len),
			 0);
	assert_int_equal(port_count(&w, &w.a, raw), 0);
	close(raw);
	end(&w);
}

/* Of the longest superpackets whose length the limits allow, at the limit and one
 * past PORTDEV_FRAME_MAX. */
static void test_longest(void **state)
{
	static const struct {
		size_t len;
		bool want;
	} cases[] = {{196607, true}, {PORTDEV_FRAME_MAX, true}, {PORTDEV_FRAME_MAX + 1, false}};
	uint8_t *frame = malloc(300000), hdr[PACKET_VNET_HDR_LEN];
	struct vnet v = tcp_vnet(0);
	struct world w;
	int raw;

	(void)state;
	if (!kernel_at_least(6, 3)) { /* 64 KB of IPv4 */
		free(frame);
		skip();
	}
	begin(&w, PORTDEV_VETH, 196608);
	v.gso_size = 1448;
	assert_true(vnet_encode(&v, hdr, sizeof(hdr), 0));
	run_in(w.a.netns, w.home, "ip link set sla gso_max_size 400000 gro_max_size 400000");
	raw = raw_socket(&w, &w.a);
	/* iproute2 of today may not know the IPv4 twin: through our own. */
	enter(w.a.netns);
	{
		struct nl *nl;

		assert_int_equal(nl_open(&nl), 0);
		assert_int_equal(veth_limits_set(nl, (int)if_nametoindex("sla"), 400000), 0);
		nl_close(nl);
	}
	enter(w.home);
	for (size_t i = 0; i < 3; i++) {
		const struct portdev_read *r;

		assert_int_equal(tcp_frame(frame, 0, cases[i].len - 54), cases[i].len);
		raw_send(raw, hdr, frame, cases[i].len);
		r = port_receive(&w, &w.a);
		assert_non_null(r);
		assert_int_equal(r->drop, cases[i].want ? DROP_NONE : DROP_BAD_VNET);
		assert_int_equal(r->len, cases[i].want ? cases[i].len : 0);
		if (cases[i].want)
			assert_memory_equal(r->frame, frame, r->len);
	}
	close(raw);
	free(frame);
	end(&w);
}

/* More frames than a batch, and frames of more pieces than one call takes. */
static void test_many(void **state)
{
	static const unsigned n_pieces[] = {1, 3, FRAME_LEN};
	enum { N = 3 * PORTDEV_BATCH_MAX + 5 };

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		uint8_t frame[N][FRAME_LEN], got[RAW_MAX], hdr[PACKET_VNET_HDR_LEN];
		static struct iovec iov[N][IO_IOV_MAX + 1];
		struct portdev_write out[N];
		struct world w;
		int raw;

		begin(&w, kinds[k], 65536);
		raw = raw_socket(&w, &w.b);
		for (size_t c = 0; c < 3; c++) {
			for (unsigned i = 0; i < N; i++) {
				unsigned n = n_pieces[c], step = FRAME_LEN / n;

				tagged_frame(frame[i], NULL, mac_x);
				frame[i][20] = (uint8_t)i;
				for (unsigned j = 0; j < n; j++)
					iov[i][j] = (struct iovec){
						frame[i] + j * step,
						j + 1 < n ? step : FRAME_LEN - j * step};
				/* Empty ones up to the most there may be, then beyond. */
				for (; c == 2 && n < IO_IOV_MAX + (i == 7); n++)
					iov[i][n] = (struct iovec){frame[i], 0};
				out[i] =
					(struct portdev_write){.iov = iov[i], .n_iov = n, .err = 1};
			}
			portdev_write(w.b.d, out, N);
			for (unsigned i = 0; i < N; i++) {
				bool refused = c == 2 && i == 7;

				assert_int_equal(out[i].err, refused ? -EINVAL : 0);
				if (refused)
					continue;
				assert_int_equal(raw_receive(raw, hdr, got), FRAME_LEN);
				assert_memory_equal(got, frame[i], FRAME_LEN);
			}
		}
		close(raw);
		end(&w);
	}
}

/* The owner of the overlay end may raise its MTU. */
static void test_mtu_raised(void **state)
{
	enum { LEN = 14 + 9000 };
	uint8_t frame[LEN];
	const struct portdev_read *r;
	struct world w;
	int raw;

	(void)state;
	begin(&w, PORTDEV_VETH, 65536);
	run_in(w.a.netns, w.home, "ip link set sla mtu 9000");
	raw = raw_socket(&w, &w.a);
	memset(frame, 0x5a, sizeof(frame));
	tagged_frame(frame, NULL, mac_x);
	raw_send(raw, NULL, frame, sizeof(frame));
	r = port_receive(&w, &w.a);
	assert_non_null(r);
	assert_int_equal(r->len, LEN);
	assert_memory_equal(r->frame, frame, LEN);
	close(raw);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tags),	   cmocka_unit_test(test_tagged_superpackets),
		cmocka_unit_test(test_no_leak),	   cmocka_unit_test(test_drops_counted),
		cmocka_unit_test(test_longest),	   cmocka_unit_test(test_many),
		cmocka_unit_test(test_mtu_raised),
	};

	stay_on_this_cpu();
	return world_main(tests, sizeof(tests) / sizeof(tests[0]));
}
