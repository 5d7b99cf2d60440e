/* SPDX-License-Identifier: Apache-2.0 */
/* sealane drops: the lane's reasons for packets that went no further. */
#include <string.h>

#include "cli.h"
#include "json_out.h"
#include "reports.h"
#include "term.h"
#include "view.h"

enum { NAME_LEN = 64 };

/* Name and count of the next "drop=name count"; false: no more. */
static bool next_drop(const struct lane_doc *doc, size_t *cursor, char name[NAME_LEN],
		      uint64_t *ret_count)
{
	const char *value, *count;

	while ((value = lane_doc_next(doc, "drop", cursor))) {
		count = lane_doc_word(value, name, NAME_LEN);
		if (count && term_number(count, ret_count))
			return true;
	}
	return false;
}

/* What the lane says the reason @name means; NULL: it does not, as older ones. */
static const char *meaning(const struct lane_doc *doc, const char *name)
{
	const char *value, *text;
	char of[NAME_LEN];
	size_t cursor = 0;

	while ((value = lane_doc_next(doc, "drop_help", &cursor))) {
		text = lane_doc_word(value, of, sizeof(of));
		if (text && *text && !strcmp(of, name))
			return text;
	}
	return NULL;
}

int drops_print(const struct lane_doc *doc, bool all, FILE *out)
{
	char name[NAME_LEN], text[TERM_NUMBER_LEN];
	struct term_table table;
	size_t cursor = 0, n = 0;
	bool unexplained = false;
	uint64_t count;

	term_table_init(&table, 3);
	while (next_drop(doc, &cursor, name, &count)) {
		const char *means = meaning(doc, name);

		if (!count && !all)
			continue;
		snprintf(text, sizeof(text), "%llu", (unsigned long long)count);
		term_table_cell(&table, name);
		term_table_cell(&table, text);
		term_table_cell(&table, means);
		unexplained = unexplained || !means;
		n++;
	}
	if (!n)
		fputs("nothing was dropped\n", out);
	if (term_table_print(&table, out))
		return CLI_WRONG;
	if (unexplained)
		fputs("\nWhat they mean: man sealaned, \"Drop reasons\"\n", out);
	return CLI_FINE;
}

json_t *drops_json(const struct lane_doc *doc, bool all)
{
	json_t *drops = json_object(), *meanings = json_object();
	char name[NAME_LEN];
	size_t cursor = 0;
	uint64_t count;

	while (next_drop(doc, &cursor, name, &count)) {
		if (!count && !all)
			continue;
		(void)json_object_set_new(drops, name, json_integer((json_int_t)count));
		(void)json_object_set_new(meanings, name, json_out_text(meaning(doc, name)));
	}
	return json_pack("{s:o, s:o, s:o}", "interface",
			 json_out_text(lane_doc_value(doc, "ifname")), "drops", drops, "meanings",
			 meanings);
}

int cmd_drops(const struct cli *cli)
{
	const bool all = cli->options.given & OPTION_ALL;
	int status = CLI_FINE;
	struct view view;

	view_open(cli->options.lane, &view);
	if (!view.has_lane) {
		view_complain(&view, cli, "drops");
		status = CLI_WRONG;
	} else if (cli->options.given & OPTION_JSON) {
		json_out(drops_json(&view.control, all), cli->out);
	} else {
		status = drops_print(&view.control, all, cli->out);
	}
	view_close(&view);
	return status;
}
