/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_lock.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MS = 50 };

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int make_folder(const char *folder)
{
	const mode_t old = umask(0022);
	const int err = mkdir(folder, 0755) < 0 && errno != EEXIST ? -errno : 0;

	umask(old);
	return err;
}

/* Paths that are too long are told by lockfile_take(). */

static void lane_path(const char *folder, const char *lane, char ret[2 * LOCKFILE_PATH_LEN])
{
	snprintf(ret, 2 * LOCKFILE_PATH_LEN, "%s/%s.agent.lock", folder, lane);
}

/* By the number that lsns(8) shows. */
static int netns_path(const char *folder, char ret[2 * LOCKFILE_PATH_LEN])
{
	struct stat st;

	if (stat("/proc/self/ns/net", &st) < 0)
		return -errno;
	snprintf(ret, 2 * LOCKFILE_PATH_LEN, "%s/netns-%ju.lock", folder, (uintmax_t)st.st_ino);
	return 0;
}

static void tell_holder(const char *what, const char *path, const struct lockfile_holder *holder,
			char why[AGENT_LOCK_TEXT_LEN])
{
	if (holder->pid)
		snprintf(why, AGENT_LOCK_TEXT_LEN,
			 "%s is kept by process %d (%s), which has the lock %s", what,
			 (int)holder->pid, holder->who, path);
	else
		snprintf(why, AGENT_LOCK_TEXT_LEN,
			 "%s is kept by another process, which has the lock %s", what, path);
}

/* One lock, for which @what stands in texts. */
static int take(const char *path, const char *who, const char *what, struct lockfile *ret,
		char why[AGENT_LOCK_TEXT_LEN])
{
	struct lockfile_holder holder;
	int err = lockfile_take(path, who, ret, &holder);

	if (err == -EWOULDBLOCK) {
		tell_holder(what, path, &holder, why);
		return -EADDRINUSE;
	}
	if (err)
		snprintf(why, AGENT_LOCK_TEXT_LEN, "cannot lock %s: %s", path, strerror(-err));
	return err;
}

static int wait_and_take(const char *path, const char *who, const char *what, uint64_t until_ms,
			 struct lockfile *ret, char why[AGENT_LOCK_TEXT_LEN])
{
	int err;

	for (;;) {
		err = take(path, who, what, ret, why);
		if (err != -EADDRINUSE || now_ms() >= until_ms)
			return err;
		usleep(POLL_MS * 1000);
	}
}

static int take_lane(const char *folder, const char *lane, const char *who, uint64_t until_ms,
		     struct lockfile *ret, char why[AGENT_LOCK_TEXT_LEN])
{
	char path[2 * LOCKFILE_PATH_LEN], what[64];

	lane_path(folder, lane, path);
	snprintf(what, sizeof(what), "lane %s", lane);
	return wait_and_take(path, who, what, until_ms, ret, why);
}

static int take_netns(const char *folder, const char *who, uint64_t until_ms, struct lockfile *ret,
		      char why[AGENT_LOCK_TEXT_LEN])
{
	char path[2 * LOCKFILE_PATH_LEN];
	int err = netns_path(folder, path);

	*ret = (struct lockfile){.fd = -1};
	if (err) {
		snprintf(why, AGENT_LOCK_TEXT_LEN, "cannot tell the network namespace: %s",
			 strerror(-err));
		return err;
	}
	return wait_and_take(path, who, "this network namespace", until_ms, ret, why);
}

int agent_lock_take(const char *folder, const char *lane, unsigned patience_ms,
		    struct agent_lock *ret, char why[AGENT_LOCK_TEXT_LEN])
{
	const uint64_t until_ms = now_ms() + patience_ms;
	char who[LOCKFILE_WHO_LEN];
	int err = make_folder(folder);

	*ret = AGENT_LOCK_NONE;
	if (err) {
		snprintf(why, AGENT_LOCK_TEXT_LEN, "cannot make %s: %s", folder, strerror(-err));
		return err;
	}
	snprintf(who, sizeof(who), "sealane-agent, lane %s", lane);
	err = take_lane(folder, lane, who, until_ms, &ret->lane, why);
	if (!err)
		err = take_netns(folder, who, until_ms, &ret->netns, why);
	if (err)
		agent_lock_drop(ret);
	return err;
}

void agent_lock_drop(struct agent_lock *lock)
{
	lockfile_drop(&lock->netns);
	lockfile_drop(&lock->lane);
}

int agent_lock_take_netns(const char *folder, const char *who, struct lockfile *ret,
			  char why[AGENT_LOCK_TEXT_LEN])
{
	return take_netns(folder, who, 0, ret, why);
}
