/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many peers of one WireGuard device, played by one program.
 *
 *   peer_load config N PORT        what `wg setconf` gives the device: N peers
 *   peer_load connect ADDR PORT N [WINDOW=8]
 *
 * `connect` makes a session with each: all initiations are made before the clock
 * starts and all responses are used after it stopped, so that the rate is that of
 * the device; then an empty message under each session makes the device take it for
 * live. At most WINDOW initiations wait for their response; more would make a device
 * believe it is under attack. Prints one line of JSON. Keys are made of numbers:
 * worth nothing, and the same every time.
 */
#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "bench.h"
#include "crypto/cookie.h"
#include "crypto/hash.h"
#include "crypto/keypair.h"
#include "crypto/le.h"
#include "crypto/noise.h"
#include "crypto/tai64n.h"
#include "crypto/train.h"
#include "udpio.h"

enum { PEERS_MAX = 100000, PASSES = 3, ANSWER_MS = 500, BASE64_LEN = 45 };

struct peer {
	struct noise_local local;
	struct noise_handshake handshake;
	struct message_initiation initiation;
	struct message_response response;
	bool answered;
};

struct load {
	int fd;
	unsigned n, window, n_answered, n_confirmed;
	uint64_t n_cookies, n_other;
	struct peer *peers;
	uint8_t device_key[WG_KEY_LEN];
	struct tai64n_clock clock;
	double rate; /* of the first pass, in which nothing is sent twice */
};

/* 0 is the device, peers count from 1. */
static void make_identity(uint32_t number, struct noise_local *ret)
{
	uint8_t seed[16] = "peer_load", key[WG_KEY_LEN];

	le32_store(seed + 12, number);
	blake2s(key, sizeof(key), seed, sizeof(seed), NULL, 0);
	noise_local_set(ret, key);
}

static const char *text_of(const uint8_t key[WG_KEY_LEN], char ret[BASE64_LEN])
{
	return sodium_bin2base64(ret, BASE64_LEN, key, WG_KEY_LEN, sodium_base64_VARIANT_ORIGINAL);
}

static int print_config(unsigned n, unsigned port)
{
	char text[BASE64_LEN];
	struct noise_local l;

	make_identity(0, &l);
	printf("[Interface]\nPrivateKey = %s\nListenPort = %u\n", text_of(l.private_key, text),
	       port);
	for (unsigned i = 1; i <= n; i++) {
		make_identity(i, &l);
		printf("[Peer]\nPublicKey = %s\nAllowedIPs = 10.%u.%u.%u/32\n",
		       text_of(l.public_key, text), 64 + (i >> 16), i >> 8 & 255, i & 255);
	}
	return 0;
}

/* Handshakes */

static void make_initiation(struct load *l, struct peer *p, uint32_t index)
{
	uint8_t stamp[WG_TAI64N_LEN], ephemeral[WG_KEY_LEN];
	struct cookie_maker cookie;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	tai64n_next(&l->clock, (uint64_t)now.tv_sec, (uint32_t)now.tv_nsec, stamp);
	randombytes_buf(ephemeral, sizeof(ephemeral));
	if (!noise_create_initiation(&p->handshake, &p->local, ephemeral, index, stamp,
				     &p->initiation))
		udpio_die("initiation");
	cookie_maker_init(&cookie, l->device_key);
	cookie_add_macs(&cookie, bench_clock_ns(), (uint8_t *)&p->initiation,
			sizeof(p->initiation));
}

static void make_peers(struct load *l)
{
	struct noise_local device;

	make_identity(0, &device);
	memcpy(l->device_key, device.public_key, WG_KEY_LEN);
	l->peers = calloc(l->n, sizeof(*l->peers));
	if (!l->peers)
		udpio_die("calloc");
	for (unsigned i = 0; i < l->n; i++) {
		make_identity(i + 1, &l->peers[i].local);
		noise_handshake_init(&l->peers[i].handshake, &l->peers[i].local, l->device_key);
	}
}

/* How many responses there were. */
static unsigned take_answers(struct load *l)
{
	uint8_t buf[2048];
	unsigned n = 0;
	ssize_t len;

	while ((len = recv(l->fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0) {
		enum message_type type = message_classify(buf, (size_t)len);
		const struct message_response *r = (const void *)buf;
		uint32_t index = type == MESSAGE_RESPONSE ? le32_load(r->receiver_index_le32) : 0;

		l->n_cookies += type == MESSAGE_COOKIE_REPLY;
		if (index < 1 || index > l->n || l->peers[index - 1].answered) {
			l->n_other += type != MESSAGE_COOKIE_REPLY;
			continue;
		}
		l->peers[index - 1].response = *r;
		l->peers[index - 1].answered = true;
		n++;
	}
	return n;
}

static void send_initiation(struct load *l, const struct peer *p)
{
	if (send(l->fd, &p->initiation, sizeof(p->initiation), 0) < 0 && errno != ECONNREFUSED &&
	    errno != ENOBUFS)
		udpio_die("send");
}

/* All that have no response yet, once. */
static void pass(struct load *l)
{
	struct pollfd in = {.fd = l->fd, .events = POLLIN};
	unsigned waiting = 0, next = 0, before = l->n_answered;
	uint64_t start_ns, last_ns;

	for (unsigned i = 0; i < l->n; i++) {
		if (!l->peers[i].answered)
			make_initiation(l, &l->peers[i], i + 1);
	}
	start_ns = last_ns = bench_clock_ns();
	while (next < l->n || waiting) {
		unsigned n;

		for (; next < l->n && waiting < l->window; next++) {
			if (l->peers[next].answered)
				continue;
			send_initiation(l, &l->peers[next]);
			waiting++;
		}
		if (poll(&in, 1, ANSWER_MS) <= 0)
			waiting = 0; /* lost, or refused without a word */
		n = take_answers(l);
		waiting -= n < waiting ? n : waiting;
		l->n_answered += n;
		last_ns = n ? bench_clock_ns() : last_ns;
	}
	if (!before && last_ns > start_ns)
		l->rate = (double)l->n_answered * 1e9 / (double)(last_ns - start_ns);
}

static void confirm(struct load *l, struct peer *p)
{
	uint8_t message[MESSAGE_DATA_OVERHEAD];
	struct train_car car = {.msg = message};
	struct keypair kp;

	if (!p->answered || !noise_consume_response(&p->handshake, &p->local, &p->response) ||
	    !noise_begin_session(&p->handshake, &kp, bench_clock_ns()))
		return;
	train_seal(NULL, &kp, 0, &car, 1);
	l->n_confirmed += send(l->fd, message, sizeof(message), 0) == sizeof(message);
}

static int connect_all(struct load *l)
{
	make_peers(l);
	for (unsigned i = 0; i < PASSES && l->n_answered < l->n; i++)
		pass(l);
	for (unsigned i = 0; i < l->n; i++)
		confirm(l, &l->peers[i]);
	printf("{\"peers\": %u, \"answered\": %u, \"confirmed\": %u, \"per_second\": %.0f, "
	       "\"cookies\": %llu, \"other\": %llu}\n",
	       l->n, l->n_answered, l->n_confirmed, l->rate, (unsigned long long)l->n_cookies,
	       (unsigned long long)l->n_other);
	free(l->peers);
	return l->n_confirmed < l->n;
}

static int usage(void)
{
	fputs("usage: peer_load config N PORT\n"
	      "       peer_load connect ADDR PORT N [WINDOW=8]\n",
	      stderr);
	return 2;
}

int main(int argc, char **argv)
{
	struct load l = {.window = argc > 5 ? (unsigned)atoi(argv[5]) : 8};

	udpio_program = "peer_load";
	if (sodium_init() < 0)
		return 2;
	if (argc == 4 && !strcmp(argv[1], "config")) {
		l.n = (unsigned)atoi(argv[2]);
		return l.n > PEERS_MAX ? usage() : print_config(l.n, (unsigned)atoi(argv[3]));
	}
	if (argc < 5 || argc > 6 || strcmp(argv[1], "connect"))
		return usage();
	l.n = (unsigned)atoi(argv[4]);
	if (l.n < 1 || l.n > PEERS_MAX || l.window < 1)
		return usage();
	l.fd = udpio_connect(argv[2], argv[3]);
	return connect_all(&l);
}
