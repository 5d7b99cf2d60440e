/* SPDX-License-Identifier: Apache-2.0 */
/* How many CPUs this process may use at once. Control thread, at start-up. */
#ifndef SEALANE_LANE_CPUS_H
#define SEALANE_LANE_CPUS_H

enum { CPUS_REASON_LEN = 120 };

/* Those of its affinity mask, or fewer if a cgroup (version 2) above it has a quota for
 * less; at least 1. @reason tells which of the two counts. */
unsigned cpus_granted(char reason[CPUS_REASON_LEN]);

/* CPUs that the text of a cpu.max ("150000 100000", "max 100000") is worth, rounded up;
 * 0: it limits nothing, or nobody can read it. */
unsigned cpus_of_quota(const char *cpu_max);

#endif
