/* SPDX-License-Identifier: Apache-2.0 */
/* Values that are refused, each with its line, its key and the words about it. */
#include "config_text.h"

#define NODE	"node: {name: alpha, tunnel_addresses: [10.10.0.1]}\n"
#define OVERLAY NODE "overlays:\n- {name: o, vni: 1, "
#define PEER	NODE "overlays: [{name: o, vni: 1, addresses: [10.20.0.1/24]}]\npeers:\n"
#define BETA	"- {name: beta, public_key: " CONFIG_KEY1 ", "
#define GAMMA	"- {name: gamma, public_key: " CONFIG_KEY2 ", "

struct row {
	const char *text, *fault; /* without "F:" and the newline */
};

static void expect_refusals(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char lines[1024];

		snprintf(lines, sizeof(lines), "F:%s\n", rows[i].fault);
		config_text_bad(rows[i].text, strlen(rows[i].text), lines);
	}
}

#define REFUSALS(rows) expect_refusals(rows, sizeof(rows) / sizeof((rows)[0]))

#define NAME_RULE   "allowed: 1 to 63 letters, digits and signs of ASCII without blanks"
#define TUNNEL_RULE "allowed: up to one IPv4 and one IPv6 address of a host, without /N"
#define LISTEN_RULE "allowed: ADDRESS:PORT, \"[IPv6 ADDRESS]:PORT\" or off"

static void test_node(void **state)
{
	static const struct row rows[] = {
		{"", "1: node.tunnel_addresses: is missing; allowed: no default, give a value"},
		{"\n\nnode: {name: x}\n",
		 "3: node.tunnel_addresses: is missing; allowed: no default, give a value"},
		{"node:\n  tunnel_addresses: []\n",
		 "2: node.tunnel_addresses: is missing; allowed: no default, give a value"},
		{"node:\n  tunnel_addresses:\n  - 10.0.0.1\n  - 10.0.0.2\n",
		 "4: node.tunnel_addresses[1]: \"10.0.0.2\" is a second IPv4 "
		 "address; " TUNNEL_RULE},
		{"node: {tunnel_addresses: [\"fd00::1\", \"fd00::1\"]}",
		 "1: node.tunnel_addresses[1]: \"fd00::1\" is a second IPv6 address; " TUNNEL_RULE},
		{"node: {tunnel_addresses: [10.0.0.1/24]}",
		 "1: node.tunnel_addresses[0]: \"10.0.0.1/24\" is no IP address; " TUNNEL_RULE},
		{"node: {tunnel_addresses: [224.0.0.1]}",
		 "1: node.tunnel_addresses[0]: \"224.0.0.1\" is no address of a "
		 "host; " TUNNEL_RULE},
		{"node: {tunnel_addresses: [\"::1\"]}",
		 "1: node.tunnel_addresses[0]: \"::1\" is no address of a host; " TUNNEL_RULE},
		{"node: {tunnel_addresses: [127.0.0.1]}",
		 "1: node.tunnel_addresses[0]: \"127.0.0.1\" is no address of a "
		 "host; " TUNNEL_RULE},
		{"node: {tunnel_addresses: [\"ff02::1\"]}",
		 "1: node.tunnel_addresses[0]: \"ff02::1\" is no address of a host; " TUNNEL_RULE},
		{"node: {tunnel_addresses: [\"::\"]}",
		 "1: node.tunnel_addresses[0]: \"::\" is no address of a host; " TUNNEL_RULE},
		{"node: {tunnel_addresses: [\"fe80::1\"]}",
		 "1: node.tunnel_addresses[0]: \"fe80::1\" is link-local, which every link "
		 "has; " TUNNEL_RULE},
		{"node: {tunnel_addresses: [\"::ffff:10.0.0.1\"]}",
		 "1: node.tunnel_addresses[0]: \"::ffff:10.0.0.1\" is an IPv4 address in the form "
		 "of IPv6; " TUNNEL_RULE},
		{"node: {tunnel_addresses: [0.0.0.0]}",
		 "1: node.tunnel_addresses[0]: \"0.0.0.0\" is no address of a host; " TUNNEL_RULE},
		{"node: {tunnel_addresses: [10.0.0.1], name: a b}",
		 "1: node.name: \"a b\" has a blank or another character that no name "
		 "has; " NAME_RULE},
		{"node: {tunnel_addresses: [10.0.0.1], name: \"\"}",
		 "1: node.name: \"\" is empty; " NAME_RULE},
		{"node: {tunnel_addresses: [10.0.0.1], name: "
		 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}",
		 "1: node.name: \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		 "...\" is too long; " NAME_RULE},
		{"node:\n  tunnel_addresses: [10.0.0.1]\n  listen_port: 65536\n",
		 "3: node.listen_port: \"65536\" is out of range; allowed: 0 to 65535"},
		{"node: {tunnel_addresses: [10.0.0.1], listen_port: 99999999999999999999}",
		 "1: node.listen_port: \"99999999999999999999\" is out of range; "
		 "allowed: 0 to 65535"},
		{"node: {tunnel_addresses: [10.0.0.1], listen_port: 18446744073709551617}",
		 "1: node.listen_port: \"18446744073709551617\" is out of range; "
		 "allowed: 0 to 65535"},
		{"node: {tunnel_addresses: [255.255.255.255]}",
		 "1: node.tunnel_addresses[0]: \"255.255.255.255\" is no address of a "
		 "host; " TUNNEL_RULE},
		{"node: {tunnel_addresses: [10.0.0.1], listen_port: -1}",
		 "1: node.listen_port: \"-1\" is no decimal number; allowed: 0 to 65535"},
		{"node: {tunnel_addresses: [10.0.0.1], listen_port: 0x10}",
		 "1: node.listen_port: \"0x10\" is no decimal number; allowed: 0 to 65535"},
		{"node: {tunnel_addresses: [10.0.0.1], listen_port: 010}",
		 "1: node.listen_port: \"010\" is no decimal number; allowed: 0 to 65535"},
		{"node: {tunnel_addresses: [10.0.0.1], listen_port: \"\"}",
		 "1: node.listen_port: \"\" is no decimal number; allowed: 0 to 65535"},
		{"node: {tunnel_addresses: [10.0.0.1], private_key_file: key}",
		 "1: node.private_key_file: \"key\" does not begin with /; "
		 "allowed: an absolute path of up to 255 bytes"},
	};

	(void)state;
	REFUSALS(rows);
}

#define TAKEN_NAME  "is a name that the kernel keeps for itself; allowed: another name"
#define IFNAME_RULE "allowed: 1 to 15 characters without blanks, /, : and %"

static void test_lane_and_rest(void **state)
{
	static const struct row rows[] = {
		{NODE "lane: {interface: sixteen--letters}",
		 "2: lane.interface: \"sixteen--letters\" is too long for a device; " IFNAME_RULE},
		{NODE "lane: {interface: \"\"}", "2: lane.interface: \"\" is empty; " IFNAME_RULE},
		{NODE "lane: {interface: a/b}",
		 "2: lane.interface: \"a/b\" is no name of a device; " IFNAME_RULE},
		{NODE "lane: {interface: a b}",
		 "2: lane.interface: \"a b\" is no name of a device; " IFNAME_RULE},
		{NODE "lane: {interface: \"a\\nb\"}",
		 "2: lane.interface: \"a?b\" is no name of a device; " IFNAME_RULE},
		{NODE "lane: {interface: 'a:b'}",
		 "2: lane.interface: \"a:b\" is no name of a device; " IFNAME_RULE},
		{NODE "lane: {interface: wg%d}",
		 "2: lane.interface: \"wg%d\" is no name of a device; " IFNAME_RULE},
		{NODE "lane: {interface: .}",
		 "2: lane.interface: \".\" is no name of a device; " IFNAME_RULE},
		{NODE "lane: {interface: ..}",
		 "2: lane.interface: \"..\" is no name of a device; " IFNAME_RULE},
		{NODE "lane: {interface: lo}", "2: lane.interface: \"lo\" " TAKEN_NAME},
		{NODE "lane: {interface: all}", "2: lane.interface: \"all\" " TAKEN_NAME},
		{NODE "lane: {interface: default}", "2: lane.interface: \"default\" " TAKEN_NAME},
		{NODE "lane: {interface: \"\\xe9\"}",
		 "2: lane.interface: \"??\" is no name of a device; " IFNAME_RULE},
		{NODE "lane: {start: yes}",
		 "2: lane.start: \"yes\" is none of its words; allowed: auto, always, never"},
		{NODE "lane: {fwmark: 0x100000000}",
		 "2: lane.fwmark: \"0x100000000\" is out of range; allowed: 0x0 to 0xffffffff"},
		{NODE "lane: {fwmark: 4294967296}",
		 "2: lane.fwmark: \"4294967296\" is out of range; allowed: 0 to 4294967295"},
		{NODE "lane: {fwmark: 0x}",
		 "2: lane.fwmark: \"0x\" is no hexadecimal number; allowed: 0x0 to 0xffffffff"},
		{NODE "lane: {mtu: 575}",
		 "2: lane.mtu: \"575\" is out of range; allowed: 0, or 576 to 65535"},
		{NODE "lane: {mtu: 65536}",
		 "2: lane.mtu: \"65536\" is out of range; allowed: 0, or 576 to 65535"},
		{CONFIG_NODE "lane: {mtu: 1279}", "2: lane.mtu: 1279 is too small for the IPv6 "
						  "tunnel address; allowed: 0, or 1280 to 65535"},
		{NODE "lane: {program: sealaned}",
		 "2: lane.program: \"sealaned\" does not begin with /; "
		 "allowed: an absolute path of up to 255 bytes"},
		{NODE "log_level: trace",
		 "2: log_level: \"trace\" is none of its words; allowed: error, info, debug"},
		{NODE "http: {listen: 9586}", "2: http.listen: \"9586\" has no port; " LISTEN_RULE},
		{NODE "http: {listen: localhost:80}",
		 "2: http.listen: \"localhost:80\" has no IP address (names are not looked "
		 "up); " LISTEN_RULE},
		{NODE "http: {listen: '[fe80::1]:80'}",
		 "2: http.listen: \"[fe80::1]:80\" has a link-local address, which would need a "
		 "zone; " LISTEN_RULE},
		{NODE "http: {listen: 127.0.0.1:0}",
		 "2: http.listen: \"127.0.0.1:0\" has a port that is not 1 to 65535; " LISTEN_RULE},
	};

	(void)state;
	REFUSALS(rows);
}

#define OWN_RULE "allowed: ADDRESS/LENGTH, the address being a host's"
#define MAC_RULE "allowed: six pairs of hexadecimal digits with colons between, unicast"

static void test_overlay(void **state)
{
	static const struct row rows[] = {
		{NODE "overlays:\n- {vni: 1}\n",
		 "3: overlays[0].name: is missing; allowed: no default, give a value"},
		{NODE "overlays:\n- name: o\n  type: bareudp\n",
		 "3: overlays[0].vni: is missing; allowed: no default, give a value"},
		{NODE "overlays:\n- name: o\n  vni: 16777216\n",
		 "4: overlays[0].vni: \"16777216\" is out of range; allowed: 0 to 16777215"},
		{OVERLAY "type: vlan}", "3: overlays[0].type: \"vlan\" is none of its words; "
					"allowed: port, vxlan, geneve, bareudp"},
		{OVERLAY "udp_port: 0}",
		 "3: overlays[0].udp_port: \"0\" is out of range; allowed: 1 to 65535"},
		{OVERLAY "type: vxlan, udp_port: 51820}",
		 "3: overlays[0].udp_port: 51820 is node.listen_port; allowed: another port"},
		{OVERLAY "family: inet}",
		 "3: overlays[0].family: \"inet\" is none of its words; allowed: ipv4, ipv6"},
		{OVERLAY "family: ipv6}", "3: overlays[0].family: this node has no IPv6 tunnel "
					  "address to carry it; allowed: ipv4"},
		{"node: {tunnel_addresses: [\"fd00::1\"]}\noverlays: [{name: o, vni: 1}]",
		 "2: overlays[0].family: this node has no IPv4 tunnel address to carry it; "
		 "allowed: ipv6"},
		{OVERLAY "mtu: 575}",
		 "3: overlays[0].mtu: \"575\" is out of range; allowed: 0, or 576 to 65535"},
		{OVERLAY "mtu: 1279, addresses: [10.0.0.1/24, \"fd20::1/64\"]}",
		 "3: overlays[0].mtu: 1279 is too small for the overlay's IPv6 address; "
		 "allowed: 0, or 1280 to 65535"},
		{OVERLAY "ttl: 0}", "3: overlays[0].ttl: \"0\" is out of range; allowed: 1 to 255"},
		{OVERLAY "ttl: 256}",
		 "3: overlays[0].ttl: \"256\" is out of range; allowed: 1 to 255"},
		{NODE "overlays:\n- {name: slport0, vni: 1, type: vxlan}\n",
		 "3: overlays[0].name: \"slport0\" is how lanes name their ends of ports; "
		 "allowed: another name"},
		{NODE "overlays:\n- {name: slport117, vni: 1}\n",
		 "3: overlays[0].name: \"slport117\" is how lanes name their ends of ports; "
		 "allowed: another name"},
		{NODE "lane: {interface: slport3}\n",
		 "2: lane.interface: \"slport3\" is how lanes name their ends of ports; "
		 "allowed: another name"},
		{OVERLAY "checksum: true}",
		 "3: overlays[0].checksum: \"true\" is none of its words; allowed: auto, on, off"},
		{OVERLAY "learning: yes}",
		 "3: overlays[0].learning: \"yes\" is neither; allowed: true or false"},
		{OVERLAY "flood: True}",
		 "3: overlays[0].flood: \"True\" is neither; allowed: true or false"},
		{OVERLAY "mac: 02:00:00:00:00}",
		 "3: overlays[0].mac: \"02:00:00:00:00\" is no MAC address; " MAC_RULE},
		{OVERLAY "mac: 02-00-00-00-00-01}",
		 "3: overlays[0].mac: \"02-00-00-00-00-01\" is no MAC address; " MAC_RULE},
		{OVERLAY "mac: 02:00:00:00:00:0g}",
		 "3: overlays[0].mac: \"02:00:00:00:00:0g\" is no MAC address; " MAC_RULE},
		{OVERLAY "mac: 03:00:00:00:00:01}", "3: overlays[0].mac: \"03:00:00:00:00:01\" is "
						    "no MAC address of one device; " MAC_RULE},
		{OVERLAY "mac: 00:00:00:00:00:00}", "3: overlays[0].mac: \"00:00:00:00:00:00\" is "
						    "no MAC address of one device; " MAC_RULE},
		{OVERLAY "gso_max_size: 65535}", "3: overlays[0].gso_max_size: \"65535\" is out "
						 "of range; allowed: 0, or 65536 to 196608"},
		{OVERLAY "gso_max_size: 196609}", "3: overlays[0].gso_max_size: \"196609\" is out "
						  "of range; allowed: 0, or 65536 to 196608"},
		{OVERLAY "fdb_limit: 0}",
		 "3: overlays[0].fdb_limit: \"0\" is out of range; allowed: 1 to 1048576"},
		{NODE "overlays: [{name: sealane0, vni: 1}]", "2: overlays[0].name: \"sealane0\" "
							      "is the lane's interface; "
							      "allowed: another name"},
		{NODE "overlays: [{name: all, vni: 1}]",
		 "2: overlays[0].name: \"all\" " TAKEN_NAME},
		{NODE "lane: {interface: agent}", "2: lane.interface: \"agent\" is the agent's "
						  "own; allowed: another name"},
	};

	(void)state;
	REFUSALS(rows);
}

static void test_overlay_addresses(void **state)
{
	static const struct row rows[] = {
		{OVERLAY "addresses: [10.0.0.1]}",
		 "3: overlays[0].addresses[0]: \"10.0.0.1\" has no length; " OWN_RULE},
		{OVERLAY "addresses: [10.0.0.1/33]}",
		 "3: overlays[0].addresses[0]: \"10.0.0.1/33\" is no IP address with its "
		 "length; " OWN_RULE},
		{OVERLAY "addresses: [127.0.0.1/8]}",
		 "3: overlays[0].addresses[0]: \"127.0.0.1/8\" is no address of a host; " OWN_RULE},
		{OVERLAY "addresses: [10.0.0.0/24]}",
		 "3: overlays[0].addresses[0]: \"10.0.0.0/24\" is the network and not an address "
		 "in it; " OWN_RULE},
		{OVERLAY "addresses: [10.0.3.255/22]}",
		 "3: overlays[0].addresses[0]: \"10.0.3.255/22\" is the broadcast address of its "
		 "network; " OWN_RULE},
		{OVERLAY "addresses: [224.0.0.5/24]}",
		 "3: overlays[0].addresses[0]: \"224.0.0.5/24\" is no address of a "
		 "host; " OWN_RULE},
		{OVERLAY "addresses: [\"::ffff:10.0.0.1/120\"]}",
		 "3: overlays[0].addresses[0]: \"::ffff:10.0.0.1/120\" is an IPv4 address in the "
		 "form of IPv6; " OWN_RULE},
		{OVERLAY "addresses: [10.0.0.1/24, 10.0.0.2/24, 10.0.0.1/32]}",
		 "3: overlays[0].addresses[2]: 10.0.0.1 is given a second time; allowed: once"},
	};

	(void)state;
	REFUSALS(rows);
	config_free(config_text_good(
		NODE "overlays: [{name: slport, vni: 1}, {name: slport1a, vni: 2}]"));
}

static void test_keys_of_types(void **state)
{
	static const struct row rows[] = {
		{OVERLAY "type: vxlan, learning: false}", "3: overlays[0].learning: a vxlan has no "
							  "such setting; allowed: with type port"},
		{OVERLAY "type: geneve, answer_neighbours: true}",
		 "3: overlays[0].answer_neighbours: a geneve has no such setting; "
		 "allowed: with type port"},
		{OVERLAY "type: bareudp, fdb_limit: 5}",
		 "3: overlays[0].fdb_limit: a bareudp has no such setting; allowed: with type "
		 "port"},
		{OVERLAY "type: bareudp, mac: 02:00:00:00:00:01}",
		 "3: overlays[0].mac: a bareudp has no such setting; "
		 "allowed: with type port vxlan geneve"},
		{OVERLAY "type: bareudp, flood: true}",
		 "3: overlays[0].flood: a bareudp has no such setting; "
		 "allowed: with type port vxlan geneve"},
	};

	(void)state;
	REFUSALS(rows);
	config_free(
		config_text_good(OVERLAY "type: geneve, mac: 02:00:00:00:00:01, flood: false}"));
}

#define OWN_NETWORK "allowed: a network of its own"

static void test_overlay_pairs(void **state)
{
	static const struct row rows[] = {
		{NODE "overlays:\n- {name: o, vni: 1}\n- {name: o, vni: 2}\n",
		 "4: overlays[1].name: \"o\" is overlays[0]'s, too; allowed: a name of its own"},
		{NODE "overlays:\n- {name: o, vni: 1}\n- {name: p, vni: 1}\n",
		 "4: overlays[1].vni: o has the same VNI, UDP port and type; "
		 "allowed: a VNI of its own"},
		{NODE "overlays:\n- {name: o, vni: 1}\n- {name: p, vni: 2, type: vxlan}\n",
		 "4: overlays[1].udp_port: 4789 is o's, a port over IPv4, too; "
		 "allowed: a port of its own"},
		{NODE "overlays:\n- {name: o, vni: 1, type: bareudp}\n"
		      "- {name: p, vni: 2, type: bareudp}\n",
		 "4: overlays[1].udp_port: 6635 is o's, a bareudp over IPv4, too; "
		 "allowed: a port of its own"},
		/* The same network, one within the other either way, and IPv6. */
		{NODE "overlays:\n- {name: o, vni: 1, addresses: [10.20.0.1/24]}\n"
		      "- {name: p, vni: 2, addresses: [10.21.0.1/24, 10.20.0.2/24]}\n",
		 "4: overlays[1].addresses[1]: 10.20.0.0/24 is in the network of another overlay "
		 "(10.20.0.0/24 on o); " OWN_NETWORK},
		{NODE "overlays:\n- {name: o, vni: 1, addresses: [10.20.0.1/16]}\n"
		      "- {name: p, vni: 2, addresses: [10.20.9.1/24]}\n",
		 "4: overlays[1].addresses[0]: 10.20.9.0/24 is in the network of another overlay "
		 "(10.20.0.0/16 on o); " OWN_NETWORK},
		{NODE "overlays:\n- {name: o, vni: 1, addresses: [10.20.9.1/24]}\n"
		      "- {name: p, vni: 2, addresses: [10.20.0.1/16]}\n",
		 "4: overlays[1].addresses[0]: 10.20.0.0/16 is in the network of another overlay "
		 "(10.20.9.0/24 on o); " OWN_NETWORK},
		{NODE "overlays:\n- {name: o, vni: 1, addresses: [\"fd20::1/64\"]}\n"
		      "- {name: p, vni: 2, addresses: [10.21.0.1/24, \"fd20::2/64\"]}\n",
		 "4: overlays[1].addresses[1]: fd20::/64 is in the network of another overlay "
		 "(fd20::/64 on o); " OWN_NETWORK},
	};

	(void)state;
	REFUSALS(rows);
	config_free(config_text_good(
		NODE "overlays: [{name: o, vni: 1, addresses: [\"fe80::1/64\", 10.20.0.1/24]}, "
		     "{name: p, vni: 2, addresses: [\"fe80::1/64\", 10.20.1.1/24]}]"));
	config_free(config_text_good(CONFIG_NODE
				     "overlays: [{name: o, vni: 1, type: vxlan}, {name: p, vni: 2, "
				     "type: port, family: ipv6}]"));
}

#define KEY_FAULT                                                                                  \
	"the value is no key; allowed: 44 characters as 'sealane pubkey' or 'wg pubkey' write "    \
	"them"
#define ENDPOINT_RULE "allowed: ADDRESS:PORT or \"[IPv6 ADDRESS]:PORT\""
#define NO_NAMES      "has no IP address (names are not looked up); "

static void test_peer(void **state)
{
	static const struct row rows[] = {
		{PEER "- public_key: " CONFIG_KEY1,
		 "4: peers[0].name: is missing; allowed: no default, give a value"},
		{PEER "- name: b", "4: peers[0].public_key: is missing; "
				   "allowed: no default, give a value"},
		{PEER "- {name: b, public_key: hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTm=}",
		 "4: peers[0].public_key: " KEY_FAULT},
		{PEER "- {name: b, public_key: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=}",
		 "4: peers[0].public_key: " KEY_FAULT},
		{PEER BETA "preshared_key_file: x}",
		 "4: peers[0].preshared_key_file: \"x\" does not begin with /; "
		 "allowed: an absolute path of up to 255 bytes"},
		{PEER BETA "endpoint: beta.example:51820}",
		 "4: peers[0].endpoint: \"beta.example:51820\" " NO_NAMES ENDPOINT_RULE},
		{PEER BETA "endpoint: 192.0.2.1}",
		 "4: peers[0].endpoint: \"192.0.2.1\" has no port; " ENDPOINT_RULE},
		{PEER BETA "endpoint: \"2001:db8::1:51820\"}",
		 "4: peers[0].endpoint: \"2001:db8::1:51820\" has an IPv6 address without "
		 "brackets; " ENDPOINT_RULE},
		{PEER BETA "endpoint: \"[192.0.2.1]:51820\"}",
		 "4: peers[0].endpoint: \"[192.0.2.1]:51820\" " NO_NAMES ENDPOINT_RULE},
		{PEER BETA "endpoint: \"[2001:db8::1]51820\"}",
		 "4: peers[0].endpoint: \"[2001:db8::1]51820\" has no port; " ENDPOINT_RULE},
		{PEER BETA "endpoint: \"[fe80::1%eth0]:51820\"}",
		 "4: peers[0].endpoint: \"[fe80::1%eth0]:51820\" has a zone; " ENDPOINT_RULE},
		{PEER BETA "endpoint: 192.0.2.1:0}", "4: peers[0].endpoint: \"192.0.2.1:0\" has a "
						     "port that is not 1 to 65535; " ENDPOINT_RULE},
		{PEER BETA "endpoint: 192.0.2.1:65536}",
		 "4: peers[0].endpoint: \"192.0.2.1:65536\" has a port that is not 1 to "
		 "65535; " ENDPOINT_RULE},
		{PEER BETA "endpoint: 0.0.0.0:1}", "4: peers[0].endpoint: \"0.0.0.0:1\" has an "
						   "address that is no host's; " ENDPOINT_RULE},
		{PEER BETA "endpoint: \"[fe80::1]:1\"}",
		 "4: peers[0].endpoint: \"[fe80::1]:1\" has a link-local address, which would "
		 "need a zone; " ENDPOINT_RULE},
		{PEER BETA "endpoint: \"[::ffff:192.0.2.1]:1\"}",
		 "4: peers[0].endpoint: \"[::ffff:192.0.2.1]:1\" has an IPv4 address in the form "
		 "of IPv6; " ENDPOINT_RULE},
		{PEER BETA "endpoint: \"[ff02::1]:1\"}",
		 "4: peers[0].endpoint: \"[ff02::1]:1\" has an address that is no "
		 "host's; " ENDPOINT_RULE},
		{PEER BETA "endpoint: a-very-long-name-of-a-host-that-is-no-address-at-all:1}",
		 "4: peers[0].endpoint: "
		 "\"a-very-long-name-of-a-host-that-is-no-address-at-all:1\" " NO_NAMES
			 ENDPOINT_RULE},
		{PEER BETA "keepalive_s: 65536}",
		 "4: peers[0].keepalive_s: \"65536\" is out of range; allowed: 0 to 65535"},
		{PEER BETA "allowed_ips: [10.244.2.7/24]}",
		 "4: peers[0].allowed_ips[0]: \"10.244.2.7/24\" has bits behind its length; "
		 "allowed: 10.244.2.0/24, if that network is meant"},
		{PEER BETA "allowed_ips: [\"fd00::/8\", 10.0.0.0/40]}",
		 "4: peers[0].allowed_ips[1]: \"10.0.0.0/40\" is no IP address with its length; "
		 "allowed: ADDRESS/LENGTH"},
		{PEER BETA "tunnel_addresses: [10.10.0.1]}",
		 "4: peers[0].tunnel_addresses: 10.10.0.1 is this node's own; "
		 "allowed: an address of the peer"},
		{PEER BETA "allowed_ips: [10.0.0.0/8, 10.10.0.1]}",
		 "4: peers[0].allowed_ips[1]: 10.10.0.1 is this node's own; "
		 "allowed: an address of the peer"},
	};

	(void)state;
	REFUSALS(rows);
	config_free(config_text_good(PEER BETA "endpoint: 127.0.0.1:1, allowed_ips: [\"::/0\"]}"));
	/* A wide network begins with this node's address, and is no claim to it. */
	config_free(config_text_good("node: {tunnel_addresses: [10.10.0.0]}\npeers:\n" BETA
				     "allowed_ips: [10.10.0.0/16]}"));
}

static void test_attachment(void **state)
{
	static const struct row rows[] = {
		{PEER BETA "tunnel_addresses: [10.10.0.2], overlays: [{}]}",
		 "4: peers[0].overlays[0].name: is missing; allowed: no default, give a value"},
		{PEER BETA "tunnel_addresses: [10.10.0.2], overlays: [{name: p}]}",
		 "4: peers[0].overlays[0].name: \"p\" is none of this node's overlays; "
		 "allowed: their names"},
		{PEER BETA "tunnel_addresses: [10.10.0.2], overlays: [{name: o}, {name: o}]}",
		 "4: peers[0].overlays[1].name: \"o\" is given a second time; allowed: once"},
		{PEER BETA "tunnel_addresses: [\"fd00::2\"], overlays: [{name: o}]}",
		 "4: peers[0].overlays[0].name: \"o\" runs over IPv4, and the peer has no such "
		 "tunnel address; allowed: with one in the peer's tunnel_addresses"},
		{PEER BETA "tunnel_addresses: [10.10.0.2], overlays: [{name: o,\n"
			   "addresses: [10.20.0.1/24]}]}",
		 "5: peers[0].overlays[0].addresses[0]: \"10.20.0.1/24\" is no IP address; "
		 "allowed: an IP address of a host, without /N"},
		{PEER BETA "tunnel_addresses: [10.10.0.2], overlays: [{name: o,\n"
			   "addresses: [10.20.0.2,\n10.20.0.1]}]}",
		 "6: peers[0].overlays[0].addresses[1]: 10.20.0.1 is this node's own; "
		 "allowed: an address of the peer"},
		{PEER BETA "tunnel_addresses: [10.10.0.2], overlays: [{name: o,\n"
			   "routes: [\"fd00:1::1/64\"]}]}",
		 "5: peers[0].overlays[0].routes[0]: \"fd00:1::1/64\" has bits behind its length; "
		 "allowed: fd00:1::/64, if that network is meant"},
		{PEER BETA "tunnel_addresses: [10.10.0.2], overlays: [{name: o, mac: x}]}",
		 "4: peers[0].overlays[0].mac: \"x\" is no MAC address; " MAC_RULE},
		{PEER BETA "tunnel_addresses: [10.10.0.2], overlays: [{name: o,\n"
			   "addresses: [10.20.0.255]}]}",
		 "5: peers[0].overlays[0].addresses[0]: 10.20.0.255 is the broadcast address of "
		 "the "
		 "overlay's network; allowed: an address of a host"},
		{PEER BETA "tunnel_addresses: [10.10.0.2], overlays: [{name: o,\n"
			   "addresses: [10.20.0.2], routes: [10.244.2.0/24,\n\"fd44::/64\"]}]}",
		 "6: peers[0].overlays[0].routes[1]: fd44::/64: the peer has no IPv6 address on "
		 "the "
		 "overlay to go by; allowed: with one in its addresses there"},
		{PEER BETA "tunnel_addresses: [10.10.0.2], overlays: [{name: o,\n"
			   "routes: [10.244.2.0/24]}]}",
		 "5: peers[0].overlays[0].routes[0]: 10.244.2.0/24: the peer has no address on the "
		 "overlay to go by; allowed: with one in its addresses there"},
		{OVERLAY "type: bareudp}\npeers:\n" BETA "tunnel_addresses: [10.10.0.2],"
			 "overlays: [{name: o, mac: 02:00:00:00:00:01}]}",
		 "5: peers[0].overlays[0].mac: a bareudp has no such setting; allowed: none"},
	};

	(void)state;
	REFUSALS(rows);
}

static void test_twins(void **state)
{
	static const struct row rows[] = {
		{PEER GAMMA "}\n" BETA "}\n- {name: gamma,\n"
			    "public_key: hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmg=}",
		 "6: peers[2].name: is peers[0]'s, too; allowed: one of its own"},
		{PEER GAMMA "}\n" BETA "}\n- {name: delta,\npublic_key: " CONFIG_KEY2 "}",
		 "7: peers[2].public_key: is peers[0]'s, too; allowed: one of its own"},
	};

	(void)state;
	REFUSALS(rows);
}

/* All are told, in the order of the stages, and what only follows from another is not. */
static void test_many_faults(void **state)
{
	static const char text[] = "node:\n  tunnel_addresses: [10.0.0]\n  listen_port: x\n"
				   "overlays:\n- name: a/b\n  vni: 1\n- name: p\n  vni: 1\n"
				   "  family: ipv6\npeers:\n- name: b\n  public_key: k\n"
				   "  overlays: [{name: q}]\n";

	(void)state;
	config_text_bad(text, strlen(text),
			"F:2: node.tunnel_addresses[0]: \"10.0.0\" is no IP address; " TUNNEL_RULE
			"\nF:3: node.listen_port: \"x\" is no decimal number; allowed: 0 to 65535\n"
			"F:5: overlays[0].name: \"a/b\" is no name of a device; " IFNAME_RULE
			"\nF:12: peers[0].public_key: " KEY_FAULT "\n");
}

/* What only follows from a fault is not told, each with what would follow. */
static void test_no_echoes(void **state)
{
	static const struct row rows[] = {
		{NODE "overlays:\n- {name: o, vni: 1}\n- {name: o, vni: x}\n",
		 "4: overlays[1].vni: \"x\" is no decimal number; allowed: 0 to 16777215"},
		{OVERLAY "ttl: 0}\n- {name: o, vni: 1}\n",
		 "3: overlays[0].ttl: \"0\" is out of range; allowed: 1 to 255"},
		{NODE "overlays:\n- {name: a/b, vni: 1}\npeers:\n" BETA
		      "tunnel_addresses: [10.10.0.2], overlays: [{name: p}]}",
		 "3: overlays[0].name: \"a/b\" is no name of a device; " IFNAME_RULE},
		{PEER BETA "tunnel_addresses: [x], overlays: [{name: o}]}",
		 "4: peers[0].tunnel_addresses[0]: \"x\" is no IP address; " TUNNEL_RULE},
		{PEER "- public_key: " CONFIG_KEY1 "\n- public_key: " CONFIG_KEY2 "\n",
		 "4: peers[0].name: is missing; allowed: no default, give a value\n"
		 "F:5: peers[1].name: is missing; allowed: no default, give a value"},
	};

	(void)state;
	REFUSALS(rows);
}

static void test_bound(void **state)
{
	static char text[200 * 16] = NODE "overlays:\n";
	static const char last[] = "give a value\nF: there are more faults\n";
	struct config_faults faults = {0};
	struct config *c = NULL;

	(void)state;
	for (unsigned i = 0; i < 60; i++)
		strcat(text, "- {mtu: 1}\n");
	assert_int_equal(config_parse(text, strlen(text), "F", config_text_getenv, &c, &faults),
			 -EINVAL);
	/* Three of each of the first 33, one of the next, and the last line. */
	assert_int_equal(faults.n, 101);
	assert_non_null(strstr(faults.text, "F:35: overlays[32].mtu: \"1\""));
	assert_non_null(strstr(faults.text, "F:36: overlays[33].name: "));
	assert_null(strstr(faults.text, "overlays[33].vni: "));
	assert_string_equal(faults.text + strlen(faults.text) - strlen(last), last);
	config_faults_free(&faults);
}

static void test_environment(void **state)
{
	static const struct {
		const char *variable, *fault;
	} rows[] = {
		{"SEALANE_NODE_NAME=a b",
		 ": has a blank or another character that no name has; " NAME_RULE},
		{"NODE_NAME=b c",
		 ": has a blank or another character that no name has; " NAME_RULE},
		{"SEALANE_NODE_LISTEN_PORT=65536", ": is out of range; allowed: 0 to 65535"},
		{"SEALANE_NODE_PRIVATE_KEY_FILE=x",
		 ": does not begin with /; allowed: an absolute path of up to 255 bytes"},
		{"WIREGUARD_KEY_FILE=x",
		 ": does not begin with /; allowed: an absolute path of up to 255 bytes"},
		{"SEALANE_LANE_INTERFACE=a/b", ": is no name of a device; " IFNAME_RULE},
		{"SEALANE_LANE_START=yes", ": is none of its words; allowed: auto, always, never"},
		{"SEALANE_LANE_FWMARK=0xg",
		 ": is no hexadecimal number; allowed: 0x0 to 0xffffffff"},
		{"SEALANE_LANE_MTU=1", ": is out of range; allowed: 0, or 576 to 65535"},
		{"SEALANE_LANE_PROGRAM=x",
		 ": does not begin with /; allowed: an absolute path of up to 255 bytes"},
		{"SEALANE_HTTP_LISTEN=x", ": has no port; " LISTEN_RULE},
		{"LOG_LEVEL=trace", ": is none of its words; allowed: error, info, debug"},
	};
	static const char *const list[] = {"SEALANE_NODE_TUNNEL_ADDRESSES=10.0.0.1,x,10.0.0.2",
					   NULL};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *const variables[] = {rows[i].variable, NULL};
		char lines[512];

		config_text_env = variables;
		snprintf(lines, sizeof(lines), "%s%s\n", rows[i].variable, rows[i].fault);
		config_text_bad(NODE, strlen(NODE), lines);
	}
	config_text_env = list;
	config_text_bad(
		NODE, strlen(NODE),
		"SEALANE_NODE_TUNNEL_ADDRESSES=x: is no IP address; " TUNNEL_RULE
		"\nSEALANE_NODE_TUNNEL_ADDRESSES=10.0.0.2: is a second IPv4 address; " TUNNEL_RULE
		"\n");
	config_text_env = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_node),	      cmocka_unit_test(test_lane_and_rest),
		cmocka_unit_test(test_overlay),	      cmocka_unit_test(test_overlay_addresses),
		cmocka_unit_test(test_keys_of_types), cmocka_unit_test(test_overlay_pairs),
		cmocka_unit_test(test_peer),	      cmocka_unit_test(test_attachment),
		cmocka_unit_test(test_twins),	      cmocka_unit_test(test_many_faults),
		cmocka_unit_test(test_no_echoes),     cmocka_unit_test(test_bound),
		cmocka_unit_test(test_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
