/* SPDX-License-Identifier: Apache-2.0 */
/* Under load: floods, cookies and the limit per source (paper 5.3). */
#include "sim.h"

#include <sodium.h>
#include <string.h>

#include "crypto/le.h"

#define SECOND	    NSEC_PER_SEC
#define MILLISECOND NSEC_PER_MSEC

/* More than gets through until the queue is an eighth full. */
enum { FLOOD = 1000 };

static bool has_mac2(const struct sim_datagram *d)
{
	return !sodium_is_zero(d->data + d->len - WG_MAC_LEN, WG_MAC_LEN);
}

static const uint64_t *drops(const struct sim *sim, unsigned node)
{
	return sim->node[node].lane.self.stats.drop;
}

static void flood_1(struct sim *sim, struct sim_event *ev)
{
	(void)ev;
	sim_flood(sim, 1, FLOOD);
}

static void keep_flooding(struct sim *sim, uint64_t duration_ns)
{
	struct sim_event *ev = sim_event_at(sim, sim->now_ns, flood_1);

	ev->period_ns = 900 * MILLISECOND;
	ev->until_ns = sim->now_ns + duration_ns;
}

static void test_handshake_through_cookie(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct sim *sim = sim_new(1, 2);

		sim->eavesdrop = true;
		sim_connect(sim, 0, 1, i ? AF_INET6 : AF_INET);
		keep_flooding(sim, 10 * SECOND);
		sim_run(sim, SECOND / 2);
		assert_true(sim->node[1].lane.self.stats.cookies_sent > 100);
		assert_true(drops(sim, 1)[DROP_BAD_HANDSHAKE] > 0);

		sim_send(sim, 0, 1, SIM_PING_LEN);
		sim_run(sim, SECOND);
		assert_false(has_mac2(sim_recorded(sim, 0, MESSAGE_INITIATION)));
		assert_true(sim_peer(sim, 0, 1)->cookie.have_cookie);
		assert_int_equal(sim->flow[0][1].delivered, 0);

		/* A cookie is no reason for another initiation at once. */
		assert_int_equal(sim->node[0].sent.n[MESSAGE_INITIATION], 1);
		sim_run(sim, 5 * SECOND);
		assert_int_equal(sim->node[0].sent.n[MESSAGE_INITIATION], 2);
		assert_true(has_mac2(sim_recorded(sim, 0, MESSAGE_INITIATION)));
		assert_int_equal(sim->flow[0][1].delivered, 1);
		assert_int_equal(sim->node[1].lane.index.n_used, 1);
		sim_free(sim);
	}
}

/* An answer under load needs a cookie as well. */
static void test_response_under_load(void **state)
{
	struct sim *sim = sim_new(2, 2);

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	keep_flooding(sim, 10 * SECOND);
	sim_run(sim, SECOND / 2);
	sim_send(sim, 1, 0, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_int_equal(sim->node[0].sent.n[MESSAGE_RESPONSE], 1);
	assert_null(sim_peer(sim, 1, 0)->slots.current);
	assert_true(sim_peer(sim, 0, 1)->cookie.have_cookie);
	sim_run(sim, 5 * SECOND);
	assert_int_equal(sim->flow[1][0].delivered, 1);
	sim_free(sim);
}

static void test_no_cookie_without_load(void **state)
{
	struct sim *sim = sim_new(3, 2);

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	/* As many as before, but so that the queue never fills. */
	for (unsigned i = 0; i < 20; i++) {
		sim_flood(sim, 1, 50);
		sim_run(sim, 100 * MILLISECOND);
	}
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	assert_int_equal(sim->flow[0][1].delivered, 1);
	assert_int_equal(sim->node[1].lane.self.stats.cookies_sent, 0);
	assert_int_equal(drops(sim, 1)[DROP_BAD_HANDSHAKE], 1000);
	sim_free(sim);
}

/* Load lasts for one second after the queue was last that full. */
static void test_load_is_sticky(void **state)
{
	const uint64_t ages_ns[] = {SECOND - 2 * MILLISECOND, SECOND};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct sim *sim = sim_new(4, 2);

		sim_connect(sim, 0, 1, AF_INET);
		sim_flood(sim, 1, FLOOD);
		sim_run(sim, ages_ns[i]);
		sim_send(sim, 0, 1, SIM_PING_LEN);
		sim_run(sim, SECOND);
		assert_int_equal(sim->flow[0][1].delivered, i);
		sim_free(sim);
	}
}

static void test_cookie_used_for_115s(void **state)
{
	struct sim *sim = sim_new(5, 2);
	uint64_t cookie_ns;

	(void)state;
	sim->eavesdrop = true;
	sim_connect(sim, 0, 1, AF_INET);
	sim_flood(sim, 1, FLOOD);
	sim_settle(sim);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, 3 * MILLISECOND);
	assert_true(sim_peer(sim, 0, 1)->cookie.have_cookie);
	cookie_ns = sim_peer(sim, 0, 1)->cookie.cookie_birth_ns;

	/* Only its age counts, not whether the other side still asks for it. */
	sim_run(sim, cookie_ns + 115 * SECOND - 1 - sim->now_ns);
	lane_refresh_clock(&sim->node[0].lane);
	handshake_initiate(&sim->node[0].lane, sim_peer(sim, 0, 1), false);
	assert_true(has_mac2(sim_recorded(sim, 0, MESSAGE_INITIATION)));
	sim_run(sim, 6 * SECOND);
	lane_refresh_clock(&sim->node[0].lane);
	handshake_initiate(&sim->node[0].lane, sim_peer(sim, 0, 1), false);
	assert_false(has_mac2(sim_recorded(sim, 0, MESSAGE_INITIATION)));
	sim_free(sim);
}

/* A stranger at his own address who does everything right but has no key. */
struct stranger {
	struct sim *sim;
	struct endpoint address;
	struct cookie_maker maker;
};

static void stranger_init(struct stranger *s, struct sim *sim, const struct endpoint *address)
{
	s->sim = sim;
	s->address = *address;
	cookie_maker_init(&s->maker, sim->node[1].public_key);
}

/* Forged content, right macs as of @now_ns. */
static void knock(struct stranger *s, uint64_t now_ns)
{
	struct message_initiation msg;

	sim_forge_initiation(s->sim, 1, &msg);
	cookie_add_macs(&s->maker, now_ns, (uint8_t *)&msg, sizeof(msg));
	sim_inject(s->sim, 1, &s->address, &msg, sizeof(msg));
	sim_settle(s->sim);
}

static void take_cookie(struct stranger *s)
{
	const struct sim_datagram *d = sim_recorded(s->sim, 1, MESSAGE_COOKIE_REPLY);

	assert_true(endpoint_same_dst(&d->dst, &s->address));
	assert_true(cookie_consume_reply(&s->maker, s->sim->now_ns, (const void *)d->data));
}

static void test_secret_lasts_120s(void **state)
{
	struct sim *sim = sim_new(6, 2);
	struct endpoint address = sim_endpoint(AF_INET, 77, 5555);
	struct stranger s;
	uint64_t start_ns = sim->now_ns, bad, need;

	(void)state;
	sim->eavesdrop = true;
	stranger_init(&s, sim, &address);
	sim_flood(sim, 1, FLOOD);
	sim_settle(sim); /* the first cookie reply draws the secret */
	knock(&s, sim->now_ns);
	take_cookie(&s);
	assert_int_equal(sim->node[1].lane.cookie_checker.secret_birth_ns, start_ns);

	sim_run(sim, start_ns + 120 * SECOND - 1 - sim->now_ns);
	sim->node[1].lane.loaded_until_ns = sim->now_ns + SECOND;
	bad = drops(sim, 1)[DROP_BAD_HANDSHAKE];
	knock(&s, start_ns);
	assert_int_equal(drops(sim, 1)[DROP_BAD_HANDSHAKE], bad + 1);

	sim_run(sim, 1);
	need = drops(sim, 1)[DROP_NEED_COOKIE];
	knock(&s, start_ns);
	assert_int_equal(drops(sim, 1)[DROP_NEED_COOKIE], need + 1);
	sim_free(sim);
}

/* The cookie is for one address and port. */
static void test_cookie_binds_address_and_port(void **state)
{
	const struct endpoint others[] = {
		sim_endpoint(AF_INET, 78, 5555),
		sim_endpoint(AF_INET, 77, 5556),
		sim_endpoint(AF_INET6, 77, 5555),
	};
	struct sim *sim = sim_new(7, 2);
	struct endpoint address = sim_endpoint(AF_INET, 77, 5555);
	struct stranger s;

	(void)state;
	sim->eavesdrop = true;
	stranger_init(&s, sim, &address);
	sim_flood(sim, 1, FLOOD);
	sim_settle(sim);
	knock(&s, sim->now_ns);
	take_cookie(&s);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t need = drops(sim, 1)[DROP_NEED_COOKIE];

		s.address = others[i];
		knock(&s, sim->now_ns);
		assert_int_equal(drops(sim, 1)[DROP_NEED_COOKIE], need + 1);
	}
	sim_free(sim);
}

static void test_rate_limit(void **state)
{
	struct sim *sim = sim_new(8, 2);
	struct endpoint address = sim_endpoint(AF_INET, 77, 5555);
	uint64_t bad, cookies;
	struct stranger s;

	(void)state;
	sim->eavesdrop = true;
	stranger_init(&s, sim, &address);
	sim_flood(sim, 1, FLOOD);
	sim_settle(sim);
	knock(&s, sim->now_ns);
	take_cookie(&s);

	/* A burst of five, then one every 50 ms; no further cookies. */
	bad = drops(sim, 1)[DROP_BAD_HANDSHAKE];
	cookies = sim->node[1].lane.self.stats.cookies_sent;
	for (unsigned i = 0; i < 8; i++)
		knock(&s, sim->now_ns);
	assert_int_equal(drops(sim, 1)[DROP_BAD_HANDSHAKE], bad + 5);
	assert_int_equal(drops(sim, 1)[DROP_RATE_LIMIT], 3);
	sim_run(sim, 50 * MILLISECOND);
	knock(&s, sim->now_ns);
	knock(&s, sim->now_ns);
	assert_int_equal(drops(sim, 1)[DROP_BAD_HANDSHAKE], bad + 6);
	assert_int_equal(drops(sim, 1)[DROP_RATE_LIMIT], 4);
	assert_int_equal(sim->node[1].lane.self.stats.cookies_sent, cookies);

	/* Without load nobody counts. */
	sim_run(sim, 2 * SECOND);
	for (unsigned i = 0; i < 30; i++)
		knock(&s, sim->now_ns);
	assert_int_equal(drops(sim, 1)[DROP_BAD_HANDSHAKE], bad + 36);
	sim_free(sim);
}

/* A cookie reply is no authenticated traffic: no roaming, no timer, no bytes; and
 * only one is taken for one message. */
static void test_cookie_reply_changes_only_the_cookie(void **state)
{
	struct endpoint at;
	struct sim *sim = sim_new(9, 2);
	struct endpoint elsewhere = sim_endpoint(AF_INET, 99, 1);
	const struct sim_datagram *reply;
	struct timers timers;
	struct peer *peer;

	(void)state;
	sim->eavesdrop = true;
	sim_connect(sim, 0, 1, AF_INET);
	peer = sim_peer(sim, 0, 1);
	sim->link[1][0].drop = 1000;
	keep_flooding(sim, SECOND);
	sim_settle(sim);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, 100 * MILLISECOND);
	timers = peer->timers;
	assert_false(peer->cookie.have_cookie);

	reply = sim_recorded(sim, 1, MESSAGE_COOKIE_REPLY);
	sim_inject(sim, 0, &elsewhere, reply->data, reply->len);
	sim_settle(sim);
	assert_true(peer->cookie.have_cookie);
	at = peer_endpoint(peer);
	assert_true(endpoint_same_dst(&at, &sim->node[1].addr[0]));
	assert_memory_equal(&peer->timers, &timers, sizeof(timers));
	assert_int_equal(peer->rx_bytes, 0);

	sim_inject(sim, 0, &elsewhere, reply->data, reply->len);
	sim_settle(sim);
	assert_int_equal(drops(sim, 0)[DROP_BAD_COOKIE], 1);
	sim_free(sim);
}

/* Data of those who have a session goes on through a flood. */
static void test_data_during_flood(void **state)
{
	struct sim *sim = sim_new(10, 2);

	(void)state;
	sim_connect(sim, 0, 1, AF_INET);
	sim_send(sim, 0, 1, SIM_PING_LEN);
	sim_run(sim, SECOND);
	keep_flooding(sim, 30 * SECOND);
	sim_traffic(sim, 0, 1, SIM_PING_LEN, 50 * MILLISECOND, 30 * SECOND);
	sim_traffic(sim, 1, 0, SIM_PING_LEN, 50 * MILLISECOND, 30 * SECOND);
	sim_run(sim, 31 * SECOND);
	assert_int_equal(sim->flow[0][1].delivered, 601);
	assert_int_equal(sim->flow[1][0].delivered, 600);
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_handshake_through_cookie, sim_teardown),
		cmocka_unit_test_teardown(test_response_under_load, sim_teardown),
		cmocka_unit_test_teardown(test_no_cookie_without_load, sim_teardown),
		cmocka_unit_test_teardown(test_load_is_sticky, sim_teardown),
		cmocka_unit_test_teardown(test_cookie_used_for_115s, sim_teardown),
		cmocka_unit_test_teardown(test_secret_lasts_120s, sim_teardown),
		cmocka_unit_test_teardown(test_cookie_binds_address_and_port, sim_teardown),
		cmocka_unit_test_teardown(test_rate_limit, sim_teardown),
		cmocka_unit_test_teardown(test_cookie_reply_changes_only_the_cookie, sim_teardown),
		cmocka_unit_test_teardown(test_data_during_flood, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
