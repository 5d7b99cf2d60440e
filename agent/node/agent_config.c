/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent_internal.h"
#include "config.h"
#include "config_change.h"
#include "env_names.h"
#include "lane_keeper.h"
#include "log.h"
#include "reconcile.h"

enum { KEYS_LEN = 128 };

void agent_config_tell(const char *faults)
{
	for (const char *line = faults; *line;) {
		const char *end = strchrnul(line, '\n');

		log_error("%.*s", (int)(end - line), line);
		line = *end ? end + 1 : end;
	}
}

void agent_tell_variable(const char *name, const char *nearest)
{
	if (nearest)
		log_error("environment: %s is not known; did you mean %s?", name, nearest);
	else
		log_error("environment: %s is not known", name);
}

/* A copy without the last newline. */
static char *copy_lines(const char *text)
{
	const size_t len = strlen(text);

	return strndup(text, len && text[len - 1] == '\n' ? len - 1 : len);
}

/* Reads and tells. 0 or -errno; the faults become the agent's. */
static int read_config(struct agent *a, struct config **ret)
{
	struct config_faults faults = {0};
	int err = config_load(a->args.config_path, a->args.getenv_fn, ret, &faults);

	free(a->config_error);
	a->config_error = NULL;
	if (err) {
		a->config_error = copy_lines(faults.text ? faults.text : strerror(-err));
		a->status.config_failed_s = time(NULL);
		if (faults.text)
			agent_config_tell(faults.text);
		else
			log_error("%s: %s", a->args.config_path, strerror(-err));
	} else {
		a->status.config_loaded_s = time(NULL);
	}
	a->status.config_error = a->config_error;
	config_faults_free(&faults);
	return err;
}

int agent_config_load(struct agent *a)
{
	int err = read_config(a, &a->config);

	if (!err)
		log_setup(a->config->log);
	return err;
}

static void replace_http(struct agent *a, const struct config *next)
{
	if (!config_change_http(a->config, next))
		return;
	http_server_stop(a->http);
	a->http = NULL;
	a->http_told = false;
}

static void apply(struct agent *a, struct config *next)
{
	struct config *old = a->config;
	char keys[KEYS_LEN];
	const char *reason;

	if (config_change_keep(old, next, keys, sizeof(keys)))
		log_error("%s: needs a restart to change", keys);
	replace_http(a, next);
	log_setup(next->log);
	a->config = next;
	reconcile_config(a->reconcile, next);
	agent_discovery_config(a);
	lane_keeper_config(a->keeper, &next->lane, agent_wants_lane(a, &reason));
	agent_http_start(a);
	config_free(old);
}

void agent_config_reload(struct agent *a)
{
	struct config *next;

	/* While it starts nobody waits for the end of it. */
	if (a->is_ready)
		notify_reloading(&a->notify);
	if (read_config(a, &next)) {
		log_error("%s is refused: everything stays as it was", a->args.config_path);
	} else {
		apply(a, next);
		log_info("read %s: %zu overlays, %zu peers", a->args.config_path,
			 a->config->n_overlays, a->config->n_peers);
	}
	agent_status_tell(a);
	if (a->is_ready)
		notify_ready(&a->notify);
}

int agent_check(const struct agent_args *args)
{
	struct config_faults faults = {0};
	struct config *config = NULL;
	int err = config_load(args->config_path, args->getenv_fn, &config, &faults);

	env_names_check(args->environment, agent_tell_variable);
	if (!err)
		printf("%s: fine: %zu overlays, %zu peers\n", args->config_path, config->n_overlays,
		       config->n_peers);
	else if (faults.text)
		fputs(faults.text, stderr);
	else
		fprintf(stderr, "%s: %s\n", args->config_path, strerror(-err));
	config_faults_free(&faults);
	config_free(config);
	return err;
}
