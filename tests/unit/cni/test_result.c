/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cni/result.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/cni/error.h"

static int take(const char *text, struct result *r, json_t **ret_doc)
{
	struct cni_error e = {.code = 0};

	*ret_doc = json_loads(text, 0, NULL);
	assert_non_null(*ret_doc);
	*r = (struct result){.host = {.name = "slc", .mtu = 1370, .sandbox = ""},
			     .container = {.name = "eth0",
					   .mac = {2, 0, 0, 0, 0, 0xab},
					   .mtu = 1370,
					   .sandbox = "/run/netns/p"}};
	return result_take_ipam(*ret_doc, r, &e);
}

/* Compared as JSON: the order of keys means nothing. */
static void expect(const struct result *r, enum cni_version version, const char *text)
{
	json_t *got = result_make(r, version), *want = json_loads(text, 0, NULL);

	assert_non_null(want);
	if (!json_equal(got, want))
		fail_msg("got %s", json_dumps(got, 0));
	json_decref(got);
	json_decref(want);
}

static void test_versions(void **state)
{
	struct result r;
	json_t *doc;

	(void)state;
	assert_int_equal(take("{\"ips\":[{\"address\":\"10.0.0.2/24\"}]}", &r, &doc), 0);
	expect(&r, CNI_0_4_0,
	       "{\"cniVersion\":\"0.4.0\",\"interfaces\":[{\"name\":\"slc\",\"mac\":"
	       "\"00:00:00:00:00:00\"},{\"name\":\"eth0\",\"mac\":\"02:00:00:00:00:ab\","
	       "\"sandbox\":\"/run/netns/p\"}],\"ips\":[{\"version\":\"4\",\"address\":"
	       "\"10.0.0.2/32\",\"gateway\":\"169.254.1.1\",\"interface\":1}],"
	       "\"routes\":[{\"dst\":\"0.0.0.0/0\",\"gw\":\"169.254.1.1\"}],\"dns\":{}}");
	expect(&r, CNI_1_1_0,
	       "{\"cniVersion\":\"1.1.0\",\"interfaces\":[{\"name\":\"slc\",\"mac\":"
	       "\"00:00:00:00:00:00\",\"mtu\":1370},{\"name\":\"eth0\",\"mac\":"
	       "\"02:00:00:00:00:ab\",\"mtu\":1370,\"sandbox\":\"/run/netns/p\"}],"
	       "\"ips\":[{\"address\":\"10.0.0.2/32\",\"gateway\":\"169.254.1.1\","
	       "\"interface\":1}],\"routes\":[{\"dst\":\"0.0.0.0/0\",\"gw\":\"169.254.1.1\","
	       "\"mtu\":1370}],\"dns\":{}}");
	json_decref(doc);
}

/* Each family that has no route gets a default one, and only that. */
static void test_defaults(void **state)
{
	struct result r;
	json_t *doc;

	(void)state;
	assert_int_equal(take("{\"ips\":[{\"address\":\"10.0.0.2/24\"},{\"address\":\"fd00::2/64\"}"
			      "],\"routes\":[{\"dst\":\"10.8.1.2/16\"}]}",
			      &r, &doc),
			 0);
	assert_int_equal(r.n_routes, 2);
	assert_int_equal(r.routes[0].len, 16);
	assert_int_equal(r.routes[0].addr.bytes[2], 0);
	assert_int_equal(r.routes[1].addr.len, 16);
	assert_int_equal(r.routes[1].len, 0);
	json_decref(doc);
}

static void test_refused(void **state)
{
	static const char *const rows[] = {
		"{}",
		"{\"ips\":[]}",
		"{\"ips\":{\"address\":\"10.0.0.2/24\"}}",
		"{\"ips\":[{\"address\":\"10.0.0.2/33\"}]}",
		"{\"ips\":[{\"address\":7}]}",
		"{\"ips\":[7]}",
		"{\"ips\":[{\"address\":\"10.0.0.2/24\"}],\"routes\":[{\"dst\":\"x\"}]}",
	};
	struct result r;
	json_t *doc;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("%s\n", rows[i]);
		assert_int_equal(take(rows[i], &r, &doc), CNI_IPAM_FAILED);
		json_decref(doc);
	}
}

static void test_limits(void **state)
{
	struct result r;
	json_t *doc = json_object(), *ips = json_array();
	struct cni_error e;
	int i;

	(void)state;
	json_object_set_new(doc, "ips", ips);
	for (i = 0; i < RESULT_MAX_IPS; i++)
		json_array_append_new(ips, json_pack("{s:s}", "address", "10.0.0.2/24"));
	assert_int_equal(result_take_ipam(doc, &r, &e), 0);
	json_array_append_new(ips, json_pack("{s:s}", "address", "10.0.0.2/24"));
	assert_int_equal(result_take_ipam(doc, &r, &e), CNI_IPAM_FAILED);
	json_decref(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
