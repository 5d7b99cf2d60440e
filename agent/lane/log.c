/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <strings.h>

static enum log_level current_level = LOG_INFO;
static const char *current_ifname = "";

bool log_level_parse(const char *word, enum log_level *ret)
{
	static const struct {
		const char *word;
		enum log_level level;
	} words[] = {
		{"silent", LOG_SILENT}, {"error", LOG_ERROR},	  {"warn", LOG_ERROR},
		{"info", LOG_INFO},	{"verbose", LOG_VERBOSE}, {"debug", LOG_VERBOSE},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcasecmp(word, words[i].word)) {
			*ret = words[i].level;
			return true;
		}
	}
	return false;
}

void log_setup(enum log_level level, const char *ifname)
{
	current_level = level;
	current_ifname = ifname;
}

static void emit(enum log_level level, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

static void emit(enum log_level level, const char *fmt, va_list ap)
{
	char text[512];

	if (level > current_level)
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	fprintf(stderr, "sealaned: %s%s%s\n", current_ifname, *current_ifname ? ": " : "", text);
}

void log_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	emit(LOG_ERROR, fmt, ap);
	va_end(ap);
}

void log_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	emit(LOG_INFO, fmt, ap);
	va_end(ap);
}

void log_verbose(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	emit(LOG_VERBOSE, fmt, ap);
	va_end(ap);
}
