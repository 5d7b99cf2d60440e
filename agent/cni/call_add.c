/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"
#include "ipam.h"
#include "mtu.h"
#include "wire.h"

static int print(struct call *call, const struct result *r)
{
	json_t *doc = result_make(r, call->config.version);
	const int failed = !doc || json_dumpf(doc, call->out, JSON_INDENT(2)) ||
			   fputc('\n', call->out) == EOF || fflush(call->out);

	json_decref(doc);
	return failed ? cni_error_set(call->error, CNI_IO_FAILURE, "cannot print the result") : 0;
}

static int connect_and_print(struct call *call, struct wire *w, struct result *r)
{
	json_t *answer = NULL;
	int err = ipam_run(&call->env, call->config.ipam, "ADD", call->text, call->text_len,
			   &answer, call->error);

	if (!err)
		err = result_take_ipam(answer, r, call->error);
	if (!err)
		err = wire_configure(w, r, call->error);
	if (!err)
		err = print(call, r);
	json_decref(answer);
	return err;
}

/* What failed is what is told; a failure to clean up would hide it. */
static void undo(struct call *call, const struct wire *w)
{
	struct cni_error ignored;

	(void)wire_remove(call->nl, &w->attachment, &ignored);
	(void)ipam_run(&call->env, call->config.ipam, "DEL", call->text, call->text_len, NULL,
		       &ignored);
}

int call_add(struct call *call)
{
	struct wire w = {
		.nl = call->nl,
		.attachment = attachment_make(call->config.name, call->env.container_id,
					      call->env.ifname),
	};
	struct result r = {.host = {.sandbox = ""}, .container = {.sandbox = call->env.netns}};
	uint32_t mtu;
	int err = mtu_find(&call->config, call->nl, &mtu, call->error);

	if (!err && call->config.prev)
		err = cni_error_set(call->error, CNI_INVALID_CONFIG,
				    "prevResult: with ipam this must be the first plugin");
	if (err)
		return err;
	err = netns_open(&call->env, &w.netns, call->error);
	/* The pair before the address: a second ADD fails here, with nothing asked of the
	 * IPAM plugin that it would take from the first. */
	if (!err)
		err = wire_make(&w, call->env.ifname, &call->config, mtu, &r, call->error);
	if (!err) {
		err = connect_and_print(call, &w, &r);
		if (err)
			undo(call, &w);
	}
	netns_close(&w.netns);
	return err;
}
