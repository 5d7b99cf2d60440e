/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two sockets of a lane as its clients see them: configuration (UAPI) and
 * control, in the line grammar of sealaned(8). Blocking, but never longer than
 * LANE_CLIENT_TIMEOUT_MS without a byte that goes or comes. Control thread.
 */
#ifndef SEALANE_NODE_LANE_CLIENT_H
#define SEALANE_NODE_LANE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

enum { LANE_CLIENT_TIMEOUT_MS = 5000, LANE_CLIENT_ERR_LEN = 256 };

enum lane_socket { LANE_UAPI, LANE_CONTROL };

struct lane_client;

/*
 * Connects to both sockets of @ifname and checks the control socket's version.
 * 0; -ENOENT or -ECONNREFUSED: no lane there; -EPROTO: something else answers
 * (a wireguard-go has no control socket: -ENOENT with *ret_uapi_only true); or -errno.
 * *ret_uapi_only is written in any case.
 */
int lane_client_open(const char *ifname, struct lane_client **ret, bool *ret_uapi_only);
void lane_client_close(struct lane_client *c); /* NULL is fine */
/* Readable with end of file when the lane has ended: for the event loop. */
int lane_client_watch_fd(const struct lane_client *c);

/*
 * One request: @request is its lines with "get=1\n" or "set=1\n" first and without the
 * empty one. The answer's lines without errno, NUL-terminated, in *ret (may be NULL),
 * which the caller gives to lane_answer_free(): it wipes (there may be keys in it),
 * and @ret is written only with 0. 0; -errno as the lane answered it, with the text of
 * its error= line, or "", in @err; -EPIPE, -ETIMEDOUT, -EPROTO, -ENOMEM: the
 * connection is of no use any more, as lane_client_usable() tells, too.
 */
int lane_client_ask(struct lane_client *c, enum lane_socket which, const char *request, char **ret,
		    char err[LANE_CLIENT_ERR_LEN]);
bool lane_client_usable(const struct lane_client *c);
void lane_answer_free(char *answer); /* NULL is fine */

/* Takes the next line apart in place: *key and *value point into @cursor's text.
 * False at the end. Lines without '=' are skipped. */
struct lane_lines {
	char *next;
};
bool lane_lines_next(struct lane_lines *lines, char **key, char **value);

#endif
