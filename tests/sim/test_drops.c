/* SPDX-License-Identifier: Apache-2.0 */
/* Every drop reason can happen and is counted: once for each packet or message, and
 * nothing else is. A reason without a trigger here fails the test. */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

#include "agent/lane/egress.h"
#include "crypto/le.h"
#include "offload/be.h"

#define SECOND NSEC_PER_SEC

/* Each finds node 0 and 1 with a session of node 0's, a second old. */

static void not_ip(struct sim *sim)
{
	sim_host_send(sim, 0, "ARP", 3);
	STAILQ_FIRST(&sim->node[0].from_host)->drop = DROP_NOT_IP;
}

static void bad_ip(struct sim *sim)
{
	sim_host_send(sim, 0, "\x45 is no more than a beginning", 20);
}

static void send_to(struct sim *sim, uint8_t host)
{
	uint8_t packet[SIM_PING_LEN];

	sim_build(packet, 4, 1, host, 0, sizeof(packet));
	sim_host_send(sim, 0, packet, sizeof(packet));
}

static void no_peer(struct sim *sim)
{
	send_to(sim, 77);
}

static void no_endpoint(struct sim *sim)
{
	sim_introduce(sim, 0, 2, AF_UNSPEC);
	send_to(sim, 3);
}

static void loop(struct sim *sim)
{
	const struct in_addr to = sim->node[1].addr[0].dst.in4.sin_addr;
	uint8_t packet[SIM_PING_LEN];

	assert_int_equal(allowedips_insert(&sim->node[0].lane.allowed, (const uint8_t *)&to, 4, 32,
					   &sim_peer(sim, 0, 1)->allowed),
			 0);
	sim_build(packet, 4, 1, 2, 0, sizeof(packet));
	memcpy(packet + 16, &to, 4);
	be16_store(packet + 20, SIM_PORT);
	be16_store(packet + 22, SIM_PORT + 1);
	sim_host_send(sim, 0, packet, sizeof(packet));
}

static bool lose_all(struct sim *sim, struct sim_datagram *d, uint64_t *delay_ns)
{
	(void)sim;
	(void)d;
	(void)delay_ns;
	return false;
}

static void stage_full(struct sim *sim)
{
	sim_introduce(sim, 0, 2, AF_INET);
	sim->filter = lose_all;
	for (unsigned i = 0; i < 129; i++)
		send_to(sim, 3);
}

static void stage_purged(struct sim *sim)
{
	sim_introduce(sim, 0, 2, AF_INET);
	sim->filter = lose_all;
	send_to(sim, 3);
	sim_run(sim, 110 * SECOND);
}

static void stage_memory(struct sim *sim)
{
	sim_introduce(sim, 0, 2, AF_INET);
	sim->filter = lose_all;
	send_to(sim, 3);
	sim_malloc_failures = 1;
	egress_run(&sim->node[0].lane.self);
	assert_int_equal(sim_malloc_failures, 0);
	assert_int_equal(sim_peer(sim, 0, 2)->n_staged, 0);
}

static void send_refused(struct sim *sim)
{
	sim->node[0].refuse = DROP_SEND;
	sim_send(sim, 0, 1, SIM_PING_LEN);
}

static void send_full(struct sim *sim)
{
	sim->node[0].refuse = DROP_SEND_FULL;
	sim_send(sim, 0, 1, SIM_PING_LEN);
}

static void inject_from_0(struct sim *sim, const void *data, size_t len)
{
	sim_inject(sim, 1, &sim->node[0].addr[0], data, len);
}

static void bad_message(struct sim *sim)
{
	inject_from_0(sim, "GET / HTTP/1.1\r\n\r\n", 18);
}

static void no_identity(struct sim *sim)
{
	struct message_initiation msg;

	lane_set_private_key(&sim->node[1].lane, (const uint8_t[WG_KEY_LEN]){0});
	sim_forge_initiation(sim, 1, &msg);
	inject_from_0(sim, &msg, sizeof(msg));
}

static void bad_mac1(struct sim *sim)
{
	struct message_initiation msg;

	sim_forge_initiation(sim, 0, &msg); /* another's mac1 */
	inject_from_0(sim, &msg, sizeof(msg));
}

static void handshake_queue(struct sim *sim)
{
	struct handshake_queue *q = &sim->node[1].lane.handshakes;
	struct message_cookie_reply msg = {0};

	le32_store(msg.type_le32, MESSAGE_COOKIE_REPLY);
	while (q->n < HANDSHAKE_QUEUE_LEN) {
		assert_int_equal(handshake_enqueue(&sim->node[1].lane, MESSAGE_COOKIE_REPLY,
						   (const uint8_t *)&msg, sizeof(msg),
						   &sim->node[0].addr[0]),
				 DROP_NONE);
	}
	inject_from_0(sim, &msg, sizeof(msg));
}

static void be_under_load(struct sim *sim)
{
	sim->node[1].lane.loaded_until_ns = sim->now_ns + SECOND;
}

static void need_cookie(struct sim *sim)
{
	struct message_initiation msg;

	be_under_load(sim);
	sim_forge_initiation(sim, 1, &msg);
	inject_from_0(sim, &msg, sizeof(msg));
}

static void rate_limit(struct sim *sim)
{
	const struct endpoint src = sim_endpoint(AF_INET, 70, 7070);
	struct message_initiation msg;
	struct cookie_maker maker;

	be_under_load(sim);
	cookie_maker_init(&maker, sim->node[1].public_key);
	for (unsigned i = 0; i < 7; i++) {
		sim_forge_initiation(sim, 1, &msg);
		cookie_add_macs(&maker, sim->now_ns, (uint8_t *)&msg, sizeof(msg));
		sim_inject(sim, 1, &src, &msg, sizeof(msg));
		sim_settle(sim);
		if (!i)
			assert_true(cookie_consume_reply(
				&maker, sim->now_ns,
				(const void *)sim_recorded(sim, 1, MESSAGE_COOKIE_REPLY)->data));
	}
	/* What is not counted here: the first had no mac2, five got through. */
	assert_int_equal(sim->node[1].lane.self.stats.drop[DROP_NEED_COOKIE], 1);
	assert_int_equal(sim->node[1].lane.self.stats.drop[DROP_BAD_HANDSHAKE], 5);
	sim->node[1].lane.self.stats.drop[DROP_NEED_COOKIE] = 0;
	sim->node[1].lane.self.stats.drop[DROP_BAD_HANDSHAKE] = 0;
}

static void bad_handshake(struct sim *sim)
{
	struct message_initiation msg;

	sim_forge_initiation(sim, 1, &msg);
	inject_from_0(sim, &msg, sizeof(msg));
}

static void unknown_peer(struct sim *sim)
{
	sim_introduce(sim, 2, 1, AF_INET);
	sim_send(sim, 2, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
}

static void inject_recorded(struct sim *sim, enum message_type type)
{
	const struct sim_datagram *d = sim_recorded(sim, 0, type);

	inject_from_0(sim, d->data, d->len);
}

static void old_timestamp(struct sim *sim)
{
	inject_recorded(sim, MESSAGE_INITIATION);
}

static void flood(struct sim *sim)
{
	struct peer *peer = sim_peer(sim, 0, 1);

	sim->link[1][0].drop = 1000;
	sim_run(sim, 10 * SECOND);
	for (unsigned i = 0; i < 2; i++) {
		peer->timers.last_sent_handshake_ns = 0;
		lane_refresh_clock(&sim->node[0].lane);
		handshake_initiate(&sim->node[0].lane, peer, false);
		sim_run(sim, 10 * NSEC_PER_MSEC);
	}
}

static void bad_cookie(struct sim *sim)
{
	struct message_cookie_reply msg;

	memset(&msg, 0x55, sizeof(msg));
	le32_store(msg.type_le32, MESSAGE_COOKIE_REPLY);
	le32_store(msg.receiver_index_le32, sim_peer(sim, 1, 0)->slots.current->local_index);
	inject_from_0(sim, &msg, sizeof(msg));
}

static void unknown_index(struct sim *sim)
{
	uint8_t msg[64] = {MESSAGE_DATA};

	inject_from_0(sim, msg, sizeof(msg));
}

static void key_expired(struct sim *sim)
{
	sim_run(sim, 180 * SECOND);
	inject_recorded(sim, MESSAGE_DATA);
}

static void auth(struct sim *sim)
{
	uint8_t msg[MESSAGE_DATA_MIN_SIZE] = {MESSAGE_DATA};

	le32_store(msg + 4, sim_peer(sim, 1, 0)->slots.current->local_index);
	inject_from_0(sim, msg, sizeof(msg));
}

static void replay(struct sim *sim)
{
	inject_recorded(sim, MESSAGE_DATA);
}

static void bad_inner(struct sim *sim)
{
	uint8_t msg[100];
	size_t len = sim_seal(sim, 0, 1, "no version is an n", 18, msg);

	inject_from_0(sim, msg, len);
}

static void spoofed(struct sim *sim)
{
	uint8_t packet[SIM_PING_LEN];

	sim_build(packet, 4, 99, 2, 0, sizeof(packet));
	sim_host_send(sim, 0, packet, sizeof(packet));
	sim_run(sim, SECOND);
}

/* A UDP packet that claims to be a TCP superpacket. */
static void bad_vnet(struct sim *sim)
{
	const struct vnet lie = {
		.gso = VNET_GSO_TCP4,
		.needs_csum = true,
		.gso_size = 100,
		.csum_start = 20,
		.csum_offset = 16,
	};
	uint8_t packet[400];

	sim_build(packet, 4, 1, 2, 0, sizeof(packet));
	sim_host_send_super(sim, 0, packet, sizeof(packet), &lie);
}

/* With DF, and 28 + 32 bytes more than the way takes. */
static void too_big(struct sim *sim)
{
	uint8_t packet[1001];

	sim->node[0].path_mtu = 1060;
	lane_routes_changed(&sim->node[0].lane);
	sim_build(packet, 4, 1, 2, 0, sizeof(packet));
	packet[6] = 0x40;
	sim_host_send(sim, 0, packet, sizeof(packet));
}

/* A port on @node, and a frame from host 1 to host 2, which nobody knows. */
static struct sim_port *port_frame(struct sim *sim, unsigned node, struct sim_frame **ret)
{
	const struct port_config c = sim_port_config(node, 4);

	*ret = sim_frame_finished(&(struct sim_frame_args){.payload = 20});
	return sim_port_new(sim, node, &c);
}

static void port_kernel(struct sim *sim)
{
	const struct vtep vtep = sim_vtep(1, 4);
	struct sim_frame *f;
	struct sim_port *p = port_frame(sim, 0, &f);

	assert_int_equal(fdb_flood_add(p->port->fdb, &vtep), 0);
	p->kernel_drops = 1;
	sim_port_send(p, f);
	free(f);
}

static void port_frame_cut_off(struct sim *sim)
{
	struct sim_frame *f;
	struct sim_port *p = port_frame(sim, 0, &f);

	sim_port_send_bytes(p, f->data, 13);
	free(f);
}

static void port_segments(struct sim *sim)
{
	struct sim_frame *f = NULL, *small;
	struct sim_port *p = port_frame(sim, 0, &f);
	const struct vtep far = sim_vtep(1, 4);

	free(f);
	small = sim_frame_new(&(struct sim_frame_args){.mss = 1, .payload = 3000});
	assert_int_equal(fdb_set(p->port->fdb, small->data, &far), 0);
	sim_port_send(p, small);
	free(small);
}

static void port_unknown(struct sim *sim)
{
	struct sim_frame *f;
	struct sim_port *p = port_frame(sim, 0, &f);

	sim_port_send(p, f);
	free(f);
}

static void port_hairpin(struct sim *sim)
{
	const struct vtep own = sim_vtep(0, 4);
	struct sim_frame *f;
	struct sim_port *p = port_frame(sim, 0, &f);

	assert_int_equal(fdb_set(p->port->fdb, f->data, &own), 0);
	sim_port_send(p, f);
	free(f);
}

/* @f in VXLAN from node 0's host to node 1's port, IP flags and mark as told. */
static void send_to_port(struct sim *sim, struct sim_frame *f, uint8_t flags, uint8_t tos)
{
	uint8_t packet[SIM_PACKET_MAX];
	size_t len = sim_vxlan(packet, 4, 0, 1, tos, f->data, f->len);

	packet[6] = flags;
	sim_host_send(sim, 0, packet, len);
	free(f);
	sim_run(sim, SECOND);
}

static void port_fragment(struct sim *sim)
{
	struct sim_frame *f;

	port_frame(sim, 1, &f);
	send_to_port(sim, f, 0x20, 0);
}

static void port_source(struct sim *sim)
{
	struct sim_frame *f;

	port_frame(sim, 1, &f);
	f->data[6] |= 1;
	send_to_port(sim, f, 0, 0);
}

static void port_loop(struct sim *sim)
{
	struct sim_frame *f;
	struct sim_port *p = port_frame(sim, 1, &f);

	memcpy(f->data + 6, p->mac, 6);
	send_to_port(sim, f, 0, 0);
}

static void port_ecn(struct sim *sim)
{
	struct sim_frame *f;

	port_frame(sim, 1, &f);
	send_to_port(sim, f, 0, 3);
}

static void refused_by_device(struct sim *sim)
{
	sim->node[1].refuse_write = DROP_DEVICE_WRITE;
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
}

static void device_down(struct sim *sim)
{
	lane_set_up(&sim->node[0].lane, false);
	sim_send(sim, 0, 1, SIM_PING_LEN);
}

struct trigger {
	enum drop reason;
	void (*pull)(struct sim *sim);
};

static const struct trigger triggers[] = {
	{DROP_NOT_IP, not_ip},
	{DROP_BAD_IP, bad_ip},
	{DROP_NO_PEER, no_peer},
	{DROP_NO_ENDPOINT, no_endpoint},
	{DROP_LOOP, loop},
	{DROP_STAGE_FULL, stage_full},
	{DROP_STAGE_PURGED, stage_purged},
	{DROP_STAGE_MEMORY, stage_memory},
	{DROP_BAD_VNET, bad_vnet},
	{DROP_TOO_BIG, too_big},
	{DROP_SEND, send_refused},
	{DROP_SEND_FULL, send_full},
	{DROP_PORT_KERNEL, port_kernel},
	{DROP_PORT_FRAME, port_frame_cut_off},
	{DROP_PORT_SEGMENTS, port_segments},
	{DROP_PORT_UNKNOWN, port_unknown},
	{DROP_PORT_HAIRPIN, port_hairpin},
	{DROP_BAD_MESSAGE, bad_message},
	{DROP_NO_IDENTITY, no_identity},
	{DROP_BAD_MAC1, bad_mac1},
	{DROP_HANDSHAKE_QUEUE, handshake_queue},
	{DROP_NEED_COOKIE, need_cookie},
	{DROP_RATE_LIMIT, rate_limit},
	{DROP_BAD_HANDSHAKE, bad_handshake},
	{DROP_UNKNOWN_PEER, unknown_peer},
	{DROP_OLD_TIMESTAMP, old_timestamp},
	{DROP_FLOOD, flood},
	{DROP_BAD_COOKIE, bad_cookie},
	{DROP_UNKNOWN_INDEX, unknown_index},
	{DROP_KEY_EXPIRED, key_expired},
	{DROP_AUTH, auth},
	{DROP_REPLAY, replay},
	{DROP_BAD_INNER, bad_inner},
	{DROP_SPOOFED, spoofed},
	{DROP_PORT_FRAGMENT, port_fragment},
	{DROP_PORT_SOURCE, port_source},
	{DROP_PORT_LOOP, port_loop},
	{DROP_PORT_ECN, port_ecn},
	{DROP_DEVICE_WRITE, refused_by_device},
	{DROP_DEVICE_DOWN, device_down},
};

static const struct trigger *find_trigger(enum drop reason)
{
	for (unsigned i = 0; i < sizeof(triggers) / sizeof(triggers[0]); i++) {
		if (triggers[i].reason == reason)
			return &triggers[i];
	}
	return NULL;
}

static uint64_t counted(const struct sim *sim, enum drop reason)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < sim->n_nodes; i++)
		sum += sim->node[i].lane.self.stats.drop[reason];
	return sum;
}

static void check_drop(enum drop reason, const char *name)
{
	const struct trigger *trigger = find_trigger(reason);
	struct sim *sim;

	if (!trigger)
		fail_msg("nothing here triggers %s", name);
	assert_string_equal(drop_name(reason), name);
	sim = sim_new(1000 + reason, 3);
	sim->eavesdrop = true;
	sim_connect(sim, 0, 1, AF_INET);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_int_equal(sim->flow[0][1].delivered, 1);

	trigger->pull(sim);
	sim_settle(sim);
	for (unsigned i = DROP_NONE + 1; i < N_DROP_REASONS; i++) {
		uint64_t expected = i == (unsigned)reason;

		/* The rest of the queue it filled, of course. */
		if (reason == DROP_HANDSHAKE_QUEUE && i == DROP_UNKNOWN_INDEX)
			expected = HANDSHAKE_QUEUE_LEN;
		if (counted(sim, i) != expected)
			fail_msg("trigger of %s: %s counted %llu times", name, drop_name(i),
				 (unsigned long long)counted(sim, i));
	}
	sim_free(sim);
}

static void test_every_reason(void **state)
{
	(void)state;
#define X(id, name, help) check_drop(DROP_##id, name);
	DROP_LIST(X)
#undef X
}

/* Refused datagrams cost only themselves: the lane goes on when the kernel takes
 * them again. */
static void test_lane_survives_refusals(void **state)
{
	struct sim *sim = sim_new(1, 2);

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	sim->node[0].refuse = sim->node[1].refuse = DROP_SEND;
	sim->node[0].refuse_write = sim->node[1].refuse_write = DROP_DEVICE_WRITE;
	sim_traffic(sim, 0, 1, SIM_PING_LEN, SECOND, 300 * SECOND);
	sim_traffic(sim, 1, 0, SIM_PING_LEN, SECOND, 300 * SECOND);
	sim_run(sim, 100 * SECOND);
	assert_int_equal(sim_peer(sim, 0, 1)->tx_bytes, 0);
	sim->node[0].refuse = sim->node[1].refuse = DROP_NONE;
	sim_run(sim, 100 * SECOND);
	assert_int_equal(sim->node[0].delivered + sim->node[1].delivered, 0);
	assert_true(sim->node[1].lane.self.stats.drop[DROP_DEVICE_WRITE] > 90);
	sim->node[0].refuse_write = sim->node[1].refuse_write = DROP_NONE;
	sim_run(sim, 110 * SECOND);
	assert_true(sim->flow[0][1].delivered >= 99);
	assert_true(sim->flow[1][0].delivered >= 99);
	sim_free(sim);
}

/* A packet that cannot be kept waiting still asks for a session. */
static void test_no_memory_to_stage(void **state)
{
	struct sim *sim = sim_new(2, 2);

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	for (unsigned i = 0; i < 5; i++)
		sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_malloc_failures = 4;
	egress_run(&sim->node[0].lane.self);
	assert_int_equal(sim->node[0].lane.self.stats.drop[DROP_STAGE_MEMORY], 4);
	assert_int_equal(sim->node[0].sent.n[MESSAGE_INITIATION], 1);
	sim_run(sim, SECOND);
	assert_int_equal(sim->flow[0][1].delivered, 1);
	assert_true(sim_delivered(sim, 0, 1, 4));
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_every_reason, sim_teardown),
		cmocka_unit_test_teardown(test_lane_survives_refusals, sim_teardown),
		cmocka_unit_test_teardown(test_no_memory_to_stage, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
