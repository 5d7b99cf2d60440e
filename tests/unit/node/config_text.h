/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations as text: parses them with an environment of the test's own. */
#ifndef SEALANE_TESTS_CONFIG_TEXT_H
#define SEALANE_TESTS_CONFIG_TEXT_H

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "agent/node/config.h"

#define CONFIG_NODE "node: {name: alpha, tunnel_addresses: [10.10.0.1, \"fd00::1\"]}\n"
#define CONFIG_KEY1 "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="
#define CONFIG_KEY2 "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08="

/* "NAME=VALUE", ended by NULL; NULL: no variable at all. */
static const char *const *config_text_env;

static char *config_text_getenv(const char *name)
{
	const size_t len = strlen(name);

	for (const char *const *v = config_text_env; v && *v; v++) {
		if (!strncmp(*v, name, len) && (*v)[len] == '=')
			return (char *)(uintptr_t)(*v + len + 1);
	}
	return NULL;
}

/* Parses what must be right; the test frees it. */
__attribute__((unused)) static struct config *config_text_good(const char *text)
{
	struct config_faults faults = {0};
	struct config *c = NULL;
	const int err = config_parse(text, strlen(text), "F", config_text_getenv, &c, &faults);

	if (err || faults.n || faults.text)
		fail_msg("%d:\n%s\nof:\n%s", err, faults.text ? faults.text : "", text);
	assert_non_null(c);
	return c;
}

/* Parses what must be refused with just these lines. */
__attribute__((unused)) static void config_text_bad(const char *text, size_t len, const char *lines)
{
	struct config_faults faults = {0};
	struct config *c = (struct config *)(void *)&faults;
	size_t n = 0;

	for (const char *p = lines; *p; p++)
		n += *p == '\n';
	if (config_parse(text, len, "F", config_text_getenv, &c, &faults) != -EINVAL)
		fail_msg("not refused:\n%s", text);
	assert_ptr_equal(c, &faults);
	if (strcmp(faults.text, lines) != 0)
		fail_msg("faults:\n%swanted:\n%sof:\n%s", faults.text, lines, text);
	assert_int_equal(faults.n, n);
	config_faults_free(&faults);
	assert_null(faults.text);
	assert_int_equal(faults.n, 0);
}

#endif
