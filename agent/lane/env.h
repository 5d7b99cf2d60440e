/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a lane takes from the world besides packets: time and randomness. The
 * daemon gives the real ones, the simulation its own.
 */
#ifndef SEALANE_LANE_ENV_H
#define SEALANE_LANE_ENV_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct lane_env {
	void *ctx;
	uint64_t (*now_ns)(void *ctx);			     /* CLOCK_BOOTTIME; never 0 */
	void (*wall_clock)(void *ctx, struct timespec *ret); /* CLOCK_REALTIME */
	void (*random)(void *ctx, void *buf, size_t len);    /* cannot fail */
};

/* The real clocks and libsodium's generator. */
extern const struct lane_env lane_env_system;

#endif
