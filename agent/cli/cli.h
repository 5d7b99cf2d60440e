/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sealane command: a table of commands, one file each (cmd_*.c). It looks at what
 * agent, lane and kernel tell; only cleanup changes anything. One thread.
 */
#ifndef SEALANE_CLI_CLI_H
#define SEALANE_CLI_CLI_H

#include <stdint.h>
#include <stdio.h>

#include "options.h"

enum cli_exit { CLI_FINE = 0, CLI_WRONG = 1, CLI_USAGE = 2 };

struct cli {
	struct options options;
	FILE *out, *err;
	int64_t now_s; /* since 1970 */
};

/* main() of the command, with its streams. Returns the exit status. */
int cli_main(int argc, char **argv, FILE *out, FILE *err);

/* Why @command did not do what was asked for: a line on standard error, or with --json a
 * document on standard output whose key "error" says it. */
void cli_refuse(const struct cli *cli, const char *command, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The commands. Each prints and returns an enum cli_exit. */
int cmd_status(const struct cli *cli);
int cmd_peers(const struct cli *cli);
int cmd_drops(const struct cli *cli);
int cmd_doctor(const struct cli *cli);
int cmd_genkey(const struct cli *cli);
int cmd_pubkey(const struct cli *cli);
int cmd_cleanup(const struct cli *cli);
int cmd_version(const struct cli *cli);

#endif
