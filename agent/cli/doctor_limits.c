/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixed paths: a superpacket that is longer than its next device may be given is cut
 * down to single segments by the kernel (net/core/dev.c:gso_features_check()), in a
 * place where that is slow, and the next device gets a flood of them. Measured, 70 to
 * 97 % of the throughput is lost. Nothing is refused, and no counter tells.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "doctor.h"

/* In a format. */
#define LOSS "70 to 97 %% of the throughput is lost"

enum { FEEDERS_NAMED = 4 };

/* ---- One pair of devices ---- */

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* IPv4 has limits of its own since Linux 6.3; before that it stays below 64 KB. */
static uint32_t ipv4_limit(uint32_t limit)
{
	return limit ? limit : BIGTCP_LEGACY_SIZE;
}

/* Of a family, what a device hands on, by what it may put together itself (GRO) and,
 * where its other end does as it does (veth), by what that may send. */
static uint32_t hands_on(const struct bigtcp *d, bool ipv4)
{
	const bool both = !strcmp(d->kind, "veth");

	if (!strcmp(d->kind, "bridge")) /* what this host sends into it */
		return ipv4 ? ipv4_limit(d->gso_ipv4_max_size) : d->gso_max_size;
	if (ipv4)
		return larger(ipv4_limit(d->gro_ipv4_max_size),
			      both ? ipv4_limit(d->gso_ipv4_max_size) : 0);
	return larger(d->gro_max_size, both ? d->gso_max_size : 0);
}

/* What @from hands on that is too long for @to; 0: nothing. */
static uint32_t excess(const struct bigtcp *from, const struct bigtcp *to, bool ipv4, bool ipv6)
{
	const uint32_t fed6 = hands_on(from, false), fed4 = hands_on(from, true);
	uint32_t ret = 0;

	if (ipv6 && fed6 > BIGTCP_LEGACY_SIZE && fed6 > to->gso_max_size)
		ret = fed6;
	if (ipv4 && fed4 > BIGTCP_LEGACY_SIZE && fed4 > ipv4_limit(to->gso_ipv4_max_size))
		ret = larger(ret, fed4);
	return ret;
}

/* ---- All that feed one device ---- */

struct path {
	const struct doctor_device *to;
	char names[256]; /* "ov0 (196608), eth1 (131072)" */
	char cures[FINDING_TEXT_LEN];
	size_t n;
};

static void append(char *text, size_t room, const char *more)
{
	const size_t len = strlen(text);

	snprintf(text + len, room - len, "%s", more);
}

static void add_feeder(struct path *p, const struct bigtcp *from, uint32_t size)
{
	const uint32_t limit = p->to->limits.gso_max_size;
	char text[200];

	if (p->n++ >= FEEDERS_NAMED)
		return;
	snprintf(text, sizeof(text), "%s%s (%" PRIu32 ")", p->n > 1 ? ", " : "", from->name, size);
	append(p->names, sizeof(p->names), text);
	/* At 65536 and below, the IPv4 limits follow by themselves. */
	snprintf(text, sizeof(text),
		 "%sip link set dev %s gso_max_size %" PRIu32 " gro_max_size %" PRIu32,
		 p->n > 1 ? "\n" : "", from->name, limit, limit);
	append(p->cures, sizeof(p->cures), text);
	if (limit <= BIGTCP_LEGACY_SIZE)
		return;
	snprintf(text, sizeof(text), " gso_ipv4_max_size %" PRIu32 " gro_ipv4_max_size %" PRIu32,
		 limit, limit);
	append(p->cures, sizeof(p->cures), text);
}

static void tell_path(const struct path *p, const char *way, enum finding_level level,
		      struct findings *f)
{
	const struct bigtcp *to = &p->to->limits;
	char more[40] = "", what[40];

	if (!p->n)
		return;
	if (p->n > FEEDERS_NAMED)
		snprintf(more, sizeof(more), " and %zu more", p->n - FEEDERS_NAMED);
	snprintf(what, sizeof(what), "path to %s", to->name);
	finding_add(f, level, what,
		    "it takes superpackets of at most %" PRIu32 " bytes, %s gives it longer ones "
		    "from %s%s: " LOSS,
		    to->gso_max_size, way, p->names, more);
	finding_cure(f, "%s\nboth ends of a veth pair, so also inside the namespace of a pod",
		     p->cures);
}

static const struct bigtcp *find(const struct doctor_device *devices, size_t n, int ifindex)
{
	for (size_t i = 0; ifindex && i < n; i++)
		if (devices[i].limits.ifindex == ifindex)
			return &devices[i].limits;
	return NULL;
}

/* The other members of its bridge, and the bridge itself. */
static void look_at_bridge(const struct doctor_device *devices, size_t n, struct path *p,
			   struct findings *f)
{
	const struct bigtcp *to = &p->to->limits, *bridge = find(devices, n, to->master);
	char way[40];

	if (!bridge || strcmp(bridge->kind, "bridge") != 0)
		return;
	for (size_t i = 0; i < n; i++) {
		const struct bigtcp *from = &devices[i].limits;
		uint32_t size;

		if (&devices[i] == p->to || !from->up ||
		    (from->master != bridge->ifindex && from != bridge))
			continue;
		size = excess(from, to, true, true);
		if (size)
			add_feeder(p, from, size);
	}
	snprintf(way, sizeof(way), "bridge %s", bridge->name);
	tell_path(p, way, FINDING_WRONG, f);
}

/* Devices of the host that routes may lead from, to this one. Where there are overlays,
 * what is routed into the lane's own device is seldom much. */
static void look_at_routes(const struct doctor_device *devices, size_t n,
			   const struct doctor_kernel *kernel, bool overlays, struct path *p,
			   struct findings *f)
{
	for (size_t i = 0; i < n; i++) {
		const struct bigtcp *from = &devices[i].limits;
		uint32_t size;

		if (devices[i].role != DOCTOR_OTHER || !from->up || !strcmp(from->name, "lo") ||
		    !strcmp(from->kind, "bridge"))
			continue;
		size = excess(from, &p->to->limits, kernel->forwards4, kernel->forwards6);
		if (size)
			add_feeder(p, from, size);
	}
	tell_path(p, "forwarding",
		  overlays && p->to->role == DOCTOR_LANE ? FINDING_NOTE : FINDING_WRONG, f);
}

/* ---- One device alone ---- */

/* More than is known to work there: the kernel accepted it all the same. */
static void look_at_cap(const struct doctor_device *d, const struct doctor_kernel *kernel,
			struct findings *f)
{
	const struct bigtcp *b = &d->limits;
	const uint32_t cap = bigtcp_cap(b->kind, kernel->major, kernel->minor, d->on_tun,
					b->tso_max_size);
	char what[40];

	if (d->role != DOCTOR_TUNNEL || larger(b->gso_max_size, b->gso_ipv4_max_size) <= cap)
		return;
	snprintf(what, sizeof(what), "device %s", b->name);
	finding_add(f, FINDING_WRONG, what,
		    "superpackets of up to %" PRIu32 " bytes, of which %s more than %" PRIu32
		    " at a time: " LOSS,
		    larger(b->gso_max_size, b->gso_ipv4_max_size),
		    d->on_tun ? "a TUN or TAP below it hands on no" : "this kernel cannot carry",
		    cap);
	finding_cure(f, "ip link set dev %s gso_max_size %" PRIu32 " gro_max_size %" PRIu32,
		     b->name, cap, cap);
}

static void tell_limits(const struct bigtcp *b, struct findings *f)
{
	char what[40];

	snprintf(what, sizeof(what), "device %s", b->name);
	finding_add(f, FINDING_RIGHT, what,
		    "%s, superpackets out %" PRIu32 " (IPv4 %" PRIu32 "), in %" PRIu32
		    " (IPv4 %" PRIu32 "), driver %" PRIu32,
		    *b->kind ? b->kind : "hardware", b->gso_max_size, b->gso_ipv4_max_size,
		    b->gro_max_size, b->gro_ipv4_max_size, b->tso_max_size);
}

void doctor_limits(const struct doctor_device *devices, size_t n,
		   const struct doctor_kernel *kernel, struct findings *f)
{
	bool overlays = false;

	for (size_t i = 0; i < n; i++)
		overlays = overlays || devices[i].role == DOCTOR_TUNNEL ||
			   devices[i].role == DOCTOR_PORT;
	for (size_t i = 0; i < n; i++) {
		struct path bridged = {.to = &devices[i]}, routed = {.to = &devices[i]};

		if (devices[i].role == DOCTOR_PORT_LANE)
			continue;
		tell_limits(&devices[i].limits, f);
		if (devices[i].role == DOCTOR_OTHER)
			continue;
		look_at_cap(&devices[i], kernel, f);
		if (!devices[i].limits.up)
			continue;
		look_at_bridge(devices, n, &bridged, f);
		look_at_routes(devices, n, kernel, overlays, &routed, f);
	}
}
