/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of superpackets that the tests of gso.c go through. */
#ifndef SEALANE_TESTS_OFFLOAD_GSO_KINDS_H
#define SEALANE_TESTS_OFFLOAD_GSO_KINDS_H

#include "superpacket.h"

/* Every kind of what is around the innermost L4 header. */
static const struct outer {
	uint8_t family;
	bool csum;
	enum shim shim;
} outers[] = {
	{0, false, SHIM_NONE},
	{4, false, SHIM_VXLAN},
	{4, true, SHIM_VXLAN},
	{6, false, SHIM_VXLAN},
	{6, true, SHIM_VXLAN},
	{4, true, SHIM_VXLAN_VLAN},
	{6, true, SHIM_GENEVE_OPTIONS},
	{4, false, SHIM_GENEVE_OPTIONS},
	{4, true, SHIM_MPLS},
	{6, false, SHIM_MPLS},
	{4, true, SHIM_NONE},
	{4, true, SHIM_ODD},
	{6, true, SHIM_ODD},
	{4, false, SHIM_ODD},
};

static inline void for_each_kind(struct spec s, void (*f)(const struct spec *s))
{
	size_t i;
	int kind;

	for (i = 0; i < sizeof(outers) / sizeof(*outers); i++) {
		s.outer = outers[i].family;
		s.outer_csum = outers[i].csum;
		s.shim = outers[i].shim;
		for (kind = 0; kind < 4; kind++) {
			s.family = kind & 1 ? 4 : 6;
			s.udp = kind & 2;
			f(&s);
		}
	}
}

#endif
