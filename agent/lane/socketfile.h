/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a listening unix socket: made so that only its owner may use it,
 * and known again later, as somebody may remove or replace it. Paths are shorter
 * than SOCKETFILE_PATH_MAX. Control thread.
 */
#ifndef SEALANE_LANE_SOCKETFILE_H
#define SEALANE_LANE_SOCKETFILE_H

#include <stdbool.h>
#include <stdint.h>

enum { SOCKETFILE_PATH_MAX = 108 };

struct socketfile {
	char path[SOCKETFILE_PATH_MAX];
	bool noted; /* there was a file */
	uint32_t dev_major, dev_minor;
	uint64_t ino;
	int64_t born_sec;
	uint32_t born_nsec;
};

/* Binds and listens; makes the folder, removes a stale socket. A descriptor, or
 * -EADDRINUSE (somebody answers there), -EEXIST (a file that is no socket; left
 * alone), or what the kernel says. */
int socketfile_listen(const char *path);

/* Notes which file is at @path now. */
void socketfile_note(struct socketfile *f, const char *path);
/* Is it still that very file? False too when there was none. */
bool socketfile_is_there(const struct socketfile *f);
/* Removes it if it is still that file. */
void socketfile_remove(const struct socketfile *f);

/* "/a/b.sock" -> "/a"; "." for a bare name. */
void socketfile_folder(const char *path, char ret[SOCKETFILE_PATH_MAX]);

#endif
