/* SPDX-License-Identifier: Apache-2.0 */
/* The form of a configuration, see config_internal.h. Values are written down again as
 * YAML's flow style with every text in double quotes. */
#include "config_internal.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct walk {
	struct config_reading *r;
	yaml_parser_t parser;
	yaml_event_t event; /* the one that is looked at */
	unsigned n_events;
	bool over; /* nothing more can be read; told */
	char path[CONFIG_KEY_LEN];
	FILE *out;
};

static void walk_value(struct walk *w, const cyaml_schema_value_t *schema, int key_line);

static int line_of(const yaml_mark_t *mark)
{
	return (int)mark->line + 1;
}

static int event_line(const struct walk *w)
{
	return line_of(&w->event.start_mark);
}

__attribute__((format(printf, 3, 4))) static void end_walk(struct walk *w, int line,
							   const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	config_fault_line(w->r, line, "", "%s", text);
	w->over = true;
}

static void refuse_syntax(struct walk *w)
{
	const yaml_parser_t *p = &w->parser;

	if (p->error == YAML_MEMORY_ERROR) {
		w->r->no_memory = w->over = true;
		return;
	}
	end_walk(w, p->error == YAML_READER_ERROR ? 1 : line_of(&p->problem_mark),
		 "this is no YAML: %s%s%s; a value that begins with [ or has \": \" needs quotes",
		 p->problem ? p->problem : "?", p->context ? " " : "",
		 p->context ? p->context : "");
}

/* What libcyaml could make large, or would not look at. */
static void refuse_extras(struct walk *w)
{
	const yaml_event_t *e = &w->event;
	const yaml_char_t *anchor = NULL, *tag = NULL;

	if (e->type == YAML_SCALAR_EVENT) {
		anchor = e->data.scalar.anchor;
		tag = e->data.scalar.tag;
	} else if (e->type == YAML_SEQUENCE_START_EVENT) {
		anchor = e->data.sequence_start.anchor;
		tag = e->data.sequence_start.tag;
	} else if (e->type == YAML_MAPPING_START_EVENT) {
		anchor = e->data.mapping_start.anchor;
		tag = e->data.mapping_start.tag;
	}
	if (anchor)
		config_fault_line(w->r, event_line(w), w->path,
				  "has an anchor (&); allowed: the values themselves");
	if (tag)
		config_fault_line(w->r, event_line(w), w->path,
				  "has a tag (!); allowed: the value alone");
}

/* Goes to the next event. After an end of the walk it stays at what says "no event". */
static void next(struct walk *w)
{
	if (w->over)
		return;
	yaml_event_delete(&w->event);
	w->event = (yaml_event_t){0};
	if (!yaml_parser_parse(&w->parser, &w->event)) {
		w->event = (yaml_event_t){0};
		refuse_syntax(w);
		return;
	}
	if (++w->n_events > CONFIG_EVENTS_MAX)
		end_walk(w, event_line(w), "too many values; allowed: %d in a file",
			 CONFIG_EVENTS_MAX);
}

/* Leaves a value and all below it behind. */
static void skip_value(struct walk *w)
{
	unsigned depth = 0;

	do {
		switch (w->event.type) {
		case YAML_SEQUENCE_START_EVENT:
		case YAML_MAPPING_START_EVENT:
			if (++depth > CONFIG_DEPTH_MAX)
				end_walk(w, event_line(w), "nested too deep; allowed: %d levels",
					 CONFIG_DEPTH_MAX);
			break;
		case YAML_SEQUENCE_END_EVENT:
		case YAML_MAPPING_END_EVENT:
			depth--;
			break;
		default:
			break;
		}
		next(w);
	} while (depth && !w->over);
}

static const char *scalar(const struct walk *w)
{
	return (const char *)w->event.data.scalar.value;
}

/* What YAML takes for no value at all. */
static bool is_null(const struct walk *w)
{
	return w->event.type == YAML_SCALAR_EVENT &&
	       w->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       (!scalar(w)[0] || !strcmp(scalar(w), "~") || !strcasecmp(scalar(w), "null"));
}

static const char *kind_of(const struct walk *w)
{
	switch (w->event.type) {
	case YAML_SEQUENCE_START_EVENT:
		return "a list";
	case YAML_MAPPING_START_EVENT:
		return "a mapping";
	case YAML_ALIAS_EVENT:
		return "an alias (*)";
	default:
		return is_null(w) ? "empty" : "a single value";
	}
}

static const char *kind_wanted(const cyaml_schema_value_t *schema)
{
	if (schema->type == CYAML_SEQUENCE)
		return "a list, [ONE, ANOTHER]";
	return schema->type == CYAML_MAPPING ? "a mapping, keys with their values"
					     : "a single value";
}

/* Takes one character off @text, which libyaml found to be UTF-8. */
static uint32_t take_character(const char **text)
{
	const uint8_t *p = (const uint8_t *)*text;
	const unsigned more = p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 1 : p[0] < 0xf0 ? 2 : 3;
	uint32_t c = more ? p[0] & (0x3fu >> more) : p[0];

	for (unsigned i = 1; i <= more; i++)
		c = c << 6 | (p[i] & 0x3f);
	*text += 1 + more;
	return c;
}

/* Escaped where YAML would take it for something else: line ends of Unicode, too. */
static void write_text(struct walk *w, const char *text)
{
	fputc('"', w->out);
	while (*text) {
		const uint32_t c = take_character(&text);

		if (c < ' ' || c > '~')
			fprintf(w->out, "\\U%08x", c);
		else if (c == '"' || c == '\\')
			fprintf(w->out, "\\%c", (char)c);
		else
			fputc((char)c, w->out);
	}
	fputc('"', w->out);
}

static void walk_text(struct walk *w)
{
	if (strlen(scalar(w)) != w->event.data.scalar.length)
		config_fault_line(w->r, event_line(w), w->path,
				  "has a character of code 0; allowed: text");
	write_text(w, scalar(w));
	next(w);
}

/* A number alone in "[...]" of the path; what does not fit was refused before. */
static void walk_list(struct walk *w, const cyaml_schema_value_t *schema)
{
	const size_t len = strlen(w->path);
	unsigned n = 0;

	fputc('[', w->out);
	for (next(w); !w->over && w->event.type != YAML_SEQUENCE_END_EVENT; n++) {
		if (n < schema->sequence.max) {
			snprintf(w->path + len, sizeof(w->path) - len, "[%u]", n);
			walk_value(w, schema->sequence.entry, event_line(w));
			w->path[len] = '\0';
			fputs(",\n", w->out);
			continue;
		}
		if (n == schema->sequence.max)
			config_fault_line(w->r, event_line(w), w->path,
					  "has too many entries; allowed: up to %u",
					  (unsigned)schema->sequence.max);
		skip_value(w);
	}
	fputc(']', w->out);
	next(w);
}

/* Levenshtein's distance, of words that are not long. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[32], above, left;
	const size_t n = strlen(b);

	if (n >= 31 || strlen(a) >= 31)
		return UINT32_MAX;
	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		above = row[0];
		row[0] = (unsigned)i + 1;
		for (size_t j = 0; j < n; j++) {
			const unsigned changed = above + (a[i] != b[j]);

			above = row[j + 1];
			left = row[j] + 1;
			row[j + 1] = changed < left ? changed : left;
			if (above + 1 < row[j + 1])
				row[j + 1] = above + 1;
		}
	}
	return row[n];
}

static void refuse_key(struct walk *w, const cyaml_schema_field_t *fields)
{
	const char *key = scalar(w), *nearest = NULL;
	unsigned best = 3;
	char known[256] = "", path[CONFIG_KEY_LEN + CONFIG_QUOTE_LEN], quote[CONFIG_QUOTE_LEN];

	for (const cyaml_schema_field_t *f = fields; f->key; f++) {
		const unsigned d = distance(key, f->key);
		const size_t len = strlen(known);

		if (d < best && d < strlen(f->key)) {
			best = d;
			nearest = f->key;
		}
		snprintf(known + len, sizeof(known) - len, "%s%s", len ? ", " : "", f->key);
	}
	snprintf(path, sizeof(path), "%s%s%s", w->path, w->path[0] ? "." : "",
		 config_quote(key, quote));
	if (nearest)
		config_fault_line(w->r, event_line(w), path, "no such key; did you mean %s?",
				  nearest);
	else
		config_fault_line(w->r, event_line(w), path, "no such key; allowed: %s", known);
}

/* The field of the key that is looked at; NULL: unknown or not for the first time, which
 * is told. */
static const cyaml_schema_field_t *take_key(struct walk *w, const cyaml_schema_field_t *fields,
					    uint32_t *seen)
{
	const cyaml_schema_field_t *f = fields;

	if (w->event.type != YAML_SCALAR_EVENT) {
		config_fault_line(w->r, event_line(w), w->path,
				  "a key is %s; allowed: a single word", kind_of(w));
		return NULL;
	}
	refuse_extras(w);
	while (f->key && strcmp(f->key, scalar(w)) != 0)
		f++;
	if (!f->key) {
		refuse_key(w, fields);
		return NULL;
	}
	if (*seen & 1u << (f - fields)) {
		config_fault_line(w->r, event_line(w), w->path,
				  "%s is given a second time; allowed: once", f->key);
		return NULL;
	}
	*seen |= 1u << (f - fields);
	return f;
}

static void walk_mapping(struct walk *w, const cyaml_schema_field_t *fields)
{
	const size_t len = strlen(w->path);
	uint32_t seen = 0;

	fputc('{', w->out);
	for (next(w); !w->over && w->event.type != YAML_MAPPING_END_EVENT;) {
		const int line = event_line(w);
		const cyaml_schema_field_t *field = take_key(w, fields, &seen);

		skip_value(w); /* the key */
		if (w->over)
			break;
		if (!field) {
			skip_value(w);
			continue;
		}
		snprintf(w->path + len, sizeof(w->path) - len, "%s%s", len ? "." : "", field->key);
		fprintf(w->out, "\"%s\": ", field->key);
		walk_value(w, &field->value, line);
		fputs(",\n", w->out);
		w->path[len] = '\0';
	}
	fputc('}', w->out);
	next(w);
}

static bool fits(const struct walk *w, const cyaml_schema_value_t *schema)
{
	switch (schema->type) {
	case CYAML_SEQUENCE:
		return w->event.type == YAML_SEQUENCE_START_EVENT || is_null(w);
	case CYAML_MAPPING:
		return w->event.type == YAML_MAPPING_START_EVENT || is_null(w);
	default:
		return w->event.type == YAML_SCALAR_EVENT && !is_null(w);
	}
}

/* In the place of what is refused or empty stands an empty value, so that lists keep
 * their numbers. */
static void walk_value(struct walk *w, const cyaml_schema_value_t *schema, int key_line)
{
	const bool ok = fits(w, schema);
	const int line = w->event.type == YAML_SCALAR_EVENT ? event_line(w) : key_line;
	struct config_line *entry = config_lines_add(&w->r->lines, w->path, line);

	if (!entry) {
		w->r->no_memory = w->over = true;
		return;
	}
	entry->told = !ok;
	refuse_extras(w);
	if (!ok)
		config_fault_line(w->r, line, w->path, "is %s; allowed: %s", kind_of(w),
				  kind_wanted(schema));
	if (!ok || (is_null(w) && schema->type != CYAML_STRING)) {
		fputs(schema->type == CYAML_SEQUENCE  ? "[]"
		      : schema->type == CYAML_MAPPING ? "{}"
						      : "\"\"",
		      w->out);
		skip_value(w);
	} else if (schema->type == CYAML_SEQUENCE) {
		walk_list(w, schema);
	} else if (schema->type == CYAML_MAPPING) {
		walk_mapping(w, schema->mapping.fields);
	} else {
		walk_text(w);
	}
}

static void walk_document(struct walk *w)
{
	next(w); /* begin of the stream */
	next(w);
	if (w->over)
		return;
	if (w->event.type == YAML_STREAM_END_EVENT) {
		fputs("{}", w->out);
		return;
	}
	next(w);
	if (w->over)
		return;
	walk_value(w, &config_schema, 1);
	next(w); /* end of the document */
	if (!w->over && w->event.type != YAML_STREAM_END_EVENT)
		end_walk(w, event_line(w), "a second document begins; allowed: one");
}

char *config_walk(struct config_reading *r, const char *text, size_t len)
{
	struct walk w = {.r = r};
	char *clean = NULL;
	size_t clean_len;

	w.out = open_memstream(&clean, &clean_len);
	if (!w.out || !yaml_parser_initialize(&w.parser)) {
		r->no_memory = true;
		goto out;
	}
	yaml_parser_set_encoding(&w.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&w.parser, (const unsigned char *)text, len);
	walk_document(&w);
	yaml_event_delete(&w.event);
	yaml_parser_delete(&w.parser);
out:
	if (w.out && fclose(w.out) != 0)
		r->no_memory = true;
	if (!w.over && !r->no_memory)
		return clean;
	free(clean);
	return NULL;
}
