/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes to a terminal: text from sockets without anything that a terminal would
 * obey, ages and sizes for people, and tables. Any thread.
 */
#ifndef SEALANE_CLI_TERM_H
#define SEALANE_CLI_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { TERM_NUMBER_LEN = 32 };

/* Writes @text: every byte that is not printable ASCII as \xNN, and a backslash
 * doubled. NULL is "-". */
void term_put(FILE *out, const char *text);
/* Each line of @text likewise, on one of its own behind @before. */
void term_put_lines(FILE *out, const char *before, const char *text);
/* As term_put() into memory, malloc'd; NULL: no memory. */
char *term_safe(const char *text);

/* "12 s", "3 min 5 s", "2 h 0 min", "4 d 7 h". Returns @buf. */
const char *term_age(uint64_t seconds, char buf[TERM_NUMBER_LEN]);
/* "0 B", "1023 B", "1.0 KiB", "15.3 MiB": rounded down. Returns @buf. */
const char *term_bytes(uint64_t bytes, char buf[TERM_NUMBER_LEN]);

/* Decimal digits and nothing else. False: *ret untouched. */
bool term_number(const char *text, uint64_t *ret);

/* A table with aligned columns, two blanks between them. Cells are copied and made
 * safe; a failed allocation is told when it is printed. */
enum { TERM_COLUMNS_MAX = 10 };
struct term_table {
	size_t n_columns, n_cells, room;
	char **cells;
	bool failed;
};
void term_table_init(struct term_table *t, size_t n_columns);
void term_table_cell(struct term_table *t, const char *text);
/* 0 or -ENOMEM, nothing printed then. Frees the table in either case. */
int term_table_print(struct term_table *t, FILE *out);

#endif
