/* SPDX-License-Identifier: Apache-2.0 */
/* sealane cleanup: not while an agent runs, which would make everything again. */
#include <errno.h>
#include <string.h>

#include "agent/node/agent_lock.h"
#include "agent_doc.h"
#include "cleanup.h"
#include "cli.h"
#include "json_out.h"
#include "overlay/owner.h"
#include "term.h"

enum { CURE_LEN = 160, ERROR_LEN = 160 };

struct teller {
	const struct cli *cli;
	json_t *objects, *left; /* NULL: text */
};

static void tell(enum cleanup_kind kind, const char *text, int err, void *arg)
{
	const struct teller *t = arg;
	const char *name = cleanup_kind_name(kind);

	if (t->objects) {
		(void)json_array_append_new(t->objects,
					    json_pack("{s:s, s:o, s:o}", "kind", name, "object",
						      json_out_text(text), "error",
						      json_out_text(err ? strerror(-err) : NULL)));
		return;
	}
	if (err) {
		fprintf(t->cli->err, "sealane cleanup: %s ", name);
		term_put(t->cli->err, text);
		fprintf(t->cli->err, ": %s\n", strerror(-err));
	} else if (t->cli->options.given & (OPTION_VERBOSE | OPTION_DRY_RUN)) {
		fprintf(t->cli->out, "%s ", name);
		term_put(t->cli->out, text);
		fputc('\n', t->cli->out);
	}
}

static void tell_left(const struct cleanup_left *l, void *arg)
{
	const struct teller *t = arg;
	char cure[CURE_LEN];

	snprintf(cure, sizeof(cure),
		 "ip link set dev %s alias " OWNER_ALIAS
		 " and cleanup again, or ip link delete dev %s",
		 l->name, l->name);
	if (t->left) {
		(void)json_array_append_new(
			t->left, json_pack("{s:o, s:s, s:o, s:o}", "device", json_out_text(l->name),
					   "kind", l->kind, "alias", json_out_text(l->alias),
					   "cure", json_out_text(cure)));
		return;
	}
	fputs("sealane cleanup: device ", t->cli->err);
	term_put(t->cli->err, l->name);
	fprintf(t->cli->err, " (%s) is left: the agent used it, but its alias is \"", l->kind);
	term_put(t->cli->err, l->alias);
	fputs("\", and not ours; if it is to go: ", t->cli->err);
	term_put(t->cli->err, cure);
	fputc('\n', t->cli->err);
}

/* The agent that answers on the socket, which may be one of an older release that holds
 * no lock. True: it was told. */
static bool agent_answers(const struct cli *cli)
{
	struct agent_doc doc = {0};
	const int err = agent_doc_fetch(agent_doc_path(), &doc);
	const int64_t pid = agent_number(doc.root, "pid", doc.pid);

	agent_doc_done(&doc);
	if (err == -ENOENT || err == -ECONNREFUSED)
		return false;
	if (err == -EACCES || err == -EPERM)
		cli_refuse(cli, "cleanup",
			   "not permitted to ask whether an agent runs: run as root");
	else
		cli_refuse(cli, "cleanup",
			   "an agent runs (pid %lld) and would make everything again: stop it "
			   "first, or --force",
			   (long long)pid);
	return true;
}

/* Keeps agents away while it cleans. False: there is one, and it was told. */
static bool keep_agents_away(const struct cli *cli, struct lockfile *ret)
{
	char why[AGENT_LOCK_TEXT_LEN];
	const int err = agent_lock_take_netns(AGENT_LOCK_FOLDER, "sealane cleanup", ret, why);

	switch (err) {
	case 0:
	case -ENOENT:
		return !agent_answers(cli);
	case -EADDRINUSE:
		cli_refuse(cli, "cleanup",
			   "%s; an agent would make everything again: stop it first, or --force",
			   why);
		return false;
	case -EACCES:
	case -EPERM:
		cli_refuse(cli, "cleanup",
			   "not permitted to look whether an agent runs: run as root");
		return false;
	default:
		cli_refuse(cli, "cleanup", "%s; --force does without", why);
		return false;
	}
}

static void print_totals(const struct cli *cli, const struct cleanup *c)
{
	fputs(c->dry_run ? "would remove" : "removed", cli->out);
	for (unsigned i = 0; i < N_CLEANUP_KINDS; i++) {
		const char *name = cleanup_kind_name((enum cleanup_kind)i);

		fprintf(cli->out, "%s %u %s%s", i ? "," : "", c->removed[i], name,
			c->removed[i] == 1     ? ""
			: i == CLEANUP_ADDRESS ? "es"
					       : "s");
	}
	fputc('\n', cli->out);
}

static json_t *totals_json(const struct cleanup *c, const struct teller *t, const char *error)
{
	json_t *removed = json_object();
	unsigned failed = 0;

	for (unsigned i = 0; i < N_CLEANUP_KINDS; i++) {
		(void)json_object_set_new(removed, cleanup_kind_name((enum cleanup_kind)i),
					  json_integer(c->removed[i]));
		failed += c->failed[i];
	}
	return json_pack("{s:b, s:o, s:i, s:o, s:o, s:o}", "dry_run", c->dry_run, "removed",
			 removed, "failed", (int)failed, "objects", t->objects, "left", t->left,
			 "error", json_out_text(error));
}

static int clean(const struct cli *cli)
{
	const bool json = cli->options.given & OPTION_JSON;
	struct teller teller = {cli, json ? json_array() : NULL, json ? json_array() : NULL};
	struct cleanup c = {.dry_run = cli->options.given & OPTION_DRY_RUN,
			    .tell = tell,
			    .tell_left = tell_left,
			    .arg = &teller};
	char error[ERROR_LEN] = "";
	const char *what;
	int err = cleanup_run(&c, &what);
	bool fine = !err && !c.left;

	if (err)
		snprintf(error, sizeof(error), "%s: %s", what, strerror(-err));
	for (unsigned i = 0; i < N_CLEANUP_KINDS; i++)
		fine = fine && !c.failed[i];
	if (json) {
		json_out(totals_json(&c, &teller, err ? error : NULL), cli->out);
		return fine ? CLI_FINE : CLI_WRONG;
	}
	if (err)
		fprintf(cli->err, "sealane cleanup: %s\n", error);
	print_totals(cli, &c);
	return fine ? CLI_FINE : CLI_WRONG;
}

int cmd_cleanup(const struct cli *cli)
{
	struct lockfile lock = {.fd = -1};
	int status = CLI_WRONG;

	if (cli->options.given & (OPTION_FORCE | OPTION_DRY_RUN) || keep_agents_away(cli, &lock))
		status = clean(cli);
	lockfile_drop(&lock);
	return status;
}
