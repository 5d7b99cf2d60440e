/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A paced UDP_SEGMENT flow whose every datagram is accounted for.
 *
 *   udpseg_flow send ADDR PORT RATE_MBIT SECONDS [SEGMENT=1200] [SEGMENTS_PER_SEND=40]
 *   udpseg_flow receive PORT SECONDS
 *
 * RATE_MBIT counts payload. Each segment is a header (sequence number, sender's
 * time) and a pattern that depends on the sequence number. When the sender is
 * done it says how many segments there were, several times over, which ends the
 * receiver early and lets it count what was lost at the tail; without that it
 * counts up to the highest number seen. Both sides print one line of JSON. Exit
 * status: 1 for corruption or a duplicate, 2 for a failed call or wrong usage.
 */
#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "udpio.h"

enum {
	SEGMENTS_MAX = 128,
	SEND_MAX = 65507, /* bytes of one datagram, or of all of one send */
	RECEIVES = 32,
	RECEIVE_LEN = 65536,
	PATTERN_PERIOD = 251, /* prime: no segment length hides a shift */
	ENDS = 20,
	ENDS_EVERY_MS = 10,
	DRAIN_MS = 300, /* after the first end: what was overtaken by it */
	LATE_MAX_NS = 5000000,
	SEQUENCES_MAX = 1 << 30,
};

static const uint64_t SEQUENCE_END = UINT64_MAX; /* `ns` is how many there were */

struct header {
	uint64_t sequence;
	uint64_t ns; /* CLOCK_MONOTONIC: both ends are on one machine */
};

static uint8_t pattern[PATTERN_PERIOD + SEND_MAX];

static void fill_pattern(void)
{
	for (unsigned i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i % PATTERN_PERIOD * 37 + 11);
}

static const uint8_t *pattern_of(uint64_t sequence)
{
	return pattern + sequence % PATTERN_PERIOD;
}

/* Sending */

struct sender {
	int fd;
	uint32_t segment_len, n_per_send;
	uint64_t ns_per_send;
	uint64_t n_segments, n_refused; /* refused: numbered, not sent */
	uint64_t n_late;		/* times the schedule was given up */
};

static void put_segments(struct sender *s, uint8_t *to)
{
	struct header h = {.ns = bench_clock_ns()};

	for (uint32_t i = 0; i < s->n_per_send; i++, to += s->segment_len) {
		h.sequence = s->n_segments++;
		memcpy(to, &h, sizeof(h));
		memcpy(to + sizeof(h), pattern_of(h.sequence), s->segment_len - sizeof(h));
	}
}

static void send_once(struct sender *s)
{
	static uint8_t buf[SEND_MAX];

	put_segments(s, buf);
	while (send(s->fd, buf, (size_t)s->n_per_send * s->segment_len, 0) < 0) {
		if (errno == EINTR)
			continue;
		/* Refused: an earlier send found nobody; the flow goes on. */
		if (errno != ENOBUFS && errno != ECONNREFUSED)
			udpio_die("send");
		s->n_refused += s->n_per_send;
		return;
	}
}

/* A sender that fell behind catches up, but never with more than LATE_MAX_NS at
 * once: what comes of that would be a measurement of its own naps. */
static void send_paced(struct sender *s, uint64_t duration_ns)
{
	uint64_t start = bench_clock_ns(), due = start, now = start;

	while (now - start < duration_ns) {
		if (due > now) {
			udpio_sleep_until(due);
		} else if (now - due > LATE_MAX_NS) {
			s->n_late++;
			due = now;
		}
		send_once(s);
		due += s->ns_per_send;
		now = bench_clock_ns();
	}
}

static void send_ends(struct sender *s)
{
	struct header end = {.sequence = SEQUENCE_END, .ns = s->n_segments};
	const int off = 0;

	setsockopt(s->fd, SOL_UDP, UDP_SEGMENT, &off, sizeof(off));
	for (unsigned i = 0; i < ENDS; i++) {
		poll(NULL, 0, ENDS_EVERY_MS);
		/* A receiver that has left after the first is no mistake. */
		if (send(s->fd, &end, sizeof(end), 0) < 0 && errno == ECONNREFUSED && i)
			return;
	}
}

static int send_flow(struct sender *s, double mbit, double seconds)
{
	uint64_t start = bench_clock_ns(), elapsed_ns;
	int segment = (int)s->segment_len;

	if (s->n_per_send > 1 && setsockopt(s->fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment)))
		udpio_die("UDP_SEGMENT");
	/* The default slack of 50 us is more than the time between two sends. */
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	s->ns_per_send = (uint64_t)((double)s->n_per_send * s->segment_len * 8000 / mbit);
	send_paced(s, (uint64_t)(seconds * 1e9));
	elapsed_ns = bench_clock_ns() - start;
	send_ends(s);
	printf("{\"sent\": %llu, \"refused\": %llu, \"segment\": %u, \"per_send\": %u, "
	       "\"wanted_mbit\": %.0f, \"mbit\": %.0f, \"late\": %llu}\n",
	       (unsigned long long)s->n_segments, (unsigned long long)s->n_refused, s->segment_len,
	       s->n_per_send, mbit,
	       (double)s->n_segments * s->segment_len * 8000 / (double)elapsed_ns,
	       (unsigned long long)s->n_late);
	return 0;
}

/* Receiving */

struct receiver {
	int fd;
	uint8_t *seen; /* a bit per sequence number */
	uint64_t n_seen_bytes;
	uint64_t n_expected; /* as told at the end, else what the highest number says */
	uint64_t end_ns;     /* when the first end came; 0: not yet */
	uint32_t segment_len;
	uint64_t n_received, n_duplicated, n_reordered, n_corrupt, n_receives;
	uint64_t next; /* one beyond the highest number */
	uint64_t first_ns, last_ns, delay_sum_ns, delay_max_ns;
};

static int listen_at(uint16_t port)
{
	const int on = 1;
	int fd = udpio_listen(port);

	if (setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof(on)))
		udpio_die("UDP_GRO");
	return fd;
}

/* Marks @sequence; had it been seen before? */
static bool mark_seen(struct receiver *r, uint64_t sequence)
{
	uint64_t byte = sequence / 8, bit = 1U << sequence % 8, len;

	if (byte >= r->n_seen_bytes) {
		len = (byte + 1) * 2;
		r->seen = realloc(r->seen, len);
		if (!r->seen)
			udpio_die("realloc");
		memset(r->seen + r->n_seen_bytes, 0, len - r->n_seen_bytes);
		r->n_seen_bytes = len;
	}
	if (r->seen[byte] & bit)
		return true;
	r->seen[byte] |= (uint8_t)bit;
	return false;
}

static void count_time(struct receiver *r, uint64_t sent_ns, uint64_t now_ns)
{
	uint64_t delay_ns = now_ns > sent_ns ? now_ns - sent_ns : 0;

	r->delay_sum_ns += delay_ns;
	if (delay_ns > r->delay_max_ns)
		r->delay_max_ns = delay_ns;
	if (!r->first_ns)
		r->first_ns = now_ns;
	r->last_ns = now_ns;
}

static bool is_intact(struct receiver *r, const uint8_t *data, uint32_t len, struct header *h)
{
	if (len < sizeof(*h))
		return false;
	memcpy(h, data, sizeof(*h));
	if (h->sequence == SEQUENCE_END)
		return len == sizeof(*h);
	if (!r->segment_len)
		r->segment_len = len;
	return h->sequence < SEQUENCES_MAX && len == r->segment_len &&
	       !memcmp(data + sizeof(*h), pattern_of(h->sequence), len - sizeof(*h));
}

static void take_segment(struct receiver *r, const uint8_t *data, uint32_t len, uint64_t now_ns)
{
	struct header h;

	if (!is_intact(r, data, len, &h)) {
		r->n_corrupt++;
	} else if (h.sequence == SEQUENCE_END) {
		r->n_expected = h.ns;
		r->end_ns = r->end_ns ? r->end_ns : now_ns;
	} else if (mark_seen(r, h.sequence)) {
		r->n_duplicated++;
	} else {
		r->n_received++;
		r->n_reordered += h.sequence < r->next;
		if (h.sequence >= r->next)
			r->next = h.sequence + 1;
		count_time(r, h.ns, now_ns);
	}
}

/* Length of all datagrams of a receive but the last. */
static uint32_t segment_len_of(struct msghdr *m, uint32_t len)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		int value;

		if (c->cmsg_level != SOL_UDP || c->cmsg_type != UDP_GRO)
			continue;
		memcpy(&value, CMSG_DATA(c), sizeof(value));
		if (value > 0)
			return (uint32_t)value;
	}
	return len;
}

static void take_receive(struct receiver *r, struct mmsghdr *m, uint64_t now_ns)
{
	const uint8_t *data = m->msg_hdr.msg_iov->iov_base;
	uint32_t left = m->msg_len, segment_len = segment_len_of(&m->msg_hdr, left);

	r->n_receives++;
	do {
		uint32_t len = left < segment_len ? left : segment_len;

		take_segment(r, data, len, now_ns);
		data += len;
		left -= len;
	} while (left);
}

/* All that is there. */
static void drain(struct receiver *r)
{
	static uint8_t buf[RECEIVES][RECEIVE_LEN];
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(sizeof(int))];
	} control[RECEIVES];
	struct mmsghdr m[RECEIVES];
	struct iovec iov[RECEIVES];
	int n;

	do {
		for (unsigned i = 0; i < RECEIVES; i++) {
			iov[i] = (struct iovec){buf[i], RECEIVE_LEN};
			m[i].msg_hdr = (struct msghdr){
				.msg_iov = &iov[i],
				.msg_iovlen = 1,
				.msg_control = &control[i],
				.msg_controllen = sizeof(control[i]),
			};
		}
		n = recvmmsg(r->fd, m, RECEIVES, MSG_DONTWAIT, NULL);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			udpio_die("recvmmsg");
		for (int i = 0; i < n; i++)
			take_receive(r, &m[i], bench_clock_ns());
	} while (n == RECEIVES);
}

/* Receives the kernel dropped because this program was too slow. */
static uint32_t socket_drops(int fd)
{
	uint32_t info[SK_MEMINFO_VARS] = {0};
	socklen_t len = sizeof(info);

	getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len);
	return info[SK_MEMINFO_DROPS];
}

static void print_received(const struct receiver *r)
{
	uint64_t expected = r->end_ns ? r->n_expected : r->next;
	double n = r->n_received ? (double)r->n_received : 1;
	uint64_t elapsed_ns = r->last_ns - r->first_ns;

	printf("{\"received\": %llu, \"lost\": %llu, \"duplicated\": %llu, \"reordered\": %llu, "
	       "\"corrupt\": %llu, \"ended\": %s, \"mbit\": %.0f, \"per_receive\": %.1f, "
	       "\"delay_mean_us\": %.0f, \"delay_max_us\": %.0f, \"socket_drops\": %u}\n",
	       (unsigned long long)r->n_received, (unsigned long long)(expected - r->n_received),
	       (unsigned long long)r->n_duplicated, (unsigned long long)r->n_reordered,
	       (unsigned long long)r->n_corrupt, r->end_ns ? "true" : "false",
	       elapsed_ns ? n * r->segment_len * 8000 / (double)elapsed_ns : 0,
	       r->n_receives ? n / (double)r->n_receives : 0, (double)r->delay_sum_ns / n / 1000,
	       (double)r->delay_max_ns / 1000, socket_drops(r->fd));
}

static int receive_flow(uint16_t port, double seconds)
{
	struct receiver r = {.fd = listen_at(port)};
	uint64_t now = bench_clock_ns(), until = now + (uint64_t)(seconds * 1e9);

	for (; now < until; now = bench_clock_ns()) {
		uint64_t left_ms = (until - now) / 1000000 + 1;
		struct pollfd in = {.fd = r.fd, .events = POLLIN};

		if (r.end_ns && now - r.end_ns > DRAIN_MS * 1000000ULL)
			break;
		if (r.end_ns && left_ms > DRAIN_MS)
			left_ms = DRAIN_MS;
		if (poll(&in, 1, (int)left_ms) > 0)
			drain(&r);
	}
	print_received(&r);
	free(r.seen);
	return r.n_corrupt || r.n_duplicated;
}

static int usage(void)
{
	fputs("usage: udpseg_flow send ADDR PORT RATE_MBIT SECONDS [SEGMENT=1200] "
	      "[SEGMENTS_PER_SEND=40]\n"
	      "       udpseg_flow receive PORT SECONDS\n",
	      stderr);
	return 2;
}

static int run_sender(int argc, char **argv)
{
	double mbit = atof(argv[4]), seconds = atof(argv[5]);
	int segment = argc > 6 ? atoi(argv[6]) : 1200, n = argc > 7 ? atoi(argv[7]) : 40;
	struct sender s;

	if (mbit <= 0 || seconds <= 0 || segment < (int)sizeof(struct header) || n < 1 ||
	    n > SEGMENTS_MAX || segment > SEND_MAX / n)
		return usage();
	s = (struct sender){
		.segment_len = (uint32_t)segment,
		.n_per_send = (uint32_t)n,
		.fd = udpio_connect(argv[2], argv[3]),
	};
	return send_flow(&s, mbit, seconds);
}

int main(int argc, char **argv)
{
	udpio_program = "udpseg_flow";
	fill_pattern();
	if (argc >= 6 && argc <= 8 && !strcmp(argv[1], "send"))
		return run_sender(argc, argv);
	if (argc == 4 && !strcmp(argv[1], "receive") && atoi(argv[2]) > 0 && atof(argv[3]) > 0)
		return receive_flow((uint16_t)atoi(argv[2]), atof(argv[3]));
	return usage();
}
