/* SPDX-License-Identifier: Apache-2.0 */
/* What is desired, put together by hand: the tests of those who apply it do not rest on
 * who works it out. */
#ifndef SEALANE_TESTS_DESIRED_WORLD_H
#define SEALANE_TESTS_DESIRED_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/node/desired.h"
#include "agent/node/lane_value.h"
#include "agent/node/report.h"

enum { WORLD_PEERS = 16, WORLD_ALLOWED = 32, WORLD_OVERLAYS = 4, WORLD_STATIONS = 16 };

struct desired_world {
	struct config config;
	struct member members[WORLD_PEERS];
	struct desired_peer peers[WORLD_PEERS];
	struct ip_prefix allowed[WORLD_PEERS][WORLD_ALLOWED];
	struct config_overlay overlay_configs[WORLD_OVERLAYS];
	struct desired_overlay overlays[WORLD_OVERLAYS];
	struct desired_station stations[WORLD_OVERLAYS][WORLD_STATIONS];
	struct ip_addr addresses[WORLD_OVERLAYS][WORLD_STATIONS][2];
	struct desired d;
	struct report report;
};

/* Keys are one byte, repeated. */
static inline const char *world_hex(uint8_t byte)
{
	static _Thread_local char text[4][2 * 32 + 1];
	static _Thread_local unsigned turn;
	char *buf = text[turn++ % 4];

	for (int i = 0; i < 32; i++)
		sprintf(buf + 2 * i, "%02x", byte);
	return buf;
}

static inline struct ip_addr world_ip(const char *text)
{
	struct ip_addr addr = {0};

	assert_true(ip_addr_parse(text, &addr));
	return addr;
}

static inline void world_init(struct desired_world *w)
{
	*w = (struct desired_world){0};
	w->d.config = &w->config;
	w->d.peers = w->peers;
	w->d.overlays = w->overlays;
	memset(w->d.private_key, 0x48, sizeof(w->d.private_key));
	w->config.node.listen_port = 51820;
}

/* A peer without anything. Those of the world are in the order of their making, which
 * need not be that of their keys. */
static inline struct member *world_add_peer(struct desired_world *w, uint8_t key)
{
	const size_t i = w->d.n_peers++;
	struct member *m = &w->members[i];

	assert_true(i < WORLD_PEERS);
	*m = (struct member){0};
	snprintf(m->name, sizeof(m->name), "node%u", key);
	memset(m->public_key, key, sizeof(m->public_key));
	w->peers[i] = (struct desired_peer){.member = m, .allowed = w->allowed[i]};
	return m;
}

static inline int world_compare_prefixes(const void *a, const void *b)
{
	return ip_prefix_compare(a, b);
}

/* To the peer that was added last. */
static inline void world_allow(struct desired_world *w, const char *text)
{
	struct desired_peer *p = &w->peers[w->d.n_peers - 1];

	assert_true(p->n_allowed < WORLD_ALLOWED);
	assert_true(ip_prefix_parse(text, &p->allowed[p->n_allowed++]));
	qsort(p->allowed, p->n_allowed, sizeof(p->allowed[0]), world_compare_prefixes);
}

static inline void world_endpoint(struct member *m, const char *text)
{
	assert_true(lane_value_endpoint(text, &m->endpoint));
}

/* A port with the defaults of sealane.yaml(5). */
static inline struct desired_overlay *world_add_overlay(struct desired_world *w, const char *name,
							uint32_t vni, const char *vtep)
{
	const size_t i = w->d.n_overlays++;
	struct config_overlay *config = &w->overlay_configs[i];

	assert_true(i < WORLD_OVERLAYS);
	*config = (struct config_overlay){
		.type = CONFIG_PORT,
		.vni = vni,
		.udp_port = 4789,
		.ttl = 64,
		.flood = true,
		.answer_neighbours = true,
		.fdb_limit = 65536,
	};
	assert_true(strlen(name) < sizeof(config->name));
	memcpy(config->name, name, strlen(name) + 1);
	w->overlays[i] = (struct desired_overlay){
		.config = config,
		.vtep = world_ip(vtep),
		.mac = {2, 0, 0, 0, 0, (uint8_t)(i + 1)},
		.mtu = 1370,
		.stations = w->stations[i],
	};
	return &w->overlays[i];
}

/* On the overlay that was added last; its MAC ends with @mac. */
static inline struct desired_station *world_add_station(struct desired_world *w, uint8_t mac,
							const char *vtep, const char *address)
{
	const size_t i = w->d.n_overlays - 1, j = w->overlays[i].n_stations++;
	struct desired_station *s = &w->stations[i][j];

	assert_true(j < WORLD_STATIONS);
	*s = (struct desired_station){
		.vtep = world_ip(vtep),
		.mac = {2, 0, 0, 0, 1, mac},
		.addresses = w->addresses[i][j],
	};
	if (address)
		s->addresses[s->n_addresses++] = world_ip(address);
	return s;
}

#endif
