/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cni/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/cni/error.h"

#define HEAD "\"cniVersion\":\"1.0.0\",\"name\":\"n\""
#define IPAM "\"ipam\":{\"type\":\"host-local\"}"

static int parse(const char *text, struct cni_config *c)
{
	struct cni_error e = {.code = 0};
	const int err = cni_config_parse(text, strlen(text), c, &e);

	assert_int_equal(err, e.code);
	assert_true(!err == !*e.msg);
	return err;
}

static void test_defaults(void **state)
{
	struct cni_config c;

	(void)state;
	assert_int_equal(parse("{" HEAD "," IPAM ",\"unknown\":[1]}", &c), 0);
	assert_int_equal(c.version, CNI_1_0_0);
	assert_string_equal(c.name, "n");
	assert_string_equal(c.ipam, "host-local");
	assert_null(c.device);
	assert_int_equal(c.mtu, 0);
	assert_true(c.big_tcp);
	assert_null(c.prev);
	assert_null(c.valid);
	cni_config_free(&c);
}

static void test_values(void **state)
{
	struct cni_config c;

	(void)state;
	assert_int_equal(parse("{" HEAD ",\"device\":\"ov0\",\"mtu\":68,\"bigTcp\":false,"
			       "\"mode\":\"routed\",\"chained\":true,\"prevResult\":{}}",
			       &c),
			 0);
	assert_null(c.ipam);
	assert_string_equal(c.device, "ov0");
	assert_int_equal(c.mtu, 68);
	assert_false(c.big_tcp);
	assert_non_null(c.prev);
	cni_config_free(&c);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		int code;
	} rows[] = {
		{"", CNI_DECODE_FAILURE},
		{"[]", CNI_DECODE_FAILURE},
		{"{" HEAD "} x", CNI_DECODE_FAILURE},
		{"{\"name\":\"n\"}", CNI_INCOMPATIBLE_VERSION},
		{"{\"cniVersion\":\"0.3.1\",\"name\":\"n\"}", CNI_INCOMPATIBLE_VERSION},
		{"{\"cniVersion\":1,\"name\":\"n\"}", CNI_INVALID_CONFIG},
		{"{\"cniVersion\":\"1.0.0\"}", CNI_INVALID_CONFIG},
		{"{\"cniVersion\":\"1.0.0\",\"name\":\"../n\"}", CNI_INVALID_CONFIG},
		{"{\"cniVersion\":\"1.0.0\",\"name\":\"\"}", CNI_INVALID_CONFIG},
		{"{" HEAD ",\"mode\":\"bridge\"," IPAM "}", CNI_UNSUPPORTED_FIELD},
		{"{" HEAD ",\"mode\":1," IPAM "}", CNI_INVALID_CONFIG},
		{"{" HEAD ",\"mtu\":67," IPAM "}", CNI_INVALID_CONFIG},
		{"{" HEAD ",\"mtu\":65536," IPAM "}", CNI_INVALID_CONFIG},
		{"{" HEAD ",\"mtu\":\"1500\"," IPAM "}", CNI_INVALID_CONFIG},
		{"{" HEAD ",\"device\":\"\"," IPAM "}", CNI_INVALID_CONFIG},
		{"{" HEAD ",\"device\":\"sixteen-letters-\"," IPAM "}", CNI_INVALID_CONFIG},
		{"{" HEAD ",\"bigTcp\":1," IPAM "}", CNI_INVALID_CONFIG},
		{"{" HEAD ",\"ipam\":{}}", CNI_INVALID_CONFIG},
		{"{" HEAD ",\"ipam\":{\"type\":\"a/b\"}}", CNI_INVALID_CONFIG},
		{"{" HEAD ",\"ipam\":{\"type\":\"..\"}}", CNI_INVALID_CONFIG},
		{"{" HEAD ",\"chained\":true," IPAM "}", CNI_INVALID_CONFIG},
		{"{" HEAD ",\"chained\":false}", CNI_INVALID_CONFIG},
		{"{" HEAD ",\"prevResult\":[]," IPAM "}", CNI_INVALID_CONFIG},
		{"{" HEAD ",\"cni.dev/valid-attachments\":{}," IPAM "}", CNI_INVALID_CONFIG},
	};
	struct cni_config c;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("%s\n", rows[i].text);
		assert_int_equal(parse(rows[i].text, &c), rows[i].code);
		cni_config_free(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
