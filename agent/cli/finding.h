/* SPDX-License-Identifier: Apache-2.0 */
/* What the doctor found: a list. One thread. */
#ifndef SEALANE_CLI_FINDING_H
#define SEALANE_CLI_FINDING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum finding_level {
	FINDING_RIGHT, /* nothing to do; shown when asked for */
	FINDING_NOTE,  /* worth to know, not a fault */
	FINDING_WRONG, /* makes the exit status 1 */
};

enum { FINDING_TEXT_LEN = 1000 };

struct finding {
	enum finding_level level;
	char what[64]; /* "capability udp_gso" */
	char text[FINDING_TEXT_LEN];
	char cure[FINDING_TEXT_LEN]; /* commands or advice, "": none */
};

struct findings {
	struct finding *list;
	size_t n, room;
	bool failed; /* memory was short: something is missing */
};

/* @text is as it is said; control characters are dealt with when it is printed. */
void finding_add(struct findings *f, enum finding_level level, const char *what, const char *fmt,
		 ...) __attribute__((format(printf, 4, 5)));
/* The last one's cure. */
void finding_cure(struct findings *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void findings_free(struct findings *f);

size_t findings_count(const struct findings *f, enum finding_level level);
void findings_print(const struct findings *f, bool with_right, FILE *out);
json_t *findings_json(const struct findings *f);

#endif
