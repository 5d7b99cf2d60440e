/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/lane/textbuf.h"

static void test_lines(void **state)
{
	const uint8_t bytes[] = {0x00, 0x7f, 0xab, 0xff};
	struct textbuf b = {0};

	(void)state;
	textbuf_printf(&b, "port=%d\n", 51820);
	textbuf_hex_line(&b, "key", bytes, sizeof(bytes));
	textbuf_hex_line(&b, "none", bytes, 0);
	textbuf_printf(&b, "%s", "");
	assert_string_equal(b.data, "port=51820\nkey=007fabff\nnone=\n");
	assert_int_equal(b.len, strlen(b.data));
	assert_true(b.len < b.capacity);
	textbuf_done(&b);
	assert_null(b.data);
	assert_int_equal(b.len, 0);
}

/* Every length of a line at every distance from the end of the room. */
static void test_growth(void **state)
{
	char line[3000], *twin = calloc(1, 1 << 20);
	struct textbuf b = {0};
	size_t len = 0;

	(void)state;
	assert_non_null(twin);
	for (size_t n = 0; n < sizeof(line) - 1; n += 7) {
		memset(line, 'a' + (int)(n % 26), n);
		line[n] = '\0';
		if (len + n >= 1 << 20)
			break;
		textbuf_printf(&b, "%s", line);
		memcpy(twin + len, line, n);
		len += n;
		assert_false(b.failed);
		assert_int_equal(b.len, len);
		assert_true(b.capacity > len && b.capacity <= 2 * len + 1024);
	}
	assert_string_equal(b.data, twin);
	textbuf_done(&b);
	free(twin);
}

/* A buffer that failed takes nothing any more: no reply with a hole in it. */
static void test_failure_sticks(void **state)
{
	struct textbuf b = {0};

	(void)state;
	textbuf_printf(&b, "before");
	b.failed = true;
	textbuf_printf(&b, "after");
	textbuf_hex_line(&b, "k", (const uint8_t *)"a", 1);
	assert_string_equal(b.data, "before");
	assert_true(b.failed);
	textbuf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_failure_sticks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
