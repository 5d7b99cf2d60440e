/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which offloads a lane uses: what kernel release and environment permit
 * (offload/policy.h), narrowed by what the device and the sockets were seen to
 * accept. Control thread, at start-up.
 */
#ifndef SEALANE_LANE_OFFLOADS_H
#define SEALANE_LANE_OFFLOADS_H

#include <stdbool.h>

#include "device.h"
#include "kernel_probe.h"
#include "offload/encap.h"
#include "offload/policy.h"
#include "portdev.h"

struct lane;
struct udp;
struct control_info;

struct offloads {
	struct kernel_release release;
	struct policy_state state[N_OFFLOADS];
	enum zero_csum_knob zero_csum;
	struct encap_table encap;    /* the environment's */
	enum portdev_kind port_kind; /* of ports that do not say */
	bool big_tcp_forbidden;	     /* by the environment, not just by release */
	enum zero_csum_probe probe;  /* as kernel_probe.h remembers it */
	char unprobed_reason[KERNEL_PROBE_REASON_LEN];
};

/* By release and environment, and what the functional probe found. Unknown SEALANE_
 * variables are warned about. 0, or -EINVAL after logging a value that is none. */
int offloads_choose(struct offloads *o);

/* What the device may be asked for. */
void offloads_device_args(const struct offloads *o, struct device_args *args);

/* The device is open (and down): tries what is still in question, fills
 * lane->offload and the capabilities the control socket shows. */
void offloads_apply(struct offloads *o, const struct device *device, struct udp *udp,
		    struct lane *lane, struct control_info *info);

#endif
