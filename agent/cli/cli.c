/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "json_out.h"
#include "term.h"

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))

enum { REFUSAL_LEN = 700 };

static const struct command {
	const char *name;
	int (*run)(const struct cli *cli);
	unsigned options; /* besides --help */
	const char *help, *more;
} commands[] = {
	{"status", cmd_status, OPTION_JSON | OPTION_LANE, "agent, lane and overlays on one screen",
	 "Exit status 1: neither an agent nor a lane answers.\n"},
	{"peers", cmd_peers, OPTION_JSON | OPTION_LANE, "a line for each peer of the lane", ""},
	{"drops", cmd_drops, OPTION_JSON | OPTION_LANE | OPTION_ALL,
	 "packets that went no further, by reason",
	 "What each reason means is in sealaned(8), \"Drop reasons\".\n"},
	{"doctor", cmd_doctor, OPTION_JSON | OPTION_LANE | OPTION_VERBOSE,
	 "what is wrong here, and what helps",
	 "Exit status 0: nothing is wrong, 1: something is. --verbose also tells what is right.\n"},
	{"genkey", cmd_genkey, OPTION_JSON, "a new private key on standard output", ""},
	{"pubkey", cmd_pubkey, OPTION_JSON, "the public key of the private key on standard input",
	 ""},
	{"cleanup", cmd_cleanup, OPTION_JSON | OPTION_VERBOSE | OPTION_DRY_RUN | OPTION_FORCE,
	 "remove what the agent made in this network namespace",
	 "Routes, neighbours, addresses and devices that are marked as ours, and with its device\n"
	 "the lane. Nothing else is touched.\n"},
	{"version", cmd_version, OPTION_JSON, "the version of this command", ""},
};

/* ---- Help ---- */

static void put_usage(FILE *out)
{
	fputs("usage: sealane COMMAND [OPTIONS]\n"
	      "       sealane COMMAND --help | --version | --help\n",
	      out);
}

static void put_help(FILE *out)
{
	put_usage(out);
	fputs("\nCommands:\n", out);
	for (size_t i = 0; i < N_ELEMENTS(commands); i++)
		fprintf(out, "  %-8s  %s\n", commands[i].name, commands[i].help);
	fputs("\nSee sealane(8).\n", out);
}

static void put_command_help(const struct command *c, FILE *out)
{
	fprintf(out, "usage: sealane %s", c->name);
	options_usage(out, c->options);
	fprintf(out, "\n%s\n\n", c->help);
	options_help(out, c->options);
	if (*c->more)
		fprintf(out, "\n%s", c->more);
}

/* ---- Refusals ---- */

void cli_refuse(const struct cli *cli, const char *command, const char *fmt, ...)
{
	char text[REFUSAL_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (cli->options.given & OPTION_JSON) {
		json_out(json_pack("{s:o}", "error", json_out_text(text)), cli->out);
		return;
	}
	fprintf(cli->err, "sealane %s: ", command);
	term_put(cli->err, text);
	fputc('\n', cli->err);
}

/* ---- Dispatch ---- */

static int run_command(const struct command *c, char **args, int n_args, FILE *out, FILE *err)
{
	struct cli cli = {.out = out, .err = err, .now_s = (int64_t)time(NULL)};
	char text[OPTIONS_ERR_LEN];

	if (!options_parse(args, n_args, c->options, &cli.options, text)) {
		fprintf(err, "sealane %s: ", c->name);
		term_put(err, text);
		fprintf(err, "; see sealane %s --help\n", c->name);
		return CLI_USAGE;
	}
	if (cli.options.given & OPTION_HELP) {
		put_command_help(c, out);
		return CLI_FINE;
	}
	return c->run(&cli);
}

static int dispatch(int argc, char **argv, FILE *out, FILE *err)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (!name) {
		put_usage(err);
		return CLI_USAGE;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
		put_help(out);
		return CLI_FINE;
	}
	if (!strcmp(name, "--version") || !strcmp(name, "-V"))
		name = "version";
	for (size_t i = 0; i < N_ELEMENTS(commands); i++)
		if (!strcmp(commands[i].name, name))
			return run_command(&commands[i], argv + 2, argc - 2, out, err);
	fputs("sealane: no command ", err);
	term_put(err, name);
	fputs("; see sealane --help\n", err);
	return CLI_USAGE;
}

int cli_main(int argc, char **argv, FILE *out, FILE *err)
{
	int status;

	json_out_setup();
	status = dispatch(argc, argv, out, err);
	/* A full disk or a closed pipe must not pass for success. */
	if (fflush(out) == EOF || ferror(out))
		return status == CLI_FINE ? CLI_WRONG : status;
	return status;
}
