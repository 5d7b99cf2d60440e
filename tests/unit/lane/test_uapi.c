/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration text against a real lane whose clock, device and sockets are
 * made up here. Keys are of RFC 7748 arithmetic, computed outside. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/lane/lane.h"
#include "agent/lane/log.h"
#include "agent/lane/textbuf.h"
#include "agent/lane/uapi.h"

#define PRIVATE	 "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20"
#define CLAMPED	 "0002030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f60"
#define OUR_KEY	 "07a37cbc142093c8b755dc1b10e86cb426374ad16aa853ed0bdfc0b2b86d1c7c"
#define KEY_A	 "a586f0349158d93d853e533732f5dd7e44eeaacfc39b33203565544e70dc9c27"
#define KEY_B	 "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
#define KEY_B_UP "DE9EDB7D7B7DC1B4D35B61C2ECE435373F8343C85B78674DADFC7E146F882B4F"
#define ZERO	 "0000000000000000000000000000000000000000000000000000000000000000"

#define PEER(key, psk, endpoint, keepalive, ips)                                                   \
	"public_key=" key "\npreshared_key=" psk "\nprotocol_version=1\n" endpoint                 \
	"last_handshake_time_sec=0\nlast_handshake_time_nsec=0\ntx_bytes=0\nrx_bytes=0\n"          \
	"persistent_keepalive_interval=" keepalive "\n" ips
#define END "errno=0\n\n"

struct world {
	struct lane lane;
	struct uapi_set set;
	uint64_t now_ns, random;
	struct timespec wall;
	int open_err, fwmark_err;
	unsigned n_sent, n_opened;
};

static uint64_t world_now(void *ctx)
{
	return ((struct world *)ctx)->now_ns;
}

static void world_wall(void *ctx, struct timespec *ret)
{
	*ret = ((struct world *)ctx)->wall;
}

static void world_random(void *ctx, void *buf, size_t len)
{
	struct world *w = ctx;

	for (size_t i = 0; i < len; i++) {
		w->random = w->random * 6364136223846793005U + 1442695040888963407U;
		((uint8_t *)buf)[i] = (uint8_t)(w->random >> 56);
	}
}

static int device_read(void *ctx, struct io_read *r)
{
	(void)ctx;
	(void)r;
	return 0;
}

static int device_write(void *ctx, const struct vnet *vnet, const struct iovec *iov, unsigned n)
{
	(void)ctx;
	(void)vnet;
	(void)iov;
	(void)n;
	return 0;
}

static int udp_receive(void *ctx, int family, struct udp_message *msgs, unsigned max)
{
	(void)ctx;
	(void)family;
	(void)msgs;
	(void)max;
	return 0;
}

static void udp_send(void *ctx, struct udp_run *runs, unsigned n)
{
	(void)runs;
	((struct world *)ctx)->n_sent += n;
}

static int udp_open(void *ctx, uint16_t *port, uint32_t fwmark)
{
	struct world *w = ctx;

	(void)fwmark;
	w->n_opened++;
	if (w->open_err)
		return w->open_err;
	if (!*port)
		*port = 40000;
	return 0;
}

static void udp_close(void *ctx)
{
	(void)ctx;
}

static int udp_probe(void *ctx, uint16_t port)
{
	(void)port;
	return ((struct world *)ctx)->open_err;
}

static int udp_set_fwmark(void *ctx, uint32_t fwmark)
{
	(void)fwmark;
	return ((struct world *)ctx)->fwmark_err;
}

static struct lane_env world_env;

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct device_io device = {.ctx = w, .read = device_read, .write = device_write};
	struct udp_io udp = {
		.ctx = w,
		.receive = udp_receive,
		.send = udp_send,
		.open = udp_open,
		.close = udp_close,
		.probe = udp_probe,
		.set_fwmark = udp_set_fwmark,
	};

	log_setup(LOG_SILENT);
	w->now_ns = 1000000000;
	w->wall.tv_sec = 1700000000;
	world_env = (struct lane_env){w, world_now, world_wall, world_random};
	*state = w;
	return lane_init(&w->lane, &world_env, &device, &udp, 1420);
}

static int teardown(void **state)
{
	struct world *w = *state;

	lane_done(&w->lane);
	free(w);
	return 0;
}

/* One whole operation, as the line server would run it. */
static int set(struct world *w, const char *text)
{
	int err = 0;

	uapi_set_begin(&w->set, &w->lane);
	while (*text && !err) {
		const char *end = strchr(text, '\n');

		assert_non_null(end);
		err = uapi_set_line(&w->set, text, (size_t)(end - text));
		text = end + 1;
	}
	uapi_set_end(&w->set);
	return err;
}

static void expect_get(struct world *w, const char *want)
{
	struct textbuf b = {0};

	uapi_get(&w->lane, &b);
	assert_false(b.failed);
	assert_int_equal(strlen(b.data), b.len);
	assert_string_equal(b.data, want);
	textbuf_done(&b);
}

static void test_empty(void **state)
{
	expect_get(*state, END);
	assert_int_equal(set(*state, ""), 0);
	expect_get(*state, END);
}

static void test_device(void **state)
{
	struct world *w = *state;

	assert_int_equal(set(w, "private_key=" PRIVATE "\nlisten_port=51820\nfwmark=51820\n"), 0);
	expect_get(w, "private_key=" CLAMPED "\nlisten_port=51820\nfwmark=51820\n" END);
	assert_int_equal(set(w, "private_key=" ZERO "\nfwmark=0\n"), 0);
	expect_get(w, "listen_port=51820\n" END);
	assert_int_equal(set(w, "fwmark=4294967295\nlisten_port=0\n"), 0);
	expect_get(w, "fwmark=4294967295\n" END);
}

/* What stands before a bad line stays; what stands after is never looked at. */
static void test_bad_lines(void **state)
{
	static const struct {
		const char *line;
		int err;
	} rows[] = {
		{"nonsense\n", -EPROTO},
		{"\r\n", -EPROTO},
		{"=\n", -EINVAL},
		{"=1\n", -EINVAL},
		{"unknown=1\n", -EINVAL},
		{"private_keys=1\n", -EINVAL},
		{"private_ke=1\n", -EINVAL},
		{"Listen_port=1\n", -EINVAL},
		{" listen_port=1\n", -EINVAL},
		{"listen_port =1\n", -EINVAL},
		{"listen_port=\n", -EINVAL},
		{"listen_port=65536\n", -EINVAL},
		{"listen_port=-1\n", -EINVAL},
		{"listen_port=+1\n", -EINVAL},
		{"listen_port= 1\n", -EINVAL},
		{"listen_port=1\r\n", -EINVAL},
		{"listen_port=0x10\n", -EINVAL},
		{"fwmark=\n", -EINVAL},
		{"fwmark=0x1\n", -EINVAL},
		{"fwmark=4294967296\n", -EINVAL},
		{"fwmark=off\n", -EINVAL},
		{"private_key=\n", -EINVAL},
		{"private_key=" PRIVATE "0\n", -EINVAL},
		{"private_key=" PRIVATE "00\n", -EINVAL},
		{"private_key=0" PRIVATE "\n", -EINVAL},
		{"private_key=g102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20\n",
		 -EINVAL},
		{"private_key=AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=\n", -EINVAL},
		{"replace_peers=\n", -EINVAL},
		{"replace_peers=false\n", -EINVAL},
		{"replace_peers=TRUE\n", -EINVAL},
		{"preshared_key=" KEY_B "\n", -EINVAL}, /* no peer yet */
		{"allowed_ip=10.0.0.0/8\n", -EINVAL},
		{"protocol_version=1\n", -EINVAL},
		{"errno=0\n", -EINVAL},
		{"public_key=\n", -EINVAL},
		{"public_key=abc\n", -EINVAL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world *w = *state;
		char text[512];

		assert_int_equal(set(w, "listen_port=1\nfwmark=0\n"), 0);
		snprintf(text, sizeof(text), "fwmark=7\n%slisten_port=2\n", rows[i].line);
		if (set(w, text) != rows[i].err)
			fail_msg("another errno for %s", rows[i].line);
		expect_get(w, "listen_port=1\nfwmark=7\n" END);
	}
}

static void test_bad_peer_lines(void **state)
{
	static const char *const rows[] = {
		"private_key=" PRIVATE "\n", /* the device's section is over */
		"listen_port=2\n",
		"fwmark=2\n",
		"replace_peers=true\n",
		"update_only=false\n",
		"update_only=\n",
		"remove=1\n",
		"preshared_key=\n",
		"preshared_key=00\n",
		"endpoint=\n",
		"endpoint=example.com:1\n",
		"endpoint=1.2.3.4\n",
		"endpoint=::1:51820\n",
		"persistent_keepalive_interval=\n",
		"persistent_keepalive_interval=off\n",
		"persistent_keepalive_interval=65536\n",
		"persistent_keepalive_interval=-1\n",
		"replace_allowed_ips=yes\n",
		"allowed_ip=\n",
		"allowed_ip=-\n",
		"allowed_ip=/0\n",
		"allowed_ip=/\n",
		"allowed_ip=10.0.0.1\n",
		"allowed_ip=10.0.0.1/\n",
		"allowed_ip=10.0.0.1/33\n",
		"allowed_ip=10.0.0.1/-1\n",
		"allowed_ip=10.0.0.1/+1\n",
		"allowed_ip=10.0.0.1/08\n",
		"allowed_ip=10.0.0.1/00\n",
		"allowed_ip=10.0.0.1/8/8\n",
		"allowed_ip=10.0.0/8\n",
		"allowed_ip=+10.0.0.0/8\n",
		"allowed_ip=--10.0.0.0/8\n",
		"allowed_ip=::/129\n",
		"allowed_ip=fe80::%lo/64\n",
		"allowed_ip=::1/256\n",
		"allowed_ip=::1/4294967296\n",
		"allowed_ip=1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc:dddd/8\n",
		"protocol_version=2\n",
		"protocol_version=01\n",
		"unknown=1\n",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/* Checked just as well where lines do nothing. */
		static const char *const heads[] = {"", "remove=true\n"};
		struct world *w = *state;

		for (size_t j = 0; j < 2; j++) {
			char text[512];

			assert_int_equal(set(w, "replace_peers=true\n"), 0);
			snprintf(text, sizeof(text),
				 "public_key=" KEY_A "\npersistent_keepalive_interval=9\n%s%s"
				 "public_key=" KEY_B "\n",
				 heads[j], rows[i]);
			if (set(w, text) != -EINVAL)
				fail_msg("accepted %s", rows[i]);
			expect_get(w, j ? END : PEER(KEY_A, ZERO, "", "9", "") END);
		}
	}
}

static void test_nul_bytes(void **state)
{
	static const char no_equals[] = "listen\0port", in_value[] = "listen_port=1\0";
	struct world *w = *state;

	uapi_set_begin(&w->set, &w->lane);
	assert_int_equal(uapi_set_line(&w->set, no_equals, sizeof(no_equals) - 1), -EPROTO);
	assert_int_equal(uapi_set_line(&w->set, in_value, sizeof(in_value) - 1), -EINVAL);
	uapi_set_end(&w->set);
	expect_get(w, END);
}

static void test_long_line(void **state)
{
	struct world *w = *state;
	char *line = malloc(65536);

	memset(line, '0', 65536);
	memcpy(line, "fwmark=", 7);
	uapi_set_begin(&w->set, &w->lane);
	assert_int_equal(uapi_set_line(&w->set, line, 65536), -EINVAL);
	memset(line, '=', 65536);
	assert_int_equal(uapi_set_line(&w->set, line, 65536), -EINVAL);
	memset(line, 'x', 65536);
	assert_int_equal(uapi_set_line(&w->set, line, 65536), -EPROTO);
	uapi_set_end(&w->set);
	free(line);
}

static void test_peer(void **state)
{
	struct world *w = *state;

	assert_int_equal(set(w, "public_key=" KEY_A "\nprotocol_version=1\npreshared_key=" KEY_B_UP
				"\nendpoint=[2001:DB8::1]:51820\npersistent_keepalive_interval=25\n"
				"replace_allowed_ips=true\nallowed_ip=10.1.2.3/8\n"
				"public_key=" KEY_B_UP "\nallowed_ip=2001:DB8::1/32\n"),
			 0);
	expect_get(w, PEER(KEY_A, KEY_B, "endpoint=[2001:db8::1]:51820\n", "25",
			   "allowed_ip=10.0.0.0/8\n")
			      PEER(KEY_B, ZERO, "", "0", "allowed_ip=2001:db8::/32\n") END);

	/* Fields that are not named stay; a zero key clears, 0 switches off. */
	assert_int_equal(set(w, "public_key=" KEY_A "\nendpoint=192.0.2.1:1\n"), 0);
	assert_int_equal(set(w, "public_key=" KEY_A "\npreshared_key=" ZERO
				"\npersistent_keepalive_interval=0\n"),
			 0);
	expect_get(w, PEER(KEY_A, ZERO, "endpoint=192.0.2.1:1\n", "0", "allowed_ip=10.0.0.0/8\n")
			      PEER(KEY_B, ZERO, "", "0", "allowed_ip=2001:db8::/32\n") END);

	/* remove and what follows in the section; the other peer is left alone. */
	assert_int_equal(set(w, "public_key=" KEY_A "\nremove=true\nallowed_ip=10.9.0.0/16\n"
				"endpoint=192.0.2.9:9\nremove=true\nupdate_only=true\n"
				"preshared_key=" KEY_A "\npersistent_keepalive_interval=1\n"
				"replace_allowed_ips=true\n"),
			 0);
	expect_get(w, PEER(KEY_B, ZERO, "", "0", "allowed_ip=2001:db8::/32\n") END);
	assert_int_equal(set(w, "replace_peers=true\n"), 0);
	expect_get(w, END);
	assert_int_equal(w->lane.n_peers, 0);
}

static void test_counters(void **state)
{
	struct world *w = *state;
	struct peer *peer;

	assert_int_equal(set(w, "public_key=" KEY_A "\n"), 0);
	peer = TAILQ_FIRST(&w->lane.peers);
	peer->tx_bytes = UINT64_MAX;
	peer->rx_bytes = 1234567890123;
	w->wall = (struct timespec){4102444800, 999999999};
	peer_note_handshake(&w->lane, peer);
	expect_get(w, "public_key=" KEY_A "\npreshared_key=" ZERO "\nprotocol_version=1\n"
		      "last_handshake_time_sec=4102444800\nlast_handshake_time_nsec=999999999\n"
		      "tx_bytes=18446744073709551615\nrx_bytes=1234567890123\n"
		      "persistent_keepalive_interval=0\n" END);
}

static void expect_handshake(struct world *w, long long sec, long nsec)
{
	char want[160];
	struct textbuf b = {0};

	snprintf(want, sizeof(want),
		 "\nlast_handshake_time_sec=%lld\nlast_handshake_time_nsec=%ld\n", sec, nsec);
	uapi_get(&w->lane, &b);
	assert_false(b.failed);
	if (!strstr(b.data, want))
		fail_msg("not%sbut:\n%s", want, b.data);
	textbuf_done(&b);
}

/* Its age is what readers want to know: present time less time of the handshake. */
static void test_handshake_time_after_a_step(void **state)
{
	static const struct {
		struct timespec wall; /* 90 s after a handshake at 1700000000.25 */
		long long sec;
		long nsec;
	} cases[] = {
		{{1700000090, 250000000}, 1700000000, 250000000},
		/* Not read at once: the same all the same. */
		{{1700000090, 250000007}, 1700000000, 250000000},
		{{1700000090, 249999993}, 1700000000, 250000000},
		{{1700021690, 250000000}, 1700021600, 250000000},
		{{1699956890, 250000000}, 1699956800, 250000000},
		{{91, 0}, 1, 0},
		/* Before 1970, and so never, it cannot have been. */
		{{90, 999999999}, 1, 0},
		{{0, 0}, 1, 0},
	};
	struct world *w = *state;

	assert_int_equal(set(w, "public_key=" KEY_A "\n"), 0);
	expect_handshake(w, 0, 0);
	w->wall.tv_nsec = 250000000;
	peer_note_handshake(&w->lane, TAILQ_FIRST(&w->lane.peers));
	w->now_ns += 90 * NSEC_PER_SEC;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		w->wall = cases[i].wall;
		expect_handshake(w, cases[i].sec, cases[i].nsec);
	}
}

static void test_update_only(void **state)
{
	struct world *w = *state;

	assert_int_equal(set(w, "public_key=" KEY_A "\nupdate_only=true\nallowed_ip=10.0.0.0/8\n"
				"endpoint=192.0.2.1:1\nremove=true\n"),
			 0);
	expect_get(w, END);
	/* Also when it comes late: what the lines before gave goes with the peer. */
	assert_int_equal(set(w, "public_key=" KEY_A "\nallowed_ip=10.0.0.0/8\nupdate_only=true\n"),
			 0);
	expect_get(w, END);
	assert_null(w->lane.allowed.root4);
	assert_int_equal(set(w, "public_key=" KEY_A "\n"), 0);
	assert_int_equal(set(w, "public_key=" KEY_A "\nupdate_only=true\n"
				"persistent_keepalive_interval=3\n"),
			 0);
	expect_get(w, PEER(KEY_A, ZERO, "", "3", "") END);
}

/* The peer of a section that an earlier one created is not new any more. */
static void test_update_only_after_creation(void **state)
{
	assert_int_equal(set(*state, "public_key=" KEY_A "\npublic_key=" KEY_A
				     "\nupdate_only=true\npersistent_keepalive_interval=3\n"),
			 0);
	expect_get(*state, PEER(KEY_A, ZERO, "", "3", "") END);
}

static void test_created_and_removed(void **state)
{
	struct world *w = *state;

	assert_int_equal(set(w, "public_key=" KEY_A "\nallowed_ip=10.0.0.0/8\npublic_key=" KEY_B
				"\nallowed_ip=10.0.0.0/8\npublic_key=" KEY_A
				"\nremove=true\npublic_key=" KEY_B "\nremove=true\n"),
			 0);
	expect_get(w, END);
	assert_int_equal(w->lane.n_peers, 0);
	assert_null(w->lane.allowed.root4);
	assert_int_equal(set(w, "public_key=" KEY_B "\nremove=true\n"), 0);
	expect_get(w, END);
}

static void test_own_key(void **state)
{
	struct world *w = *state;

	assert_int_equal(set(w, "private_key=" PRIVATE "\npublic_key=" OUR_KEY
				"\nallowed_ip=10.0.0.0/8\nendpoint=192.0.2.1:1\n"),
			 0);
	expect_get(w, "private_key=" CLAMPED "\n" END);
	assert_int_equal(set(w, "public_key=" OUR_KEY "\nremove=true\n"), 0);
	assert_int_equal(set(w, "public_key=" OUR_KEY "\nallowed_ip=10.0.0.0/99\n"), -EINVAL);
	expect_get(w, "private_key=" CLAMPED "\n" END);

	/* A peer with the key that becomes ours goes. */
	assert_int_equal(set(w, "private_key=" ZERO "\npublic_key=" OUR_KEY "\n"), 0);
	expect_get(w, PEER(OUR_KEY, ZERO, "", "0", "") END);
	assert_int_equal(set(w, "private_key=" PRIVATE "\n"), 0);
	expect_get(w, "private_key=" CLAMPED "\n" END);
}

static void test_allowed_ips_move(void **state)
{
	struct world *w = *state;

	assert_int_equal(set(w, "public_key=" KEY_A "\nallowed_ip=10.0.0.0/8\npublic_key=" KEY_B
				"\nallowed_ip=10.0.0.0/8\n"),
			 0);
	expect_get(w, PEER(KEY_A, ZERO, "", "0", "")
			      PEER(KEY_B, ZERO, "", "0", "allowed_ip=10.0.0.0/8\n") END);
	/* Only the owner's removal counts, and only of the exact prefix. */
	assert_int_equal(set(w, "public_key=" KEY_A "\nallowed_ip=-10.0.0.0/8\npublic_key=" KEY_B
				"\nallowed_ip=-10.0.0.0/9\n"),
			 0);
	expect_get(w, PEER(KEY_A, ZERO, "", "0", "")
			      PEER(KEY_B, ZERO, "", "0", "allowed_ip=10.0.0.0/8\n") END);
	assert_int_equal(set(w, "public_key=" KEY_B "\nallowed_ip=-10.255.0.0/8\n"
				"allowed_ip=::ffff:1.2.3.4/128\nallowed_ip=0.0.0.0/0\n"
				"replace_allowed_ips=true\nallowed_ip=::/0\n"),
			 0);
	expect_get(w, PEER(KEY_A, ZERO, "", "0", "") PEER(KEY_B, ZERO, "", "0", "allowed_ip=::/0\n")
			      END);
}

static void test_port_taken(void **state)
{
	struct world *w = *state;

	for (int up = 0; up < 2; up++) {
		w->open_err = w->fwmark_err = 0;
		assert_int_equal(lane_set_up(&w->lane, up), 0);
		assert_int_equal(set(w, "listen_port=5\nfwmark=6\n"), 0);
		w->open_err = -EADDRINUSE;
		assert_int_equal(set(w, "listen_port=7\nfwmark=8\n"), -EADDRINUSE);
		expect_get(w, "listen_port=5\nfwmark=6\n" END);
		/* As wireguard-go: whatever the reason was. */
		w->open_err = -EACCES;
		assert_int_equal(set(w, "listen_port=80\nfwmark=8\n"), -EADDRINUSE);
		expect_get(w, "listen_port=5\nfwmark=6\n" END);
	}
	w->fwmark_err = -EPERM;
	assert_int_equal(set(w, "fwmark=9\n"), -EADDRINUSE);
	expect_get(w, "listen_port=5\nfwmark=6\n" END);
}

static void test_random_port(void **state)
{
	struct world *w = *state;

	assert_int_equal(lane_set_up(&w->lane, true), 0);
	expect_get(w, "listen_port=40000\n" END);
}

/* On a device that is up persistent keepalive asks for a session at once, in
 * whatever order the lines of the section come; off it asks for nothing. */
static void test_keepalive_begins(void **state)
{
	static const struct {
		const char *lines;
		unsigned n_sent;
	} rows[] = {
		{"persistent_keepalive_interval=25\nendpoint=192.0.2.1:1\n", 1},
		{"endpoint=192.0.2.1:1\npersistent_keepalive_interval=25\n", 1},
		{"endpoint=192.0.2.1:1\npersistent_keepalive_interval=0\n", 0},
		{"endpoint=192.0.2.1:1\npersistent_keepalive_interval=25\n"
		 "persistent_keepalive_interval=0\n",
		 0},
		{"endpoint=192.0.2.1:1\n", 0},
		{"persistent_keepalive_interval=25\n", 0},
		{"endpoint=192.0.2.1:1\npersistent_keepalive_interval=25\nremove=true\n", 0},
	};
	struct world *w = *state;

	assert_int_equal(set(w, "private_key=" PRIVATE "\n"), 0);
	assert_int_equal(lane_set_up(&w->lane, true), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[512];

		assert_int_equal(set(w, "replace_peers=true\n"), 0);
		w->now_ns += 10 * (uint64_t)1000000000;
		w->n_sent = 0;
		snprintf(text, sizeof(text), "public_key=" KEY_A "\n%s", rows[i].lines);
		assert_int_equal(set(w, text), 0);
		assert_int_equal(w->n_sent, rows[i].n_sent);
		lane_expire(&w->lane);
		assert_int_equal(w->n_sent, rows[i].n_sent);
	}
}

/* Packets may wait for an endpoint; the next public_key line ends the section
 * as well as the blank line does. */
static void test_staged_go_out(void **state)
{
	uint8_t ip[20] = {0x45};
	const struct super waiting = {.in = {.ip = ip, .len = sizeof(ip)}};
	struct world *w = *state;

	assert_int_equal(set(w, "private_key=" PRIVATE "\npublic_key=" KEY_A "\n"), 0);
	assert_int_equal(lane_set_up(&w->lane, true), 0);
	peer_stage(&w->lane, TAILQ_FIRST(&w->lane.peers), &waiting);
	uapi_set_begin(&w->set, &w->lane);
	assert_int_equal(uapi_set_line(&w->set, "public_key=" KEY_A, 75), 0);
	assert_int_equal(uapi_set_line(&w->set, "endpoint=192.0.2.1:1", 20), 0);
	assert_int_equal(w->n_sent, 0);
	assert_int_equal(uapi_set_line(&w->set, "public_key=" KEY_B, 75), 0);
	assert_int_equal(w->n_sent, 1);
	uapi_set_end(&w->set);
	assert_int_equal(w->n_sent, 1);
}

/* Between two lines somebody else takes the peer away. */
static void test_peer_vanishes(void **state)
{
	struct world *w = *state;

	uapi_set_begin(&w->set, &w->lane);
	assert_int_equal(uapi_set_line(&w->set, "public_key=" KEY_A, 75), 0);
	lane_remove_all_peers(&w->lane);
	assert_int_equal(uapi_set_line(&w->set, "endpoint=192.0.2.1:1", 20), 0);
	assert_int_equal(uapi_set_line(&w->set, "allowed_ip=10.0.0.0/8", 21), 0);
	assert_int_equal(uapi_set_line(&w->set, "remove=true", 11), 0);
	uapi_set_end(&w->set);
	expect_get(w, END);
}

/* Each peer with its own address; the twin text is written alongside. */
static void test_many_peers(void **state)
{
	enum { N = 3000 };
	struct textbuf want = {0}, config = {0};
	struct world *w = *state;

	for (unsigned i = 0; i < N; i++) {
		char key[65];

		snprintf(key, sizeof(key), "%064x", i + 1);
		textbuf_printf(&config, "public_key=%s\nallowed_ip=10.%u.%u.%u/32\n", key, i >> 16,
			       i >> 8 & 255, i & 255);
		textbuf_printf(&want, PEER("%s", ZERO, "", "0", "allowed_ip=10.%u.%u.%u/32\n"), key,
			       i >> 16, i >> 8 & 255, i & 255);
	}
	textbuf_printf(&want, END);
	assert_int_equal(set(w, config.data), 0);
	assert_int_equal(w->lane.n_peers, N);
	expect_get(w, want.data);
	textbuf_done(&config);
	textbuf_done(&want);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_empty),
		TEST(test_device),
		TEST(test_bad_lines),
		TEST(test_bad_peer_lines),
		TEST(test_nul_bytes),
		TEST(test_long_line),
		TEST(test_peer),
		TEST(test_counters),
		TEST(test_handshake_time_after_a_step),
		TEST(test_update_only),
		TEST(test_update_only_after_creation),
		TEST(test_created_and_removed),
		TEST(test_own_key),
		TEST(test_allowed_ips_move),
		TEST(test_port_taken),
		TEST(test_random_port),
		TEST(test_keepalive_begins),
		TEST(test_staged_go_out),
		TEST(test_peer_vanishes),
		TEST(test_many_peers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
