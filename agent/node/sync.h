/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes what is there equal to what is desired, one kind of thing a function, in two
 * halves: add (and change) first, remove what is ours and no longer desired later, in
 * the reverse order, so that nothing is pointed to before it is there or after it is
 * gone (reconcile.c has the order). Each compares first and touches only what
 * differs: a pass over a right state changes nothing. What cannot be done is told in
 * the report and the rest is done all the same. Foreign state is never touched.
 * Control thread.
 */
#ifndef SEALANE_NODE_SYNC_H
#define SEALANE_NODE_SYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct desired;
struct lane_client;
struct nl;
struct report;
struct member;

/*
 * sync_lane.c: keys, port, mark and peers of the lane through its UAPI. The lane's
 * peers are all ours. A roamed endpoint is left alone: an endpoint is written for a new
 * peer or one that has none, or when the desired one differs from the one last written
 * (kept in @memory), or at the agent's start if the peer had no handshake within 180 s.
 */
struct sync_lane_memory; /* endpoints last written, by public key */
struct sync_lane_memory *sync_lane_memory_new(void);
void sync_lane_memory_free(struct sync_lane_memory *m);
/* 0, or the error that made the connection useless. */
int sync_lane_add(struct lane_client *c, const struct desired *d, struct sync_lane_memory *memory,
		  struct report *r);
int sync_lane_remove(struct lane_client *c, const struct desired *d,
		     struct sync_lane_memory *memory, struct report *r);

/* sync_ports.c: the lane's ports with FDB, flooding list and neighbours. All ports of
 * the lane are ours. A port whose create-only keys differ is made again. */
int sync_ports_add(struct lane_client *c, const struct desired *d, struct report *r);
int sync_ports_remove(struct lane_client *c, const struct desired *d, struct report *r);

/* sync_encap.c: which UDP ports the overlays have, of which the lane is told. Part of
 * sync_ports_add(). 0, or the error that made the connection useless. */
int sync_encap(struct lane_client *c, const struct desired *d, struct report *r);

/* sync_names.c: our overlay devices that somebody renamed have their names again. */
void sync_names_keep(struct nl *nl, const struct desired *d, struct report *r);

/* sync_devices.c: the lane's device (up, MTU), kernel tunnel devices (made, found
 * again, made again if they differ, taken away), MTU, MAC, being up, superpacket
 * limits; ports' devices up and MTU. */
void sync_devices_add(struct nl *nl, const struct desired *d, struct report *r);
/* What of the devices that sync_devices_remove() would take away, or _add() make again,
 * keeps another from being made: before ports and devices are. */
void sync_devices_make_way(struct nl *nl, const struct desired *d, struct report *r);
void sync_devices_remove(struct nl *nl, const struct desired *d, struct report *r);

/* sync_addresses.c */
void sync_addresses_add(struct nl *nl, const struct desired *d, struct report *r);
void sync_addresses_remove(struct nl *nl, const struct desired *d, struct report *r);

/* sync_stations.c: neighbour entries and FDB of the overlay devices. */
void sync_stations_add(struct nl *nl, const struct desired *d, struct report *r);
void sync_stations_remove(struct nl *nl, const struct desired *d, struct report *r);

/*
 * sync_routes.c: to the members' tunnel addresses and allowed-ips by the lane's device,
 * to the prefixes behind them by the overlay's, and behind each an unreachable route
 * of metric SYNC_CLOSED_METRIC, so that nothing leaves in clear while a device is away.
 */
enum { SYNC_CLOSED_METRIC = 1 << 30 };
void sync_routes_add(struct nl *nl, const struct desired *d, struct report *r);
void sync_routes_remove(struct nl *nl, const struct desired *d, struct report *r);

/* Smallest MTU of the ways to the members' endpoints less WireGuard's headers, as
 * struct desired_facts wants it. */
uint32_t sync_path_mtu(struct nl *nl, const struct member *members, size_t n_members,
		       uint32_t fwmark, const char *lane_ifname);

#endif
