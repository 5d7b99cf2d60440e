/* SPDX-License-Identifier: Apache-2.0 */
/* Records of nodes, and what is kept of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <cmocka.h>

#include "agent/node/etcd_nodes.h"
#include "agent/node/etcd_record.h"

#define KEY "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="

static char *no_env(const char *name)
{
	(void)name;
	return NULL;
}

static struct config *config_of(const char *name, const char *number)
{
	struct config_faults faults = {0};
	struct config *c = NULL;
	char text[1024];

	snprintf(text, sizeof(text),
		 "node: {name: %s, tunnel_addresses: [10.9.0.%s], private_key_file: /none}\n"
		 "overlays: [{name: ov0, vni: 42, addresses: [10.10.0.%s/24], "
		 "mac: \"02:00:00:00:00:0%s\"}]\n",
		 name, number, number, number);
	assert_int_equal(config_parse(text, strlen(text), "F", no_env, &c, &faults), 0);
	return c;
}

/* What one node writes another reads. */
static void test_round(void **state)
{
	struct config *a = config_of("a", "1"), *b = config_of("b", "2");
	struct sockaddr_storage endpoint = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)&endpoint;
	struct config_faults faults = {0};
	uint8_t key[NODE_KEY_LEN];
	struct member m;
	uint64_t since;
	char *text;

	(void)state;
	memset(key, 7, sizeof(key));
	in->sin_family = AF_INET;
	in->sin_port = htons(51820);
	in->sin_addr.s_addr = htonl(0xc0000202);
	text = etcd_record_format(b, key, &endpoint, 1700000000000000001);
	assert_non_null(text);
	assert_int_equal(etcd_record_parse(text, strlen(text), "b", "W", a, &m, &faults), 0);
	assert_string_equal(m.name, "b");
	assert_memory_equal(m.public_key, key, sizeof(key));
	assert_int_equal(((struct sockaddr_in *)&m.endpoint)->sin_port, in->sin_port);
	assert_int_equal(((struct sockaddr_in *)&m.endpoint)->sin_addr.s_addr, in->sin_addr.s_addr);
	assert_memory_equal(m.tunnel[0].bytes, "\x0a\x09\x00\x02", 4);
	assert_int_equal(m.n_overlays, 1);
	assert_string_equal(m.overlays[0].name, "ov0");
	assert_memory_equal(m.overlays[0].addresses[0].bytes, "\x0a\x0a\x00\x02", 4);
	assert_true(m.overlays[0].has_mac);
	assert_memory_equal(m.overlays[0].mac, "\x02\x00\x00\x00\x00\x02", 6);
	assert_true(m.since == 1700000000000000001);
	memset(key, 0, sizeof(key));
	assert_true(etcd_record_identity(text, strlen(text), key, &since));
	assert_memory_equal(key, m.public_key, sizeof(key));
	assert_true(since == m.since);
	member_clear(&m);
	free(text);
	config_free(a);
	config_free(b);
}

static void refused(const char *text, const char *fault)
{
	struct config *a = config_of("a", "1");
	struct config_faults faults = {0};
	struct member m;

	assert_int_equal(etcd_record_parse(text, strlen(text), "b", "W", a, &m, &faults), -EINVAL);
	assert_non_null(strstr(faults.text, fault));
	config_faults_free(&faults);
	config_free(a);
}

static void test_refused(void **state)
{
	(void)state;
	refused("", "W: is no JSON object");
	refused("[]", "W: is no JSON object");
	refused("{\"public_key\":", "W: is no JSON object");
	refused("{}", "W:1: peers[0].public_key: is missing");
	refused("{\"public_key\":1}", "W:1: peers[0].public_key: the value is no key");
	refused("{\"public_key\":\"" KEY "\",\"tunnel_addresses\":[\"10.9.0.1\"]}",
		"is this node's own");
	refused("{\"public_key\":\"" KEY "\",\"overlays\":{}}", "is a mapping");
}

/* No file of this host, no overlay that it has not, nothing that is unknown. */
static void test_left_out(void **state)
{
	static const char text[] = "{\"public_key\":\"" KEY "\",\"name\":\"other\","
				   "\"preshared_key_file\":\"/etc/shadow\",\"new\":[1],"
				   "\"tunnel_addresses\":[\"10.9.0.2\"],\"overlays\":["
				   "{\"name\":\"ov7\",\"addresses\":[\"10.70.0.2\"]},"
				   "{\"name\":\"ov0\",\"addresses\":[\"10.10.0.2\"]}]}";
	struct config *a = config_of("a", "1");
	struct config_faults faults = {0};
	struct member m;

	(void)state;
	assert_int_equal(etcd_record_parse(text, strlen(text), "b", "W", a, &m, &faults), 0);
	assert_string_equal(m.name, "b");
	assert_false(m.has_psk);
	assert_int_equal(m.n_overlays, 1);
	assert_string_equal(m.overlays[0].name, "ov0");
	member_clear(&m);
	config_free(a);
}

static bool put(struct etcd_nodes *all, const struct config *c, const char *name, const char *text)
{
	const bool changed = etcd_nodes_put(all, name, text, strlen(text), c);

	assert_int_equal(etcd_nodes_gather(all), 0);
	return changed;
}

static void test_nodes(void **state)
{
	static const char good[] = "{\"public_key\":\"" KEY "\"}";
	struct config *a = config_of("a", "1");
	struct etcd_nodes all = {0};

	(void)state;
	assert_true(put(&all, a, "c", good));
	assert_true(put(&all, a, "b", good));
	assert_false(put(&all, a, "b", good));
	assert_int_equal(all.n_members, 2);
	assert_string_equal(all.members[0].name, "b");
	/* A bad one leaves what was; one that never was good is none. */
	assert_false(put(&all, a, "b", "no"));
	assert_false(put(&all, a, "d", "no"));
	assert_int_equal(all.n_members, 2);
	assert_non_null(strstr(all.faults.text, "etcd node b: is no JSON object"));
	assert_non_null(strstr(all.faults.text, "etcd node d: is no JSON object"));
	assert_false(etcd_nodes_delete(&all, "d"));
	/* What a whole list does not name has gone, and not before its end. */
	etcd_nodes_begin(&all);
	assert_true(put(&all, a, "b", good));
	assert_int_equal(all.n_members, 2);
	assert_true(etcd_nodes_end(&all));
	assert_int_equal(etcd_nodes_gather(&all), 0);
	assert_int_equal(all.n_members, 1);
	assert_null(all.faults.text);
	assert_true(etcd_nodes_delete(&all, "b"));
	etcd_nodes_done(&all);
	config_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
