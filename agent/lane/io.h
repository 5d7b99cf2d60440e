/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two ends of a lane: the device (where the host's packets come from) and
 * the UDP sockets. Real ones are in device.c and udp.c; the simulation brings
 * its own. All calls come from the lane's thread and never block.
 */
#ifndef SEALANE_LANE_IO_H
#define SEALANE_LANE_IO_H

#include <stdbool.h>
#include <stdint.h>

struct endpoint;
struct packet;

struct device_io {
	void *ctx;
	/*
	 * Fills up to @max packets (data = buf + PACKET_HEADROOM, len, drop), IP
	 * first byte at data. Returns how many, 0 when there is nothing, -EBADFD
	 * when the device is gone. A packet the device itself had to refuse
	 * (not IP) is returned with its drop reason set.
	 */
	int (*read)(void *ctx, struct packet *pkts, unsigned max);
	/*
	 * Writes the packets that are alive; one the kernel refuses gets
	 * a drop reason. At least 14 bytes before data are free to be used.
	 */
	void (*write)(void *ctx, struct packet *pkts, unsigned n);
};

struct udp_io {
	void *ctx;
	/*
	 * Fills up to @max packets (data = the datagram, len, endpoint with
	 * sticky source, tos). @family AF_INET or AF_INET6. Returns how many, 0
	 * when there is nothing.
	 */
	int (*receive)(void *ctx, int family, struct packet *pkts, unsigned max);
	/*
	 * Sends the packets that are alive, in order, to their endpoint
	 * with their tos and source; one the kernel refuses gets a drop reason.
	 * A source address the kernel no longer has is left out and
	 * endpoint.has_source cleared.
	 */
	void (*send)(void *ctx, struct packet *pkts, unsigned n);
	/*
	 * (Re)opens the sockets on *port (0: any; the chosen one is written back)
	 * with @fwmark. On failure (-EADDRINUSE, -EACCES, ...) the sockets that
	 * were open stay as they are.
	 */
	int (*open)(void *ctx, uint16_t *port, uint32_t fwmark);
	void (*close)(void *ctx);
	/* Could *port be had? Used while the device is down. 0 or -errno. */
	int (*probe)(void *ctx, uint16_t port);
	/*
	 * After a change of routes: does the way to the endpoint still leave by
	 * the interface its source belongs to? NULL: always.
	 */
	bool (*source_valid)(void *ctx, const struct endpoint *ep);
	/* Changes the mark of open sockets. 0 or -errno. */
	int (*set_fwmark)(void *ctx, uint32_t fwmark);
};

#endif
