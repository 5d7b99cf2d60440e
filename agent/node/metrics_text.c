/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics_text.h"

#include <inttypes.h>
#include <string.h>

void metrics_family(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_escaped(FILE *out, const char *value)
{
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", out);
		else if (*value == '\\' || *value == '"')
			fprintf(out, "\\%c", *value);
		else
			fputc(*value, out);
	}
}

static void put_labels(FILE *out, const struct metrics_label labels[METRICS_LABELS_MAX])
{
	const char *before = "{";

	for (int i = 0; i < METRICS_LABELS_MAX; i++) {
		if (!labels[i].name)
			continue;
		fprintf(out, "%s%s=\"", before, labels[i].name);
		put_escaped(out, labels[i].value);
		fputc('"', out);
		before = ",";
	}
	if (*before == ',')
		fputc('}', out);
}

void metrics_sample(FILE *out, const char *name,
		    const struct metrics_label labels[METRICS_LABELS_MAX], uint64_t value)
{
	fputs(name, out);
	put_labels(out, labels);
	fprintf(out, " %" PRIu64 "\n", value);
}

void metrics_sample_real(FILE *out, const char *name, double value)
{
	fprintf(out, "%s %.9f\n", name, value);
}

void metrics_single(FILE *out, const char *name, const char *type, const char *help, uint64_t value)
{
	static const struct metrics_label none[METRICS_LABELS_MAX];

	metrics_family(out, name, type, help);
	metrics_sample(out, name, none, value);
}

bool metrics_word(const char *word)
{
	return *word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_")];
}
