/* SPDX-License-Identifier: Apache-2.0 */
#include "offloads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "control.h"
#include "encap_ports.h"
#include "lane.h"
#include "log.h"
#include "udp.h"

static const char *read_variable(void *ctx, const char *name)
{
	(void)ctx;
	return getenv(name);
}

/* Those that only sealane-agent reads, which hands its environment on. */
static bool is_agents(const char *name)
{
	static const char *const prefixes[] = {"SEALANE_AGENT_", "SEALANE_HTTP_", "SEALANE_LANE_",
					       "SEALANE_NODE_"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	}
	return false;
}

/* A misspelt escape hatch must not pass in silence. */
static void warn_unknown_variables(void)
{
	for (char **e = environ; e && *e; e++) {
		const char *equals = strchr(*e, '='), *near;
		char name[64];
		bool known;

		if (!equals || strncmp(*e, "SEALANE_", 8) != 0 ||
		    (size_t)(equals - *e) >= sizeof(name))
			continue;
		memcpy(name, *e, (size_t)(equals - *e));
		name[equals - *e] = '\0';
		if (is_agents(name))
			continue;
		near = policy_nearest_variable(name, NULL, &known);
		if (!known && near)
			log_error("environment: %s is not known; did you mean %s?", name, near);
		else if (!known)
			log_error("environment: %s is not known", name);
	}
}

/* A probe that never ran is no fault; a file that cannot be used is worth a line. */
static void load_probe(struct offloads *o, const struct utsname *uts)
{
	int err;

	o->probe = kernel_probe_load(KERNEL_PROBE_PATH, uts, o->unprobed_reason, &err);
	if (err && err != -ENOENT)
		log_error("%s: %s; sealaned --probe makes a new one", KERNEL_PROBE_PATH,
			  err == -EBADMSG ? "malformed" : strerror(-err));
}

static bool parse_port_kind(const char *text, enum portdev_kind *ret)
{
	static const char *const names[] = {
		[PORTDEV_AUTO] = "auto", [PORTDEV_VETH] = "veth", [PORTDEV_TAP] = "tap"};

	*ret = PORTDEV_AUTO;
	if (!text || !*text)
		return true;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcasecmp(text, names[i])) {
			*ret = (enum portdev_kind)i;
			return true;
		}
	}
	return false;
}

static bool forbidden_by_environment(enum offload which)
{
	const struct kernel_release unknown = {.known = false};

	return !policy_offload(which, &unknown, read_variable, NULL).on;
}

int offloads_choose(struct offloads *o)
{
	const char *kind = getenv("SEALANE_PORT");
	const char *knob = getenv("SEALANE_ZERO_CSUM_GRO");
	const char *ports = getenv("SEALANE_ENCAP_PORTS");
	struct utsname uts;

	*o = (struct offloads){0};
	warn_unknown_variables();
	if (!zero_csum_knob_parse(knob, &o->zero_csum)) {
		log_error("SEALANE_ZERO_CSUM_GRO=%s: must be auto, on or off", knob);
		return -EINVAL;
	}
	if (!parse_port_kind(kind, &o->port_kind)) {
		log_error("SEALANE_PORT=%s: must be auto, veth or tap", kind);
		return -EINVAL;
	}
	o->big_tcp_forbidden = forbidden_by_environment(OFFLOAD_BIG_TCP);
	if (ports && !(encap_table_parse(&o->encap, ports) && encap_ports_fit(&o->encap))) {
		log_error("SEALANE_ENCAP_PORTS=%s: must be PORT=KIND,... with vxlan, geneve, ip or "
			  "mpls as KIND, %d ports in all",
			  ports, ENCAP_PORTS_MAX);
		return -EINVAL;
	}
	if (!uname(&uts)) {
		o->release = kernel_release_from_uname(uts.release, uts.version);
		load_probe(o, &uts);
	}
	for (unsigned i = 0; i < N_OFFLOADS; i++)
		o->state[i] = policy_offload((enum offload)i, &o->release, read_variable, NULL);
	return 0;
}

void offloads_device_args(const struct offloads *o, struct device_args *args)
{
	args->vnet_hdr = o->state[OFFLOAD_VNET_HDR].on;
	args->offloads = 0;
	if (o->state[OFFLOAD_TUN_GSO].on)
		args->offloads = TUN_OFFLOAD_CSUM | TUN_OFFLOAD_TSO | TUN_OFFLOAD_USO;
	if (o->state[OFFLOAD_TUN_GSO].on && o->state[OFFLOAD_TUNNEL_GSO].on)
		args->offloads |= TUN_OFFLOAD_TUNNEL;
	args->want_tunnel_gso = o->state[OFFLOAD_TUNNEL_GSO].on;
}

/* Switches @which off for a reason found out here, unless it is off already. */
static void narrow(struct offloads *o, enum offload which, bool accepted, const char *reason)
{
	struct policy_state *s = &o->state[which];

	if (!s->on || accepted)
		return;
	s->on = false;
	snprintf(s->reason, sizeof(s->reason), "%s", reason);
}

/* What a port's device is given; what it does not take shows at the first write. */
static void choose_port_gro(const struct offloads *o, struct gro_config *gro)
{
	gro->tcp4 = gro->tcp6 = o->state[OFFLOAD_TUN_TCP_GRO].on;
	gro->udp = o->state[OFFLOAD_TUN_UDP_GRO].on;
}

static void try_device(struct offloads *o, const struct device *device, struct gro_config *gro)
{
	unsigned offloads = device_offloads(device);
	bool tcp4, tcp6, udp, tunnel;

	narrow(o, OFFLOAD_VNET_HDR, device_vnet_hdr_len(device), "the device has no vnet header");
	narrow(o, OFFLOAD_TUN_GSO, offloads & TUN_OFFLOAD_TSO,
	       "the kernel did not grant it on the device");
	narrow(o, OFFLOAD_TUNNEL_GSO, offloads & TUN_OFFLOAD_TUNNEL,
	       "the kernel did not grant it on the device");

	tcp4 = device_probe_merge(device, DEVICE_MERGE_TCP4);
	tcp6 = device_probe_merge(device, DEVICE_MERGE_TCP6);
	udp = device_probe_merge(device, DEVICE_MERGE_UDP);
	tunnel = device_probe_merge(device, DEVICE_MERGE_TUNNEL);
	narrow(o, OFFLOAD_TUN_TCP_GRO, tcp4 && tcp6,
	       "the kernel refuses TCP superpackets on the device");
	narrow(o, OFFLOAD_TUN_UDP_GRO, udp, "the kernel refuses UDP superpackets on the device");
	narrow(o, OFFLOAD_TUNNEL_GSO, tunnel,
	       "the kernel refuses UDP-tunnel superpackets on this kind of device");

	gro->tcp4 = gro->tcp6 = o->state[OFFLOAD_TUN_TCP_GRO].on;
	gro->udp = o->state[OFFLOAD_TUN_UDP_GRO].on;
	gro->tunnel = o->state[OFFLOAD_TUNNEL_GSO].on;
}

/* Where a missing probe is why something is off, why it is missing is told, too. */
static void note_kernels_word(const struct offloads *o, struct control_info *info, const char *name,
			      bool on, const char *reason)
{
	const bool unprobed = o->probe == ZERO_CSUM_UNPROBED && *o->unprobed_reason &&
			      (!o->release.known || o->release.vendor_numbered) &&
			      reason == policy_encap_udp_l4(&o->release, o->probe).reason;

	if (unprobed)
		capability_note(info, name, on, "%s (%s)", reason, o->unprobed_reason);
	else
		capability_note(info, name, on, "%s", reason);
}

static void apply_zero_csum(struct offloads *o, struct lane *lane, struct control_info *info)
{
	struct gro_config *gro = &lane->offload.gro;
	struct zero_csum_question q = {
		.release = o->release,
		.knob = o->zero_csum,
		.probe = o->probe,
		.tunnel_writes = gro->tunnel,
		.ends_here = true,
		.inner_mergeable = true,
	};
	struct zero_csum_answer here = policy_zero_csum(&q), forwarded;
	struct zero_csum_answer real = policy_encap_udp_l4(&o->release, o->probe);

	q.ends_here = false;
	forwarded = policy_zero_csum(&q);
	gro->zero_csum = gro->udp && here.verdict == ZERO_CSUM_AS_UDP_L4 ? GRO_ZERO_CSUM_UDP_L4
									 : GRO_ZERO_CSUM_NEVER;
	lane->offload.zero_csum_forwarded = forwarded.verdict == ZERO_CSUM_AS_UDP_L4;
	gro->encap_udp_l4 = gro->udp && real.verdict == ZERO_CSUM_AS_UDP_L4;
	lane->offload.port_gro.encap_udp_l4 = real.verdict == ZERO_CSUM_AS_UDP_L4;
	/* What the kernel could be trusted with, but does not take or was forbidden. */
	if (!gro->udp && here.verdict == ZERO_CSUM_AS_UDP_L4)
		here.reason = o->state[OFFLOAD_TUN_UDP_GRO].reason;
	if (!gro->udp && real.verdict == ZERO_CSUM_AS_UDP_L4)
		real.reason = o->state[OFFLOAD_TUN_UDP_GRO].reason;
	if (o->zero_csum == ZERO_CSUM_ON && here.verdict == ZERO_CSUM_NEVER)
		log_error("SEALANE_ZERO_CSUM_GRO=on is refused: %s", here.reason);
	note_kernels_word(o, info, "zero_csum_gro",
			  here.verdict == ZERO_CSUM_AS_TUNNEL ||
				  gro->zero_csum == GRO_ZERO_CSUM_UDP_L4,
			  here.reason);
	note_kernels_word(o, info, "encap_udp_gro", gro->encap_udp_l4, real.reason);
}

static void try_sockets(struct offloads *o, struct udp *udp, struct lane *lane)
{
	unsigned segments = o->state[OFFLOAD_UDP_GSO].on ? udp_probe_segments() : 1;
	unsigned known_good = policy_udp_segments(&o->release);
	char reason[POLICY_REASON_LEN];

	narrow(o, OFFLOAD_UDP_GSO, segments > 1, "a loopback socket does not take UDP_SEGMENT");
	lane->offload.udp_segments = segments;
	lane->offload.udp_never_equal = policy_udp_never_equal(&o->release);
	if (o->state[OFFLOAD_UDP_GSO].on) {
		snprintf(reason, sizeof(reason), "%u datagrams a send, tried (%u by release)%s",
			 segments, known_good,
			 lane->offload.udp_never_equal ? ", never all equal on this kernel" : "");
		memcpy(o->state[OFFLOAD_UDP_GSO].reason, reason, sizeof(reason));
	}
	udp_use_gro(udp, o->state[OFFLOAD_UDP_GRO].on);
}

/* Where a UDP superpacket that lands in a tunnel loses all but its first datagram,
 * no UDP may be merged: any port may be a tunnel's end. */
static void distrust_unfixed(struct offloads *o)
{
	struct zero_csum_answer real = policy_encap_udp_l4(&o->release, o->probe);
	bool known_unfixed = o->probe == ZERO_CSUM_PROBE_FAILED ||
			     (o->release.known && !o->release.vendor_numbered &&
			      real.verdict == ZERO_CSUM_NEVER);

	narrow(o, OFFLOAD_TUN_UDP_GRO, !known_unfixed, real.reason);
}

void offloads_apply(struct offloads *o, const struct device *device, struct udp *udp,
		    struct lane *lane, struct control_info *info)
{
	struct gro_config *gro = &lane->offload.gro;

	distrust_unfixed(o);
	choose_port_gro(o, &lane->offload.port_gro);
	try_device(o, device, gro);
	try_sockets(o, udp, lane);
	encap_ports_environment(lane, &o->encap);
	lane->offload.ecn = o->state[OFFLOAD_ECN].on;
	for (unsigned i = 0; i < N_OFFLOADS; i++) {
		if (i != OFFLOAD_SIMD)
			capability_note(info, offload_name((enum offload)i), o->state[i].on, "%s",
					o->state[i].reason);
	}
	apply_zero_csum(o, lane, info);
}
