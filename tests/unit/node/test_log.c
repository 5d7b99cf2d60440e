/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char journal_stream[64];
static bool has_journal_stream;

static char *fake_getenv(const char *name)
{
	return has_journal_stream && !strcmp(name, "JOURNAL_STREAM") ? journal_stream : NULL;
}

/* stderr is a pipe while the lines of a case are written. */
struct capture {
	int pipe[2], saved;
};

static void begin(struct capture *c)
{
	assert_int_equal(pipe2(c->pipe, O_CLOEXEC), 0);
	fflush(stderr);
	c->saved = dup(STDERR_FILENO);
	assert_true(c->saved >= 0);
	assert_true(dup2(c->pipe[1], STDERR_FILENO) >= 0);
}

static void end(struct capture *c, char *buf, size_t buf_len)
{
	ssize_t len;

	dup2(c->saved, STDERR_FILENO);
	close(c->saved);
	close(c->pipe[1]);
	len = read(c->pipe[0], buf, buf_len - 1);
	close(c->pipe[0]);
	assert_true(len >= 0);
	buf[len] = '\0';
}

static void say_all(void)
{
	log_error("e %d", 1);
	log_info("i %s", "2");
	log_debug("d %c", '3');
}

static const struct level_case {
	enum config_log level;
	bool journal;
	const char *want;
} level_cases[] = {
	{CONFIG_LOG_ERROR, false, "sealane-agent: e 1\n"},
	{CONFIG_LOG_INFO, false, "sealane-agent: e 1\nsealane-agent: i 2\n"},
	{CONFIG_LOG_DEBUG, false, "sealane-agent: e 1\nsealane-agent: i 2\nsealane-agent: d 3\n"},
	{CONFIG_LOG_DEBUG, true, "<3>e 1\n<6>i 2\n<7>d 3\n"},
};

static void test_levels(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(level_cases) / sizeof(level_cases[0]); i++) {
		const struct level_case *c = &level_cases[i];
		struct capture capture;
		struct stat st;
		char text[512];

		begin(&capture);
		assert_int_equal(fstat(STDERR_FILENO, &st), 0);
		snprintf(journal_stream, sizeof(journal_stream), "%ju:%ju", (uintmax_t)st.st_dev,
			 (uintmax_t)st.st_ino);
		has_journal_stream = c->journal;
		log_open(fake_getenv);
		log_setup(c->level);
		say_all();
		end(&capture, text, sizeof(text));
		assert_string_equal(text, c->want);
	}
}

/* The variable is inherited by programs whose stderr is another. */
static void test_other_stream(void **state)
{
	static const char *const values[] = {"", "8:1", "8:", ":", "x:y", "="};

	(void)state;
	log_setup(CONFIG_LOG_INFO);
	has_journal_stream = true;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct capture capture;
		struct stat st;
		char text[64];

		begin(&capture);
		assert_int_equal(fstat(STDERR_FILENO, &st), 0);
		if (*values[i] == '=') /* the same device, another file */
			snprintf(journal_stream, sizeof(journal_stream), "%ju:%ju",
				 (uintmax_t)st.st_dev, (uintmax_t)st.st_ino + 1);
		else
			snprintf(journal_stream, sizeof(journal_stream), "%s", values[i]);
		log_open(fake_getenv);
		log_info("x");
		end(&capture, text, sizeof(text));
		assert_string_equal(text, "sealane-agent: x\n");
	}
	has_journal_stream = false;
	log_open(fake_getenv);
}

static void test_one_line_stays_one(void **state)
{
	char text[3 * LOG_LINE_LEN], longest[2 * LOG_LINE_LEN];
	struct capture capture;

	(void)state;
	begin(&capture);
	log_info("a\nb\x1b[31m\x7f");
	end(&capture, text, sizeof(text));
	assert_string_equal(text, "sealane-agent: a?b?[31m?\n");

	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	begin(&capture);
	log_info("%s", longest);
	end(&capture, text, sizeof(text));
	assert_int_equal(strlen(text), strlen("sealane-agent: ") + LOG_LINE_LEN - 1 + 1);
	assert_int_equal(text[strlen(text) - 1], '\n');
}

/* Returning at all is what is tested, and that it is heard again later. */
static void test_nobody_reads(void **state)
{
	static const char fill[4096];
	struct capture capture;
	char text[128];

	(void)state;
	begin(&capture);
	assert_true(fcntl(capture.pipe[1], F_SETFL, O_NONBLOCK) == 0);
	while (write(capture.pipe[1], fill, sizeof(fill)) > 0)
		;
	assert_true(fcntl(capture.pipe[1], F_SETFL, 0) == 0);
	for (int i = 0; i < 100; i++)
		log_info("lost");
	assert_true(fcntl(capture.pipe[0], F_SETFL, O_NONBLOCK) == 0);
	while (read(capture.pipe[0], text, sizeof(text)) > 0)
		;
	log_info("heard");
	end(&capture, text, sizeof(text));
	assert_string_equal(text, "sealane-agent: heard\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_other_stream),
		cmocka_unit_test(test_one_line_stays_one),
		cmocka_unit_test(test_nobody_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
