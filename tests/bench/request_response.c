/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a request waits for its response: UDP, one at a time.
 *
 *   request_response serve PORT SECONDS
 *   request_response ask ADDR PORT SECONDS [INTERVAL_US=0] [LEN=64]
 *
 * INTERVAL_US apart, or each as soon as the one before is answered (0). One without
 * a response for 200 ms is lost. `ask` prints one line of JSON.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "bench.h"
#include "udpio.h"

enum { LEN_MAX = 1400, LOST_MS = 200, TIMES_MAX = 1 << 24 };

struct asker {
	int fd;
	size_t len;
	uint64_t number, n_lost;
	uint32_t *times_ns; /* each at most LOST_MS */
	size_t n_times;
};

static int serve(uint16_t port, double seconds)
{
	struct pollfd in = {.fd = udpio_listen(port), .events = POLLIN};
	uint64_t until = bench_clock_ns() + (uint64_t)(seconds * 1e9);

	while (bench_clock_ns() < until) {
		struct sockaddr_in6 from;
		socklen_t from_len = sizeof(from);
		uint8_t buf[LEN_MAX];
		ssize_t len;

		if (poll(&in, 1, LOST_MS) <= 0)
			continue;
		len = recvfrom(in.fd, buf, sizeof(buf), MSG_DONTWAIT, (struct sockaddr *)&from,
			       &from_len);
		if (len > 0)
			sendto(in.fd, buf, (size_t)len, 0, (struct sockaddr *)&from, from_len);
	}
	return 0;
}

/* The response to this request, not a late one to another. */
static bool is_answered(struct asker *a)
{
	uint64_t until = bench_clock_ns() + LOST_MS * 1000000ULL, now, number;
	struct pollfd in = {.fd = a->fd, .events = POLLIN};
	uint8_t buf[LEN_MAX];

	while ((now = bench_clock_ns()) < until) {
		if (poll(&in, 1, (int)((until - now) / 1000000) + 1) <= 0)
			continue;
		if (recv(a->fd, buf, sizeof(buf), MSG_DONTWAIT) < (ssize_t)sizeof(number))
			continue;
		memcpy(&number, buf, sizeof(number));
		if (number == a->number)
			return true;
	}
	return false;
}

static void ask_once(struct asker *a)
{
	uint8_t buf[LEN_MAX] = {0};
	uint64_t start_ns = bench_clock_ns();

	a->number++;
	memcpy(buf, &a->number, sizeof(a->number));
	if (send(a->fd, buf, a->len, 0) < 0 && errno != ECONNREFUSED && errno != ENOBUFS)
		udpio_die("send");
	if (is_answered(a))
		a->times_ns[a->n_times++] = (uint32_t)(bench_clock_ns() - start_ns);
	else
		a->n_lost++;
}

static int compare_times(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static double percentile_us(const struct asker *a, double percent)
{
	size_t at = (size_t)((double)a->n_times * percent / 100);

	if (!a->n_times)
		return 0;
	return a->times_ns[at < a->n_times ? at : a->n_times - 1] / 1e3;
}

static void print_times(struct asker *a, double seconds)
{
	qsort(a->times_ns, a->n_times, sizeof(*a->times_ns), compare_times);
	printf("{\"answered\": %zu, \"lost\": %llu, \"per_second\": %.0f, \"p50_us\": %.1f, "
	       "\"p90_us\": %.1f, \"p99_us\": %.1f, \"max_us\": %.1f}\n",
	       a->n_times, (unsigned long long)a->n_lost, (double)a->n_times / seconds,
	       percentile_us(a, 50), percentile_us(a, 90), percentile_us(a, 99),
	       percentile_us(a, 100));
}

static int ask(struct asker *a, double seconds, uint64_t interval_ns)
{
	uint64_t start = bench_clock_ns(), due = start, now = start;

	a->times_ns = malloc(TIMES_MAX * sizeof(*a->times_ns));
	if (!a->times_ns)
		udpio_die("malloc");
	/* The default slack would be part of every interval. */
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	while (now - start < (uint64_t)(seconds * 1e9) && a->n_times < TIMES_MAX) {
		ask_once(a);
		now = bench_clock_ns();
		due = due + interval_ns > now ? due + interval_ns : now;
		if (due > now)
			udpio_sleep_until(due);
	}
	print_times(a, (double)(now - start) / 1e9);
	free(a->times_ns);
	return a->n_times == 0;
}

static int usage(void)
{
	fputs("usage: request_response serve PORT SECONDS\n"
	      "       request_response ask ADDR PORT SECONDS [INTERVAL_US=0] [LEN=64]\n",
	      stderr);
	return 2;
}

int main(int argc, char **argv)
{
	int interval_us = argc > 5 ? atoi(argv[5]) : 0, len = argc > 6 ? atoi(argv[6]) : 64;
	struct asker a = {.len = (size_t)len};

	udpio_program = "request_response";
	if (argc == 4 && !strcmp(argv[1], "serve") && atoi(argv[2]) > 0 && atof(argv[3]) > 0)
		return serve((uint16_t)atoi(argv[2]), atof(argv[3]));
	if (argc < 5 || argc > 7 || strcmp(argv[1], "ask") || atof(argv[4]) <= 0 ||
	    interval_us < 0 || len < (int)sizeof(a.number) || len > LEN_MAX)
		return usage();
	a.fd = udpio_connect(argv[2], argv[3]);
	return ask(&a, atof(argv[4]), (uint64_t)interval_us * 1000);
}
