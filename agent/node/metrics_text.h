/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus' text format. Control thread. */
#ifndef SEALANE_NODE_METRICS_TEXT_H
#define SEALANE_NODE_METRICS_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { METRICS_NAME_LEN = 96, METRICS_LABELS_MAX = 2 };

struct metrics_label {
	const char *name, *value;
};

/* The lines in front of a family's samples. */
void metrics_family(FILE *out, const char *name, const char *type, const char *help);
/* One sample; a label whose name is NULL is left out, values are escaped. */
void metrics_sample(FILE *out, const char *name,
		    const struct metrics_label labels[METRICS_LABELS_MAX], uint64_t value);
void metrics_sample_real(FILE *out, const char *name, double value);
/* Family and one sample without labels. */
void metrics_single(FILE *out, const char *name, const char *type, const char *help,
		    uint64_t value);
/* May @word be a part of a name? */
bool metrics_word(const char *word);

#endif
