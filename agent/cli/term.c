/* SPDX-License-Identifier: Apache-2.0 */
#include "term.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Safe text ---- */

/* The form of one byte; returns its length. */
static size_t safe_byte(unsigned char byte, char ret[5])
{
	if (byte == '\\')
		return (size_t)sprintf(ret, "\\\\");
	if (byte < 0x20 || byte > 0x7e)
		return (size_t)sprintf(ret, "\\x%02x", byte);
	ret[0] = (char)byte;
	ret[1] = '\0';
	return 1;
}

static void put_safe(FILE *out, const char *text, size_t len)
{
	char form[5];

	for (size_t i = 0; i < len; i++) {
		safe_byte((unsigned char)text[i], form);
		fputs(form, out);
	}
}

void term_put(FILE *out, const char *text)
{
	if (!text)
		text = "-";
	put_safe(out, text, strlen(text));
}

void term_put_lines(FILE *out, const char *before, const char *text)
{
	while (*text) {
		const size_t len = strcspn(text, "\n");

		fputs(before, out);
		put_safe(out, text, len);
		fputc('\n', out);
		text += len + (text[len] == '\n');
	}
}

char *term_safe(const char *text)
{
	char form[5], *ret, *to;

	if (!text)
		text = "-";
	ret = malloc(4 * strlen(text) + 1);
	if (!ret)
		return NULL;
	to = ret;
	for (; *text; text++) {
		const size_t len = safe_byte((unsigned char)*text, form);

		memcpy(to, form, len);
		to += len;
	}
	*to = '\0';
	return ret;
}

/* ---- Numbers ---- */

const char *term_age(uint64_t seconds, char buf[TERM_NUMBER_LEN])
{
	const uint64_t minutes = seconds / 60, hours = minutes / 60, days = hours / 24;

	if (days)
		snprintf(buf, TERM_NUMBER_LEN, "%" PRIu64 " d %" PRIu64 " h", days, hours % 24);
	else if (hours)
		snprintf(buf, TERM_NUMBER_LEN, "%" PRIu64 " h %" PRIu64 " min", hours,
			 minutes % 60);
	else if (minutes)
		snprintf(buf, TERM_NUMBER_LEN, "%" PRIu64 " min %" PRIu64 " s", minutes,
			 seconds % 60);
	else
		snprintf(buf, TERM_NUMBER_LEN, "%" PRIu64 " s", seconds);
	return buf;
}

const char *term_bytes(uint64_t bytes, char buf[TERM_NUMBER_LEN])
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	uint64_t unit = 1024, tenths;
	size_t i = 0;

	if (bytes < unit) {
		snprintf(buf, TERM_NUMBER_LEN, "%" PRIu64 " B", bytes);
		return buf;
	}
	while (i + 1 < sizeof(units) / sizeof(*units) && bytes / unit >= 1024) {
		unit *= 1024;
		i++;
	}
	/* The rest is below an EiB, so ten times it does not overflow. */
	tenths = bytes % unit * 10 / unit;
	snprintf(buf, TERM_NUMBER_LEN, "%" PRIu64 ".%" PRIu64 " %s", bytes / unit, tenths,
		 units[i]);
	return buf;
}

bool term_number(const char *text, uint64_t *ret)
{
	unsigned long long value;

	if (!text || !*text || strspn(text, "0123456789") != strlen(text))
		return false;
	errno = 0;
	value = strtoull(text, NULL, 10);
	if (errno)
		return false;
	*ret = value;
	return true;
}

/* ---- Tables ---- */

void term_table_init(struct term_table *t, size_t n_columns)
{
	*t = (struct term_table){.n_columns = n_columns};
}

void term_table_cell(struct term_table *t, const char *text)
{
	if (t->n_cells == t->room && !t->failed) {
		const size_t room = t->room ? 2 * t->room : 64;
		char **cells = reallocarray(t->cells, room, sizeof(*cells));

		if (cells) {
			t->cells = cells;
			t->room = room;
		}
	}
	if (t->n_cells == t->room) {
		t->failed = true;
		return;
	}
	t->cells[t->n_cells] = term_safe(text);
	if (t->cells[t->n_cells])
		t->n_cells++;
	else
		t->failed = true;
}

static void print_rows(const struct term_table *t, FILE *out)
{
	size_t width[TERM_COLUMNS_MAX] = {0};

	for (size_t i = 0; i < t->n_cells; i++) {
		const size_t len = strlen(t->cells[i]), column = i % t->n_columns;

		if (len > width[column])
			width[column] = len;
	}
	for (size_t i = 0; i < t->n_cells; i++) {
		const size_t column = i % t->n_columns;

		/* Nothing is padded at the end of a line. */
		if (column + 1 == t->n_columns)
			fprintf(out, "%s\n", t->cells[i]);
		else
			fprintf(out, "%-*s  ", (int)width[column], t->cells[i]);
	}
}

int term_table_print(struct term_table *t, FILE *out)
{
	const int err = t->failed ? -ENOMEM : 0;

	if (!err)
		print_rows(t, out);
	for (size_t i = 0; i < t->n_cells; i++)
		free(t->cells[i]);
	free(t->cells);
	*t = (struct term_table){0};
	return err;
}
