/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of etcd's JSON gateway, as etcd 3.4 sends them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/node/etcd_wire.h"

#define TEXT(literal) (literal), sizeof(literal) - 1

static char seen[256];

static void on_kv(void *ctx, const struct etcd_kv *kv)
{
	(void)ctx;
	snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "%s%s=%s;",
		 kv->deleted ? "-" : "", kv->key, kv->value);
}

/* printf /a/ | base64; printf /a0 | base64 */
static void test_requests(void **state)
{
	char *text = etcd_wire_range("/a/", NULL, 200, 0);

	(void)state;
	assert_non_null(strstr(text, "\"key\":\"L2Ev\",\"range_end\":\"L2Ew\",\"limit\":\"200\""));
	free(text);
	text = etcd_wire_watch("/a/", 13);
	assert_non_null(strstr(text, "\"start_revision\":\"13\""));
	free(text);
	text = etcd_wire_range("/a/", "/a/", 1, 12); /* printf '/a/\0' | base64 */
	assert_non_null(strstr(text, "\"key\":\"L2EvAA==\""));
	assert_non_null(strstr(text, "\"revision\":\"12\""));
	free(text);
}

/* Keys "a", "b", values "1" and none. */
static void test_range(void **state)
{
	static const char text[] = "{\"header\":{\"revision\":\"12\"},\"kvs\":[{\"key\":\"YQ==\","
				   "\"value\":\"MQ==\"},{\"key\":\"Yg==\"}],\"more\":true}";
	struct etcd_range range;

	(void)state;
	seen[0] = '\0';
	assert_true(etcd_wire_parse_range(text, strlen(text), on_kv, NULL, &range));
	assert_string_equal(seen, "a=1;b=;");
	assert_int_equal(range.revision, 12);
	assert_true(range.more);
	assert_false(etcd_wire_parse_range(TEXT("{}"), on_kv, NULL, &range));
	assert_false(etcd_wire_parse_range(text, strlen(text) - 1, on_kv, NULL, &range));
}

static void watch(const char *line, struct etcd_watch *w)
{
	seen[0] = '\0';
	assert_true(etcd_wire_parse_watch(line, strlen(line), on_kv, NULL, w));
}

static void test_watch(void **state)
{
	struct etcd_watch w;

	(void)state;
	watch("{\"result\":{\"header\":{\"revision\":\"5\"},\"created\":true}}", &w);
	assert_true(w.created);
	assert_int_equal(w.revision, 5);
	watch("{\"result\":{\"header\":{\"revision\":\"6\"},\"events\":[{\"kv\":{\"key\":\"YQ==\","
	      "\"value\":\"MQ==\"}},{\"type\":\"DELETE\",\"kv\":{\"key\":\"Yg==\"}}]}}",
	      &w);
	assert_string_equal(seen, "a=1;-b=;");
	watch("{\"result\":{\"canceled\":true,\"compact_revision\":\"8\"}}", &w);
	assert_true(w.canceled);
	assert_int_equal(w.compact_revision, 8);
	watch("{\"error\":{\"grpc_code\":14,\"message\":\"no\\nleader\"}}", &w);
	assert_true(w.failed);
	assert_string_equal(w.reason, "no leader");
	assert_false(etcd_wire_parse_watch(TEXT("[]"), on_kv, NULL, &w));
	assert_false(etcd_wire_parse_watch(TEXT("x"), on_kv, NULL, &w));
}

/* A lease that is no more has no TTL. */
static void test_lease_and_token(void **state)
{
	char token[8];
	int64_t n = 0;

	(void)state;
	assert_true(etcd_wire_parse_grant(TEXT("{\"ID\":\"7587\",\"TTL\":\"60\"}"), &n));
	assert_int_equal(n, 7587);
	assert_true(etcd_wire_parse_keepalive(TEXT("{\"result\":{\"ID\":\"1\"}}"), &n));
	assert_int_equal(n, 0);
	assert_false(etcd_wire_parse_keepalive(TEXT("{}"), &n));
	assert_true(etcd_wire_parse_token(TEXT("{\"token\":\"abc.1\"}"), token, sizeof(token)));
	assert_string_equal(token, "abc.1");
	assert_false(etcd_wire_parse_token(TEXT("{\"token\":\"12345678\"}"), token, sizeof(token)));
	assert_false(etcd_wire_parse_token(TEXT("{\"token\":\"a\\nb\"}"), token, sizeof(token)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_watch),
		cmocka_unit_test(test_lease_and_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
