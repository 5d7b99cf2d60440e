/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

#include "log_syslog.h"

static enum log_level current_level = LOG_INFO;
static const char *current_ifname = "";
static bool to_syslog;

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

void log_setup(enum log_level level)
{
	current_level = level;
}

void log_name(const char *ifname)
{
	current_ifname = ifname;
}

static void emit(enum log_level level, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

/* A line is shorter than PIPE_BUF, so where poll() sees room it goes whole. Where
 * nobody reads, it is lost: that must not stop the lane. */
static void write_line(const char *line, size_t len)
{
	struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};

	if (poll(&room, 1, 0) == 1 && room.revents == POLLOUT &&
	    write(STDERR_FILENO, line, len) < 0)
		return;
}

static void emit(enum log_level level, const char *fmt, va_list ap)
{
	char text[448], line[512];
	int len;

	if (level > current_level)
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	if (to_syslog) {
		log_syslog_write(level == LOG_ERROR, current_ifname, text);
		return;
	}
	len = snprintf(line, sizeof(line), "sealaned: %s%s%s\n", current_ifname,
		       *current_ifname ? ": " : "", text);
	if (len > 0)
		write_line(line, (size_t)len < sizeof(line) ? (size_t)len : sizeof(line) - 1);
}

void log_use_syslog(void)
{
	log_syslog_open();
	to_syslog = true;
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
