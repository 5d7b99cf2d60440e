/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/lane/stampfile.h"

static char folder[64], path[96];

static int begin(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/sealane-stamp.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/lane/wg0.tai64n", folder);
	return 0;
}

static int end(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static void put(const char *text)
{
	char sub[80];
	FILE *file;

	snprintf(sub, sizeof(sub), "%s/lane", folder);
	(void)mkdir(sub, 0700);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	assert_int_equal(chmod(path, 0600), 0);
}

static void expect_text(const char *want)
{
	char text[64] = "";
	struct stat st;
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	assert_string_equal(text, want);
	fclose(file);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

/* 1000 s after 1970 as WireGuard writes it: 0x400000000000000a + 1000. */
#define AT_1000 "40000000000003f200000000"

static void test_new(void **state)
{
	struct tai64n_clock clock = {{0}};
	struct stampfile f;
	uint8_t stamp[WG_TAI64N_LEN], ignored[WG_TAI64N_LEN];

	(void)state;
	assert_int_equal(stampfile_open(&f, path, &clock), 0);
	assert_false(stampfile_due(&f, &clock, stamp)); /* none given out yet */

	tai64n_next(&clock, 1000, 0, ignored);
	assert_true(stampfile_due(&f, &clock, stamp));
	assert_int_equal(stampfile_write(f.path, stamp), 0);
	expect_text("400000000000042e00000000\n"); /* 60 s ahead */

	tai64n_next(&clock, 1030, 0, ignored);
	assert_false(stampfile_due(&f, &clock, stamp));
	tai64n_next(&clock, 1031, 0, ignored);
	assert_true(stampfile_due(&f, &clock, stamp));
	assert_int_equal(stampfile_write(f.path, stamp), 0);
	expect_text("400000000000044d00000000\n");
}

/* The clock was set back: what is given out is newer all the same. */
static void test_goes_on(void **state)
{
	static const uint8_t saved[WG_TAI64N_LEN] = {0x40, 0, 0, 0, 0, 0, 3, 0xf2};
	struct tai64n_clock clock = {{0}};
	struct stampfile f;
	uint8_t stamp[WG_TAI64N_LEN], next[WG_TAI64N_LEN];

	(void)state;
	put(AT_1000 "\n");
	assert_int_equal(stampfile_open(&f, path, &clock), 0);
	/* A restart alone does not push it on. */
	assert_false(stampfile_due(&f, &clock, stamp));
	tai64n_next(&clock, 5, 0, next);
	assert_true(memcmp(next, saved, sizeof(next)) > 0);
	assert_true(stampfile_due(&f, &clock, stamp));
}

static void test_not_a_stamp(void **state)
{
	static const char *const texts[] = {"",
					    "\n",
					    AT_1000,
					    AT_1000 "0\n",
					    "x" AT_1000 "\n",
					    "40000000000003F200000000\n",
					    "40000000 00003f200000000\n",
					    "0x000000000003f200000000\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		static const uint8_t zero[WG_TAI64N_LEN];
		struct tai64n_clock clock = {{0}};
		uint8_t ignored[WG_TAI64N_LEN], stamp[WG_TAI64N_LEN];
		struct stampfile f;

		put(texts[i]);
		if (stampfile_open(&f, path, &clock) != -EINVAL)
			fail_msg("taken: \"%s\"", texts[i]);
		assert_memory_equal(clock.last, zero, sizeof(zero));
		/* and the next one replaces it */
		tai64n_next(&clock, 1000, 0, ignored);
		assert_true(stampfile_due(&f, &clock, stamp));
		assert_int_equal(stampfile_write(f.path, stamp), 0);
		assert_int_equal(stampfile_open(&f, path, &clock), 0);
	}
}

static void test_refused(void **state)
{
	static const uint8_t stamp[WG_TAI64N_LEN] = {0x40};
	char long_path[2 * STAMPFILE_PATH_LEN], in_a_file[160];
	struct tai64n_clock clock = {{0}};
	struct stampfile f;

	(void)state;
	memset(long_path, 'x', sizeof(long_path));
	long_path[sizeof(long_path) - 1] = '\0';
	assert_int_equal(stampfile_open(&f, long_path, &clock), -ENAMETOOLONG);
	put(AT_1000 "\n");
	snprintf(in_a_file, sizeof(in_a_file), "%s/x", path);
	assert_int_equal(stampfile_write(in_a_file, stamp), -ENOTDIR);
	expect_text(AT_1000 "\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_new, begin, end),
		cmocka_unit_test_setup_teardown(test_goes_on, begin, end),
		cmocka_unit_test_setup_teardown(test_not_a_stamp, begin, end),
		cmocka_unit_test_setup_teardown(test_refused, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
