/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixed paths: a superpacket that is longer than its next device may be given is cut
 * down to single segments by the kernel (net/core/dev.c:gso_features_check()), in a
 * place where that is slow, and the next device gets a flood of them. Nothing is
 * refused, and no counter tells.
 *
 * Forwarded IPv6: before Linux 7.0 a superpacket of IPv6 above 64 KB has a hop-by-hop
 * option of 8 bytes that its segments will not have. ip6_forward() compares segments
 * with the MTU by skb_gso_network_seglen(), which counts it, so that those which just
 * fit are refused as too big, and the sender, told an MTU that it keeps to already,
 * gets on by what it sends again, one segment at a time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "doctor.h"

/*
 * Measured with single TCP streams between namespaces on 6.18: pods routed or bridged
 * into a kernel's VXLAN or a port that takes 64 KB lose 32 to 53 %; a VXLAN on a veth
 * that was given 192 KB 95 to 99.8 %; forwarded IPv6 99.2 to 99.8 %. In formats.
 */
#define LOSS	   "a third to a half of the throughput is lost"
#define LOSS_IPV6  "and nearly all of IPv6's"
#define LOSS_ABOVE "nearly all of the throughput is lost"
#define LOSS_JUMBO "99 %% of the throughput of IPv6 is lost"

enum { FEEDERS_NAMED = 4, COMMAND_LEN = 100, JUMBO_OPTION_LEN = 8, IPV6_MIN_MTU = 1280 };

/* Four feeders' commands, two for each, and what is said behind them. */
_Static_assert(FEEDERS_NAMED * 2 * COMMAND_LEN + 200 <= FINDING_TEXT_LEN, "a cure stays whole");

/* ---- One pair of devices ---- */

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* IPv4 has limits of its own since Linux 6.3; before that it stays below 64 KB. */
static uint32_t ipv4_limit(uint32_t limit)
{
	return limit ? limit : BIGTCP_LEGACY_SIZE;
}

/* What a pair's other end may send; taken to be as this one where it is not seen. */
static uint32_t other_sends(const struct doctor_device *d, bool ipv4)
{
	if (ipv4)
		return ipv4_limit(d->other.seen ? d->other.gso_ipv4_max_size
						: d->limits.gso_ipv4_max_size);
	return d->other.seen ? d->other.gso_max_size : d->limits.gso_max_size;
}

/* Of a family, what a device hands on, by what it may put together itself (GRO) and,
 * for a veth, by what its other end may send. */
static uint32_t hands_on(const struct doctor_device *d, bool ipv4)
{
	const struct bigtcp *b = &d->limits;
	const bool both = !strcmp(b->kind, "veth");

	if (!strcmp(b->kind, "bridge")) /* what this host sends into it */
		return ipv4 ? ipv4_limit(b->gso_ipv4_max_size) : b->gso_max_size;
	return larger(ipv4 ? ipv4_limit(b->gro_ipv4_max_size) : b->gro_max_size,
		      both ? other_sends(d, ipv4) : 0);
}

/* What @from hands on that is too long for @to; 0: nothing. */
static uint32_t excess(const struct doctor_device *from, const struct bigtcp *to, bool ipv4,
		       bool ipv6)
{
	const uint32_t fed6 = hands_on(from, false), fed4 = hands_on(from, true);
	uint32_t ret = 0;

	if (ipv6 && fed6 > BIGTCP_LEGACY_SIZE && fed6 > to->gso_max_size)
		ret = fed6;
	if (ipv4 && fed4 > BIGTCP_LEGACY_SIZE && fed4 > ipv4_limit(to->gso_ipv4_max_size))
		ret = larger(ret, fed4);
	return ret;
}

/* Is IPv6 above 64 KB that is forwarded from @from to @to refused? */
static bool is_refused(const struct doctor_device *from, const struct doctor_device *to,
		       const struct doctor_kernel *kernel)
{
	if (!kernel->forwards6 || !kernel->major || kernel->major >= 7)
		return false;
	if (hands_on(from, false) <= BIGTCP_LEGACY_SIZE)
		return false;
	return !from->mtu || !to->mtu || from->mtu + JUMBO_OPTION_LEN > to->mtu;
}

/* ---- All that feed one device ---- */

struct path {
	const struct doctor_device *to;
	char names[256]; /* "ov0 (196608), eth1 (131072)" */
	char cures[FEEDERS_NAMED * 2 * COMMAND_LEN];
	size_t n;
};

static void append(char *text, size_t room, const char *more)
{
	const size_t len = strlen(text);

	snprintf(text + len, room - len, "%s", more);
}

/* @own: of @size, what this end of a pair would account for. False: enough were named. */
static bool add_name(struct path *p, const struct doctor_device *from, uint32_t size, uint32_t own)
{
	char text[64];

	if (p->n++ >= FEEDERS_NAMED)
		return false;
	snprintf(text, sizeof(text), "%s%s%s (%" PRIu32 ")", p->n > 1 ? ", " : "",
		 from->limits.name, size > own ? "'s other end" : "", size);
	append(p->names, sizeof(p->names), text);
	return true;
}

static struct doctor_device this_end(const struct doctor_device *d)
{
	struct doctor_device ret = *d;

	ret.other.seen = false;
	return ret;
}

/* @family: "" or "ipv4_". In commands of their own, because ip(8) before 6.3 knows no
 * limits of IPv4, and with these in it does nothing at all. */
static void add_command(struct path *p, const char *name, const char *family, uint32_t size)
{
	char text[COMMAND_LEN];

	snprintf(text, sizeof(text),
		 "%sip link set dev %s gso_%smax_size %" PRIu32 " gro_%smax_size %" PRIu32,
		 *p->cures ? "\n" : "", name, family, size, family, size);
	append(p->cures, sizeof(p->cures), text);
}

/* False: nothing that comes from there is too long. */
static bool add_feeder(struct path *p, const struct doctor_device *from, bool ipv4, bool ipv6)
{
	const struct bigtcp *to = &p->to->limits;
	const struct doctor_device end = this_end(from);
	const uint32_t size = excess(from, to, ipv4, ipv6);

	if (!size)
		return false;
	if (!add_name(p, from, size, excess(&end, to, ipv4, ipv6)))
		return true;
	/* At 65536 and below, the IPv4 limits follow by themselves. */
	add_command(p, from->limits.name, "", to->gso_max_size);
	if (to->gso_ipv4_max_size &&
	    larger(to->gso_max_size, to->gso_ipv4_max_size) > BIGTCP_LEGACY_SIZE)
		add_command(p, from->limits.name, "ipv4_", to->gso_ipv4_max_size);
	return true;
}

/* IPv4 stays as long as the path takes it, which the first command would end. */
static void add_refused(struct path *p, const struct doctor_device *from)
{
	const struct doctor_device end = this_end(from);
	const uint32_t ipv4 = smaller(hands_on(from, true),
				      ipv4_limit(p->to->limits.gso_ipv4_max_size));

	if (!add_name(p, from, hands_on(from, false), hands_on(&end, false)))
		return;
	add_command(p, from->limits.name, "", BIGTCP_LEGACY_SIZE);
	if (ipv4 > BIGTCP_LEGACY_SIZE)
		add_command(p, from->limits.name, "ipv4_", ipv4);
}

/* " and 3 more" behind those that are named. */
static const char *more_than_named(const struct path *p, char buf[40])
{
	*buf = '\0';
	if (p->n > FEEDERS_NAMED)
		snprintf(buf, 40, " and %zu more", p->n - FEEDERS_NAMED);
	return buf;
}

static void tell_path(const struct path *p, const char *way, enum finding_level level, bool refused,
		      struct findings *f)
{
	const struct bigtcp *to = &p->to->limits;
	char more[40], what[40];

	if (!p->n)
		return;
	snprintf(what, sizeof(what), "path to %s", to->name);
	finding_add(f, level, what,
		    "it takes superpackets of at most %" PRIu32 " bytes, %s gives it longer ones "
		    "from %s%s: " LOSS "%s",
		    to->gso_max_size, way, p->names, more_than_named(p, more),
		    refused ? ", " LOSS_IPV6 : "");
	finding_cure(f, "%s\nboth ends of a veth pair, so also inside the namespace of a pod",
		     p->cures);
}

static void tell_refused(const struct path *p, enum finding_level level, struct findings *f)
{
	const uint32_t mtu = p->to->mtu;
	char more[40], what[40], instead[80] = "";

	if (!p->n)
		return;
	snprintf(what, sizeof(what), "path to %s", p->to->limits.name);
	finding_add(
		f, level, what,
		"before 7.0 a kernel that forwards IPv6 in superpackets above 65536 bytes "
		"counts 8 bytes too many against the MTU and refuses those from %s%s: " LOSS_JUMBO,
		p->names, more_than_named(p, more));
	if (mtu >= IPV6_MIN_MTU + JUMBO_OPTION_LEN)
		snprintf(instead, sizeof(instead),
			 "\nor, instead, an MTU of at most %" PRIu32 " there",
			 mtu - JUMBO_OPTION_LEN);
	finding_cure(f,
		     "%s\nboth ends of a veth pair, so also inside the namespace of a pod; what "
		     "keeps IPv4 long takes iproute2 6.3%s",
		     p->cures, instead);
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

		if (&devices[i] == p->to || !from->up ||
		    (from->master != bridge->ifindex && from != bridge))
			continue;
		(void)add_feeder(p, &devices[i], true, true);
	}
	snprintf(way, sizeof(way), "bridge %s", bridge->name);
	tell_path(p, way, FINDING_WRONG, false, f);
}

/* May the host forward what comes from there? */
static bool is_routed(const struct doctor_device *from)
{
	return from->role == DOCTOR_OTHER && from->limits.up &&
	       strcmp(from->limits.name, "lo") != 0 && strcmp(from->limits.kind, "bridge") != 0;
}

/* Devices of the host that routes may lead from, to this one. Where there are overlays,
 * what is routed into the lane's own device is seldom much. */
static void look_at_routes(const struct doctor_device *devices, size_t n,
			   const struct doctor_kernel *kernel, bool overlays,
			   const struct doctor_device *to, struct findings *f)
{
	const enum finding_level level = overlays && to->role == DOCTOR_LANE ? FINDING_NOTE
									     : FINDING_WRONG;
	struct path mixed = {.to = to}, refused = {.to = to};
	bool both = false;

	for (size_t i = 0; i < n; i++) {
		const struct doctor_device *from = &devices[i];
		bool fed;

		if (!is_routed(from))
			continue;
		fed = add_feeder(&mixed, from, kernel->forwards4, kernel->forwards6);
		if (!is_refused(from, to, kernel))
			continue;
		/* What cures the one then cures the other. */
		if (fed && to->limits.gso_max_size <= BIGTCP_LEGACY_SIZE)
			both = true;
		else
			add_refused(&refused, from);
	}
	tell_path(&mixed, "forwarding", level, both, f);
	tell_refused(&refused, level, f);
}

/* ---- Out of a port ---- */

/* Of IPv4, which is merged to what the port takes; IPv6 stops at 64 KB below 7.0. */
static bool is_cut_for(const struct doctor_device *port, const struct doctor_device *pod)
{
	const uint32_t takes = ipv4_limit(pod->limits.gso_ipv4_max_size);

	return is_routed(pod) && !pod->below && !strcmp(pod->limits.kind, "veth") &&
	       pod->limits.gso_ipv4_max_size && !pod->limits.master &&
	       ipv4_limit(port->limits.gro_ipv4_max_size) > larger(takes, BIGTCP_LEGACY_SIZE);
}

/* Measured on 6.18: 5.7 to 6.0 Gbit/s, and 7.5 to 7.9 with the cure. */
static void look_at_pods(const struct doctor_device *devices, size_t n,
			 const struct doctor_device *port, struct findings *f)
{
	const uint32_t size = ipv4_limit(port->limits.gro_ipv4_max_size);
	char what[40], names[128] = "", text[32], cures[FEEDERS_NAMED * COMMAND_LEN] = "";
	size_t n_pods = 0;

	for (size_t i = 0; i < n; i++) {
		const char *name = devices[i].limits.name;
		char command[COMMAND_LEN];

		if (!is_cut_for(port, &devices[i]) || n_pods++ >= FEEDERS_NAMED)
			continue;
		snprintf(text, sizeof(text), "%s%s", n_pods > 1 ? ", " : "", name);
		append(names, sizeof(names), text);
		snprintf(command, sizeof(command),
			 "ip link set dev %s gso_ipv4_max_size %" PRIu32 "\n", name, size);
		append(cures, sizeof(cures), command);
	}
	if (!n_pods)
		return;
	*text = '\0';
	if (n_pods > FEEDERS_NAMED)
		snprintf(text, sizeof(text), " and %zu more", n_pods - FEEDERS_NAMED);
	snprintf(what, sizeof(what), "path from %s", port->limits.name);
	finding_add(
		f, FINDING_NOTE, what,
		"its IPv4 superpackets of up to %" PRIu32 " bytes are cut to single segments "
		"where they are forwarded to %s%s: a fifth to a quarter of the throughput is lost",
		size, names, text);
	finding_cure(f, "%stakes iproute2 6.3", cures);
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
		    " at a time: %s",
		    larger(b->gso_max_size, b->gso_ipv4_max_size),
		    d->on_tun ? "a TUN or TAP below it hands on no" : "this kernel cannot carry",
		    cap, d->on_tun ? LOSS : LOSS_ABOVE);
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

/* What was taken for granted of pairs, once for all of them. */
static void tell_unseen(const struct doctor_device *devices, size_t n, struct findings *f)
{
	const struct doctor_device *first = NULL;
	char more[40] = "";
	size_t unseen = 0;

	for (size_t i = 0; i < n; i++) {
		if (!devices[i].other.err || !is_routed(&devices[i]))
			continue;
		first = first ? first : &devices[i];
		unseen++;
	}
	if (!first)
		return;
	if (unseen > 1)
		snprintf(more, sizeof(more), " and of %zu more", unseen - 1);
	finding_add(f, FINDING_NOTE, "devices",
		    "the other end of %s%s could not be looked at (%s): taken to have the limits "
		    "of the end here",
		    first->limits.name, more, strerror(-first->other.err));
}

void doctor_limits(const struct doctor_device *devices, size_t n,
		   const struct doctor_kernel *kernel, struct findings *f)
{
	bool overlays = false;

	for (size_t i = 0; i < n; i++)
		overlays = overlays || devices[i].role == DOCTOR_TUNNEL ||
			   devices[i].role == DOCTOR_PORT;
	for (size_t i = 0; i < n; i++) {
		struct path bridged = {.to = &devices[i]};

		if (devices[i].role == DOCTOR_PORT_LANE)
			continue;
		tell_limits(&devices[i].limits, f);
		if (devices[i].role == DOCTOR_OTHER)
			continue;
		look_at_cap(&devices[i], kernel, f);
		if (!devices[i].limits.up)
			continue;
		look_at_bridge(devices, n, &bridged, f);
		look_at_routes(devices, n, kernel, overlays, &devices[i], f);
		if (devices[i].role == DOCTOR_PORT && kernel->forwards4)
			look_at_pods(devices, n, &devices[i], f);
	}
	tell_unseen(devices, n, f);
}
