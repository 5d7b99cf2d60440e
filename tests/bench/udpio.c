/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "udpio.h"

enum { BUFFER_LEN = 64 << 20, SECOND_NS = 1000000000 };

const char *udpio_program = "";

void udpio_die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", udpio_program, what, strerror(errno));
	exit(2);
}

/* FORCE goes beyond the host's limit, but takes CAP_NET_ADMIN. */
static void set_buffer(int fd, int forced, int limited)
{
	int len = BUFFER_LEN;

	if (setsockopt(fd, SOL_SOCKET, forced, &len, sizeof(len)))
		setsockopt(fd, SOL_SOCKET, limited, &len, sizeof(len));
}

int udpio_connect(const char *addr, const char *port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST}, *to;
	int err = getaddrinfo(addr, port, &hints, &to), fd;

	if (err) {
		fprintf(stderr, "%s: %s: %s\n", udpio_program, addr, gai_strerror(err));
		exit(2);
	}
	fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen))
		udpio_die(addr);
	freeaddrinfo(to);
	set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF);
	return fd;
}

int udpio_listen(uint16_t port)
{
	const int off = 0;
	struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)))
		udpio_die("socket");
	set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)))
		udpio_die("bind");
	return fd;
}

void udpio_sleep_until(uint64_t ns)
{
	struct timespec at = {
		.tv_sec = (time_t)(ns / SECOND_NS),
		.tv_nsec = (long)(ns % SECOND_NS),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}
