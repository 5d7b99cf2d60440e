/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration socket's half of lane_doc.h. Keys are those of RFC 7748, section
 * 6.1, their base64 is base64(1)'s. */
#include <errno.h>

#include "cli_world.h"

#define ALICE_PRIVATE "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"
#define ALICE_PUBLIC  "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
#define BOB_PUBLIC    "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
#define ALICE_TEXT    "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="
#define BOB_TEXT      "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08="

static void test_device_and_peers(void **state)
{
	char text[] = "private_key=" ALICE_PRIVATE "\n"
		      "listen_port=51820\n"
		      "fwmark=7\n"
		      "public_key=" BOB_PUBLIC "\n"
		      "preshared_key=" ALICE_PRIVATE "\n"
		      "endpoint=[2001:db8::2]:51821\n"
		      "last_handshake_time_sec=1700000000\n"
		      "last_handshake_time_nsec=5\n"
		      "tx_bytes=10\n"
		      "rx_bytes=20\n"
		      "persistent_keepalive_interval=25\n"
		      "allowed_ip=10.9.0.2/32\n"
		      "allowed_ip=fd00::/64\n"
		      "new_key=ignored\n"
		      "public_key=" ALICE_PUBLIC "\n"
		      "rx_bytes=-1\n"
		      "allowed_ip=10.9.0.3/32\n";
	struct wg_doc doc;

	(void)state;
	assert_int_equal(wg_doc_parse(text, &doc), 0);
	assert_true(doc.has_key);
	assert_string_equal(doc.public_key, ALICE_TEXT);
	assert_int_equal(doc.listen_port, 51820);
	assert_int_equal(doc.fwmark, 7);
	assert_int_equal(doc.n_peers, 2);
	assert_string_equal(doc.peers[0].public_key, BOB_TEXT);
	assert_string_equal(doc.peers[0].endpoint, "[2001:db8::2]:51821");
	assert_int_equal(doc.peers[0].last_handshake_s, 1700000000);
	assert_int_equal(doc.peers[0].tx_bytes, 10);
	assert_int_equal(doc.peers[0].rx_bytes, 20);
	assert_int_equal(doc.peers[0].keepalive_s, 25);
	assert_int_equal(doc.peers[0].n_allowed_ips, 2);
	assert_string_equal(doc.peers[0].allowed_ips[0], "10.9.0.2/32");
	assert_string_equal(doc.peers[0].allowed_ips[1], "fd00::/64");
	assert_string_equal(doc.peers[1].public_key, ALICE_TEXT);
	assert_null(doc.peers[1].endpoint);
	assert_int_equal(doc.peers[1].rx_bytes, 0);
	assert_int_equal(doc.peers[1].n_allowed_ips, 1);
	wg_doc_done(&doc);
	wg_doc_done(&doc);
}

static void test_bare(void **state)
{
	char text[] = "listen_port=none\n";
	struct wg_doc doc;

	(void)state;
	assert_int_equal(wg_doc_parse(text, &doc), 0);
	assert_false(doc.has_key);
	assert_int_equal(doc.listen_port, 0);
	assert_int_equal(doc.n_peers, 0);
	wg_doc_done(&doc);
}

static void test_no_keys(void **state)
{
	static const char *const texts[] = {
		"public_key=\n",
		"public_key=" BOB_TEXT "\n",
		"public_key=" BOB_PUBLIC "00\n",
		"public_key=zz9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f\n",
		"private_key=1\n",
		"public_key=" BOB_PUBLIC "\nallowed_ip=1/32\npublic_key=x\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char *text = strdup(texts[i]);
		struct wg_doc doc = {.n_peers = 4711};

		assert_int_equal(wg_doc_parse(text, &doc), -EPROTO);
		assert_int_equal(doc.n_peers, 4711);
		free(text);
	}
}

static void test_many(void **state)
{
	enum { PEERS = 300, PREFIXES = 20 };
	char *text = malloc(PEERS * (100 + PREFIXES * 30)), *to = text;
	struct wg_doc doc;

	(void)state;
	for (int i = 0; i < PEERS; i++) {
		to += sprintf(to, "public_key=%064x\n", i);
		for (int j = 0; j < PREFIXES; j++)
			to += sprintf(to, "allowed_ip=10.%d.%d.0/24\n", i, j);
	}
	assert_int_equal(wg_doc_parse(text, &doc), 0);
	assert_int_equal(doc.n_peers, PEERS);
	for (size_t i = 0; i < PEERS; i++)
		assert_int_equal(doc.peers[i].n_allowed_ips, PREFIXES);
	assert_string_equal(doc.peers[299].allowed_ips[19], "10.299.19.0/24");
	wg_doc_done(&doc);
	free(text);
}

static void test_alive(void **state)
{
	static const struct {
		uint64_t handshake_s;
		int64_t now_s;
		bool want;
	} cases[] = {
		{0, 1700000000, false},
		{1700000000, 1700000000, true},
		{1700000000, 1700000179, true},
		{1700000000, 1700000180, false},
		{1700000000, 1800000000, false},
		{1700000000, 1600000000, true}, /* the clock was set back */
		{0, 100, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct wg_peer peer = {.last_handshake_s = cases[i].handshake_s};
		const struct wg_doc doc = {.peers = &peer, .n_peers = 1};

		assert_int_equal(wg_peer_alive(&peer, cases[i].now_s), cases[i].want);
		assert_int_equal(wg_doc_alive(&doc, cases[i].now_s), cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_device_and_peers),
		cmocka_unit_test(test_bare),
		cmocka_unit_test(test_no_keys),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_alive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
