/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation. A configuration becomes typed in three stages, and each goes on
 * after a fault, so that all are told at once:
 *
 * 1. config_walk.c goes through libyaml's events along libcyaml's schema. It judges the
 *    form (keys, kinds, numbers of entries, what YAML has and a configuration has no use
 *    for), notes the line of each value and writes down again what is of the right form.
 * 2. libcyaml loads that text by the same schema (config_schema.c) into structs whose
 *    values are all text, for it knows neither ranges nor lines and stops at the first
 *    fault. What it is given has no alias, no unknown key and bounded depth and size.
 * 3. config_take.c types the values by one table (config_table.c), the environment's
 *    with the same rows; config_check.c and config_check_peers.c then look at what
 *    concerns several values, and config_check_whole.c at what only all of them tell.
 *
 * Control thread.
 */
#ifndef SEALANE_NODE_CONFIG_INTERNAL_H
#define SEALANE_NODE_CONFIG_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "config.h"
#include "config_lines.h"
#include "config_schema.h"

enum {
	CONFIG_TEXT_MAX = 16 << 20,  /* bytes of a file */
	CONFIG_EVENTS_MAX = 4 << 20, /* of libyaml: keys, values, beginnings and ends */
	CONFIG_DEPTH_MAX = 32,	     /* of nesting, also below unknown keys */
	CONFIG_FAULTS_MAX = 100,     /* told */
	CONFIG_KEY_LEN = 128,	     /* of a path with its NUL */
	CONFIG_QUOTE_LEN = 68,
};

struct config_section;

/* One reading of a configuration. */
struct config_reading {
	const char *file; /* for faults */
	char *(*getenv_fn)(const char *name);
	struct config_lines lines;
	struct config_faults *faults;
	size_t n_faults; /* found, also those that are not told */
	bool no_memory;
	struct config *config;
};

/* config_faults.c: a path as the next functions take it; too long a one is cut. */
void config_key(char key[CONFIG_KEY_LEN], const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* @fmt says "what is wrong; what is allowed". By path: not told if a
 * fault of that value was. */
void config_fault(struct config_reading *r, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void config_fault_line(struct config_reading *r, int line, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void config_fault_env(struct config_reading *r, const char *variable, const char *value,
		      const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void config_fault_file(struct config_reading *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* @text on one line, cut where it is long; returns @buf. */
const char *config_quote(const char *text, char buf[CONFIG_QUOTE_LEN]);

/* config_walk.c: the text of the right form, malloc'd, or NULL if it is of no use at all
 * (told) or there is no memory (no_memory). */
char *config_walk(struct config_reading *r, const char *text, size_t len);

/* config_take.c: types the values of one mapping. @path is "" or ends in a dot. */
void config_take(struct config_reading *r, const char *path, const struct config_section *section,
		 const void *raw, void *ret);

/* config_env.c: the value of the first of the row's variables that is set and not empty,
 * with its name; or NULL. */
struct config_value;
const char *config_env(const struct config_value *row, char *(*getenv_fn)(const char *name),
		       const char **ret_name);

/* config_check.c and config_check_peers.c: fill r->config from @raw. */
void config_check(struct config_reading *r, const struct raw_config *raw);
void config_check_peers(struct config_reading *r, const struct raw_config *raw);
/* config_check_whole.c: looks at r->config once it is filled. What was refused is left
 * zero there, and says nothing. */
void config_check_whole(struct config_reading *r);

enum { CONFIG_MTU_MIN_IPV6 = 1280 }; /* RFC 8200, section 5 */

#endif
