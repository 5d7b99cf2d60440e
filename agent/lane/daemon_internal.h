/* SPDX-License-Identifier: Apache-2.0 */
/* What daemon.c (loop, walks, sockets) and follow.c (netlink) share. */
#ifndef SEALANE_LANE_DAEMON_INTERNAL_H
#define SEALANE_LANE_DAEMON_INTERNAL_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "control.h"
#include "daemon.h"
#include "lane.h"
#include "lineserver.h"
#include "offloads.h"
#include "stampfile.h"

struct crew;
struct daemon_worker;
struct monitor;
struct nl;
struct udp;

/* A descriptor on the loop. */
struct watch {
	uv_poll_t *poll;
};

struct daemon {
	struct daemon_args args;
	char ifname[IFNAMSIZ];
	uv_loop_t loop;
	bool loop_ready, handles_ready, lane_ready, stopping;
	bool leave_ports; /* they stay for the next lane (device.h, persist) */
	struct lane lane;
	void *train_mem; /* lane.self.train lives here */
	size_t train_mem_len;
	struct device *device;
	struct udp *udp;
	struct nl *nl; /* in the namespace of the sockets */
	struct offloads offloads;
	struct control_info info;
	char uapi_path[64], control_path[64];
	struct lineserver *uapi, *control;
	struct watch on_device, on_udp4, on_udp6, on_timer;
	int timer_fd;
	uint64_t timer_at_ns; /* what the timerfd is set to */
	uv_prepare_t prepare;
	uv_check_t check;
	uv_idle_t idle;
	uv_signal_t sigterm, sigint, sighup;

	struct stampfile stamps;      /* with a device that outlives us */
	uint8_t stamp[WG_TAI64N_LEN]; /* being written by stamp_work */
	uv_work_t stamp_work;
	bool stamp_busy;
	int stamp_err;
	/* daemon_workers.c */
	unsigned n_workers;
	const char *workers_reason;
	struct crew *crew; /* NULL: the loop itself carries packets */
	struct daemon_worker *workers;
	uv_async_t wake;
	bool wake_ready;
	bool device_gone, limits_due; /* marks of the workers for the loop; atomic */

	struct port_env port_env; /* daemon_ports.c */
	bool ports_pending;	  /* some port's frames wait for its next turn */

	/* follow.c */
	struct monitor *monitor;	 /* where the sockets are: routes, and the
					    device until it moves */
	struct monitor *device_monitor;	 /* where the device is, once it moved */
	uint64_t limits_read_ns;	 /* atomic */
	struct nl *device_nl;		 /* where the device is, once it moved */
	struct monitor *retired_monitor; /* replaced while it was being read */
	struct watch on_monitor, on_device_monitor;
};

/* Starts (again) to watch @fd for reading; @fd -1 only stops. 0 or -errno. */
int watch_open(struct daemon *d, struct watch *w, int fd, uv_poll_cb cb);
void watch_close(struct watch *w);

void daemon_stop(struct daemon *d, const char *why);

/* Threads for the packets if there are to be more than one. Before there are ports, peers
 * or open sockets. 0 or -errno. */
int daemon_workers_start(struct daemon *d);
void daemon_workers_stop(struct daemon *d); /* half-started is fine */
/* Within a change (lane.h): sockets were opened or closed; limits are others. */
void daemon_workers_sockets_changed(struct daemon *d);
void daemon_workers_take_limits(struct daemon *d);

/* Netlink. start reads the device's state and then follows it. */
int follow_start(struct daemon *d);
void follow_stop(struct daemon *d);
/* Reads the device's superpacket limits again if that was a second ago: the kernel
 * tells nobody when they change. Called while packets are written. */
void follow_limits(struct daemon *d);

/* Lets the lane make ports. Before daemon_run(). */
void daemon_ports_start(struct daemon *d);
/* A turn for each port whose frames wait. True: there is still something left. */
bool daemon_ports_run_pending(struct daemon *d);
/* The queueing disciplines of a device changed, or (0) of any. */
void daemon_ports_qdisc_changed(struct daemon *d, int ifindex);
/* Something about a device changed, or (0) about any. */
void daemon_ports_link_changed(struct daemon *d, int ifindex);
/* A link is gone: a port's device that was down says nothing of it by itself. */
void daemon_ports_link_gone(struct daemon *d, int ifindex);

/* Fill in the capabilities the control socket shows. */
void daemon_note_device(struct daemon *d);
void daemon_note_sockets(struct daemon *d);
void daemon_note_simd(struct daemon *d, const char *train_reason);

#endif
