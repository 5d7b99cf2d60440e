/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the commands: one table, of which each command takes some rows. */
#ifndef SEALANE_CLI_OPTIONS_H
#define SEALANE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

enum {
	OPTION_HELP = 1 << 0,
	OPTION_JSON = 1 << 1,
	OPTION_LANE = 1 << 2,
	OPTION_ALL = 1 << 3,
	OPTION_VERBOSE = 1 << 4,
	OPTION_DRY_RUN = 1 << 5,
	OPTION_FORCE = 1 << 6,
};

struct options {
	unsigned given;	  /* OPTION_* */
	const char *lane; /* borrowed from the arguments; a name that a device may have */
};

enum { OPTIONS_ERR_LEN = 160 };

/*
 * Reads the arguments of a command that takes the options of @allowed. Nothing else may
 * be among them. False: @err says what is wrong.
 */
bool options_parse(char *const *args, int n_args, unsigned allowed, struct options *ret,
		   char err[OPTIONS_ERR_LEN]);

/* A line for each of @allowed. */
void options_help(FILE *out, unsigned allowed);
/* " [--json] [--lane IFNAME]" */
void options_usage(FILE *out, unsigned allowed);

#endif
