/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last TAI64N stamp across restarts, for hosts whose clock may be behind at boot:
 * peers refuse initiations that are not newer than the last one they saw. The file
 * holds a stamp that lies ahead of those given out, so that it is written seldom and
 * a crash loses nothing. Control thread, but for the writing.
 */
#ifndef SEALANE_LANE_STAMPFILE_H
#define SEALANE_LANE_STAMPFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "crypto/tai64n.h"

enum { STAMPFILE_AHEAD_S = 60, STAMPFILE_PATH_LEN = 96 };

struct stampfile {
	char path[STAMPFILE_PATH_LEN]; /* "": none is kept */
	uint8_t loaded[WG_TAI64N_LEN]; /* none was given out since if the clock is there */
	uint8_t saved[WG_TAI64N_LEN];
};

/* The clock goes on from what is at @path; where there is no file it begins anew. 0,
 * -ENAMETOOLONG, -EINVAL: no stamp in it (the clock begins anew, and the file will be
 * replaced), or -errno. */
int stampfile_open(struct stampfile *f, const char *path, struct tai64n_clock *clock);
/* Has the clock come within half of STAMPFILE_AHEAD_S of what is saved? Then *ret is
 * to be written, and counts as saved from now on. */
bool stampfile_due(struct stampfile *f, const struct tai64n_clock *clock,
		   uint8_t ret[WG_TAI64N_LEN]);
/* Makes the file's folder if need be, replaces the file as a whole and syncs it, which
 * may take long: any thread, one at a time. 0 or -errno. */
int stampfile_write(const char *path, const uint8_t stamp[WG_TAI64N_LEN]);

#endif
