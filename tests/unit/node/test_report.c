/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "agent/node/report.h"

static void test_fault_has_reason(void **state)
{
	struct report r = {0};

	(void)state;
	report_fault(&r, -ENETUNREACH, "route %s dev %s", "10.244.2.0/24", "ov0");
	report_fault(&r, 0, "ov%d has no VTEP", 7);
	assert_int_equal(r.failed, 2);
	assert_string_equal(r.faults[0], "route 10.244.2.0/24 dev ov0: Network is unreachable");
	assert_string_equal(r.faults[1], "ov7 has no VTEP");
	assert_string_equal(r.faults[2], "");
	assert_int_equal(r.added + r.changed + r.removed, 0);
}

/* Past the last place failures are only counted. */
static void test_first_faults_are_kept(void **state)
{
	struct report r = {0};
	char expected[REPORT_TEXT_LEN];

	(void)state;
	for (int i = 0; i < 3 * REPORT_FAULTS_MAX; i++)
		report_fault(&r, 0, "fault %d", i);
	assert_int_equal(r.failed, 3 * REPORT_FAULTS_MAX);
	for (int i = 0; i < REPORT_FAULTS_MAX; i++) {
		snprintf(expected, sizeof(expected), "fault %d", i);
		assert_string_equal(r.faults[i], expected);
	}
	assert_null(r.log);
}

/* A text that is too long loses its end, not its reason. */
static void test_long_text_is_cut(void **state)
{
	static const int lengths[] = {200, 232, 233, 234, 250, 255, 256, 300, 900};
	char text[1000];

	(void)state;
	memset(text, 'a', sizeof(text));
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		const char *reason = ": No such file or directory";
		struct report r = {0};
		size_t n = (size_t)lengths[i], most = REPORT_TEXT_LEN - 1;

		report_fault(&r, -ENOENT, "%.*s", lengths[i], text);
		report_fault(&r, 0, "%.*s", lengths[i], text);
		assert_int_equal(strspn(r.faults[0], "a"),
				 n < most - strlen(reason) ? n : most - strlen(reason));
		assert_string_equal(r.faults[0] + strspn(r.faults[0], "a"), reason);
		assert_int_equal(strlen(r.faults[1]), n < most ? n : most);
		assert_int_equal(strspn(r.faults[1], "a"), n < most ? n : most);
	}
}

struct heard {
	unsigned n;
	char last[REPORT_TEXT_LEN];
};

static void hear(const char *text, void *arg)
{
	struct heard *h = arg;

	h->n++;
	assert_true(strlen(text) < sizeof(h->last));
	strcpy(h->last, text);
}

static void test_did_counts_and_tells(void **state)
{
	struct heard heard = {0};
	struct report r = {.log = hear, .log_arg = &heard};
	char text[1000];

	(void)state;
	report_did(&r, &r.added, "peer %s", "beta");
	assert_string_equal(heard.last, "peer beta");
	report_did(&r, &r.changed, "mtu of %s: %d", "ov0", 1370);
	assert_string_equal(heard.last, "mtu of ov0: 1370");
	memset(text, 'b', sizeof(text));
	report_did(&r, &r.removed, "%.999s", text);
	assert_int_equal(strlen(heard.last), REPORT_TEXT_LEN - 1);
	r.log = NULL;
	report_did(&r, &r.removed, "unheard");
	assert_int_equal(heard.n, 3);
	assert_int_equal(r.added, 1);
	assert_int_equal(r.changed, 1);
	assert_int_equal(r.removed, 2);
	assert_int_equal(r.failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fault_has_reason),
		cmocka_unit_test(test_first_faults_are_kept),
		cmocka_unit_test(test_long_text_is_cut),
		cmocka_unit_test(test_did_counts_and_tells),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
