/* SPDX-License-Identifier: Apache-2.0 */
#include "cni.h"

#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "overlay/nl.h"

/* A configuration with its prevResult is some kilobytes. */
enum { STDIN_MAX = 1 << 20 };

static const struct {
	int (*run)(struct call *call);
	enum cni_version since;
} operations[] = {
	[CNI_ADD] = {call_add, CNI_0_4_0},	 [CNI_DEL] = {call_del, CNI_0_4_0},
	[CNI_CHECK] = {call_check, CNI_0_4_0},	 [CNI_GC] = {call_gc, CNI_1_1_0},
	[CNI_STATUS] = {call_status, CNI_1_1_0},
};

/* Answers whatever it is asked in, so that a runtime can find out what we speak. */
static int print_versions(FILE *out)
{
	fprintf(out, "{\"cniVersion\":\"%s\",\"supportedVersions\":[\"%s\",\"%s\",\"%s\"]}\n",
		CNI_VERSION_NEWEST, cni_version_names[CNI_0_4_0], cni_version_names[CNI_1_0_0],
		cni_version_names[CNI_1_1_0]);
	return 0;
}

static int operate(struct call *call)
{
	int err;

	if (call->config.version < operations[call->env.op].since)
		return cni_error_set(call->error, CNI_INCOMPATIBLE_VERSION,
				     "%s needs cniVersion %s or later", call->env.command,
				     cni_version_names[operations[call->env.op].since]);
	err = nl_open(&call->nl);
	if (err)
		return cni_error_kernel(call->error, err, NULL, "open a netlink socket");
	if (!call->config.ipam && call->env.op != CNI_STATUS)
		err = call_chain(call);
	else
		err = operations[call->env.op].run(call);
	nl_close(call->nl);
	return err;
}

static int read_and_operate(struct call *call, char *text, FILE *in)
{
	int err;

	call->text = text;
	call->text_len = fread(text, 1, STDIN_MAX, in);
	if (ferror(in) || call->text_len == STDIN_MAX)
		return cni_error_set(call->error, CNI_IO_FAILURE,
				     "cannot read the configuration, or it is longer than 1 MB");
	err = cni_config_parse(text, call->text_len, &call->config, call->error);
	return err ? err : operate(call);
}

int cni_main(FILE *in, FILE *out)
{
	struct cni_error error = {.code = 0};
	struct call call = {.out = out, .error = &error};
	char *text;
	int err = cni_env_read(&call.env, &error);

	if (!err && call.env.op == CNI_VERSION)
		return print_versions(out);
	text = malloc(STDIN_MAX);
	if (!text)
		err = cni_error_set(&error, CNI_IO_FAILURE, "no memory");
	if (!err)
		err = read_and_operate(&call, text, in);
	if (err)
		cni_error_print(&error, cni_config_version_text(&call.config), out);
	cni_config_free(&call.config);
	free(text);
	return err ? 1 : 0;
}
