/* SPDX-License-Identifier: Apache-2.0 */
#include "socketfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 128 };

_Static_assert(SOCKETFILE_PATH_MAX == sizeof(((struct sockaddr_un *)NULL)->sun_path),
	       "a path fits where it is bound");

static bool identify(const char *path, struct socketfile *ret)
{
	struct statx st;

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &st) < 0)
		return false;
	ret->dev_major = st.stx_dev_major;
	ret->dev_minor = st.stx_dev_minor;
	ret->ino = st.stx_ino;
	/* Inode numbers are used again at once on some filesystems. */
	if (st.stx_mask & STATX_BTIME) {
		ret->born_sec = st.stx_btime.tv_sec;
		ret->born_nsec = st.stx_btime.tv_nsec;
	}
	return true;
}

void socketfile_note(struct socketfile *f, const char *path)
{
	*f = (struct socketfile){0};
	snprintf(f->path, sizeof(f->path), "%s", path);
	f->noted = identify(path, f);
}

bool socketfile_is_there(const struct socketfile *f)
{
	struct socketfile now = {0};

	return f->noted && identify(f->path, &now) && now.dev_major == f->dev_major &&
	       now.dev_minor == f->dev_minor && now.ino == f->ino && now.born_sec == f->born_sec &&
	       now.born_nsec == f->born_nsec;
}

void socketfile_remove(const struct socketfile *f)
{
	if (socketfile_is_there(f))
		unlink(f->path);
}

void socketfile_folder(const char *path, char ret[SOCKETFILE_PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;

	if (!slash || !len) {
		snprintf(ret, SOCKETFILE_PATH_MAX, "%s", slash ? "/" : ".");
		return;
	}
	memcpy(ret, path, len);
	ret[len] = '\0';
}

/* 0: nobody answers there, it may be removed. */
static int probe_stale(const struct sockaddr_un *addr)
{
	struct stat st;
	int fd, err;

	if (lstat(addr->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	err = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) < 0 ? -errno : 0;
	close(fd);
	switch (err) {
	case -ECONNREFUSED:
	case -ENOENT:
		return 0;
	case 0:
	case -EAGAIN: /* alive, with a full backlog */
		return -EADDRINUSE;
	default:
		return err;
	}
}

/* Binds under a umask that makes the file 0600 from its first moment. */
static int bind_private(int fd, const struct sockaddr_un *addr)
{
	mode_t old = umask(0177);
	int err = bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) < 0 ? -errno : 0;

	umask(old);
	return err;
}

/* Gives the listening socket at @made its real name, if nobody answers there. */
static int publish(const char *made, const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int err;

	if (!link(made, path))
		return 0;
	if (errno != EEXIST)
		return -errno;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	err = probe_stale(&addr);
	if (err)
		return err;
	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	return link(made, path) < 0 ? -errno : 0;
}

/*
 * Under another name first: whoever finds a socket that does not listen yet takes
 * it for a dead one, and wg removes it.
 */
static int listen_and_publish(int fd, const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int len = snprintf(addr.sun_path, sizeof(addr.sun_path), "%s.%d", path, (int)getpid());
	int err;

	if (len < 0 || (size_t)len >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	unlink(addr.sun_path);
	err = bind_private(fd, &addr);
	if (err)
		return err;
	err = listen(fd, BACKLOG) < 0 ? -errno : publish(addr.sun_path, path);
	unlink(addr.sun_path);
	return err;
}

static int make_folder(const char *path)
{
	char folder[SOCKETFILE_PATH_MAX];
	mode_t old;
	int err;

	socketfile_folder(path, folder);
	old = umask(0022);
	err = mkdir(folder, 0755) < 0 && errno != EEXIST ? -errno : 0;
	umask(old);
	return err;
}

int socketfile_listen(const char *path)
{
	int fd, err = make_folder(path);

	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	err = listen_and_publish(fd, path);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}
