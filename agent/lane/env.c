/* SPDX-License-Identifier: Apache-2.0 */
#include "env.h"

#include <sodium.h>

static uint64_t boottime_ns(void *ctx)
{
	struct timespec ts;

	(void)ctx;
	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec + 1;
}

static void wall_clock(void *ctx, struct timespec *ret)
{
	(void)ctx;
	clock_gettime(CLOCK_REALTIME, ret);
}

static void random_bytes(void *ctx, void *buf, size_t len)
{
	(void)ctx;
	randombytes_buf(buf, len);
}

const struct lane_env lane_env_system = {
	.now_ns = boottime_ns,
	.wall_clock = wall_clock,
	.random = random_bytes,
};
