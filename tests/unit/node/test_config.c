/* SPDX-License-Identifier: Apache-2.0 */
/* Right configurations: what becomes of them, from a file, from memory and from the
 * environment. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_text.h"

static void expect_addr(const struct ip_addr *addr, const char *text)
{
	char buf[IP_ADDR_TEXT_LEN];

	assert_string_equal(addr->len ? ip_addr_format(addr, buf) : "", text);
}

static void expect_prefix(const struct ip_prefix *prefix, const char *text)
{
	char buf[IP_PREFIX_TEXT_LEN];

	assert_string_equal(ip_prefix_format(prefix, buf), text);
}

static void expect_socket(const struct sockaddr_storage *addr, const char *host, uint16_t port)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	char buf[INET6_ADDRSTRLEN];

	if (addr->ss_family == AF_INET) {
		inet_ntop(AF_INET, &in->sin_addr, buf, sizeof(buf));
		assert_int_equal(ntohs(in->sin_port), port);
	} else {
		assert_int_equal(addr->ss_family, AF_INET6);
		inet_ntop(AF_INET6, &in6->sin6_addr, buf, sizeof(buf));
		assert_int_equal(ntohs(in6->sin6_port), port);
	}
	assert_string_equal(buf, host);
}

static void test_defaults(void **state)
{
	struct config *c = config_text_good("node: {tunnel_addresses: [10.10.0.1]}");
	char host[256] = "";

	(void)state;
	gethostname(host, sizeof(host) - 1);
	assert_string_equal(c->node.name, host);
	expect_addr(&c->node.tunnel[0], "10.10.0.1");
	expect_addr(&c->node.tunnel[1], "");
	assert_int_equal(c->node.listen_port, 51820);
	assert_string_equal(c->node.private_key_file, "/var/lib/sealane/private-key");
	assert_string_equal(c->lane.interface, "sealane0");
	assert_int_equal(c->lane.start, CONFIG_START_AUTO);
	assert_int_equal(c->lane.fwmark, 0);
	assert_int_equal(c->lane.mtu, 0);
	assert_string_equal(c->lane.program, "");
	assert_int_equal(c->n_overlays, 0);
	assert_int_equal(c->n_peers, 0);
	assert_true(c->http.on);
	expect_socket(&c->http.listen, "127.0.0.1", 9586);
	assert_int_equal(c->log, CONFIG_LOG_INFO);
	config_free(c);
}

static void test_overlay_defaults(void **state)
{
	static const struct {
		const char *type;
		enum config_type value;
		uint16_t port;
	} rows[] = {
		{"port", CONFIG_PORT, 4789},
		{"vxlan", CONFIG_VXLAN, 4789},
		{"geneve", CONFIG_GENEVE, 6081},
		{"bareudp", CONFIG_BAREUDP, 6635},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[256];
		struct config *c;
		const struct config_overlay *o;

		snprintf(text, sizeof(text), CONFIG_NODE "overlays: [{name: ov0, vni: 0%s%s}]\n",
			 i ? ", type: " : "", i ? rows[i].type : "");
		c = config_text_good(text);
		o = c->overlays;
		assert_int_equal(c->n_overlays, 1);
		assert_int_equal(o->type, rows[i].value);
		assert_string_equal(config_type_name(o->type), rows[i].type);
		assert_int_equal(o->udp_port, rows[i].port);
		assert_int_equal(o->vni, 0);
		assert_false(o->outer6);
		assert_int_equal(o->n_addresses, 0);
		assert_int_equal(o->mtu, 0);
		assert_int_equal(o->ttl, 64);
		assert_int_equal(o->checksum, CONFIG_CHECKSUM_AUTO);
		assert_false(o->learning);
		assert_true(o->flood);
		assert_true(o->answer_neighbours);
		assert_false(o->has_mac);
		assert_int_equal(o->gso_max_size, 0);
		assert_int_equal(o->fdb_limit, 65536);
		config_free(c);
	}
}

static const char all_keys[] =
	"# every key with a value that is not its default\n"
	"node:\n"
	"  name: alpha\n"
	"  tunnel_addresses:\n"
	"  - \"fd00::1\"\n"
	"  - 10.10.0.1\n"
	"  listen_port: 0\n"
	"  private_key_file: /etc/key\n"
	"lane: {interface: wg7, start: never, fwmark: 0xCA6c, mtu: 1400, program: /opt/sealaned}\n"
	"overlays:\n"
	"- {name: ov0, type: port, vni: 16777215, udp_port: 8472, family: ipv6,\n"
	"   addresses: [10.20.0.1/24, \"fd20::1/64\"], mtu: 1300, ttl: 255, checksum: off,\n"
	"   learning: true, flood: false, answer_neighbours: false, mac: 02:00:00:00:0A:bc,\n"
	"   gso_max_size: 196608, fdb_limit: 1048576}\n"
	"- {name: ov1, type: bareudp, vni: 1, checksum: on}\n"
	"peers:\n"
	"- name: beta\n"
	"  public_key: " CONFIG_KEY1 "\n"
	"  endpoint: '[2001:db8::2]:1'\n"
	"  keepalive_s: 65535\n"
	"  tunnel_addresses: [10.10.0.2, \"fd00::2\"]\n"
	"  allowed_ips: [192.168.0.0/16, 172.16.0.1, 0.0.0.0/0]\n"
	"  overlays:\n"
	"  - {name: ov0, addresses: [10.20.0.2, \"fd20::2\"], routes: [10.244.2.0/24],\n"
	"     mac: 02:00:00:00:00:02}\n"
	"  - name: ov1\n"
	"- {name: gamma, public_key: " CONFIG_KEY2 ", endpoint: 192.0.2.3:65535}\n"
	"http: {listen: '[::]:80'}\n"
	"log_level: debug\n";

static void expect_node(const struct config *c)
{
	assert_string_equal(c->node.name, "alpha");
	expect_addr(&c->node.tunnel[0], "10.10.0.1");
	expect_addr(&c->node.tunnel[1], "fd00::1");
	assert_int_equal(c->node.listen_port, 0);
	assert_string_equal(c->node.private_key_file, "/etc/key");
	assert_string_equal(c->lane.interface, "wg7");
	assert_int_equal(c->lane.start, CONFIG_START_NEVER);
	assert_int_equal(c->lane.fwmark, 0xca6c);
	assert_int_equal(c->lane.mtu, 1400);
	assert_string_equal(c->lane.program, "/opt/sealaned");
	assert_true(c->http.on);
	expect_socket(&c->http.listen, "::", 80);
	assert_int_equal(c->log, CONFIG_LOG_DEBUG);
}

static void expect_overlays(const struct config *c)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0x0a, 0xbc};
	const struct config_overlay *o = c->overlays;

	assert_int_equal(c->n_overlays, 2);
	assert_string_equal(o->name, "ov0");
	assert_int_equal(o->type, CONFIG_PORT);
	assert_int_equal(o->vni, 16777215);
	assert_int_equal(o->udp_port, 8472);
	assert_true(o->outer6);
	assert_int_equal(o->n_addresses, 2);
	expect_prefix(&o->addresses[0], "10.20.0.1/24");
	expect_prefix(&o->addresses[1], "fd20::1/64");
	assert_int_equal(o->mtu, 1300);
	assert_int_equal(o->ttl, 255);
	assert_int_equal(o->checksum, CONFIG_CHECKSUM_OFF);
	assert_true(o->learning);
	assert_false(o->flood);
	assert_false(o->answer_neighbours);
	assert_true(o->has_mac);
	assert_memory_equal(o->mac, mac, sizeof(mac));
	assert_int_equal(o->gso_max_size, 196608);
	assert_int_equal(o->fdb_limit, 1048576);
	assert_string_equal(o[1].name, "ov1");
	assert_int_equal(o[1].checksum, CONFIG_CHECKSUM_ON);
}

static void expect_peers(const struct config *c)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 2};
	const struct member *m = c->peers;

	assert_int_equal(c->n_peers, 2);
	assert_string_equal(m->name, "beta");
	assert_int_equal(m->public_key[0], 0x85);
	assert_int_equal(m->public_key[31], 0x6a);
	assert_false(m->has_psk);
	expect_socket(&m->endpoint, "2001:db8::2", 1);
	assert_int_equal(m->keepalive_s, 65535);
	expect_addr(&m->tunnel[0], "10.10.0.2");
	expect_addr(&m->tunnel[1], "fd00::2");
	assert_int_equal(m->n_allowed_ips, 3);
	expect_prefix(&m->allowed_ips[0], "192.168.0.0/16");
	expect_prefix(&m->allowed_ips[1], "172.16.0.1/32");
	expect_prefix(&m->allowed_ips[2], "0.0.0.0/0");
	assert_int_equal(m->n_overlays, 2);
	assert_string_equal(m->overlays[0].name, "ov0");
	assert_int_equal(m->overlays[0].n_addresses, 2);
	expect_addr(&m->overlays[0].addresses[1], "fd20::2");
	assert_int_equal(m->overlays[0].n_routes, 1);
	expect_prefix(&m->overlays[0].routes[0], "10.244.2.0/24");
	assert_true(m->overlays[0].has_mac);
	assert_memory_equal(m->overlays[0].mac, mac, sizeof(mac));
	assert_string_equal(m->overlays[1].name, "ov1");
	assert_false(m->overlays[1].has_mac);
	assert_string_equal(m[1].name, "gamma");
	expect_socket(&m[1].endpoint, "192.0.2.3", 65535);
	assert_int_equal(m[1].tunnel[0].len, 0);
	assert_int_equal(m[1].n_overlays, 0);
}

static void test_all_keys(void **state)
{
	struct config *c = config_text_good(all_keys);

	(void)state;
	expect_node(c);
	expect_overlays(c);
	expect_peers(c);
	config_free(c);
	config_free(NULL);
}

/* Each is taken; what comes of it is in the tests above. */
static void test_good_values(void **state)
{
	static const char *const rows[] = {
		"lane: {interface: a}",
		"lane: {interface: fifteen-letters}",
		"lane: {mtu: 576}",
		"lane: {mtu: 65535}",
		"lane: {fwmark: 4294967295}",
		"lane: {fwmark: 0xffffffff}",
		"lane:",
		"lane: ~",
		"lane: {}",
		"overlays:\npeers: null\nhttp:\n",
		"overlays: []",
		"log_level: silent",
		"log_level: \"info\"",
		"overlays: [{name: o, vni: 1, udp_port: 1}, {name: p, vni: 1, udp_port: 2}]",
		"overlays: [{name: o, vni: 1}, {name: p, vni: 2}]",
		"overlays: [{name: o, vni: 1, mtu: 576, addresses: [10.0.0.1/32]}]",
		"overlays: [{name: o, vni: 1, gso_max_size: 65536}]",
		"overlays: [{name: o, vni: 1, udp_port: 51820}]",
		"overlays: [{name: o, vni: 1, addresses: }]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[256];

		snprintf(text, sizeof(text), "node: {tunnel_addresses: [10.1.1.1]}\n%s\n", rows[i]);
		config_free(config_text_good(text));
	}
}

static void test_http_off(void **state)
{
	struct config *c = config_text_good(CONFIG_NODE "http: {listen: off}\n");

	(void)state;
	assert_false(c->http.on);
	config_free(c);
}

/* The list of all nodes on one of them: it is left out, and only it. */
static void test_this_node_among_peers(void **state)
{
	struct config *c = config_text_good(
		CONFIG_NODE "overlays: [{name: o, vni: 1, addresses: [10.20.0.1/24]}]\n"
			    "peers:\n"
			    "- {name: alpha, public_key: " CONFIG_KEY1 ",\n"
			    "   tunnel_addresses: [10.10.0.1], allowed_ips: [10.10.0.1/32],\n"
			    "   overlays: [{name: o, addresses: [10.20.0.1]}]}\n"
			    "- {name: beta, public_key: " CONFIG_KEY2
			    ", tunnel_addresses: [10.10.0.2]}\n");

	(void)state;
	assert_int_equal(c->n_peers, 1);
	assert_string_equal(c->peers[0].name, "beta");
	assert_int_equal(c->peers[0].since, 2); /* by its place in the file */
	config_free(c);
	/* Another host of the same name. */
	c = config_text_good(CONFIG_NODE "peers: [{name: alpha, public_key: " CONFIG_KEY1
					 ", tunnel_addresses: [10.10.0.9]}]\n");
	assert_int_equal(c->n_peers, 1);
	config_free(c);
}

static void test_environment(void **state)
{
	static const char *const variables[] = {
		"SEALANE_NODE_NAME=alpha",
		"NODE_NAME=other",
		"SEALANE_NODE_TUNNEL_ADDRESSES=10.10.0.1, fd00::1",
		"SEALANE_NODE_LISTEN_PORT=0",
		"SEALANE_NODE_PRIVATE_KEY_FILE=/etc/key",
		"WIREGUARD_KEY_FILE=/etc/other",
		"SEALANE_LANE_INTERFACE=wg7",
		"SEALANE_LANE_START=never",
		"SEALANE_LANE_FWMARK=0xca6c",
		"SEALANE_LANE_MTU=1400",
		"SEALANE_LANE_PROGRAM=/opt/sealaned",
		"SEALANE_HTTP_LISTEN=[::]:80",
		"LOG_LEVEL=debug",
		NULL,
	};
	static const char *const over[] = {
		"", CONFIG_NODE "lane: {interface: x, start: always, fwmark: 1, mtu: 1500,"
				" program: /x}\nhttp: {listen: off}\nlog_level: error\n"};

	(void)state;
	config_text_env = variables;
	for (size_t i = 0; i < 2; i++) {
		struct config *c = config_text_good(over[i]);

		expect_node(c);
		config_free(c);
	}
	config_text_env = NULL;
}

/* The second names, and empty variables, which say nothing. */
static void test_environment_seconds(void **state)
{
	static const char *const variables[] = {
		"SEALANE_NODE_NAME=", "NODE_NAME=omega",   "WIREGUARD_KEY_FILE=/etc/other",
		"SEALANE_LANE_MTU=",  "LOG_LEVEL=verbose", NULL,
	};
	struct config *c;

	(void)state;
	config_text_env = variables;
	c = config_text_good(CONFIG_NODE "lane: {mtu: 1300}\n");
	assert_string_equal(c->node.name, "omega");
	assert_string_equal(c->node.private_key_file, "/etc/other");
	assert_int_equal(c->lane.mtu, 1300);
	assert_int_equal(c->log, CONFIG_LOG_DEBUG);
	config_free(c);
	config_text_env = NULL;
}

static void test_example(void **state)
{
	struct config_faults faults = {0};
	struct config *c = NULL;

	(void)state;
	if (config_load(SEALANE_SOURCE_DIR "/packaging/sealane.yaml", config_text_getenv, &c,
			&faults))
		fail_msg("%s", faults.text);
	assert_int_equal(c->n_overlays, 2);
	assert_int_equal(c->n_peers, 2);
	assert_string_equal(c->node.name, "alpha");
	assert_string_equal(c->peers[1].name, "gamma");
	config_free(c);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	const int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void test_preshared_key(void **state)
{
	char folder[] = "/tmp/sealane-test-XXXXXX", path[64], text[512], lines[512];
	struct config *c;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/psk", folder);
	snprintf(text, sizeof(text),
		 CONFIG_NODE "peers: [{name: b, public_key: %s, preshared_key_file: %s}]\n",
		 CONFIG_KEY1, path);
	write_file(path, CONFIG_KEY2 "\n", 0600);
	c = config_text_good(text);
	assert_true(c->peers[0].has_psk);
	assert_int_equal(c->peers[0].psk[0], 0xde);
	assert_int_equal(c->peers[0].psk[31], 0x4f);
	config_free(c);
	write_file(path, CONFIG_KEY2 "\n", 0644);
	snprintf(lines, sizeof(lines),
		 "F:2: peers[0].preshared_key_file: \"%s\" is no file, or others than its owner "
		 "may read it; allowed: a file of one key that its owner alone may read\n",
		 path);
	config_text_bad(text, strlen(text), lines);
	write_file(path, "nothing", 0600);
	snprintf(lines, sizeof(lines),
		 "F:2: peers[0].preshared_key_file: \"%s\" holds no key; allowed: a file of one "
		 "key that its owner alone may read\n",
		 path);
	config_text_bad(text, strlen(text), lines);
	unlink(path);
	snprintf(lines, sizeof(lines),
		 "F:2: peers[0].preshared_key_file: \"%s\" cannot be read (No such file or "
		 "directory); allowed: a file of one key that its owner alone may read\n",
		 path);
	config_text_bad(text, strlen(text), lines);
	rmdir(folder);
}

static void test_no_file(void **state)
{
	struct config_faults faults = {0};
	struct config *c = NULL;

	(void)state;
	assert_int_equal(config_load("/nonexistent/x", config_text_getenv, &c, &faults), -ENOENT);
	assert_string_equal(faults.text,
			    "/nonexistent/x: cannot be read: No such file or directory\n");
	config_faults_free(&faults);
	assert_int_equal(config_load("/", config_text_getenv, &c, &faults), -EISDIR);
	assert_string_equal(faults.text, "/: cannot be read: Is a directory\n");
	config_faults_free(&faults);
	assert_null(c);
	assert_int_equal(config_load("/dev/zero", config_text_getenv, &c, &faults), -EINVAL);
	assert_string_equal(faults.text, "/dev/zero: is too long; allowed: 16777216 bytes\n");
	config_faults_free(&faults);
}

static void test_many_peers(void **state)
{
	enum { N = 2000 };
	char *text = malloc(N * 256), *end = text + sprintf(text, CONFIG_NODE "peers:\n");
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef";
	struct config *c;

	(void)state;
	for (unsigned i = 0; i < N; i++)
		end += sprintf(
			end,
			"- name: n%u\n  public_key: %c%c%cAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
			"AAAAE=\n  tunnel_addresses: [10.11.%u.%u]\n",
			i, digits[i & 31], digits[i >> 5 & 31], digits[i >> 10 & 31], i >> 8,
			i & 255);
	c = config_text_good(text);
	assert_int_equal(c->n_peers, N);
	for (unsigned i = 0; i < N; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%u", i);
		assert_string_equal(c->peers[i].name, name);
		assert_int_equal(c->peers[i].tunnel[0].bytes[3], i & 255);
	}
	config_free(c);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),    cmocka_unit_test(test_overlay_defaults),
		cmocka_unit_test(test_all_keys),    cmocka_unit_test(test_good_values),
		cmocka_unit_test(test_http_off),    cmocka_unit_test(test_this_node_among_peers),
		cmocka_unit_test(test_environment), cmocka_unit_test(test_environment_seconds),
		cmocka_unit_test(test_example),	    cmocka_unit_test(test_preshared_key),
		cmocka_unit_test(test_no_file),	    cmocka_unit_test(test_many_peers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
