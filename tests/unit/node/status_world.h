/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the status share: an agent whose state, desired state and lane are
 * canned. Its reconciliation is a stand-in: this file takes the place of
 * reconcile_state() and reconcile_desired() when a test is linked.
 */
#ifndef SEALANE_TESTS_NODE_STATUS_WORLD_H
#define SEALANE_TESTS_NODE_STATUS_WORLD_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/node/config.h"
#include "agent/node/desired.h"
#include "agent/node/reconcile.h"
#include "agent/node/status.h"

/* Alice's and Bob's public keys of RFC 7748, section 6.1, in hex and in base64. */
#define ALICE_HEX "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
#define ALICE_KEY "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="
#define BOB_HEX	  "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
#define BOB_KEY	  "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08="

/* Must never be seen. */
#define SECRET_HEX "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ac177fba51db92c2a"
#define SECRET_KEY "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqwXf7pR25LCo="

static struct status_world {
	struct config config;
	struct config_overlay overlay_config;
	struct member members[2];
	struct ip_prefix allowed[2], station_route, overlay_address;
	struct ip_addr station_addresses[2];
	struct desired_peer peers[2];
	struct desired_station station;
	struct desired_overlay overlay;
	struct desired desired;
	char *conflicts[1];
	struct reconcile_state state;
	struct status_agent agent;
	bool has_reconcile, has_desired;
	const char *control, *uapi; /* NULL: no lane */
	unsigned n_asked;
	struct status_source source;
} sw;

const struct reconcile_state *reconcile_state(const struct reconcile *r)
{
	assert_ptr_equal(r, &sw);
	return &sw.state;
}

const struct desired *reconcile_desired(const struct reconcile *r)
{
	assert_ptr_equal(r, &sw);
	return sw.has_desired ? &sw.desired : NULL;
}

static const struct config *world_config(void *ctx)
{
	assert_ptr_equal(ctx, &sw);
	return &sw.config;
}

static struct reconcile *world_reconcile(void *ctx)
{
	assert_ptr_equal(ctx, &sw);
	return sw.has_reconcile ? (struct reconcile *)(void *)&sw : NULL;
}

static const struct status_agent *world_agent(void *ctx)
{
	assert_ptr_equal(ctx, &sw);
	return &sw.agent;
}

static int world_ask(void *ctx, enum lane_socket which, void (*take)(char *answer, void *arg),
		     void *arg)
{
	const char *text = which == LANE_UAPI ? sw.uapi : sw.control;
	char *answer;

	assert_ptr_equal(ctx, &sw);
	sw.n_asked++;
	if (!text)
		return -ENOTCONN;
	answer = strdup(text);
	assert_non_null(answer);
	take(answer, arg);
	free(answer);
	return 0;
}

static const char world_control[] = "version=1\n"
				    "sealane=0.9\n"
				    "ifname=sl0\n"
				    "device_kind=tap\n"
				    "mtu=1420\n"
				    "up=1\n"
				    "listen_port=51820\n"
				    "peers=2\n"
				    "capability=udp_gso on up to 64 \"datagrams\"\n"
				    "capability=simd off\n"
				    "stat=device_reads 11\n"
				    "stat=bad-name 5\n"
				    "stat=icmp_sent 18446744073709551615\n"
				    "drop=no_peer 7\n"
				    "drop=replay 0\n"
				    "ports=2\n"
				    "port=ov0\n"
				    "mtu=1370\n"
				    "port_fdb_static=3\n"
				    "port_stat=reads 100\n"
				    "port_stat=flooded 1\n"
				    "port=ov1\n"
				    "port_fdb_static=4\n"
				    "port_stat=reads 200\n"
				    "port_stat=flooded x\n";

static const char world_uapi[] = "private_key=" SECRET_HEX "\n"
				 "listen_port=51820\n"
				 "public_key=" BOB_HEX "\n"
				 "preshared_key=" SECRET_HEX "\n"
				 "endpoint=[2001:db8::2]:51821\n"
				 "last_handshake_time_sec=1700000000\n"
				 "last_handshake_time_nsec=5\n"
				 "tx_bytes=1000\n"
				 "rx_bytes=2000\n"
				 "persistent_keepalive_interval=25\n"
				 "allowed_ip=10.10.0.2/32\n";

static inline void world_key(const char *hex, uint8_t ret[32])
{
	for (int i = 0; i < 32; i++) {
		unsigned byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		ret[i] = (uint8_t)byte;
	}
}

static inline void world_overlay(void)
{
	struct config_overlay *c = &sw.overlay_config;

	snprintf(c->name, sizeof(c->name), "ov0");
	c->type = CONFIG_PORT;
	c->vni = 42;
	c->udp_port = 4789;
	assert_true(ip_prefix_parse("10.244.1.1/24", &sw.overlay_address));
	c->addresses = &sw.overlay_address;
	c->n_addresses = 1;
	sw.overlay = (struct desired_overlay){
		.config = c,
		.mac = {2, 0, 0, 0, 0, 1},
		.mtu = 1370,
		.csum = true,
		.stations = &sw.station,
		.n_stations = 1,
	};
	assert_true(ip_addr_parse("10.10.0.1", &sw.overlay.vtep));
	assert_true(ip_addr_parse("10.244.2.1", &sw.station_addresses[0]));
	assert_true(ip_addr_parse("fd00::2", &sw.station_addresses[1]));
	assert_true(ip_prefix_parse("10.244.2.0/24", &sw.station_route));
	sw.station = (struct desired_station){
		.member = &sw.members[1],
		.mac = {2, 0, 0, 0, 0, 2},
		.addresses = sw.station_addresses,
		.n_addresses = 2,
		.routes = &sw.station_route,
		.n_routes = 1,
	};
	assert_true(ip_addr_parse("10.10.0.2", &sw.station.vtep));
}

/* The second peer's name is Bob's, the first is one the lane does not have yet. */
static inline void world_begin(void)
{
	memset(&sw, 0, sizeof(sw));
	snprintf(sw.config.node.name, sizeof(sw.config.node.name), "alpha");
	snprintf(sw.config.lane.interface, sizeof(sw.config.lane.interface), "sl0");
	snprintf(sw.members[0].name, NODE_NAME_LEN, "new\"\\");
	memset(sw.members[0].public_key, 0xff, 32);
	snprintf(sw.members[1].name, NODE_NAME_LEN, "beta");
	world_key(BOB_HEX, sw.members[1].public_key);
	for (int i = 0; i < 2; i++) {
		sw.members[i].has_psk = true;
		world_key(SECRET_HEX, sw.members[i].psk);
	}
	assert_true(ip_prefix_parse("10.10.0.2/32", &sw.allowed[0]));
	assert_true(ip_prefix_parse("fd00::/64", &sw.allowed[1]));
	sw.peers[0] = (struct desired_peer){.member = &sw.members[0]};
	sw.peers[1] = (struct desired_peer){&sw.members[1], sw.allowed, 2};
	world_overlay();
	sw.desired.config = &sw.config;
	world_key(SECRET_HEX, sw.desired.private_key);
	world_key(ALICE_HEX, sw.desired.public_key);
	sw.desired.peers = sw.peers;
	sw.desired.n_peers = 2;
	sw.desired.overlays = &sw.overlay;
	sw.desired.n_overlays = 1;
	sw.desired.conflicts = sw.conflicts;
	sw.state.n_passes = 5;
	sw.state.synced = true;
	sw.state.lane_there = true;
	sw.agent.config_path = "/etc/x.yaml";
	sw.agent.started_s = 1600000000;
	sw.agent.config_loaded_s = 1600000001;
	sw.has_reconcile = sw.has_desired = true;
	sw.control = world_control;
	sw.uapi = world_uapi;
	sw.source = (struct status_source){
		.config = world_config,
		.reconcile = world_reconcile,
		.agent = world_agent,
		.ask_lane = world_ask,
		.ctx = &sw,
	};
}

#endif
