/* SPDX-License-Identifier: Apache-2.0 */
#include "lockfile.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

/* Each is a file that its holder removed between our opening and our locking it. */
enum { ATTEMPTS = 100 };

/* Anybody who can open the file can lock it: nobody but its owner may. */
static int open_file(const char *path)
{
	const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

	return fd < 0 ? -errno : fd;
}

static void read_holder(int fd, struct lockfile_holder *ret)
{
	char text[LOCKFILE_WHO_LEN + 16], *rest;
	const ssize_t len = pread(fd, text, sizeof(text) - 1, 0);
	long pid;

	*ret = (struct lockfile_holder){0};
	text[len > 0 ? len : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	pid = strtol(text, &rest, 10);
	if (pid <= 0 || *rest != ' ')
		return;
	ret->pid = (pid_t)pid;
	snprintf(ret->who, sizeof(ret->who), "%.*s", LOCKFILE_WHO_LEN - 1, rest + 1);
	for (char *c = ret->who; *c; c++) {
		if (!isprint((unsigned char)*c))
			*c = '?';
	}
}

/* Without room for it the lock holds all the same, and others cannot tell by whom. */
static void write_holder(int fd, const char *who)
{
	char text[LOCKFILE_WHO_LEN + 16];
	const int len = snprintf(text, sizeof(text), "%d %.*s\n", (int)getpid(),
				 LOCKFILE_WHO_LEN - 1, who);

	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)len, 0) != len)
		log_debug("nothing could be written to a lock: %s", strerror(errno));
}

static bool is_at(int fd, const char *path)
{
	struct stat is, at;

	return !fstat(fd, &is) && !lstat(path, &at) && is.st_dev == at.st_dev &&
	       is.st_ino == at.st_ino;
}

/* 0; -ESTALE: that file is gone by now, and whoever comes next would lock another. */
static int lock_file(int fd, const char *path, struct lockfile_holder *ret_holder)
{
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		const int err = -errno;

		if (err == -EWOULDBLOCK)
			read_holder(fd, ret_holder);
		return err;
	}
	return is_at(fd, path) ? 0 : -ESTALE;
}

int lockfile_take(const char *path, const char *who, struct lockfile *ret,
		  struct lockfile_holder *ret_holder)
{
	int err = -ESTALE;

	*ret = (struct lockfile){.fd = -1};
	*ret_holder = (struct lockfile_holder){0};
	if ((size_t)snprintf(ret->path, sizeof(ret->path), "%s", path) >= sizeof(ret->path))
		return -ENAMETOOLONG;
	for (int i = 0; i < ATTEMPTS && err == -ESTALE; i++) {
		const int fd = open_file(path);

		if (fd < 0)
			return fd;
		err = lock_file(fd, path, ret_holder);
		if (err) {
			close(fd);
			continue;
		}
		write_holder(fd, who);
		ret->fd = fd;
	}
	return err;
}

void lockfile_drop(struct lockfile *lock)
{
	if (lock->fd < 0)
		return;
	/* While it is locked: later it might be the next one's. */
	if (is_at(lock->fd, lock->path))
		unlink(lock->path);
	close(lock->fd);
	lock->fd = -1;
}
