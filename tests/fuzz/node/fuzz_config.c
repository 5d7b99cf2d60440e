/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration up to the first zero byte, then variables of the environment with
 * zero bytes between. Properties: it is refused with printable lines, or what comes of
 * it is within all limits; libcyaml takes what the walk has let through.
 */
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "agent/node/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *variables, *variables_end;

static void check(bool holds)
{
	if (!holds)
		abort();
}

static char *find_variable(const char *name)
{
	const size_t len = strlen(name);

	for (const char *v = variables; v < variables_end; v += strlen(v) + 1) {
		if (!strncmp(v, name, len) && v[len] == '=')
			return (char *)(uintptr_t)(v + len + 1);
	}
	return NULL;
}

static void check_faults(const struct config_faults *f)
{
	size_t n = 0;

	check(f->n && f->n <= 101 && f->text);
	check(strncmp(f->text, "F: cannot be loaded", 19) != 0 &&
	      !strstr(f->text, "\nF: cannot be loaded"));
	for (const char *p = f->text; *p; p++) {
		n += *p == '\n';
		check(*p == '\n' ? p > f->text && p[-1] != '\n' : *p >= ' ' && *p <= '~');
	}
	check(n == f->n);
}

static void check_networks(const struct ip_prefix *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct ip_prefix network = ip_prefix_network(&p[i]);

		check(p[i].addr.len && ip_prefix_equal(&p[i], &network));
	}
}

static void check_overlay(const struct config *c, const struct config_overlay *o)
{
	check(o->name[0] && strcmp(o->name, c->lane.interface) != 0 && !strchr(o->name, '/'));
	check(o->vni < 1 << 24 && o->udp_port && o->ttl && o->type <= CONFIG_BAREUDP);
	check(!o->mtu || (o->mtu >= 576 && o->mtu <= 65535));
	check(!o->gso_max_size || (o->gso_max_size >= 65536 && o->gso_max_size <= 196608));
	check(o->fdb_limit && o->fdb_limit <= 1 << 20 && !(o->mac[0] & 1));
	check(c->node.tunnel[o->outer6].len == (o->outer6 ? 16 : 4));
	check(o->type == CONFIG_PORT || !o->learning);
	for (size_t i = 0; i < o->n_addresses; i++)
		check(o->addresses[i].addr.len && o->addresses[i].len <= 128);
}

static void check_peers(const struct member *peers, size_t n)
{
	static const uint8_t no_key[NODE_KEY_LEN];

	for (size_t i = 0; i < n; i++) {
		const struct member *m = &peers[i];

		check(m->name[0] && memcmp(m->public_key, no_key, sizeof(no_key)) != 0);
		check_networks(m->allowed_ips, m->n_allowed_ips);
		for (size_t j = 0; j < m->n_overlays; j++)
			check_networks(m->overlays[j].routes, m->overlays[j].n_routes);
	}
}

static void check_config(const struct config *c)
{
	check(c->node.name[0] && c->lane.interface[0] && c->node.private_key_file[0] == '/');
	check(!c->node.tunnel[0].len || c->node.tunnel[0].len == 4);
	check(!c->node.tunnel[1].len || c->node.tunnel[1].len == 16);
	check(c->n_overlays <= CONFIG_OVERLAYS_MAX && c->n_peers <= CONFIG_PEERS_MAX);
	check(c->http.on == (c->http.listen.ss_family != 0) && c->log <= CONFIG_LOG_DEBUG);
	for (size_t i = 0; i < c->n_overlays; i++)
		check_overlay(c, &c->overlays[i]);
	check_peers(c->peers, c->n_peers);
}

static void check_copies(const struct config *c)
{
	for (size_t i = 0; i < c->n_peers; i++) {
		struct member copy;

		check(!member_copy(&c->peers[i], &copy) && !strcmp(copy.name, c->peers[i].name));
		member_clear(&copy);
	}
}

/* The same text as a file of peers, of this node. */
static void try_peers_alone(const char *text)
{
	static const char own[] = "node: {name: a, tunnel_addresses: [10.0.0.1, \"fd00::1\"],"
				  " private_key_file: /nowhere}\n"
				  "overlays: [{name: o, vni: 1, addresses: [10.1.0.1/24]}]\n";
	static struct config *config;
	struct config_faults faults = {0};
	struct member *peers = NULL;
	size_t n = 0;
	int err;

	variables = variables_end = NULL;
	if (!config)
		check(!config_parse(own, strlen(own), "F", find_variable, &config, &faults));
	err = config_parse_peers(text, strlen(text), "F", config, &peers, &n, &faults);
	check(err == 0 || err == -EINVAL);
	if (err)
		check_faults(&faults);
	else
		check(!faults.n && !faults.text);
	check_peers(peers, n);
	for (size_t i = 0; i < n; i++)
		member_clear(&peers[i]);
	free(peers);
	config_faults_free(&faults);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct config_faults faults = {0};
	struct config *c = NULL;
	int err;

	memcpy(text, data, size);
	text[size] = '\0';
	/* Key files are read, and not every file can be opened without consequences. */
	if (memmem(text, size, "/dev", 4) || memmem(text, size, "/proc", 5))
		goto out;
	variables = text + strlen(text) + 1;
	variables_end = text + size;
	err = config_parse(text, strlen(text), "F", find_variable, &c, &faults);
	check(err == 0 || err == -EINVAL);
	if (err) {
		check(!c);
		check_faults(&faults);
	} else {
		check(!faults.n && !faults.text);
		check_config(c);
		check_copies(c);
	}
	config_free(c);
	config_faults_free(&faults);
	try_peers_alone(text);
out:
	free(text);
	return 0;
}
