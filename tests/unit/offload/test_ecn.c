/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/ecn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The code points on the wire (RFC 3168 section 5), written out so that the
 * tables below do not lean on the enum under test. */
enum { NOT_ECT = 0, ECT1 = 1, ECT0 = 2, CE = 3 };

static void test_code_points(void **state)
{
	(void)state;
	assert_int_equal(ECN_NOT_ECT, 0);
	assert_int_equal(ECN_ECT1, 1);
	assert_int_equal(ECN_ECT0, 2);
	assert_int_equal(ECN_CE, 3);
}

/* RFC 3168 9.1.1, full functionality: CE is not copied outwards. */
static void test_encap(void **state)
{
	(void)state;
	assert_int_equal(ecn_encap(NOT_ECT), NOT_ECT);
	assert_int_equal(ecn_encap(ECT1), ECT1);
	assert_int_equal(ecn_encap(ECT0), ECT0);
	assert_int_equal(ecn_encap(CE), ECT0);
}

/*
 * All sixteen pairs. RFC 6040 figure 4 with one difference: a Not-ECT packet
 * under an outer CE is delivered (the RFC drops it; the kernel's WireGuard
 * ignores that verdict).
 */
static void test_decap(void **state)
{
	static const enum ecn_decap expected[4 /* inner */][4 /* outer */] = {
		[NOT_ECT] = {ECN_KEEP, ECN_KEEP, ECN_KEEP, ECN_KEEP_BROKEN},
		[ECT1] = {ECN_KEEP, ECN_KEEP, ECN_KEEP, ECN_MARK_CE},
		[ECT0] = {ECN_KEEP, ECN_MARK_ECT1, ECN_KEEP, ECN_MARK_CE},
		[CE] = {ECN_KEEP, ECN_KEEP, ECN_KEEP, ECN_KEEP},
	};
	uint8_t inner, outer;

	(void)state;
	for (inner = 0; inner < 4; inner++)
		for (outer = 0; outer < 4; outer++)
			assert_int_equal(ecn_decap(outer, inner), expected[inner][outer]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code_points),
		cmocka_unit_test(test_encap),
		cmocka_unit_test(test_decap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
