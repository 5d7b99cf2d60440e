/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock that the kernel gives back when its holder ends, however that happens: flock()
 * on a file, in which the holder says who it is. Whoever drops it removes the file; one
 * that was left behind is used again. One thread.
 */
#ifndef SEALANE_NODE_LOCKFILE_H
#define SEALANE_NODE_LOCKFILE_H

#include <sys/types.h>

enum { LOCKFILE_PATH_LEN = 108, LOCKFILE_WHO_LEN = 64 };

struct lockfile {
	int fd; /* -1: not held */
	char path[LOCKFILE_PATH_LEN];
};

struct lockfile_holder {
	pid_t pid;		    /* 0: not readable */
	char who[LOCKFILE_WHO_LEN]; /* ASCII; "" likewise */
};

/* Takes the lock at @path, whose folder is there, for @who. 0; -EWOULDBLOCK: somebody has
 * it, who is in @ret_holder; or -errno. *ret is not held, then. */
int lockfile_take(const char *path, const char *who, struct lockfile *ret,
		  struct lockfile_holder *ret_holder);
/* One that is not held is fine. */
void lockfile_drop(struct lockfile *lock);

#endif
