/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads tests/vectors/<file>: one vector a line, a name and then hex fields, all
 * split by single spaces; "-" is the empty string, "#" starts a comment line.
 *
 *	struct vectors v = vectors_open("hash.txt");
 *
 *	while (vectors_next(&v, "kdf", 5))
 *		... v.field[0].bytes, v.field[0].len ...
 *
 * Fields live until the next call. The end of the file frees everything and
 * fails the test when no line had the name.
 *
 * Include after cmocka.h.
 */
#ifndef SEALANE_TESTS_VECTORS_H
#define SEALANE_TESTS_VECTORS_H

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VECTOR_FIELDS_MAX = 8 };

struct vector_field {
	uint8_t *bytes; /* a heap block of exactly len bytes: ASan sees any overrun */
	size_t len;
};

struct vectors {
	const char *name;
	FILE *file;
	char *line;
	size_t line_size;
	unsigned line_number;
	unsigned n_seen;
	struct vector_field field[VECTOR_FIELDS_MAX];
};

static inline struct vectors vectors_open(const char *name)
{
	struct vectors v = {.name = name};
	char path[4096];

	snprintf(path, sizeof(path), "%s/tests/vectors/%s", SEALANE_SOURCE_DIR, name);
	v.file = fopen(path, "re");
	if (!v.file)
		fail_msg("cannot open %s", path);
	return v;
}

static inline unsigned vector_nibble(const struct vectors *v, char c)
{
	if (!isxdigit((unsigned char)c))
		fail_msg("%s:%u: bad hex digit", v->name, v->line_number);
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

static inline void vector_decode(const struct vectors *v, const char *hex,
				 struct vector_field *field)
{
	size_t digits = strcmp(hex, "-") ? strlen(hex) : 0;

	if (digits % 2)
		fail_msg("%s:%u: odd number of digits", v->name, v->line_number);
	field->len = digits / 2;
	field->bytes = malloc(field->len);
	for (size_t i = 0; i < field->len; i++)
		field->bytes[i] = (uint8_t)(vector_nibble(v, hex[2 * i]) << 4 |
					    vector_nibble(v, hex[2 * i + 1]));
}

static inline void vectors_free_fields(struct vectors *v)
{
	for (unsigned i = 0; i < VECTOR_FIELDS_MAX; i++)
		free(v->field[i].bytes);
	memset(v->field, 0, sizeof(v->field));
}

static inline bool vectors_next(struct vectors *v, const char *name, unsigned n_fields)
{
	vectors_free_fields(v);
	while (getline(&v->line, &v->line_size, v->file) >= 0) {
		char *rest = NULL, *word = strtok_r(v->line, " \n", &rest);
		unsigned n = 0;

		v->line_number++;
		if (!word || strcmp(word, name))
			continue;
		for (; n < VECTOR_FIELDS_MAX && (word = strtok_r(NULL, " \n", &rest)); n++)
			vector_decode(v, word, &v->field[n]);
		if (n != n_fields)
			fail_msg("%s:%u: %u fields, not %u", v->name, v->line_number, n, n_fields);
		v->n_seen++;
		return true;
	}
	if (!v->n_seen)
		fail_msg("%s: no \"%s\"", v->name, name);
	free(v->line);
	fclose(v->file);
	return false;
}

/* Field @i as a big-endian number. */
static inline uint64_t vector_number(const struct vectors *v, unsigned i)
{
	uint64_t number = 0;

	for (size_t k = 0; k < v->field[i].len; k++)
		number = number << 8 | v->field[i].bytes[k];
	return number;
}

/* Fails the test, naming the line, unless @actual is field @i. */
static inline void vector_assert_field(const struct vectors *v, unsigned i, const void *actual,
				       size_t len)
{
	if (v->field[i].len != len || (len && memcmp(v->field[i].bytes, actual, len)))
		fail_msg("%s:%u: field %u differs", v->name, v->line_number, i);
}

#endif
