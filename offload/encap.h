/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UDP encapsulations by destination port, and the view into such a packet: what
 * lies between the outer UDP header and the inner IP header. Pure; any thread.
 * Sources: RFC 7348 (VXLAN), RFC 8926 (GENEVE), RFC 7510 and
 * drivers/net/bareudp.c (bareudp: IP or MPLS right behind UDP).
 */
#ifndef SEALANE_OFFLOAD_ENCAP_H
#define SEALANE_OFFLOAD_ENCAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ip.h"

enum encap_kind { ENCAP_NONE, ENCAP_VXLAN, ENCAP_GENEVE, ENCAP_BAREUDP_IP, ENCAP_BAREUDP_MPLS };
enum {
	ENCAP_PORTS_MAX = 32,
	VXLAN_HDR_LEN = 8,
	VXLAN_PORT = 4789,
	VXLAN_PORT_LINUX = 8472,
	GENEVE_PORT = 6081,
	BAREUDP_MPLS_PORT = 6635
};

struct encap_table {
	struct encap_port {
		uint16_t port; /* host order */
		uint8_t kind;  /* enum encap_kind */
	} port[ENCAP_PORTS_MAX];
	unsigned n;
};

/* 4789 and 8472 VXLAN, 6081 GENEVE, 6635 MPLS. */
void encap_table_default(struct encap_table *t);
/* Adds or replaces; false when the table is full. */
bool encap_table_set(struct encap_table *t, uint16_t port, enum encap_kind kind);
/* False: there was no such port. */
bool encap_table_remove(struct encap_table *t, uint16_t port);
/* Adds or replaces all of @from. False, *t untouched: they do not fit. */
bool encap_table_merge(struct encap_table *t, const struct encap_table *from)
	__attribute__((warn_unused_result));
/* "vxlan", "geneve", "ip" (bareudp, also right for FOU and GUE), "mpls"; NULL and
 * ENCAP_NONE for what is none of them. */
const char *encap_kind_name(enum encap_kind kind);
enum encap_kind encap_kind_of(const char *name, size_t len);
/*
 * Adds what @text lists: "PORT=KIND" with commas between, KIND a name as above. A port named before
 * is replaced; nothing at all adds nothing. False, *t untouched: it is no such list, a port is not
 * 1 to 65535, or the table is full.
 */
bool encap_table_parse(struct encap_table *t, const char *text) __attribute__((warn_unused_result));
enum encap_kind encap_table_find(const struct encap_table *t, uint16_t port);

struct encap_view {
	enum encap_kind kind;
	uint16_t outer_l4_off; /* outer UDP header */
	uint16_t inner_l3_off; /* inner IP header */
	struct ip_view inner;  /* offsets from the inner IP header */
};

/*
 * Looks into the UDP packet @p parsed as @v. False, *ret untouched: not UDP, a
 * fragment, the port is not in the table, the tunnel header is malformed (VXLAN:
 * only the I flag set and reserved bits zero, else it is not ours to touch;
 * GENEVE: version 0, no OAM/critical bits, options inside; MPLS: bottom of stack
 * within 8 labels), the inner frame is not IPv4/IPv6 (one 802.1Q or 802.1ad tag
 * is not looked through), or UDP length differs from what IP leaves.
 */
bool encap_parse(const struct encap_table *t, const uint8_t *p, const struct ip_view *v,
		 struct encap_view *ret) __attribute__((warn_unused_result));

#endif
