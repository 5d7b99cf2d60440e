/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The doctor's examinations, each a function of what it is given: cmd_doctor.c fetches
 * that from agent, lane and kernel. Each adds its findings. One thread.
 */
#ifndef SEALANE_CLI_DOCTOR_H
#define SEALANE_CLI_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "finding.h"
#include "overlay/bigtcp.h"

struct config;
struct view;

/* ---- doctor_limits.c: how long superpackets may be, device by device ---- */

enum doctor_role {
	DOCTOR_OTHER,
	DOCTOR_TUNNEL, /* a kernel's tunnel device, ours or not */
	DOCTOR_LANE,
	DOCTOR_PORT,	  /* a lane's VXLAN port */
	DOCTOR_PORT_LANE, /* its other end, which hands nothing to the host */
};

/* The other end of a veth pair, wherever it is: how long what it sends may be. */
struct doctor_end {
	bool seen;
	int err; /* -errno of looking at it; 0 where there is none */
	uint32_t gso_max_size, gso_ipv4_max_size;
};

struct doctor_device {
	struct bigtcp limits;
	enum doctor_role role;
	bool on_tun;  /* a tunnel device stacked on a TUN or TAP */
	bool below;   /* peers' endpoints are reached through it */
	uint32_t mtu; /* 0: not told */
	struct doctor_end other;
};

struct doctor_kernel {
	const char *release;
	unsigned major, minor; /* 0.0: not understood */
	bool forwards4, forwards6;
};

void doctor_limits(const struct doctor_device *devices, size_t n,
		   const struct doctor_kernel *kernel, struct findings *f);

/* ---- doctor_lane.c: what agent and lane tell of themselves ---- */

void doctor_agent(const struct view *v, struct findings *f);
void doctor_lane(const struct view *v, int64_t now_s, struct findings *f);
/* @proc_status: /proc/PID/status of the lane, NULL: it could not be read. */
void doctor_lane_process(const char *proc_status, bool has_ports, struct findings *f);

/* ---- doctor_host.c: kernel and files. @root stands before every path ("" but for
 * tests). ---- */

/* Of uname()'s; both 0 where it does not begin with two numbers. */
void doctor_parse_release(const char *release, unsigned *ret_major, unsigned *ret_minor);
void doctor_kernel(const struct doctor_kernel *kernel, struct findings *f);
/* The number in a file of /proc/sys; @otherwise if there is none. */
long doctor_sysctl(const char *root, const char *path, long otherwise);

/* Strict reverse path filtering on @lane and a way back that leads elsewhere.
 * @n_elsewhere of the peers' prefixes do, @example is one. */
void doctor_rp_filter(const char *root, const char *lane, size_t n_elsewhere, const char *example,
		      struct findings *f);
/* Is there a module for each overlay type of the kernel's own? @config may be NULL:
 * then what the agent tells. */
void doctor_modules(const char *root, const char *release, const struct config *config,
		    const struct view *v, struct findings *f);
void doctor_key(const char *path, struct findings *f);

#endif
