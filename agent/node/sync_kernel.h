/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What those parts of sync.h share that look after the kernel's tables. Control
 * thread.
 */
#ifndef SEALANE_NODE_SYNC_KERNEL_H
#define SEALANE_NODE_SYNC_KERNEL_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "desired.h"

struct link_info;
struct nl;
struct nl_batch;
struct report;

/* An array of values that grows, to be sorted and searched. Begins as
 * {.item_len = sizeof(the value)}. Items move when it grows. */
struct sync_list {
	void *items;
	size_t n, capacity, item_len;
};
typedef int (*sync_compare_fn)(const void *a, const void *b);

int sync_list_add(struct sync_list *list, const void *item); /* 0 or -ENOMEM */
void *sync_list_at(const struct sync_list *list, size_t i);
void sync_list_sort(struct sync_list *list, sync_compare_fn compare);
/* Of neighbours that are equal the first stays. */
void sync_list_unique(struct sync_list *list, sync_compare_fn compare);
/* Index of the first that is not less than @key in a sorted list; n: none. */
size_t sync_list_lower(const struct sync_list *list, const void *key, sync_compare_fn compare);
/* The first that is equal to @key in a sorted list, or NULL. */
void *sync_list_find(const struct sync_list *list, const void *key, sync_compare_fn compare);
void sync_list_done(struct sync_list *list);

/* What is to be done about a thing. Making room is the first half of a change that the
 * kernel does not do in one go, and not counted. */
enum sync_verb { SYNC_ADD, SYNC_CHANGE, SYNC_REMOVE, SYNC_MAKE_ROOM };

/* How one kind of thing is put, removed and told of. */
struct sync_kind {
	int (*put)(struct nl_batch *b, const void *thing, void *cookie);
	int (*remove)(struct nl_batch *b, const void *thing, void *cookie);
	void (*describe)(const void *thing, char *buf, size_t buf_len);
	/* The device of one of IPv6, else 0; NULL: none is. */
	int (*ipv6_device)(const void *thing);
};

struct sync_change {
	enum sync_verb verb;
	const void *thing; /* borrowed */
};

/* Adds a struct sync_change to @changes. 0 or -ENOMEM. */
int sync_change_add(struct sync_list *changes, enum sync_verb verb, const void *thing);
/* Sends them in their order, and tells @r of each what came of it. What was to be
 * removed and is no longer there is right as it is. */
void sync_changes_apply(struct nl *nl, const struct sync_list *changes,
			const struct sync_kind *kind, struct report *r);

/* Of this IFLA_INFO_KIND are a lane's device and those of its ports; any other is
 * somebody else's, whatever its name. */
bool sync_is_lanes(const char *kind);
/* The device of the lane @name, whatever its name is now (sync_names.c). 0; -ENODEV: it is not in
 * this network namespace; or -errno. */
int sync_lane_find(struct nl *nl, const char *name, struct link_info *ret);
/* 0 with its index, or with 0 where there is none; or -errno. */
int sync_ifindex(struct nl *nl, const char *name, int *ret);
/* The same of an overlay's device, with 0 also for a kernel tunnel device's name that
 * somebody else has taken. */
int sync_overlay_ifindex(struct nl *nl, const struct desired_overlay *overlay, int *ret);
/* The overlay end of port @name, whatever its name is now (sync_names.c). 0; -ENODEV: it is not
 * in this network namespace; or -errno. */
int sync_port_find(struct nl *nl, const char *name, struct link_info *ret);
/* The MAC address of one that was moved to another network namespace. 0; -ENODEV: it was not, or
 * it is not known which one it is; or -errno, also where we may not look into that one. */
int sync_port_mac_elsewhere(struct nl *nl, const char *name, uint8_t ret[6]);
bool sync_is_tunnel(const struct desired_overlay *overlay); /* the kernel's, no port */

/* False: the member has no known endpoint. */
bool sync_endpoint(const struct member *member, struct ip_addr *ret);
/* For texts; "?" when the device is gone. */
const char *sync_ifname(int ifindex, char buf[IFNAMSIZ]);

#endif
