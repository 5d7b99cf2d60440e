/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may change a lane and a network namespace: one agent at a time, for each takes
 * away what it does not want itself. Both are locked (lockfile.h), in files beside the
 * lanes' control sockets: the lane, whose sockets every namespace of the host sees, and
 * the namespace, in whose tables our marks do not tell two agents apart. One thread.
 */
#ifndef SEALANE_NODE_AGENT_LOCK_H
#define SEALANE_NODE_AGENT_LOCK_H

#include "lockfile.h"

#define AGENT_LOCK_FOLDER "/var/run/sealane"

/* For so long a predecessor that is about to end may take; and a text of who has it. */
enum { AGENT_LOCK_PATIENCE_MS = 5000, AGENT_LOCK_TEXT_LEN = 400 };

struct agent_lock {
	struct lockfile lane, netns;
};

/*
 * Takes both for an agent of @lane; @folder (AGENT_LOCK_FOLDER) is made if it is not
 * there. 0; -EADDRINUSE: somebody has one of them and kept it for @patience_ms; or
 * -errno. @why says what is wrong, in a line; nothing is held then.
 */
int agent_lock_take(const char *folder, const char *lane, unsigned patience_ms,
		    struct agent_lock *ret, char why[AGENT_LOCK_TEXT_LEN]);
/* Begins as AGENT_LOCK_NONE, with which dropping is fine. */
#define AGENT_LOCK_NONE ((struct agent_lock){.lane = {.fd = -1}, .netns = {.fd = -1}})
void agent_lock_drop(struct agent_lock *lock);

/*
 * For a command that changes what agents make, called @who: takes the namespace alone
 * and at once. 0; -EADDRINUSE with @why, which names who has it; -ENOENT: there is no
 * @folder, and so no agent; or -errno.
 */
int agent_lock_take_netns(const char *folder, const char *who, struct lockfile *ret,
			  char why[AGENT_LOCK_TEXT_LEN]);

#endif
