/* SPDX-License-Identifier: Apache-2.0 */
#include "control_ports.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "addrtext.h"
#include "control.h"
#include "lane.h"
#include "port.h"
#include "textbuf.h"

static const char *bool_text(bool b)
{
	return b ? "true" : "false";
}

static const char *kind_text(enum portdev_kind kind)
{
	switch (kind) {
	case PORTDEV_VETH:
		return "veth";
	case PORTDEV_TAP:
		return "tap";
	case PORTDEV_AUTO:
		break;
	}
	return "auto";
}

static uint64_t now_ns(const struct lane *lane)
{
	return lane->env->now_ns(lane->env->ctx);
}

static uint64_t seconds(uint64_t ns)
{
	return ns / NSEC_PER_SEC;
}

/* What a set takes. */

static void put_device(const struct port *port, struct textbuf *out)
{
	const struct port_config *c = &port->config;
	char text[ADDRTEXT_MAC_LEN];
	uint8_t mac[6];

	port_mac(port, mac);
	textbuf_printf(out, "kind=%s\n", kind_text(c->kind));
	textbuf_printf(out, "mtu=%" PRIu32 "\n", c->mtu);
	textbuf_printf(out, "mac=%s\n", addrtext_format_mac(mac, text));
	textbuf_printf(out, "gso_max_size=%" PRIu32 "\n", c->gso_max_size);
}

static void put_outer(const struct port_config *c, struct textbuf *out)
{
	char ip[ADDRTEXT_IP_LEN];

	textbuf_printf(out, "vtep=%s\n", addrtext_format_ip(c->local.addr, c->local.addr_len, ip));
	textbuf_printf(out, "udp_port=%u\n", c->udp_port);
	textbuf_printf(out, "vni=%" PRIu32 "\n", c->vni);
	textbuf_printf(out, "ttl=%u\n", c->ttl);
	if (c->inherit_dscp)
		textbuf_printf(out, "dscp=inherit\n");
	else
		textbuf_printf(out, "dscp=%u\n", c->dscp);
	textbuf_printf(out, "checksum=%s\n", bool_text(c->checksum));
}

static void put_bridge(const struct port_config *c, struct textbuf *out)
{
	textbuf_printf(out, "answer_neighbours=%s\n", bool_text(c->answer_neighbours));
	textbuf_printf(out, "learning=%s\n", bool_text(c->fdb.learning));
	textbuf_printf(out, "age_s=%" PRIu64 "\n", seconds(c->fdb.age_ns));
	textbuf_printf(out, "fdb_limit=%zu\n", c->fdb.limit);
	textbuf_printf(out, "learned_limit=%zu\n", c->fdb.learned_limit);
}

/* What is only told. */
static void put_state(const struct port *port, struct textbuf *out)
{
	const struct port_stats stats = port_sum_stats(port);
	const struct vtep *flood;

	textbuf_printf(out, "port_kind=%s\n", port->io.kind(port->io.ctx));
	textbuf_printf(out, "port_reason=%s\n", port->io.reason(port->io.ctx));
	fdb_forget_aged(port->fdb, port->lane->self.now_ns); /* which would be counted */
	textbuf_printf(out, "port_fdb_static=%zu\n", fdb_count(port->fdb, false));
	textbuf_printf(out, "port_fdb_learned=%zu\n", fdb_count(port->fdb, true));
	textbuf_printf(out, "port_flood=%zu\n", fdb_flood_list(port->fdb, &flood));
	textbuf_printf(out, "port_neighbours=%zu\n", neightab_count(port->neighbours));
#define X(field, help) textbuf_printf(out, "port_stat=%s %" PRIu64 "\n", #field, stats.field);
	PORT_STATS_LIST(X)
#undef X
}

static void put_port(const struct port *port, struct textbuf *out)
{
	textbuf_printf(out, "port=%s\n", port->config.name);
	put_device(port, out);
	put_outer(&port->config, out);
	put_bridge(&port->config, out);
	put_state(port, out);
}

/* Tables */

static void put_fdb(const struct port *port, struct textbuf *out)
{
	const uint64_t now = now_ns(port->lane);
	char mac[ADDRTEXT_MAC_LEN], ip[ADDRTEXT_IP_LEN];
	const struct fdb_entry *e;
	size_t pos = 0;

	while ((e = fdb_next(port->fdb, &pos, now))) {
		addrtext_format_mac(e->mac, mac);
		addrtext_format_ip(e->vtep.addr, e->vtep.addr_len, ip);
		if (e->is_static)
			textbuf_printf(out, "fdb=%s %s static\n", mac, ip);
		else
			textbuf_printf(out, "fdb=%s %s learned %" PRIu64 "\n", mac, ip,
				       now < e->seen_ns ? 0 : seconds(now - e->seen_ns));
	}
}

static void put_flood(const struct port *port, struct textbuf *out)
{
	char ip[ADDRTEXT_IP_LEN];
	const struct vtep *list;
	const size_t n = fdb_flood_list(port->fdb, &list);

	for (size_t i = 0; i < n; i++)
		textbuf_printf(out, "flood=%s\n",
			       addrtext_format_ip(list[i].addr, list[i].addr_len, ip));
}

static void put_neighbours(const struct port *port, struct textbuf *out)
{
	char mac[ADDRTEXT_MAC_LEN], ip[ADDRTEXT_IP_LEN];
	const struct neighbour *n;
	size_t pos = 0;

	while ((n = neightab_next(port->neighbours, &pos)))
		textbuf_printf(out, "neighbour=%s %s\n",
			       addrtext_format_ip(n->addr, n->addr_len, ip),
			       addrtext_format_mac(n->mac, mac));
}

/* Answers */

void control_ports_put(const struct lane *lane, struct textbuf *out)
{
	const struct port *port;

	textbuf_printf(out, "ports=%u\n", lane->ports.n);
	TAILQ_FOREACH (port, &lane->ports.list, entry)
		put_port(port, out);
}

/* The name in "port=NAME\n", which is all there is. False: it is something else. */
static bool take_name(const char *lines, char name[IFNAMSIZ])
{
	static const char key[] = "port=";
	const size_t key_len = sizeof(key) - 1, len = strcspn(lines, "\n");

	if (strncmp(lines, key, key_len) != 0 || lines[len] != '\n' || lines[len + 1])
		return false;
	if (len == key_len || len - key_len >= IFNAMSIZ)
		return false;
	memcpy(name, lines + key_len, len - key_len);
	name[len - key_len] = '\0';
	return true;
}

void control_ports_get(const struct lane *lane, const char *lines, struct textbuf *out)
{
	char name[IFNAMSIZ];
	const struct port *port;

	textbuf_printf(out, "version=%d\n", CONTROL_VERSION);
	if (!take_name(lines, name)) {
		textbuf_printf(out, "error=a get takes one line, port=NAME, or none\nerrno=%d\n\n",
			       EINVAL);
		return;
	}
	port = port_find(lane, name);
	if (!port) {
		textbuf_printf(out, "error=port: there is no such port\nerrno=%d\n\n", ENODEV);
		return;
	}
	put_port(port, out);
	put_fdb(port, out);
	put_flood(port, out);
	put_neighbours(port, out);
	textbuf_printf(out, "errno=0\n\n");
}
