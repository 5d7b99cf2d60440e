/* SPDX-License-Identifier: Apache-2.0 */
/* sealane doctor: fetches what doctor.h looks at. */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/node/agent.h"
#include "agent/node/config.h"
#include "agent/node/lane_value.h"
#include "cli.h"
#include "doctor.h"
#include "json_out.h"
#include "overlay/link.h"
#include "overlay/nl.h"
#include "overlay/route.h"
#include "overlay/tunnel.h"
#include "overlay/veth.h"
#include "view.h"

/* More would tell nothing more. */
enum { PREFIXES_ASKED = 256, STATUS_LEN = 8192 };

struct visit {
	const struct view *view;
	struct findings *f;
	struct nl *nl;
	struct doctor_kernel kernel;
	struct doctor_device *devices;
	size_t n, room;
};

/* ---- Devices ---- */

static enum doctor_role role_of(const struct view *v, const struct bigtcp *b)
{
	const struct lane_item *port;
	size_t cursor = 0;

	if (!strcmp(b->kind, "vxlan") || !strcmp(b->kind, "geneve") || !strcmp(b->kind, "bareudp"))
		return DOCTOR_TUNNEL;
	if (v->has_lane && !strcmp(b->name, v->lane))
		return DOCTOR_LANE;
	while ((port = lane_doc_next_port(&v->control, &cursor)))
		if (!strcmp(port->value, b->name))
			return DOCTOR_PORT;
	return DOCTOR_OTHER;
}

static int take_device(const struct bigtcp *b, void *arg)
{
	struct visit *visit = arg;

	if (visit->n == visit->room) {
		const size_t room = visit->room ? 2 * visit->room : 32;
		struct doctor_device *list = reallocarray(visit->devices, room, sizeof(*list));

		if (!list)
			return -ENOMEM;
		visit->devices = list;
		visit->room = room;
	}
	visit->devices[visit->n++] = (struct doctor_device){.limits = *b,
							    .role = role_of(visit->view, b)};
	return 0;
}

static struct doctor_device *find_device(struct visit *visit, int ifindex)
{
	for (size_t i = 0; i < visit->n; i++)
		if (visit->devices[i].limits.ifindex == ifindex)
			return &visit->devices[i];
	return NULL;
}

/* Of our marked devices, the veths are the lane's ends of ports. */
static int take_owned(int ifindex, const char *name, const char *kind, void *arg)
{
	struct doctor_device *d = find_device(arg, ifindex);

	(void)name;
	if (d && !strcmp(kind, "veth"))
		d->role = DOCTOR_PORT_LANE;
	return 0;
}

static void look_below(struct visit *visit, struct doctor_device *d)
{
	const struct doctor_device *lower;
	struct tunnel_found found;

	if (d->role != DOCTOR_TUNNEL || tunnel_find(visit->nl, d->limits.name, &found) ||
	    !found.is_tunnel)
		return;
	lower = find_device(visit, found.tunnel.link);
	d->on_tun = lower && !strcmp(lower->limits.kind, "tun");
}

static int take_mtu(const struct link_info *link, void *arg)
{
	struct doctor_device *d = find_device(arg, link->ifindex);

	if (d)
		d->mtu = link->mtu;
	return 0;
}

/* The kernel shows it also where it is in the namespace of a pod. */
static void look_across(struct visit *visit, struct doctor_device *d)
{
	struct veth_limits limits;
	struct veth_peer peer;
	int err;

	if (d->role != DOCTOR_OTHER || strcmp(d->limits.kind, "veth") != 0)
		return;
	err = veth_peer(visit->nl, d->limits.ifindex, &peer);
	/* Another namespace without a number is just ending. */
	if (!err && peer.elsewhere && peer.netnsid < 0)
		err = -ENODEV;
	if (!err)
		err = veth_limits_get(visit->nl, peer.ifindex, peer.elsewhere ? peer.netnsid : -1,
				      &limits);
	d->other = (struct doctor_end){.seen = !err, .err = err};
	if (err)
		return;
	d->other.gso_max_size = limits.gso_max_size;
	d->other.gso_ipv4_max_size = limits.gso_ipv4_max_size;
}

/* The device by which an endpoint is reached; NULL: there is none. */
static struct doctor_device *device_towards(struct visit *visit, const char *endpoint)
{
	struct sockaddr_storage ep;
	struct route_way way;
	const void *addr = &((const struct sockaddr_in6 *)&ep)->sin6_addr;

	if (!endpoint || !lane_value_endpoint(endpoint, &ep))
		return NULL;
	if (ep.ss_family == AF_INET)
		addr = &((const struct sockaddr_in *)&ep)->sin_addr;
	if (route_get_way(visit->nl, ep.ss_family, addr, (uint32_t)visit->view->wg.fwmark, &way))
		return NULL;
	return find_device(visit, way.oif);
}

static void find_below(struct visit *visit)
{
	const struct wg_doc *wg = &visit->view->wg;

	for (size_t i = 0; i < wg->n_peers && i < PREFIXES_ASKED; i++) {
		struct doctor_device *d = device_towards(visit, wg->peers[i].endpoint);

		if (d)
			d->below = true;
	}
}

static void look_at_devices(struct visit *visit)
{
	int err = bigtcp_list(visit->nl, take_device, visit);

	if (!err)
		err = tunnel_list_owned(visit->nl, take_owned, visit);
	if (!err)
		err = link_list(visit->nl, take_mtu, visit);
	if (err) {
		finding_add(visit->f, FINDING_WRONG, "devices", "cannot be listed: %s",
			    strerror(-err));
		return;
	}
	for (size_t i = 0; i < visit->n; i++) {
		look_below(visit, &visit->devices[i]);
		look_across(visit, &visit->devices[i]);
	}
	find_below(visit);
	doctor_limits(visit->devices, visit->n, &visit->kernel, visit->f);
}

/* ---- Ways back ---- */

/* Does an answer to the peer's @prefix leave by another device than @lane? */
static bool leads_elsewhere(struct nl *nl, const char *prefix, int lane)
{
	struct ip_prefix p, network;
	struct route_way way;
	int err;

	/* Half of the internet may well have other ways, too. */
	if (!ip_prefix_parse(prefix, &p) || p.addr.len != 4 || p.len < 8)
		return false;
	network = ip_prefix_network(&p);
	if (p.len < 31)
		network.addr.bytes[3] |= 1; /* a host, not the broadcast address of old */
	err = route_get_way(nl, AF_INET, network.addr.bytes, 0, &way);
	if (err)
		return err == -ENETUNREACH || err == -EHOSTUNREACH;
	return !way.local && way.oif != lane;
}

static void look_at_ways(struct visit *visit)
{
	const int lane = (int)if_nametoindex(visit->view->lane);
	const struct wg_doc *wg = &visit->view->wg;
	const char *example = NULL;
	size_t n = 0, asked = 0;

	for (size_t i = 0; lane && i < wg->n_peers; i++) {
		for (size_t j = 0; j < wg->peers[i].n_allowed_ips; j++) {
			if (asked++ == PREFIXES_ASKED)
				break;
			if (!leads_elsewhere(visit->nl, wg->peers[i].allowed_ips[j], lane))
				continue;
			if (!n++)
				example = wg->peers[i].allowed_ips[j];
		}
	}
	doctor_rp_filter("", visit->view->lane, n, example, visit->f);
}

static bool leads_inside(struct visit *visit, const char *endpoint, const char **ret_device)
{
	const struct doctor_device *d = device_towards(visit, endpoint);

	if (!d || (d->role != DOCTOR_LANE && d->role != DOCTOR_PORT &&
		   !(d->role == DOCTOR_TUNNEL && d->on_tun)))
		return false;
	*ret_device = d->limits.name;
	return true;
}

/* Where a peer was heard from last, too, which no configuration tells. */
static void look_at_endpoints(struct visit *visit)
{
	const struct wg_doc *wg = &visit->view->wg;
	const char *device, *name;

	for (size_t i = 0; i < wg->n_peers; i++) {
		const struct wg_peer *peer = &wg->peers[i];

		if (!leads_inside(visit, peer->endpoint, &device))
			continue;
		name = view_peer_name(visit->view, peer->public_key);
		finding_add(visit->f, FINDING_WRONG, "endpoint",
			    "%s of %s is reached through %s, which is inside the tunnel: what is "
			    "sent there comes back and is dropped (loop)",
			    peer->endpoint, name ? name : peer->public_key, device);
		finding_cure(visit->f,
			     "wg set %s peer %s endpoint ADDRESS:PORT of an address outside\n"
			     "or lane.fwmark and a rule that leads round the tunnel",
			     visit->view->lane, peer->public_key);
	}
}

/* ---- Files ---- */

static void add_config_faults(const struct config_faults *faults, struct findings *f)
{
	const char *line = faults->text;

	while (line && *line) {
		const int len = (int)strcspn(line, "\n");

		finding_add(f, FINDING_WRONG, "config", "%.*s", len, line);
		line += len + (line[len] == '\n');
	}
}

/* What the agent reads, or would read. */
static void look_at_config(struct visit *visit)
{
	const char *path = agent_text(visit->view->agent.root, "config_file");
	struct config_faults faults = {0};
	struct config *config = NULL;
	int err;

	if (!path)
		path = AGENT_CONFIG_PATH;
	err = config_load(path, getenv, &config, &faults);
	/* A lane needs no agent, nor an agent's file. */
	if (!err)
		finding_add(visit->f, FINDING_RIGHT, "config", "%s is well", path);
	else if (access(path, F_OK) < 0 && !visit->view->has_agent)
		finding_add(visit->f, FINDING_NOTE, "config", "no %s", path);
	else if (faults.text)
		add_config_faults(&faults, visit->f);
	else
		finding_add(visit->f, FINDING_WRONG, "config", "%s: %s", path, strerror(-err));
	doctor_modules("", visit->kernel.release, config, visit->view, visit->f);
	if (config)
		doctor_key(config->node.private_key_file, visit->f);
	config_free(config);
	config_faults_free(&faults);
}

static void look_at_process(struct visit *visit)
{
	char path[64], text[STATUS_LEN];
	size_t len, cursor = 0;
	FILE *file = NULL;

	if (!visit->view->has_lane)
		return;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)visit->view->lane_pid);
	if (visit->view->lane_pid > 0)
		file = fopen(path, "re");
	len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	text[len] = '\0';
	if (file)
		fclose(file);
	doctor_lane_process(len ? text : NULL,
			    lane_doc_next_port(&visit->view->control, &cursor) != NULL, visit->f);
}

/* ---- The round ---- */

static void read_kernel(struct utsname *uts, struct doctor_kernel *ret)
{
	if (uname(uts) < 0)
		snprintf(uts->release, sizeof(uts->release), "unknown");
	*ret = (struct doctor_kernel){
		.release = uts->release,
		.forwards4 = doctor_sysctl("", "/proc/sys/net/ipv4/ip_forward", 0) > 0,
		.forwards6 = doctor_sysctl("", "/proc/sys/net/ipv6/conf/all/forwarding", 0) > 0,
	};
	doctor_parse_release(uts->release, &ret->major, &ret->minor);
}

static void make_round(const struct view *view, int64_t now_s, struct findings *f)
{
	struct visit visit = {.view = view, .f = f};
	struct utsname uts;
	int err;

	read_kernel(&uts, &visit.kernel);
	doctor_kernel(&visit.kernel, f);
	doctor_agent(view, f);
	doctor_lane(view, now_s, f);
	look_at_process(&visit);
	look_at_config(&visit);
	err = nl_open(&visit.nl);
	if (err) {
		finding_add(f, FINDING_WRONG, "kernel", "no netlink: %s", strerror(-err));
		return;
	}
	look_at_devices(&visit);
	look_at_ways(&visit);
	look_at_endpoints(&visit);
	nl_close(visit.nl);
	free(visit.devices);
}

int cmd_doctor(const struct cli *cli)
{
	struct findings f = {0};
	struct view view;
	int status;

	view_open(cli->options.lane, &view);
	make_round(&view, cli->now_s, &f);
	status = f.failed || findings_count(&f, FINDING_WRONG) ? CLI_WRONG : CLI_FINE;
	if (cli->options.given & OPTION_JSON)
		json_out(json_pack("{s:b, s:o}", "fine", status == CLI_FINE, "findings",
				   findings_json(&f)),
			 cli->out);
	else
		findings_print(&f, cli->options.given & OPTION_VERBOSE, cli->out);
	findings_free(&f);
	view_close(&view);
	return status;
}
