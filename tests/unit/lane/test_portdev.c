/* SPDX-License-Identifier: Apache-2.0 */
/* Streams between two overlay ends, frame by frame through both port devices. */
#include "agent/lane/portdev.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

#include "offload/be.h"
#include "portdev_world.h"

enum { STREAM_LEN = 96 << 20, CHUNK_LEN = 256 << 10, PORT = 5201, PATTERN_STEP = 251 };

struct stream {
	int sender, receiver;
	uint64_t received;
	bool wrong;
	atomic_bool done;
};

/* A prime length, so that a shifted, lost or doubled piece shows. */
static void fill(uint8_t *buf, size_t len, uint64_t at)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = (uint8_t)((at + i) % PATTERN_STEP);
}

static void *send_stream(void *arg)
{
	struct stream *s = arg;
	uint8_t *buf = malloc(CHUNK_LEN + PATTERN_STEP);
	uint64_t sent = 0;

	fill(buf, CHUNK_LEN + PATTERN_STEP, 0);
	while (sent < STREAM_LEN) {
		ssize_t n = send(s->sender, buf + sent % PATTERN_STEP, CHUNK_LEN, MSG_NOSIGNAL);

		if (n <= 0)
			break;
		sent += (uint64_t)n;
	}
	shutdown(s->sender, SHUT_WR);
	free(buf);
	return NULL;
}

static void *receive_stream(void *arg)
{
	struct stream *s = arg;
	uint8_t *buf = malloc(CHUNK_LEN), *want = malloc(CHUNK_LEN + PATTERN_STEP);
	ssize_t n;

	fill(want, CHUNK_LEN + PATTERN_STEP, 0);
	while ((n = recv(s->receiver, buf, CHUNK_LEN, 0)) > 0) {
		s->wrong |= memcmp(buf, want + s->received % PATTERN_STEP, (size_t)n) != 0;
		s->received += (uint64_t)n;
	}
	free(buf);
	free(want);
	atomic_store(&s->done, true);
	return NULL;
}

static struct sockaddr_in6 address(int family, char host, socklen_t *ret_len)
{
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};
	struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	char text[16];

	snprintf(text, sizeof(text), family == AF_INET ? "10.9.0.%c" : "fd00::%c", host);
	*ret_len = family == AF_INET ? sizeof(a4) : sizeof(a6);
	if (family == AF_INET) {
		inet_pton(AF_INET, text, &a4.sin_addr);
		memcpy(&a6, &a4, sizeof(a4));
	} else {
		inet_pton(AF_INET6, text, &a6.sin6_addr);
	}
	return a6;
}

/* From a to b; pumps while they shake hands. */
static void connect_stream(struct world *w, struct stream *s, int family)
{
	struct sockaddr_in6 to;
	struct pollfd ready = {.events = POLLIN};
	socklen_t len;
	int listener;

	to = address(family, '2', &len);
	enter(w->b.netns);
	listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&to, len), 0);
	assert_int_equal(listen(listener, 1), 0);
	enter(w->a.netns);
	s->sender = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(connect(s->sender, (struct sockaddr *)&to, len) < 0 && errno == EINPROGRESS);
	enter(w->home);

	ready.fd = listener;
	for (int i = 0; i < WAIT_MS / 10 && poll(&ready, 1, 0) <= 0; i++)
		pump_both(w, 10);
	s->receiver = accept(listener, NULL, NULL);
	assert_true(s->receiver >= 0);
	assert_int_equal(fcntl(s->sender, F_SETFL, 0), 0);
	close(listener);
}

static void stream(struct world *w, int family)
{
	struct stream s = {.sender = -1};
	pthread_t sender, receiver;
	int idle = 0;

	/* TCP fits its superpackets to how fast it may send, which depends on what
	 * else this machine does: with this there are long ones at any rate. (New
	 * kernels make more single ones then, too.) */
	run_in(w->a.netns, w->home, "sysctl -qw net.ipv4.tcp_min_tso_segs=255");
	connect_stream(w, &s, family);
	assert_int_equal(pthread_create(&sender, NULL, send_stream, &s), 0);
	assert_int_equal(pthread_create(&receiver, NULL, receive_stream, &s), 0);
	/* Nothing moving for long is the end, too. */
	while (!atomic_load(&s.done) && idle < WAIT_MS / 100)
		idle = pump_both(w, 100) ? 0 : idle + 1;
	shutdown(s.sender, SHUT_RDWR);
	shutdown(s.receiver, SHUT_RDWR);
	pthread_join(sender, NULL);
	pthread_join(receiver, NULL);
	close(s.sender);
	close(s.receiver);
	if (s.received < STREAM_LEN)
		fail_msg("%u bytes of %u arrived", (unsigned)s.received, STREAM_LEN);
	assert_false(s.wrong);
	while (pump_both(w, 20))
		;
}

/*
 * Superpackets of IPv6 above 64 KB can be read on any kernel with BIG TCP but not
 * written before 7.0, so they are cut in two or more here. The stack of the far
 * end takes the partial checksum on trust.
 */
enum { IPV6_AT = 14, TCP_AT = IPV6_AT + 40, CUT_LEN = 60000 };

struct cutter {
	struct port *to;
	unsigned n_big, n_wrong;
};

static void cut_big(const struct portdev_read *r, void *arg)
{
	struct cutter *c = arg;
	uint32_t head = TCP_AT + 4U * (r->frame[TCP_AT + 12] >> 4);
	uint32_t step = CUT_LEN / r->vnet.gso_size * r->vnet.gso_size;

	c->n_big++;
	/* The jumbo header is gone and the offsets are those of the frame. */
	c->n_wrong += r->frame[IPV6_AT + 6] != IPPROTO_TCP || r->vnet.csum_start != TCP_AT ||
		      be16_load(r->frame + IPV6_AT + 4) != 0 || r->vnet.gso != VNET_GSO_TCP6;
	for (uint32_t at = head; at < r->len; at += step) {
		uint32_t len = r->len - at < step ? r->len - at : step;
		uint8_t copy[128];
		struct iovec iov[2] = {{copy, head}, {r->frame + at, len}};
		struct portdev_write out = {r->vnet, iov, 2, 1};

		memcpy(copy, r->frame, head);
		be16_store(copy + IPV6_AT + 4, (uint16_t)(head - TCP_AT + len));
		be32_store(copy + TCP_AT + 4, be32_load(copy + TCP_AT + 4) + at - head);
		/* FIN and PSH go with the last one. */
		if (at + len < r->len)
			copy[TCP_AT + 13] &= 0xf6;
		if (len <= out.vnet.gso_size)
			out.vnet.gso = VNET_GSO_NONE;
		portdev_write(c->to->d, &out, 1);
		c->to->n_failed += out.err != 0;
	}
}

static uint64_t average(const struct port *p)
{
	return p->n_supers ? p->n_super_bytes / p->n_supers : 0;
}

static void report(const char *what, struct world *w)
{
	print_message("%s: %u frames, %u superpackets of %u bytes on average, longest %u, "
		      "dropped %u+%u, failed %u\n",
		      what, (unsigned)w->a.n_frames, (unsigned)w->a.n_supers,
		      (unsigned)average(&w->a), w->a.longest, (unsigned)w->a.n_dropped,
		      (unsigned)portdev_take_drops(w->a.d), (unsigned)w->b.n_failed);
}

static void test_stream(void **state)
{
	static const struct {
		const char *what;
		enum portdev_kind kind;
		int family;
		uint32_t gso_max_size;
		uint32_t want_longest; /* at least: how many so long is up to TCP */
	} cases[] = {
		{"tap, IPv4", PORTDEV_TAP, AF_INET, 65536, 40000},
		{"tap, IPv6", PORTDEV_TAP, AF_INET6, 65536, 40000},
		{"veth, IPv4, 64 KB", PORTDEV_VETH, AF_INET, 65536, 40000},
		{"veth, IPv6, 64 KB", PORTDEV_VETH, AF_INET6, 65536, 40000},
		{"veth, IPv4, 192 KB", PORTDEV_VETH, AF_INET, 196608, 100000},
		/* written whole since Linux 7.0 */
		{"veth, IPv6, 192 KB", PORTDEV_VETH, AF_INET6, 196608, 100000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world w;

		if (cases[i].gso_max_size > 65536 &&
		    !(cases[i].family == AF_INET ? kernel_at_least(6, 3) : kernel_at_least(7, 0)))
			continue;
		begin(&w, cases[i].kind, cases[i].gso_max_size);
		stream(&w, cases[i].family);
		report(cases[i].what, &w);
		if (w.a.longest < cases[i].want_longest)
			fail_msg("%s: superpackets of %u bytes only", cases[i].what, w.a.longest);
		assert_int_equal(w.a.n_dropped, 0);
		end(&w);
	}
}

static void test_big_ipv6_is_read(void **state)
{
	struct world w;
	struct cutter cutter = {.to = &w.b};

	(void)state;
	begin(&w, PORTDEV_VETH, 196608);
	w.a.take_arg = &cutter;
	w.a.take = cut_big;
	stream(&w, AF_INET6);
	report("veth, IPv6, 192 KB cut", &w);
	assert_true(w.a.longest > 100000);
	assert_true(cutter.n_big > 0);
	assert_int_equal(cutter.n_wrong, 0);
	assert_int_equal(w.b.n_failed, 0);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_big_ipv6_is_read),
	};

	return world_main(tests, sizeof(tests) / sizeof(tests[0]));
}
