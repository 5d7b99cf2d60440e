/* SPDX-License-Identifier: Apache-2.0 */
/* The file of the status socket: made so that only its owner may use it, never where
 * somebody answers, removed only while it is ours. Control thread. */
#ifndef SEALANE_NODE_STATUS_SOCKET_H
#define SEALANE_NODE_STATUS_SOCKET_H

#include <sys/types.h>
#include <sys/un.h>

struct status_socket {
	int fd; /* listening, non-blocking; the caller's to close */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	dev_t dev;
	ino_t ino;
};

/* 0; -EADDRINUSE: somebody answers there; -EEXIST: it is no socket; -ENAMETOOLONG; or
 * -errno. */
int status_socket_open(const char *path, struct status_socket *ret);
void status_socket_remove(const struct status_socket *s);

#endif
