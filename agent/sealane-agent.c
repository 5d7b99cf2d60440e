/* SPDX-License-Identifier: Apache-2.0 */
/* sealane-agent: its options, order of start and its mirror, nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/node/agent.h"
#include "agent/node/agent_lock.h"

static const char usage[] = "usage: sealane-agent [-f] [--config FILE] [--check]\n"
			    "       sealane-agent --version | --help\n"
			    "Keeps this host a node of the overlay networks that FILE describes\n"
			    "(" AGENT_CONFIG_PATH
			    "), always in the foreground. See sealane-agent(8).\n";

/* Returns the exit status to end with, or -1 to go on. */
static int read_arguments(int argc, char **argv, struct agent_args *args, bool *check)
{
	static const struct option long_options[] = {
		{"foreground", no_argument, NULL, 'f'}, {"config", required_argument, NULL, 'c'},
		{"check", no_argument, NULL, 'n'},	{"version", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},	{0},
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "fc:", long_options, NULL)) != -1) {
		switch (opt) {
		case 'f': /* as it always is */
			break;
		case 'c':
			args->config_path = optarg;
			break;
		case 'n':
			*check = true;
			break;
		case 'v':
			printf("sealane-agent %s\n", SEALANE_VERSION);
			return 0;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs(usage, stderr);
			return 1;
		}
	}
	if (optind == argc)
		return -1;
	fputs(usage, stderr);
	return 1;
}

/* Descriptors 0 to 2 must be there before any other is opened: log lines go to whatever
 * has the number 2. */
static bool fill_standard_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

int main(int argc, char **argv)
{
	struct agent_args args = {
		.config_path = AGENT_CONFIG_PATH,
		.getenv_fn = getenv,
		.environment = environ,
		.lock_folder = AGENT_LOCK_FOLDER,
		.lock_patience_ms = AGENT_LOCK_PATIENCE_MS,
	};
	bool check = false;
	struct agent *agent;
	int status, err;

	if (!fill_standard_fds()) {
		fprintf(stderr, "sealane-agent: /dev/null: %s\n", strerror(errno));
		return 1;
	}
	status = read_arguments(argc, argv, &args, &check);
	if (status >= 0)
		return status;
	if (sodium_init() < 0) {
		fputs("sealane-agent: libsodium cannot start\n", stderr);
		return 1;
	}
	if (check)
		return agent_check(&args) ? 1 : 0;
	signal(SIGPIPE, SIG_IGN);
	err = agent_start(&args, &agent);
	if (!err)
		agent_run(agent);
	agent_free(agent);
	return err ? 1 : 0;
}
