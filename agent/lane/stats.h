/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of a lane. Written by the walks, read by the control sockets. */
#ifndef SEALANE_LANE_STATS_H
#define SEALANE_LANE_STATS_H

#include <stdint.h>

#include "drop.h"

/* X(field, help) */
#define STATS_LIST(X)                                                                              \
	X(device_reads, "batches read from the device")                                            \
	X(device_packets_in, "packets read from the device")                                       \
	X(device_bytes_in, "bytes of IP read from the device")                                     \
	X(device_packets_out, "packets written to the device")                                     \
	X(device_bytes_out, "bytes of IP written to the device")                                   \
	X(packets_merged, "packets that went to the device as part of another")                    \
	X(merges_refused, "superpackets the kernel did not take, delivered singly")                \
	X(udp_reads, "batches received from the network")                                          \
	X(udp_messages_in, "receives, each with one or more datagrams")                            \
	X(udp_datagrams_in, "datagrams received")                                                  \
	X(udp_datagrams_out, "datagrams sent")                                                     \
	X(udp_runs_out, "sends, each with one or more datagrams")                                  \
	X(runs_refused, "sends of several datagrams the kernel refused, sent singly")              \
	X(trains_sealed, "runs of packets sealed under one key")                                   \
	X(keepalives_in, "keepalives received")                                                    \
	X(handshakes_begun, "initiations sent")                                                    \
	X(handshakes_done, "sessions derived")                                                     \
	X(cookies_sent, "cookie replies sent")                                                     \
	X(icmp_sent, "ICMP errors written back to the device")                                     \
	X(ecn_broken, "outer CE on an inner packet that is not ECN-capable")

struct stats {
#define X(field, help) uint64_t field;
	STATS_LIST(X)
#undef X
	uint64_t drop[N_DROP_REASONS];
};

#endif
