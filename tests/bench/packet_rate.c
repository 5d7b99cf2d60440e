/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As many small packets as a path takes, without running it over.
 *
 *   packet_rate send ADDR PORT SECONDS SIZES [FLOWS=16] [WINDOW=384]
 *   packet_rate receive PORT SECONDS [FLOWS=16]
 *
 * SIZES are lengths of IPv4 packets, "64", or with weights, "64x7,576x4,1350x1".
 * Packet after packet goes to the next of FLOWS ports, from PORT on, in batches of
 * single datagrams (sendmmsg, no UDP_SEGMENT). At most WINDOW packets are under
 * way: the receiver tells how far it is. A sender that hears nothing for 20 ms takes
 * what is under way for lost. Both print one line of JSON; the receiver's counts.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "bench.h"
#include "udpio.h"

enum {
	FLOWS_MAX = 64,
	SIZES_MAX = 64,
	BATCH = 64,
	UDP4_HDR_LEN = 28, /* IPv4 and UDP */
	SIZE_MAX_LEN = 1500,
	TELL_EVERY = 64, /* packets */
	TELL_AFTER_MS = 1,
	GIVE_UP_MS = 20,
	ENDS = 20,
	ENDS_EVERY_MS = 10,
	DRAIN_MS = 200,
};

static const uint64_t NUMBER_END = UINT64_MAX;

/* Of a packet: its number, from 1. Of what the receiver tells: the highest yet. At
 * the end: how many there were. */
struct header {
	uint64_t number, n_sent;
};

/* Sending */

struct sender {
	int fd;
	uint16_t size[SIZES_MAX]; /* in turns; payload */
	unsigned n_sizes, n_flows;
	uint64_t window;
	struct sockaddr_in to[FLOWS_MAX];
	uint64_t n_sent, n_told, n_stalls, n_refused;
};

/* "64x7,576x4": sizes so that the heavy ones are spread among the others. */
static bool parse_sizes(struct sender *s, const char *text)
{
	while (*text) {
		char *end;
		unsigned long size = strtoul(text, &end, 10), n = 1;

		if (*end == 'x')
			n = strtoul(end + 1, &end, 10);
		if (size < UDP4_HDR_LEN + sizeof(struct header) || size > SIZE_MAX_LEN || !n ||
		    n > SIZES_MAX - s->n_sizes || (*end && *end != ','))
			return false;
		while (n--)
			s->size[s->n_sizes++] = (uint16_t)(size - UDP4_HDR_LEN);
		text = *end ? end + 1 : end;
	}
	for (unsigned i = 0; i < s->n_sizes; i++) {
		unsigned other = i * 5 % s->n_sizes;
		uint16_t size = s->size[i];

		s->size[i] = s->size[other];
		s->size[other] = size;
	}
	return s->n_sizes;
}

static void send_batch(struct sender *s, unsigned n)
{
	static uint8_t buf[BATCH][SIZE_MAX_LEN];
	struct mmsghdr m[BATCH];
	struct iovec iov[BATCH];
	int sent;

	for (unsigned i = 0; i < n; i++) {
		struct header h = {.number = s->n_sent + 1 + i};

		memcpy(buf[i], &h, sizeof(h));
		iov[i] = (struct iovec){buf[i], s->size[h.number % s->n_sizes]};
		m[i].msg_hdr = (struct msghdr){
			.msg_name = &s->to[h.number % s->n_flows],
			.msg_namelen = sizeof(*s->to),
			.msg_iov = &iov[i],
			.msg_iovlen = 1,
		};
	}
	sent = sendmmsg(s->fd, m, n, 0);
	if (sent < 0) {
		if (errno != ENOBUFS && errno != EINTR && errno != ECONNREFUSED)
			udpio_die("sendmmsg");
		s->n_refused++;
		return;
	}
	s->n_sent += (unsigned)sent;
}

static void hear(struct sender *s, int flags)
{
	struct header h;

	while (recv(s->fd, &h, sizeof(h), flags) == sizeof(h)) {
		if (h.number > s->n_told && h.number <= s->n_sent)
			s->n_told = h.number;
	}
}

static void wait_for_room(struct sender *s)
{
	struct pollfd in = {.fd = s->fd, .events = POLLIN};

	if (poll(&in, 1, GIVE_UP_MS) > 0) {
		hear(s, MSG_DONTWAIT);
		return;
	}
	s->n_told = s->n_sent;
	s->n_stalls++;
}

static void send_ends(struct sender *s)
{
	struct header end = {.number = NUMBER_END, .n_sent = s->n_sent};

	for (unsigned i = 0; i < ENDS; i++) {
		poll(NULL, 0, ENDS_EVERY_MS);
		if (sendto(s->fd, &end, sizeof(end), 0, (struct sockaddr *)&s->to[0],
			   sizeof(*s->to)) < 0 &&
		    errno == ECONNREFUSED && i)
			return;
	}
}

static int send_flows(struct sender *s, double seconds)
{
	uint64_t until = bench_clock_ns() + (uint64_t)(seconds * 1e9);

	while (bench_clock_ns() < until) {
		uint64_t room = s->window - (s->n_sent - s->n_told);

		/* Not one by one: that would measure system calls of our own. */
		if (room < BATCH / 2)
			wait_for_room(s);
		else
			send_batch(s, room < BATCH ? (unsigned)room : BATCH);
		hear(s, MSG_DONTWAIT);
	}
	send_ends(s);
	printf("{\"sent\": %llu, \"stalls\": %llu, \"refused\": %llu}\n",
	       (unsigned long long)s->n_sent, (unsigned long long)s->n_stalls,
	       (unsigned long long)s->n_refused);
	return 0;
}

/* Receiving */

struct receiver {
	struct pollfd in[FLOWS_MAX];
	unsigned n_flows;
	uint64_t n_received, n_bytes, highest, n_untold;
	uint64_t n_expected, end_ns, first_ns, last_ns;
	struct sockaddr_in6 sender;
	int answer_fd;
};

static void tell(struct receiver *r)
{
	struct header h = {.number = r->highest};

	sendto(r->answer_fd, &h, sizeof(h), MSG_DONTWAIT, (struct sockaddr *)&r->sender,
	       sizeof(r->sender));
	r->n_untold = 0;
}

static void take(struct receiver *r, const uint8_t *data, unsigned len, uint64_t now_ns)
{
	struct header h;

	if (len < sizeof(h))
		return;
	memcpy(&h, data, sizeof(h));
	if (h.number == NUMBER_END) {
		r->n_expected = h.n_sent;
		r->end_ns = r->end_ns ? r->end_ns : now_ns;
		return;
	}
	r->n_received++;
	r->n_bytes += len + UDP4_HDR_LEN;
	if (h.number > r->highest)
		r->highest = h.number;
	r->first_ns = r->first_ns ? r->first_ns : now_ns;
	r->last_ns = now_ns;
	if (++r->n_untold >= TELL_EVERY)
		tell(r);
}

static void drain(struct receiver *r, int fd)
{
	static uint8_t buf[BATCH][SIZE_MAX_LEN];
	struct sockaddr_in6 from[BATCH];
	struct mmsghdr m[BATCH];
	struct iovec iov[BATCH];
	uint64_t now_ns;
	int n;

	for (unsigned i = 0; i < BATCH; i++) {
		iov[i] = (struct iovec){buf[i], sizeof(buf[i])};
		m[i].msg_hdr = (struct msghdr){
			.msg_name = &from[i],
			.msg_namelen = sizeof(from[i]),
			.msg_iov = &iov[i],
			.msg_iovlen = 1,
		};
	}
	n = recvmmsg(fd, m, BATCH, MSG_DONTWAIT, NULL);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		udpio_die("recvmmsg");
	now_ns = bench_clock_ns();
	for (int i = 0; i < n; i++) {
		r->sender = from[i];
		r->answer_fd = fd;
		take(r, buf[i], m[i].msg_len, now_ns);
	}
}

static void print_received(const struct receiver *r)
{
	double seconds = (double)(r->last_ns - r->first_ns) / 1e9;
	uint64_t expected = r->end_ns ? r->n_expected : r->highest;

	printf("{\"received\": %llu, \"lost\": %llu, \"ended\": %s, \"seconds\": %.3f, \"pps\": "
	       "%.0f, \"mbit\": %.1f}\n",
	       (unsigned long long)r->n_received,
	       (unsigned long long)(expected > r->n_received ? expected - r->n_received : 0),
	       r->end_ns ? "true" : "false", seconds,
	       seconds > 0 ? (double)r->n_received / seconds : 0,
	       seconds > 0 ? (double)r->n_bytes * 8 / 1e6 / seconds : 0);
}

static int receive_flows(uint16_t port, double seconds, unsigned n_flows)
{
	struct receiver r = {.n_flows = n_flows};
	uint64_t now = bench_clock_ns(), until = now + (uint64_t)(seconds * 1e9);

	for (unsigned i = 0; i < n_flows; i++)
		r.in[i] = (struct pollfd){.fd = udpio_listen((uint16_t)(port + i)),
					  .events = POLLIN};
	for (; now < until && !(r.end_ns && now - r.end_ns > DRAIN_MS * 1000000ULL);
	     now = bench_clock_ns()) {
		if (!poll(r.in, n_flows, r.n_untold ? TELL_AFTER_MS : DRAIN_MS) && r.n_untold)
			tell(&r);
		for (unsigned i = 0; i < n_flows; i++) {
			if (r.in[i].revents)
				drain(&r, r.in[i].fd);
		}
	}
	print_received(&r);
	return 0;
}

static int usage(void)
{
	fputs("usage: packet_rate send ADDR PORT SECONDS SIZES [FLOWS=16] [WINDOW=384]\n"
	      "       packet_rate receive PORT SECONDS [FLOWS=16]\n",
	      stderr);
	return 2;
}

static int run_sender(int argc, char **argv)
{
	struct sender s = {.n_flows = argc > 6 ? (unsigned)atoi(argv[6]) : 16,
			   .window = argc > 7 ? (uint64_t)atoi(argv[7]) : 384};
	double seconds = atof(argv[4]);

	if (seconds <= 0 || s.n_flows < 1 || s.n_flows > FLOWS_MAX || s.window < BATCH ||
	    !parse_sizes(&s, argv[5]))
		return usage();
	for (unsigned i = 0; i < s.n_flows; i++) {
		s.to[i] =
			(struct sockaddr_in){.sin_family = AF_INET,
					     .sin_port = htons((uint16_t)(atoi(argv[3]) + (int)i))};
		if (inet_pton(AF_INET, argv[2], &s.to[i].sin_addr) != 1)
			return usage();
	}
	s.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s.fd < 0)
		udpio_die("socket");
	return send_flows(&s, seconds);
}

int main(int argc, char **argv)
{
	int n_flows = argc > 4 ? atoi(argv[4]) : 16;

	udpio_program = "packet_rate";
	if (argc >= 6 && argc <= 8 && !strcmp(argv[1], "send"))
		return run_sender(argc, argv);
	if (argc >= 4 && argc <= 5 && !strcmp(argv[1], "receive") && atoi(argv[2]) > 0 &&
	    atof(argv[3]) > 0 && n_flows > 0 && n_flows <= FLOWS_MAX)
		return receive_flows((uint16_t)atoi(argv[2]), atof(argv[3]), (unsigned)n_flows);
	return usage();
}
