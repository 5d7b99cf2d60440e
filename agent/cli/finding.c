/* SPDX-License-Identifier: Apache-2.0 */
#include "finding.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "json_out.h"
#include "term.h"

static const char *const level_names[] = {
	[FINDING_RIGHT] = "right", [FINDING_NOTE] = "note", [FINDING_WRONG] = "WRONG"};
static const char *const level_words[] = {
	[FINDING_RIGHT] = "right", [FINDING_NOTE] = "note", [FINDING_WRONG] = "wrong"};

void finding_add(struct findings *f, enum finding_level level, const char *what, const char *fmt,
		 ...)
{
	struct finding *finding;
	va_list ap;

	if (f->n == f->room) {
		const size_t room = f->room ? 2 * f->room : 32;
		struct finding *list = reallocarray(f->list, room, sizeof(*list));

		if (!list) {
			f->failed = true;
			return;
		}
		f->list = list;
		f->room = room;
	}
	finding = &f->list[f->n++];
	*finding = (struct finding){.level = level};
	snprintf(finding->what, sizeof(finding->what), "%s", what);
	va_start(ap, fmt);
	vsnprintf(finding->text, sizeof(finding->text), fmt, ap);
	va_end(ap);
}

void finding_cure(struct findings *f, const char *fmt, ...)
{
	va_list ap;

	if (!f->n)
		return;
	va_start(ap, fmt);
	vsnprintf(f->list[f->n - 1].cure, FINDING_TEXT_LEN, fmt, ap);
	va_end(ap);
}

void findings_free(struct findings *f)
{
	free(f->list);
	*f = (struct findings){0};
}

size_t findings_count(const struct findings *f, enum finding_level level)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		n += f->list[i].level == level;
	return n;
}

void findings_print(const struct findings *f, bool with_right, FILE *out)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct finding *finding = &f->list[i];

		if (finding->level == FINDING_RIGHT && !with_right)
			continue;
		fprintf(out, "%-5s  ", level_names[finding->level]);
		term_put(out, finding->what);
		fputs(": ", out);
		term_put(out, finding->text);
		fputc('\n', out);
		term_put_lines(out, "       -> ", finding->cure); /* may be several */
	}
	if (f->failed)
		fputs("no memory: not everything was looked at\n", out);
	fprintf(out, "%zu wrong, %zu notes, %zu right\n", findings_count(f, FINDING_WRONG),
		findings_count(f, FINDING_NOTE), findings_count(f, FINDING_RIGHT));
}

json_t *findings_json(const struct findings *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->n; i++) {
		const struct finding *finding = &f->list[i];

		(void)json_array_append_new(
			list,
			json_pack("{s:s, s:o, s:o, s:o}", "level", level_words[finding->level],
				  "what", json_out_text(finding->what), "text",
				  json_out_text(finding->text), "cure",
				  json_out_text(*finding->cure ? finding->cure : NULL)));
	}
	return list;
}
