/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of netlink tables: a network namespace of our own, and what ip(8) and
 * bridge(8) say about it. */
#ifndef SEALANE_TESTS_UNIT_OVERLAY_NETNS_H
#define SEALANE_TESTS_UNIT_OVERLAY_NETNS_H

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *netns_skip_reason;

static inline void netns_enter(void)
{
	if (geteuid() || unshare(CLONE_NEWNET))
		netns_skip_reason = "needs root and a network namespace of its own";
}

static inline void need_netns(void)
{
	if (netns_skip_reason) {
		print_message("skipped: %s\n", netns_skip_reason);
		skip();
	}
}

/* What @command prints, a new string. */
static inline char *text_of(const char *command)
{
	FILE *pipe = popen(command, "r"), *out;
	char *text = NULL;
	size_t len = 0;
	int c;

	assert_non_null(pipe);
	out = open_memstream(&text, &len);
	assert_non_null(out);
	while ((c = fgetc(pipe)) != EOF)
		fputc(c, out);
	fclose(out);
	if (pclose(pipe))
		fail_msg("failed: %s", command);
	return text;
}

static inline bool shows(const char *command, const char *want)
{
	char *text = text_of(command);
	bool found = strstr(text, want);

	free(text);
	return found;
}

static inline void assert_shows(const char *command, const char *want)
{
	if (!shows(command, want))
		fail_msg("%s: no \"%s\" in: %s", command, want, text_of(command));
}

static inline void assert_shows_not(const char *command, const char *text)
{
	if (shows(command, text))
		fail_msg("%s: \"%s\" in: %s", command, text, text_of(command));
}

static inline int line_count(const char *command)
{
	char *text = text_of(command);
	int n = 0;

	for (const char *p = text; (p = strchr(p, '\n')); p++)
		n++;
	free(text);
	return n;
}

static inline void run(const char *command)
{
	if (system(command))
		fail_msg("failed: %s", command);
}

#endif
