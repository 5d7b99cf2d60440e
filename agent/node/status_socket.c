/* SPDX-License-Identifier: Apache-2.0 */
#include "status_socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BACKLOG = 16 };

static int new_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

static void set_path(struct sockaddr_un *addr, const char *path)
{
	addr->sun_family = AF_UNIX;
	memcpy(addr->sun_path, path, strlen(path) + 1);
}

static int make_folder(const char *path)
{
	char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
	const char *slash = strrchr(path, '/');
	mode_t old;
	int err;

	if (!slash || slash == path)
		return 0;
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
	old = umask(0022);
	err = mkdir(folder, 0755) < 0 && errno != EEXIST ? -errno : 0;
	umask(old);
	return err;
}

/* 0: nobody answers there, it may be removed. */
static int probe_stale(const char *path)
{
	struct sockaddr_un addr;
	struct stat st;
	int fd, err;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = new_socket();
	if (fd < 0)
		return fd;
	set_path(&addr, path);
	err = connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0 ? -errno : 0;
	close(fd);
	if (err == -ECONNREFUSED || err == -ENOENT)
		return 0;
	return !err || err == -EAGAIN ? -EADDRINUSE : err; /* EAGAIN: a full backlog */
}

/* Gives the socket at @made its real name. */
static int publish(const char *made, const char *path)
{
	int err;

	if (!link(made, path))
		return 0;
	if (errno != EEXIST)
		return -errno;
	err = probe_stale(path);
	if (err)
		return err;
	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	return link(made, path) < 0 ? -errno : 0;
}

/* Under another name first: one that does not listen yet looks like a dead one. The
 * umask makes it 0600 from its first moment. */
static int bind_and_publish(int fd, const char *path)
{
	struct sockaddr_un addr;
	char made[sizeof(addr.sun_path)];
	struct stat st;
	mode_t old;
	int err;

	if ((size_t)snprintf(made, sizeof(made), "%s.%d", path, (int)getpid()) >= sizeof(made))
		return -ENAMETOOLONG;
	if (!lstat(made, &st) && S_ISSOCK(st.st_mode))
		unlink(made); /* of one that had our number and was killed */
	set_path(&addr, made);
	old = umask(0177);
	err = bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0 ? -errno : 0;
	umask(old);
	if (err)
		return err == -EADDRINUSE ? -EEXIST : err;
	err = listen(fd, BACKLOG) < 0 ? -errno : publish(made, path);
	unlink(made);
	return err;
}

int status_socket_open(const char *path, struct status_socket *ret)
{
	struct status_socket s = {.fd = -1};
	struct stat st;
	int err;

	if ((size_t)snprintf(s.path, sizeof(s.path), "%s", path) >= sizeof(s.path))
		return -ENAMETOOLONG;
	err = make_folder(path);
	if (err)
		return err;
	s.fd = new_socket();
	if (s.fd < 0)
		return s.fd;
	err = bind_and_publish(s.fd, path);
	if (!err && lstat(path, &st) < 0)
		err = -errno;
	if (err) {
		close(s.fd);
		return err;
	}
	s.dev = st.st_dev;
	s.ino = st.st_ino;
	*ret = s;
	return 0;
}

void status_socket_remove(const struct status_socket *s)
{
	struct stat st;

	if (!lstat(s->path, &st) && st.st_dev == s->dev && st.st_ino == s->ino)
		unlink(s->path);
}
