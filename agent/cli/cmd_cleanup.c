/* SPDX-License-Identifier: Apache-2.0 */
/* sealane cleanup: not while an agent runs, which would make everything again. */
#include <errno.h>
#include <string.h>

#include "agent_doc.h"
#include "cleanup.h"
#include "cli.h"
#include "json_out.h"
#include "term.h"

struct teller {
	const struct cli *cli;
	json_t *objects; /* NULL: text */
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

/* True: an agent is there, and it was told. */
static bool agent_runs(const struct cli *cli)
{
	struct agent_doc doc = {0};
	const int err = agent_doc_fetch(agent_doc_path(), &doc);
	const int64_t pid = agent_number(doc.root, "pid", doc.pid);

	agent_doc_done(&doc);
	if (err == -ENOENT || err == -ECONNREFUSED)
		return false;
	if (err == -EACCES || err == -EPERM) {
		fputs("sealane cleanup: not permitted to ask whether an agent runs: run as root\n",
		      cli->err);
		return true;
	}
	fprintf(cli->err,
		"sealane cleanup: an agent runs (pid %lld) and would make everything again: stop "
		"it first, or --force\n",
		(long long)pid);
	return true;
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

static json_t *totals_json(const struct cleanup *c, json_t *objects)
{
	json_t *removed = json_object();
	unsigned failed = 0;

	for (unsigned i = 0; i < N_CLEANUP_KINDS; i++) {
		(void)json_object_set_new(removed, cleanup_kind_name((enum cleanup_kind)i),
					  json_integer(c->removed[i]));
		failed += c->failed[i];
	}
	return json_pack("{s:b, s:o, s:i, s:o}", "dry_run", c->dry_run, "removed", removed,
			 "failed", (int)failed, "objects", objects);
}

int cmd_cleanup(const struct cli *cli)
{
	const bool json = cli->options.given & OPTION_JSON;
	struct teller teller = {cli, json ? json_array() : NULL};
	struct cleanup c = {
		.dry_run = cli->options.given & OPTION_DRY_RUN, .tell = tell, .arg = &teller};
	const char *what;
	int err, status;

	if (!(cli->options.given & (OPTION_FORCE | OPTION_DRY_RUN)) && agent_runs(cli)) {
		json_decref(teller.objects);
		return CLI_WRONG;
	}
	err = cleanup_run(&c, &what);
	status = err ? CLI_WRONG : CLI_FINE;
	if (err)
		fprintf(cli->err, "sealane cleanup: %s: %s\n", what, strerror(-err));
	for (unsigned i = 0; i < N_CLEANUP_KINDS; i++)
		if (c.failed[i])
			status = CLI_WRONG;
	if (json)
		json_out(totals_json(&c, teller.objects), cli->out);
	else
		print_totals(cli, &c);
	return status;
}
