/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and networks at the edges of what they may be. */
#include "config_text.h"

#define NODE	"node: {name: alpha, tunnel_addresses: [10.10.0.1]}\n"
#define OVERLAY NODE "overlays:\n- {name: o, vni: 1, "
#define PEER	NODE "overlays: [{name: o, vni: 1, addresses: [10.20.0.1/24]}]\npeers:\n"
#define BETA	"- {name: beta, public_key: " CONFIG_KEY1 ", "

/* Each alone, as a network behind a peer on an overlay and as one of its allowed-ips. */
static void test_special_networks(void **state)
{
	static const struct {
		const char *network, *special;
		bool allowed_ip;
	} rows[] = {
		{"127.0.0.0/8", "loopback", false},
		{"127.1.0.0/16", "loopback", false},
		{"::1/128", "loopback", false},
		{"224.0.0.0/4", "multicast", true},
		{"239.1.0.0/16", "multicast", true},
		{"ff00::/8", "multicast", true},
		{"ff02::5/128", "multicast", true},
		{"fe80::/10", "link-local", true},
		{"fe80::/64", "link-local", true},
		{"::ffff:0:0/96", "IPv4 in the form of IPv6", false},
		{"::ffff:10.0.0.0/104", "IPv4 in the form of IPv6", false},
		{"255.255.255.255/32", "broadcast", false},
		{"0.0.0.0/32", "unspecified", false},
		{"::/128", "unspecified", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[512], lines[256];

		snprintf(text, sizeof(text),
			 PEER BETA "tunnel_addresses: [10.10.0.2], overlays: [{name: o,\n"
				   "addresses: [10.20.0.2, \"fd20::2\"], routes: [\"%s\"]}]}",
			 rows[i].network);
		snprintf(lines, sizeof(lines),
			 "F:5: peers[0].overlays[0].routes[0]: \"%s\" is %s; "
			 "allowed: networks of other hosts\n",
			 rows[i].network, rows[i].special);
		config_text_bad(text, strlen(text), lines);
		snprintf(text, sizeof(text), PEER BETA "allowed_ips: [\"%s\"]}", rows[i].network);
		snprintf(lines, sizeof(lines),
			 "F:4: peers[0].allowed_ips[0]: \"%s\" is %s; "
			 "allowed: networks of other hosts\n",
			 rows[i].network, rows[i].special);
		if (rows[i].allowed_ip)
			config_free(config_text_good(text));
		else
			config_text_bad(text, strlen(text), lines);
	}
}

/* What is near to what is refused, or contains it. */
static void test_ordinary_networks(void **state)
{
	static const char *const routes[] = {
		"0.0.0.0/0",   "0.0.0.0/1",   "128.0.0.0/1",   "0.0.0.0/8", "64.0.0.0/2",
		"224.0.0.0/3", "240.0.0.0/4", "128.0.0.0/8",   "::/0",	    "::/1",
		"::2/127",     "fec0::/10",   "::fffe:0:0/96", "fe00::/8",  "169.254.0.0/16",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		char text[512];

		snprintf(text, sizeof(text),
			 PEER BETA "tunnel_addresses: [10.10.0.2], allowed_ips: [\"%s\"],\n"
				   "overlays: [{name: o, addresses: [10.20.0.2, \"fd20::2\"],"
				   "routes: [\"%s\"]}]}",
			 routes[i], routes[i]);
		config_free(config_text_good(text));
	}
}

/* The edges of what an overlay's addresses may be. */
static void test_ordinary_addresses(void **state)
{
	static const char *const rows[][2] = {
		{"10.20.0.0/31", "10.20.0.1"},	 {"10.20.0.255/32", "10.20.0.254"},
		{"10.20.0.1/24", "10.20.1.255"}, {"fe80::1/64", "fe80::2"},
		{"fd20::/64", "fd20::2"},	 {"240.0.0.1/24", "169.254.1.1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[512];

		snprintf(text, sizeof(text),
			 OVERLAY "addresses: [\"%s\"]}\npeers:\n" BETA
				 "tunnel_addresses: [10.10.0.2],\n"
				 "overlays: [{name: o, addresses: [\"%s\"]}]}",
			 rows[i][0], rows[i][1]);
		config_free(config_text_good(text));
	}
	/* IPv4 behind a gateway of IPv6; and bare UDP, which needs none. */
	config_free(config_text_good(PEER BETA
				     "tunnel_addresses: [10.10.0.2], overlays: [{name: o,"
				     "addresses: [\"fd20::2\"], routes: [10.1.0.0/16]}]}"));
	config_free(config_text_good(OVERLAY "type: bareudp}\npeers:\n" BETA
					     "tunnel_addresses: [10.10.0.2], overlays: [{name: o,"
					     "routes: [10.1.0.0/16, \"fd44::/64\"]}]}"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_special_networks),
		cmocka_unit_test(test_ordinary_networks),
		cmocka_unit_test(test_ordinary_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
