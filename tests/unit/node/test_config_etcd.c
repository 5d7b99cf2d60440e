/* SPDX-License-Identifier: Apache-2.0 */
/* The section `etcd`. */
#include "config_text.h"

#define URLS CONFIG_NODE "etcd:\n  endpoints: [\"http://[fd00::9]:2379/\", https://e:2379]\n"

static void test_presets(void **state)
{
	struct config *c = config_text_good(CONFIG_NODE);

	(void)state;
	assert_int_equal(c->etcd.n_endpoints, 0);
	config_free(c);
	c = config_text_good(URLS);
	assert_int_equal(c->etcd.n_endpoints, 2);
	assert_string_equal(c->etcd.endpoints[0].text, "http://[fd00::9]:2379");
	assert_string_equal(c->etcd.endpoints[1].text, "https://e:2379");
	assert_string_equal(c->etcd.prefix, "/sealane");
	assert_int_equal(c->etcd.lease_ttl, 86400);
	config_free(c);
}

static void test_environment(void **state)
{
	static const char *const env[] = {
		"SEALANE_ETCD_ENDPOINTS=http://x:1, http://y:2,http://z:3",
		"SEALANE_ETCD_LEASE_TTL=60", "SEALANE_NODE_ENDPOINT=192.0.2.1:5", NULL};
	struct config *c;

	(void)state;
	config_text_env = env;
	c = config_text_good(URLS);
	assert_int_equal(c->etcd.n_endpoints, 3);
	assert_string_equal(c->etcd.endpoints[1].text, "http://y:2");
	assert_int_equal(c->etcd.lease_ttl, 60);
	assert_int_equal(c->node.endpoint.ss_family, AF_INET);
	config_free(c);
	c = config_text_good(CONFIG_NODE); /* without a section in the file */
	assert_int_equal(c->etcd.n_endpoints, 3);
	config_free(c);
	config_text_env = NULL;
}

static void test_bad(void **state)
{
	static const struct {
		const char *text, *lines;
	} rows[] = {
		{CONFIG_NODE "etcd: {prefix: /x}\n",
		 "F:2: etcd.endpoints: is missing; allowed: URLs of etcd's servers\n"},
		{CONFIG_NODE "etcd:\n  endpoints: [\"e:2379\"]\n",
		 "F:3: etcd.endpoints[0]: \"e:2379\" is no URL of http or https; "
		 "allowed: http://HOST:PORT or https://HOST:PORT\n"},
		{CONFIG_NODE "etcd:\n  endpoints: [\"http://u@e:2379\"]\n",
		 "F:3: etcd.endpoints[0]: \"http://u@e:2379\" is more than a server, or none; "
		 "allowed: http://HOST:PORT or https://HOST:PORT\n"},
		{URLS "  cert_file: /c\n",
		 "F:4: etcd.cert_file: is given without key_file; allowed: both or none\n"},
		{URLS "  username: u\n",
		 "F:4: etcd.username: is given without password_file; allowed: both or none\n"},
		{URLS "  lease_ttl: 4\n",
		 "F:4: etcd.lease_ttl: \"4\" is out of range; allowed: 5 to 31536000\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		config_text_bad(rows[i].text, strlen(rows[i].text), rows[i].lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_presets),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
