/* SPDX-License-Identifier: Apache-2.0 */
#include "notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int set_address(struct notify *n, const char *name)
{
	const size_t len = strlen(name), max = sizeof(n->addr.sun_path);

	if ((name[0] != '/' && name[0] != '@') || len < 2 || len >= max)
		return -EINVAL;
	n->addr.sun_family = AF_UNIX;
	memcpy(n->addr.sun_path, name, len);
	/* An abstract name has no end but the address's. */
	if (name[0] == '@')
		n->addr.sun_path[0] = '\0';
	n->addr_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (name[0] == '/'));
	return 0;
}

static uint64_t watchdog_us(char *(*getenv_fn)(const char *name))
{
	const char *usec = getenv_fn("WATCHDOG_USEC"), *pid = getenv_fn("WATCHDOG_PID");
	char *end;
	unsigned long long us;

	if (!usec || (pid && strtol(pid, NULL, 10) != getpid()))
		return 0;
	errno = 0;
	us = strtoull(usec, &end, 10);
	return errno || *end || end == usec || *usec == '-' ? 0 : us;
}

int notify_init(struct notify *n, char *(*getenv_fn)(const char *name))
{
	const char *name = getenv_fn("NOTIFY_SOCKET");
	int err;

	*n = (struct notify){0};
	if (!name || !*name)
		return 0;
	err = set_address(n, name);
	if (!err)
		n->watchdog_us = watchdog_us(getenv_fn);
	return err;
}

static int tell(const struct notify *n, const char *text)
{
	const struct timeval patience = {.tv_usec = NOTIFY_PATIENCE_MS * 1000};
	int fd, err = 0;

	if (!n->addr_len)
		return 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&n->addr,
		   n->addr_len) < 0)
		err = -errno;
	close(fd);
	return err;
}

int notify_ready(const struct notify *n)
{
	return tell(n, "READY=1\n");
}

int notify_reloading(const struct notify *n)
{
	char text[64];
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\n",
		 (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
	return tell(n, text);
}

int notify_stopping(const struct notify *n)
{
	return tell(n, "STOPPING=1\n");
}

int notify_watchdog(const struct notify *n)
{
	return tell(n, "WATCHDOG=1\n");
}

int notify_status(struct notify *n, const char *text)
{
	char line[NOTIFY_STATUS_LEN + 16], status[NOTIFY_STATUS_LEN];
	size_t len;

	snprintf(status, sizeof(status), "%s", text);
	len = strcspn(status, "\n");
	status[len] = '\0';
	if (!strcmp(status, n->status))
		return 0;
	memcpy(n->status, status, sizeof(status));
	snprintf(line, sizeof(line), "STATUS=%s\n", status);
	return tell(n, line);
}
