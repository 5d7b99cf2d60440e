/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the device (up, MTU, MAC, name) and the routes under the sockets. The
 * device may be moved into another network namespace, as containers do; the
 * sockets stay where they were made. The kernel then reports the link as gone
 * where it was, while our descriptor still holds it: we listen where it is now.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon_internal.h"
#include "log.h"
#include "overlay/address.h"
#include "overlay/link.h"
#include "overlay/monitor.h"
#include "overlay/nl.h"
#include "udp.h"

#define LIMITS_PERIOD_NS NSEC_PER_SEC
#define IPV6_MTU_MIN	 1280 /* RFC 8200 5 */

static void refind_device(struct daemon *d);

static void note_limits_read(struct daemon *d)
{
	__atomic_store_n(&d->limits_read_ns, d->lane.self.now_ns, __ATOMIC_RELAXED);
}

static void apply_limits(struct daemon *d, const struct link_info *link)
{
	uint32_t max_size = link->gso_max_size;

	if (link->gso_ipv4_max_size && link->gso_ipv4_max_size < max_size)
		max_size = link->gso_ipv4_max_size;
	lane_set_gso_limits(&d->lane, max_size, link->gso_max_segs);
	daemon_workers_take_limits(d);
	note_limits_read(d);
}

void follow_limits(struct daemon *d)
{
	struct link_info link;

	if (d->lane.self.now_ns - d->limits_read_ns < LIMITS_PERIOD_NS)
		return;
	note_limits_read(d);
	if (!device_refind(d->device, d->device_nl ? d->device_nl : d->nl, &link))
		apply_limits(d, &link);
}

/*
 * Below 1280 bytes a device has no IPv6, and from then on a new one, which the kernel gives a
 * link-local address at once. Nothing but what this host is told to send is to go into a tunnel.
 */
static void quieten_ipv6(const struct daemon *d, int ifindex)
{
	const struct link_change change = {.set_addr_gen_none = true};
	struct nl *nl = d->device_nl ? d->device_nl : d->nl;
	int err = link_set(nl, ifindex, &change);

	if (!err)
		err = address_delete_made_up(nl, ifindex);
	if (err)
		log_verbose("the device's own IPv6 address: %s", strerror(-err));
}

static void apply_link(struct daemon *d, const struct link_info *link)
{
	bool up = link->flags & IFF_UP;
	int err;

	apply_limits(d, link);
	if (link->mtu >= IPV6_MTU_MIN && d->lane.mtu < IPV6_MTU_MIN)
		quieten_ipv6(d, link->ifindex);
	if (link->mtu != d->lane.mtu) {
		lane_set_mtu(&d->lane, link->mtu);
		log_verbose("MTU %u", link->mtu);
	}
	if (up == d->lane.wanted_up)
		return;
	err = lane_set_up(&d->lane, up);
	if (err)
		log_error("cannot listen on UDP port %u: %s; the device carries nothing until "
			  "another is set: wg set %s listen-port PORT",
			  d->lane.listen_port, strerror(-err), d->ifname);
	else
		log_verbose("%s, UDP port %u", up ? "up" : "down", d->lane.listen_port);
}

static void on_event(const struct monitor_event *ev, void *arg)
{
	struct daemon *d = arg;

	switch (ev->kind) {
	case MONITOR_LINK:
		daemon_ports_link_changed(d, ev->link.ifindex);
		if (!d->device_monitor && device_follow(d->device, &ev->link))
			apply_link(d, &ev->link);
		else
			lane_routes_changed(&d->lane); /* its MTU, perhaps */
		break;
	case MONITOR_LINK_GONE:
		daemon_ports_link_gone(d, ev->link.ifindex);
		if (!d->device_monitor && device_follow(d->device, &ev->link))
			refind_device(d);
		break;
	case MONITOR_ADDR_GONE:
	case MONITOR_ADDR_NEW:
	case MONITOR_ROUTE:
		lane_routes_changed(&d->lane);
		break;
	case MONITOR_OVERRUN:
		lane_routes_changed(&d->lane);
		daemon_ports_qdisc_changed(d, 0);
		daemon_ports_link_changed(d, 0);
		if (!d->device_monitor)
			refind_device(d);
		break;
	case MONITOR_QDISC:
		daemon_ports_qdisc_changed(d, ev->ifindex);
		break;
	case MONITOR_NEIGH: /* not asked for */
		break;
	}
}

/* The same, of the namespace the device moved to. */
static void on_device_event(const struct monitor_event *ev, void *arg)
{
	struct daemon *d = arg;

	if (ev->kind == MONITOR_ADDR_NEW || ev->kind == MONITOR_ADDR_GONE ||
	    ev->kind == MONITOR_ROUTE)
		lane_routes_changed(&d->lane);
	else if (ev->kind == MONITOR_LINK && device_follow(d->device, &ev->link))
		apply_link(d, &ev->link);
	else if (ev->kind == MONITOR_OVERRUN ||
		 (ev->kind == MONITOR_LINK_GONE && device_follow(d->device, &ev->link)))
		refind_device(d);
}

/* libuv stops to watch a socket with an error, and lost events are one. */
static void watch_on(uv_poll_t *poll, int status, uv_poll_cb cb)
{
	if (status < 0 && !uv_is_closing((uv_handle_t *)poll))
		uv_poll_start(poll, UV_READABLE, cb);
}

static void read_monitor(uv_poll_t *poll, int status, int events)
{
	struct daemon *d = poll->data;

	(void)events;
	lane_begin_change(&d->lane);
	lane_refresh_clock(&d->lane);
	monitor_read(d->monitor, on_event, d);
	lane_end_change(&d->lane);
	watch_on(poll, status, read_monitor);
}

static void read_device_monitor(uv_poll_t *poll, int status, int events)
{
	struct daemon *d = poll->data;
	struct monitor *reading = d->device_monitor;

	(void)events;
	lane_begin_change(&d->lane);
	lane_refresh_clock(&d->lane);
	monitor_read(reading, on_device_event, d);
	lane_end_change(&d->lane);
	watch_on(poll, status, read_device_monitor);
}

/* Netlink sockets of the namespace behind @netns_fd: a socket belongs to the
 * namespace its maker is in, so we go there for a moment. */
static int open_in_netns(int netns_fd, struct nl **nl, struct monitor **monitor)
{
	int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC), err;

	if (home < 0)
		return -errno;
	if (setns(netns_fd, CLONE_NEWNET)) {
		err = -errno;
		close(home);
		return err;
	}
	err = nl_open(nl);
	if (!err)
		err = monitor_open(monitor);
	if (setns(home, CLONE_NEWNET) && !err)
		err = -errno;
	close(home);
	return err;
}

/* Listens where the device is now. */
static int follow_to(struct daemon *d, int netns_fd, struct link_info *ret)
{
	struct monitor *monitor = NULL;
	struct nl *nl = NULL;
	int err = open_in_netns(netns_fd, &nl, &monitor);

	if (!err)
		err = device_refind(d->device, nl, ret);
	if (err) {
		monitor_close(monitor);
		nl_close(nl);
		return err;
	}
	nl_close(d->device_nl);
	d->device_nl = nl;
	watch_close(&d->on_device_monitor);
	/* The old one may be what called us; it is closed by the caller's turn. */
	monitor_close(d->retired_monitor);
	d->retired_monitor = d->device_monitor;
	d->device_monitor = monitor;
	return watch_open(d, &d->on_device_monitor, monitor_fd(monitor), read_device_monitor);
}

static void refind_device(struct daemon *d)
{
	struct link_info link;
	int netns_fd, err;

	if (!device_exists(d->device)) {
		daemon_stop(d, "the device was deleted");
		return;
	}
	netns_fd = device_netns(d->device);
	err = netns_fd < 0 ? netns_fd : follow_to(d, netns_fd, &link);
	if (netns_fd >= 0)
		close(netns_fd);
	if (err) {
		log_error("cannot follow the device to its network namespace: %s", strerror(-err));
		return;
	}
	apply_link(d, &link);
}

int follow_start(struct daemon *d)
{
	struct link_info link;
	int err = monitor_open(&d->monitor);

	if (err)
		return err;
	err = monitor_watch_qdiscs(d->monitor);
	if (!err)
		err = watch_open(d, &d->on_monitor, monitor_fd(d->monitor), read_monitor);
	if (!err)
		err = device_refind(d->device, d->nl, &link);
	if (!err)
		apply_link(d, &link);
	return err;
}

void follow_stop(struct daemon *d)
{
	watch_close(&d->on_monitor);
	watch_close(&d->on_device_monitor);
	monitor_close(d->monitor);
	monitor_close(d->device_monitor);
	monitor_close(d->retired_monitor);
	nl_close(d->device_nl);
	d->device_nl = NULL;
	d->monitor = d->device_monitor = d->retired_monitor = NULL;
}
