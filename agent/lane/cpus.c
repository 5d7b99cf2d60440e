/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel counts a quota for every cgroup on the way from the root to ours
 * (Documentation/admin-guide/cgroup-v2.rst: cpu.max), so the smallest of them holds. In a
 * container the namespace shows ours as the root, and what is above is the host's.
 */
#include "cpus.h"

#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CGROUP_ROOT "/sys/fs/cgroup"

enum { PATH_LEN = 4096, LINE_LEN = 256 };

unsigned cpus_of_quota(const char *cpu_max)
{
	uint64_t quota, period;

	if (sscanf(cpu_max, "%" SCNu64 " %" SCNu64, &quota, &period) != 2 || !quota || !period)
		return 0;
	quota = quota / period + (quota % period != 0);
	return quota > CPU_SETSIZE ? 0 : (unsigned)quota;
}

static bool read_line(const char *path, const char *prefix, char *line, size_t len)
{
	FILE *f = fopen(path, "re");
	bool found = false;

	if (!f)
		return false;
	while (!found && fgets(line, (int)len, f))
		found = !strncmp(line, prefix, strlen(prefix));
	fclose(f);
	line[strcspn(line, "\n")] = '\0';
	return found;
}

/* Of one cgroup; 0: none. */
static unsigned quota_at(const char *group)
{
	char path[PATH_LEN + sizeof("/cpu.max")], line[LINE_LEN];

	snprintf(path, sizeof(path), "%s/cpu.max", group);
	return read_line(path, "", line, sizeof(line)) ? cpus_of_quota(line) : 0;
}

/* The smallest from ours upwards; 0: none. */
static unsigned smallest_quota(void)
{
	char line[PATH_LEN - sizeof(CGROUP_ROOT)], group[PATH_LEN], *slash;
	unsigned least = 0, n;

	if (!read_line("/proc/self/cgroup", "0::/", line, sizeof(line)))
		return 0;
	snprintf(group, sizeof(group), CGROUP_ROOT "%s", line + strlen("0::"));
	for (;;) {
		n = quota_at(group);
		if (n && (!least || n < least))
			least = n;
		slash = strrchr(group + strlen(CGROUP_ROOT), '/');
		if (!slash)
			return least;
		*slash = '\0';
	}
}

static unsigned affinity(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	return CPU_COUNT(&set) > 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

unsigned cpus_granted(char reason[CPUS_REASON_LEN])
{
	unsigned n = affinity(), quota = smallest_quota();

	if (quota && quota < n) {
		snprintf(reason, CPUS_REASON_LEN, "a cgroup grants %u of %u CPUs", quota, n);
		return quota;
	}
	snprintf(reason, CPUS_REASON_LEN, "%u CPU%s by affinity", n, n == 1 ? "" : "s");
	return n;
}
