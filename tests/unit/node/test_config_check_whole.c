/* SPDX-License-Identifier: Apache-2.0 */
/* Values of node, lane, overlays and peers that do not go together. */
#include "config_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/node/keyfile.h"

#define NODE	 "node: {name: alpha, tunnel_addresses: [10.10.0.1, \"fd10::1\"]}\n"
#define NODE4	 "node: {name: alpha, tunnel_addresses: [10.10.0.1]}\n"
#define OVERLAYS "overlays: [{name: o, vni: 1, addresses: [10.20.0.1/24, \"fd20::1/64\"]}]\n"
#define PEERS                                                                                      \
	"peers:\n- {name: alpha, public_key: hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmg=,"        \
	" tunnel_addresses: [10.10.0.1], endpoint: 192.0.2.1:1}\n"                                 \
	"- {name: beta, public_key: " CONFIG_KEY1 ", tunnel_addresses: [10.10.0.2, \"fd10::2\"],"  \
	" endpoint: 192.0.2.2:1}\n"                                                                \
	"- {name: gamma, public_key: " CONFIG_KEY2 ", tunnel_addresses: [10.10.0.3],\n"

static void expect_bad(const char *text, const char *fault)
{
	char lines[1024];

	snprintf(lines, sizeof(lines), "F:%s\n", fault);
	config_text_bad(text, strlen(text), lines);
}

#define OUTSIDE "; allowed: an address outside of it, or with lane.fwmark and rules"

/* The way to each would be the tunnel itself. This node's own entry counts as nobody. */
static void test_endpoints(void **state)
{
	static const struct {
		const char *endpoint, *fault;
	} rows[] = {
		{"10.10.0.3:51820",
		 "10.10.0.3 is a tunnel address of gamma, which the tunnel itself "
		 "leads to" OUTSIDE},
		{"10.10.0.2:51820",
		 "10.10.0.2 is a tunnel address of beta, which the tunnel itself "
		 "leads to" OUTSIDE},
		{"[fd10::2]:51820", "fd10::2 is a tunnel address of beta, which the tunnel itself "
				    "leads to" OUTSIDE},
		{"10.10.0.1:51820", "10.10.0.1 is a tunnel address of alpha, which the tunnel "
				    "itself leads to" OUTSIDE},
		{"[fd10::1]:51820", "fd10::1 is a tunnel address of alpha, which the tunnel itself "
				    "leads to" OUTSIDE},
		{"10.20.0.77:51820", "10.20.0.77 is in 10.20.0.0/24, which o leads to" OUTSIDE},
		{"[fd20::77]:51820", "fd20::77 is in fd20::/64, which o leads to" OUTSIDE},
		{"10.20.1.1:51820", NULL},
		{"10.10.0.4:51820", NULL},
		{"[fd20:0:0:1::1]:51820", NULL},
		{"127.0.0.1:51820", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[1024], fault[512];

		/* The entry of this node is not in the list any more, but in the count. */
		snprintf(text, sizeof(text), NODE OVERLAYS PEERS "   endpoint: \"%s\"}\n",
			 rows[i].endpoint);
		snprintf(fault, sizeof(fault), "7: peers[2].endpoint: %s",
			 rows[i].fault ? rows[i].fault : "");
		if (rows[i].fault)
			expect_bad(text, fault);
		else
			config_free(config_text_good(text));
		/* With a mark it may be right. */
		snprintf(text, sizeof(text),
			 NODE "lane: {fwmark: 1}\n" OVERLAYS PEERS "   endpoint: \"%s\"}\n",
			 rows[i].endpoint);
		config_free(config_text_good(text));
	}
}

#define BETA(more)                                                                                 \
	"peers:\n- {name: beta, public_key: " CONFIG_KEY1 ", tunnel_addresses: [10.10.0.2], " more \
	"}\n"
#define ON_O(more) BETA("overlays: [{name: o, " more "}]")

static void test_mtus(void **state)
{
	static const struct {
		const char *text, *fault;
	} rows[] = {
		{NODE "lane: {mtu: 1279}", "2: lane.mtu: 1279 is too small for the IPv6 tunnel "
					   "address; allowed: 0, or 1280 to 65535"},
		{NODE "lane: {mtu: 1280}", NULL},
		{NODE4 "lane: {mtu: 1279}", NULL},
		{NODE4 "lane: {mtu: 1279}\n" BETA("allowed_ips: [10.0.0.0/8, \"fd00::/8\"]"),
		 "2: lane.mtu: 1279 is too small for a peer's IPv6 allowed_ips; "
		 "allowed: 0, or 1280 to 65535"},
		{NODE4 "lane: {mtu: 1280}\n" BETA("allowed_ips: [\"fd00::/8\"]"), NULL},
		{NODE4 "lane: {mtu: 1279}\npeers: [{name: b, public_key: " CONFIG_KEY1
		       ", tunnel_addresses: [\"fd10::2\"]}]",
		 "2: lane.mtu: 1279 is too small for a peer's IPv6 tunnel address; "
		 "allowed: 0, or 1280 to 65535"},
		/* A port takes 50 bytes, over IPv6 70; bare UDP 28. */
		{NODE4 "lane:\n  mtu: 1329\n" OVERLAYS,
		 "3: lane.mtu: 1329 leaves 1279 to o, too small for the overlay's IPv6 address; "
		 "allowed: 0, or 1330 to 65535"},
		{NODE4 "lane: {mtu: 1330}\n" OVERLAYS, NULL},
		{NODE "lane: {mtu: 1349}\noverlays: [{name: o, vni: 1, family: ipv6, type: vxlan,"
		      " addresses: [\"fd20::1/64\"]}]",
		 "2: lane.mtu: 1349 leaves 1279 to o, too small for the overlay's IPv6 address; "
		 "allowed: 0, or 1350 to 65535"},
		{NODE4 "lane: {mtu: 1307}\noverlays: [{name: o, vni: 1, type: bareudp,"
		       " addresses: [\"fd20::1/64\"]}]",
		 "2: lane.mtu: 1307 leaves 1279 to o, too small for the overlay's IPv6 address; "
		 "allowed: 0, or 1308 to 65535"},
		{NODE4 "lane: {mtu: 1329}\noverlays: [{name: o, vni: 1}]\n" ON_O(
			 "addresses: [\"fd20::2\"]"),
		 "2: lane.mtu: 1329 leaves 1279 to o, too small for a peer's IPv6 address; "
		 "allowed: 0, or 1330 to 65535"},
		{NODE4 "lane: {mtu: 1329}\noverlays: [{name: o, vni: 1}]\n" ON_O(
			 "addresses: [10.20.0.2], routes: [10.244.2.0/24]"),
		 NULL},
		/* IPv6 on another overlay than the one it is too small for. */
		{NODE4 "lane: {mtu: 1329}\noverlays: [{name: p, vni: 2}, {name: o, vni: 1, mtu: "
		       "1280}]\n" ON_O("addresses: [\"fd20::2\"]"),
		 NULL},
		{NODE4 "overlays:\n- name: o\n  vni: 1\n  type: bareudp\n  mtu: 1279\n" ON_O(
			 "routes: [\"fd44::/64\"]"),
		 "6: overlays[0].mtu: 1279 is too small for a peer's IPv6 route; "
		 "allowed: 0, or 1280 to 65535"},
		{NODE4 "lane: {mtu: 1000}\noverlays:\n- {name: o, vni: 1, mtu: 1279}\n"
		       "- {name: p, vni: 2, mtu: 1280, addresses: [\"fd21::1/64\"]}\n",
		 NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].fault)
			expect_bad(rows[i].text, rows[i].fault);
		else
			config_free(config_text_good(rows[i].text));
	}
}

/* A node that has our key and is not us. Without a key, or one that is ours to read, it
 * cannot be known. */
static void test_own_key(void **state)
{
	char folder[] = "/tmp/sealane-test-XXXXXX", path[64], text[1024], fault[256];
	char key_text[KEY_TEXT_LEN];
	uint8_t private_key[KEY_LEN], public_key[KEY_LEN];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/key", folder);
	key_generate(private_key);
	key_public(private_key, public_key);
	key_format(public_key, key_text);
	snprintf(
		text, sizeof(text),
		"node: {name: alpha, tunnel_addresses: [10.10.0.1], private_key_file: %s}\npeers:\n"
		"- {name: alpha, tunnel_addresses: [10.10.0.1], public_key: %s}\n",
		path, key_text);
	assert_int_equal(keyfile_create(path, private_key), 0);
	config_free(config_text_good(text));
	snprintf(
		text, sizeof(text),
		"node: {name: alpha, tunnel_addresses: [10.10.0.1], private_key_file: %s}\npeers:\n"
		"- {name: beta, public_key: " CONFIG_KEY1 "}\n- {name: gamma,\npublic_key: %s}\n",
		path, key_text);
	snprintf(fault, sizeof(fault),
		 "5: peers[1].public_key: is that of this node's %s; allowed: the peer's", path);
	expect_bad(text, fault);
	assert_int_equal(chmod(path, 0644), 0);
	config_free(config_text_good(text));
	unlink(path);
	config_free(config_text_good(text));
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_endpoints),
		cmocka_unit_test(test_mtus),
		cmocka_unit_test(test_own_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
