/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a packet end on this host, or does it go on to another? A small cache in
 * front of the kernel's answer, void as soon as routes or addresses change.
 * The worker's thread.
 */
#ifndef SEALANE_LANE_LOCALDST_H
#define SEALANE_LANE_LOCALDST_H

#include <stdbool.h>
#include <stdint.h>

struct worker;

enum { LOCALDST_ENTRIES = 64 };

struct localdst {
	uint32_t generation; /* of lane->route_generation */
	struct localdst_entry {
		uint8_t addr[4]; /* IPv4: only its datagrams may lack a checksum */
		bool valid, local;
	} entry[LOCALDST_ENTRIES];
};

/* @addr: 4 bytes. False also when nobody can tell. */
bool localdst_ends_here(struct worker *w, const uint8_t *addr);

#endif
