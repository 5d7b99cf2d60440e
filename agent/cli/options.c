/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <net/if.h>
#include <string.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))

static const struct row {
	const char *name;
	char letter;	      /* 0: none */
	const char *argument; /* NULL: takes none */
	unsigned bit;
	const char *help;
} rows[] = {
	{"all", 0, NULL, OPTION_ALL, "also what is zero"},
	{"dry-run", 'n', NULL, OPTION_DRY_RUN, "tell what would be removed, remove nothing"},
	{"force", 'f', NULL, OPTION_FORCE, "even while an agent runs"},
	{"json", 'j', NULL, OPTION_JSON, "one JSON document instead of text"},
	{"lane", 'l', "IFNAME", OPTION_LANE, "the lane; else the agent's, else the only one"},
	{"verbose", 'v', NULL, OPTION_VERBOSE, "tell of each thing"},
	{"help", 'h', NULL, OPTION_HELP, "this text"},
};

/* ---- Parsing ---- */

/* The name becomes part of a path. */
static bool ifname_valid(const char *name)
{
	const size_t len = strlen(name);

	return len > 0 && len < IFNAMSIZ && strcspn(name, "/ \t\n\r\v\f:") == len &&
	       strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* The row of "--name", "--name=value" or "-x"; *ret_value is behind the "=", or NULL. */
static const struct row *find(const char *arg, unsigned allowed, const char **ret_value)
{
	const bool is_long = arg[0] == '-' && arg[1] == '-';
	const size_t len = is_long ? strcspn(arg + 2, "=") : 0;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct row *row = &rows[i];

		if (!(row->bit & allowed))
			continue;
		if (is_long && strlen(row->name) == len && !strncmp(arg + 2, row->name, len)) {
			*ret_value = arg[2 + len] ? arg + 2 + len + 1 : NULL;
			return row;
		}
		if (!is_long && row->letter && arg[0] == '-' && arg[1] == row->letter && !arg[2]) {
			*ret_value = NULL;
			return row;
		}
	}
	return NULL;
}

static bool take(const struct row *row, const char *value, struct options *o,
		 char err[OPTIONS_ERR_LEN])
{
	o->given |= row->bit;
	if (row->bit != OPTION_LANE || !value)
		return true;
	if (!ifname_valid(value)) {
		snprintf(err, OPTIONS_ERR_LEN, "--lane: %.32s is no name of a device", value);
		return false;
	}
	o->lane = value;
	return true;
}

bool options_parse(char *const *args, int n_args, unsigned allowed, struct options *ret,
		   char err[OPTIONS_ERR_LEN])
{
	struct options o = {0};

	for (int i = 0; i < n_args; i++) {
		const char *arg = args[i], *value = NULL;
		const struct row *row = find(arg, allowed | OPTION_HELP, &value);

		if (!row) {
			snprintf(err, OPTIONS_ERR_LEN, "%s %.64s is not known here",
				 arg[0] == '-' ? "option" : "argument", arg);
			return false;
		}
		if (!row->argument && value) {
			snprintf(err, OPTIONS_ERR_LEN, "--%s takes no value", row->name);
			return false;
		}
		if (row->argument && !value) {
			if (i + 1 == n_args) {
				snprintf(err, OPTIONS_ERR_LEN, "--%s needs a value: %s", row->name,
					 row->argument);
				return false;
			}
			value = args[++i];
		}
		if (!take(row, value, &o, err))
			return false;
	}
	*ret = o;
	return true;
}

/* ---- Help ---- */

void options_help(FILE *out, unsigned allowed)
{
	char form[64];

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct row *row = &rows[i];

		if (!(row->bit & (allowed | OPTION_HELP)))
			continue;
		snprintf(form, sizeof(form), "--%s%s%s", row->name, row->argument ? " " : "",
			 row->argument ? row->argument : "");
		if (row->letter)
			fprintf(out, "  -%c, %-14s  %s\n", row->letter, form, row->help);
		else
			fprintf(out, "      %-14s  %s\n", form, row->help);
	}
}

void options_usage(FILE *out, unsigned allowed)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct row *row = &rows[i];

		if (row->bit & allowed)
			fprintf(out, " [--%s%s%s]", row->name, row->argument ? " " : "",
				row->argument ? row->argument : "");
	}
}
