/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two sockets of a lane as its clients see them: configuration (UAPI) and
 * control, in the line grammar of sealaned(8). Blocking, but never longer than
 * LANE_CLIENT_TIMEOUT_MS without a byte that goes or comes, which is meant for a lane
 * that stops in the middle of something; whether it answers at all can be found without
 * waiting, by lane_client_look(). Control thread.
 */
#ifndef SEALANE_NODE_LANE_CLIENT_H
#define SEALANE_NODE_LANE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

enum { LANE_CLIENT_TIMEOUT_MS = 3000, LANE_CLIENT_ERR_LEN = 256 };

enum lane_socket { LANE_UAPI, LANE_CONTROL };
enum { LANE_SOCKETS = 2 };

struct lane_client;

/*
 * Connects to both sockets of @ifname and checks the control socket's version.
 * 0; -ENOENT or -ECONNREFUSED: no lane there; -EPROTO: something else answers
 * (a wireguard-go has no control socket: -ENOENT with *ret_uapi_only true); or -errno.
 * *ret_uapi_only is written in any case.
 */
int lane_client_open(const char *ifname, struct lane_client **ret, bool *ret_uapi_only);
/* The same without asking for anything: whether it answers, and whether it is one, the
 * first lane_client_look() tells. -EAGAIN: somebody is there, but too busy to accept. */
int lane_client_connect(const char *ifname, struct lane_client **ret, bool *ret_uapi_only);
void lane_client_close(struct lane_client *c); /* NULL is fine */
/* For the event loop: readable with what lane_client_look_more() wants, or else with end of
 * file when the lane has ended. */
int lane_client_fd(const struct lane_client *c, enum lane_socket which);

/*
 * A get without waiting: sends it, and takes what came of the answer when the descriptor is
 * readable. One at a time and socket: a second is the first. look: 0; -EPIPE or -errno: the
 * connection is of no use any more. look_more: 0, with the answer as of lane_client_ask();
 * -EAGAIN: there is more to come; -EPIPE, -EPROTO (which a lane that refuses a get or tells
 * another version is, too), -ENOMEM: of no use any more.
 */
int lane_client_look(struct lane_client *c, enum lane_socket which);
int lane_client_look_more(struct lane_client *c, enum lane_socket which, char **ret);

/*
 * One request: @request is its lines with "get=1\n" or "set=1\n" first and without the
 * empty one. The answer's lines without errno, NUL-terminated, in *ret (may be NULL),
 * which the caller gives to lane_answer_free(): it wipes (there may be keys in it),
 * and @ret is written only with 0. 0; -errno as the lane answered it, with the text of
 * its error= line, or "", in @err; -EBUSY: a look is under way there; -EPIPE, -ETIMEDOUT, -EPROTO,
 * -ENOMEM: the connection is of no use any more, as lane_client_usable() tells, too.
 */
int lane_client_ask(struct lane_client *c, enum lane_socket which, const char *request, char **ret,
		    char err[LANE_CLIENT_ERR_LEN]);
/* What is to be said of a lane once. True: it was not said of this one. */
enum lane_note { LANE_NOTE_NO_ENCAP = 1 << 0 };
bool lane_client_notes(struct lane_client *c, enum lane_note note);
bool lane_client_usable(const struct lane_client *c);
void lane_answer_free(char *answer); /* NULL is fine */
/* Of an answer or its part: what lane_answer_free() wipes and frees, too. NULL: no memory. */
char *lane_answer_copy(const char *answer);

/* Takes the next line apart in place: *key and *value point into @cursor's text.
 * False at the end. Lines without '=' are skipped. */
struct lane_lines {
	char *next;
};
bool lane_lines_next(struct lane_lines *lines, char **key, char **value);

#endif
