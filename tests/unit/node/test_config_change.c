/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/config_change.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/node/config.h"

static struct config configured(const char *interface, const char *key_file)
{
	struct config c = {0};

	snprintf(c.lane.interface, sizeof(c.lane.interface), "%s", interface);
	snprintf(c.node.private_key_file, sizeof(c.node.private_key_file), "%s", key_file);
	return c;
}

static const struct keep_case {
	const char *interface, *key_file, *want; /* NULL: nothing differs */
} keep_cases[] = {
	{"sl0", "/k", NULL},
	{"sl1", "/k", "lane.interface"},
	{"sl0", "/k2", "node.private_key_file"},
	{"sl", "/", "lane.interface, node.private_key_file"},
};

static void test_keep(void **state)
{
	const struct config now = configured("sl0", "/k");

	(void)state;
	for (size_t i = 0; i < sizeof(keep_cases) / sizeof(keep_cases[0]); i++) {
		const struct keep_case *c = &keep_cases[i];
		struct config next = configured(c->interface, c->key_file);
		char keys[64] = "?";

		next.lane.mtu = 1300;
		assert_int_equal(config_change_keep(&now, &next, keys, sizeof(keys)), !!c->want);
		assert_string_equal(keys, c->want ? c->want : "");
		assert_string_equal(next.lane.interface, "sl0");
		assert_string_equal(next.node.private_key_file, "/k");
		assert_int_equal(next.lane.mtu, 1300); /* which may change */
	}
}

static struct config with_http(bool on, const char *address, uint16_t port)
{
	struct config c = {.http.on = on};
	struct sockaddr_in *in = (struct sockaddr_in *)&c.http.listen;

	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	assert_int_equal(inet_pton(AF_INET, address, &in->sin_addr), 1);
	return c;
}

static void test_http(void **state)
{
	static const struct {
		bool on;
		const char *address;
		uint16_t port;
		bool from_on, from_off;
	} cases[] = {
		{true, "127.0.0.1", 9586, false, true}, {true, "127.0.0.2", 9586, true, true},
		{true, "127.0.0.1", 9587, true, true},	{false, "127.0.0.1", 9586, true, false},
		{false, "127.0.0.2", 1, true, false},
	};
	const struct config on = with_http(true, "127.0.0.1", 9586),
			    off = with_http(false, "127.0.0.1", 9586);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct config next = with_http(cases[i].on, cases[i].address, cases[i].port);

		assert_int_equal(config_change_http(&on, &next), cases[i].from_on);
		assert_int_equal(config_change_http(&off, &next), cases[i].from_off);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keep),
		cmocka_unit_test(test_http),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
