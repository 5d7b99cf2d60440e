/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static enum config_log current_level = CONFIG_LOG_INFO;
static bool to_journal;
static bool nobody_reads;

/* As sd-daemon(3) has them. */
static const int priorities[] = {
	[CONFIG_LOG_ERROR] = 3,
	[CONFIG_LOG_INFO] = 6,
	[CONFIG_LOG_DEBUG] = 7,
};

void log_setup(enum config_log level)
{
	current_level = level;
}

void log_open(char *(*getenv_fn)(const char *name))
{
	const char *stream = getenv_fn("JOURNAL_STREAM");
	uintmax_t dev, ino;
	struct stat st;

	to_journal = stream && sscanf(stream, "%ju:%ju", &dev, &ino) == 2 &&
		     !fstat(STDERR_FILENO, &st) && st.st_dev == dev && st.st_ino == ino;
}

/* A line is shorter than PIPE_BUF, so where poll() sees room it goes whole. */
static void write_line(const char *line, size_t len)
{
	struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};

	nobody_reads = poll(&room, 1, nobody_reads ? 0 : LOG_PATIENCE_MS) != 1 ||
		       !(room.revents & POLLOUT) || write(STDERR_FILENO, line, len) < 0;
}

/* Texts have names and values of others in them: one line stays one line. */
static void replace_controls(char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
	}
}

static void emit(enum config_log level, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

static void emit(enum config_log level, const char *fmt, va_list ap)
{
	char text[LOG_LINE_LEN], line[LOG_LINE_LEN + 32];
	int len;

	if (level > current_level)
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	replace_controls(text);
	if (to_journal)
		len = snprintf(line, sizeof(line), "<%d>%s\n", priorities[level], text);
	else
		len = snprintf(line, sizeof(line), "sealane-agent: %s\n", text);
	if (len > 0)
		write_line(line, (size_t)len);
}

void log_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	emit(CONFIG_LOG_ERROR, fmt, ap);
	va_end(ap);
}

void log_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	emit(CONFIG_LOG_INFO, fmt, ap);
	va_end(ap);
}

void log_debug(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	emit(CONFIG_LOG_DEBUG, fmt, ap);
	va_end(ap);
}
