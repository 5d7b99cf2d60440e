/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "ipam.h"
#include "overlay/link.h"
#include "overlay/nl.h"
#include "wire.h"

int call_del(struct call *call)
{
	const struct attachment a = attachment_make(call->config.name, call->env.container_id,
						    call->env.ifname);
	const int err = wire_remove(call->nl, &a, call->error);

	return err ? err
		   : ipam_run(&call->env, call->config.ipam, "DEL", call->text, call->text_len,
			      NULL, call->error);
}

struct leftovers {
	const struct cni_config *config;
	int *ifindexes;
	size_t n;
};

static bool is_valid(const struct cni_config *c, const struct link_info *link)
{
	size_t i;

	for (i = 0; i < json_array_size(c->valid); i++) {
		const json_t *item = json_array_get(c->valid, i);
		const char *id = json_string_value(json_object_get(item, "containerID"));
		const char *ifname = json_string_value(json_object_get(item, "ifname"));
		struct attachment a;

		if (!id || !ifname)
			continue;
		a = attachment_make(c->name, id, ifname);
		if (!strcmp(a.alias, link->alias))
			return true;
	}
	return false;
}

static int on_link(const struct link_info *link, void *arg)
{
	struct leftovers *left = arg;
	int *more;

	if (!attachment_of_network(left->config->name, link) || is_valid(left->config, link))
		return 0;
	more = reallocarray(left->ifindexes, left->n + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	left->ifindexes = more;
	left->ifindexes[left->n++] = link->ifindex;
	return 0;
}

/* A malformed list must not be read as "nothing is valid". */
static int check_list(struct call *call)
{
	const json_t *valid = call->config.valid;
	size_t i;

	for (i = 0; i < json_array_size(valid); i++) {
		const json_t *item = json_array_get(valid, i);

		if (!json_is_string(json_object_get(item, "containerID")) ||
		    !json_is_string(json_object_get(item, "ifname")))
			return cni_error_set(call->error, CNI_INVALID_CONFIG,
					     "cni.dev/valid-attachments: item %zu lacks "
					     "containerID or ifname",
					     i);
	}
	return valid ? 0
		     : cni_error_set(call->error, CNI_INVALID_CONFIG,
				     "GC needs cni.dev/valid-attachments");
}

static int remove_leftovers(struct call *call)
{
	struct leftovers left = {.config = &call->config};
	int err = link_list(call->nl, on_link, &left);
	size_t i;

	if (err)
		cni_error_kernel(call->error, err, call->nl, "list the host's devices");
	for (i = 0; !err && i < left.n; i++) {
		err = link_delete(call->nl, left.ifindexes[i]);
		/* Gone meanwhile, or listed twice. */
		if (err == -ENODEV)
			err = 0;
		if (err)
			cni_error_kernel(call->error, err, call->nl, "remove a veth pair");
	}
	free(left.ifindexes);
	return err ? call->error->code : 0;
}

int call_gc(struct call *call)
{
	int err = check_list(call);

	if (!err)
		err = remove_leftovers(call);
	return err ? err
		   : ipam_run(&call->env, call->config.ipam, "GC", call->text, call->text_len, NULL,
			      call->error);
}
