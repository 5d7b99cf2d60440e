/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/messages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Classifies a heap block of exactly @len bytes that starts with @type (as much
 * of it as fits), so that ASan sees any read beyond it. */
static enum message_type classify(const uint8_t type[4], size_t len)
{
	uint8_t *msg = malloc(len);
	enum message_type result;

	memset(msg, 0xff, len);
	memcpy(msg, type, len < 4 ? len : 4);
	result = message_classify(msg, len);
	free(msg);
	return result;
}

static const struct {
	uint8_t type[4];
	size_t len;
	enum message_type expected;
} classify_cases[] = {
	{{1}, 147, MESSAGE_INVALID},
	{{1}, 148, MESSAGE_INITIATION},
	{{1}, 149, MESSAGE_INVALID},
	{{2}, 91, MESSAGE_INVALID},
	{{2}, 92, MESSAGE_RESPONSE},
	{{2}, 93, MESSAGE_INVALID},
	{{3}, 63, MESSAGE_INVALID},
	{{3}, 64, MESSAGE_COOKIE_REPLY},
	{{3}, 65, MESSAGE_INVALID},
	/* Data has a least length only; a short one is no keepalive. */
	{{4}, 16, MESSAGE_INVALID},
	{{4}, 31, MESSAGE_INVALID},
	{{4}, 32, MESSAGE_DATA},
	{{4}, 33, MESSAGE_DATA},
	{{4}, 148, MESSAGE_DATA},
	{{4}, 65535, MESSAGE_DATA},
	/* Each with the length of another. */
	{{1}, 92, MESSAGE_INVALID},
	{{1}, 64, MESSAGE_INVALID},
	{{2}, 148, MESSAGE_INVALID},
	{{3}, 92, MESSAGE_INVALID},
	/* No such type. */
	{{0}, 148, MESSAGE_INVALID},
	{{5}, 148, MESSAGE_INVALID},
	{{255}, 64, MESSAGE_INVALID},
	/* Reserved bytes. */
	{{1, 1, 0, 0}, 148, MESSAGE_INVALID},
	{{1, 0, 1, 0}, 148, MESSAGE_INVALID},
	{{1, 0, 0, 1}, 148, MESSAGE_INVALID},
	{{2, 1, 0, 0}, 92, MESSAGE_INVALID},
	{{2, 0, 1, 0}, 92, MESSAGE_INVALID},
	{{2, 0, 0, 1}, 92, MESSAGE_INVALID},
	{{3, 1, 0, 0}, 64, MESSAGE_INVALID},
	{{3, 0, 1, 0}, 64, MESSAGE_INVALID},
	{{3, 0, 0, 1}, 64, MESSAGE_INVALID},
	{{4, 1, 0, 0}, 32, MESSAGE_INVALID},
	{{4, 0, 1, 0}, 32, MESSAGE_INVALID},
	{{4, 0, 0, 0x80}, 32, MESSAGE_INVALID},
	/* The type in the wrong byte order. */
	{{0, 0, 0, 1}, 148, MESSAGE_INVALID},
	/* Shorter than a type. */
	{{4}, 0, MESSAGE_INVALID},
	{{4}, 1, MESSAGE_INVALID},
	{{4}, 3, MESSAGE_INVALID},
	{{4}, 4, MESSAGE_INVALID},
};

static void test_classify(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(classify_cases) / sizeof(classify_cases[0]); i++) {
		enum message_type type = classify(classify_cases[i].type, classify_cases[i].len);

		if (type != classify_cases[i].expected)
			fail_msg("case %zu: %d, not %d", i, type, classify_cases[i].expected);
	}
}

/* Only one length below 200 makes any of the fixed messages. */
static void test_classify_all_lengths(void **state)
{
	static const size_t only[] = {0, 148, 92, 64};

	(void)state;
	for (uint8_t type = 1; type <= 3; type++)
		for (size_t len = 0; len < 200; len++)
			assert_int_equal(classify((const uint8_t[4]){type}, len),
					 len == only[type] ? type : MESSAGE_INVALID);
}

static const struct {
	size_t len, mtu, expected;
} padded_cases[] = {
	/* No clamp. */
	{0, 0, 0},
	{1, 0, 16},
	{15, 0, 16},
	{16, 0, 16},
	{17, 0, 32},
	{1420, 0, 1424},
	{65535, 0, 65536},
	/* 1420 is no multiple of 16: the last 12 bytes' worth is clamped. */
	{0, 1420, 0},
	{1, 1420, 16},
	{16, 1420, 16},
	{17, 1420, 32},
	{1408, 1420, 1408},
	{1409, 1420, 1420},
	{1419, 1420, 1420},
	{1420, 1420, 1420},
	/* Longer than the MTU: the rest is padded by itself. */
	{1421, 1420, 1436},
	{1436, 1420, 1436},
	{1437, 1420, 1452},
	{2828, 1420, 2828},
	{2829, 1420, 2840},
	{2840, 1420, 2840},
	{2841, 1420, 2856},
	/* An odd MTU. */
	{1295, 1299, 1296},
	{1296, 1299, 1296},
	{1297, 1299, 1299},
	{1298, 1299, 1299},
	{1299, 1299, 1299},
	{1300, 1299, 1315},
	/* A multiple of 16. */
	{1279, 1280, 1280},
	{1280, 1280, 1280},
	{1281, 1280, 1296},
	/* Smaller than the padding unit. */
	{1, 1, 1},
	{3, 8, 8},
	{11, 8, 16},
	{65535, 65535, 65535},
};

static void test_padded_len(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(padded_cases) / sizeof(padded_cases[0]); i++) {
		size_t padded = message_padded_len(padded_cases[i].len, padded_cases[i].mtu);

		if (padded != padded_cases[i].expected)
			fail_msg("%zu at MTU %zu: %zu, not %zu", padded_cases[i].len,
				 padded_cases[i].mtu, padded, padded_cases[i].expected);
	}
}

/* Never shrinks, never beyond the MTU unless the packet was, never more than 15
 * bytes. */
static void test_padded_len_properties(void **state)
{
	(void)state;
	for (size_t mtu = 1; mtu < 100; mtu++) {
		for (size_t len = 0; len < 300; len++) {
			size_t padded = message_padded_len(len, mtu);

			assert_in_range(padded, len, len + 15);
			if (len <= mtu)
				assert_in_range(padded, len, mtu);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classify),
		cmocka_unit_test(test_classify_all_lengths),
		cmocka_unit_test(test_padded_len),
		cmocka_unit_test(test_padded_len_properties),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
