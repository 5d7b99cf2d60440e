/* SPDX-License-Identifier: Apache-2.0 */
/* A TCP superpacket as a device hands it over, for the benchmarks of cutting and
 * merging. */
#ifndef SEALANE_TESTS_SUPERPACKET_H
#define SEALANE_TESTS_SUPERPACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "offload/vnet.h"

enum { SUPERPACKET_MAX = 65535 };

struct superpacket {
	const char *name;
	uint8_t bytes[SUPERPACKET_MAX];
	size_t len;
	struct vnet vnet;
};

/* TCP over IPv4, inside VXLAN over IPv4 if @vxlan: @n segments with @payload_len
 * bytes each, which must fit together. */
void superpacket_make(struct superpacket *s, bool vxlan, unsigned n, uint16_t payload_len);

#endif
