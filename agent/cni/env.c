/* SPDX-License-Identifier: Apache-2.0 */
#include "env.h"

#include <ctype.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

/* What each operation cannot do without (SPEC.md, "CNI operations"). */
static const struct op {
	const char *name;
	bool container, netns, path;
} ops[] = {
	[CNI_ADD] = {"ADD", true, true, true},
	[CNI_DEL] = {"DEL", true, false, true},
	[CNI_CHECK] = {"CHECK", true, true, true},
	[CNI_GC] = {"GC", false, false, true},
	[CNI_STATUS] = {"STATUS", false, false, true},
	[CNI_VERSION] = {"VERSION", false, false, false},
};

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

bool cni_name_valid(const char *name)
{
	if (!isalnum((unsigned char)*name))
		return false;
	for (; *name; name++) {
		if (!isalnum((unsigned char)*name) && !strchr("_.-", *name))
			return false;
	}
	return true;
}

/* As the kernel has it; a count ("%d") would give another name than was asked for. */
static bool ifname_valid(const char *name)
{
	if (!*name || strlen(name) >= IFNAMSIZ || !strcmp(name, ".") || !strcmp(name, ".."))
		return false;
	for (; *name; name++) {
		if (isspace((unsigned char)*name) || strchr("/:%", *name))
			return false;
	}
	return true;
}

static int missing(struct cni_error *e, const struct op *op, const char *name)
{
	return cni_error_set(e, CNI_INVALID_ENVIRONMENT, "%s needs %s, which is not set", op->name,
			     name);
}

static int check(const struct cni_env *env, const struct op *op, struct cni_error *e)
{
	if (op->container && !*env->container_id)
		return missing(e, op, "CNI_CONTAINERID");
	if (op->container && !*env->ifname)
		return missing(e, op, "CNI_IFNAME");
	if (op->netns && !*env->netns)
		return missing(e, op, "CNI_NETNS");
	if (op->path && !*env->path)
		return missing(e, op, "CNI_PATH");
	if (op->container && !cni_name_valid(env->container_id))
		return cni_error_set(e, CNI_INVALID_ENVIRONMENT,
				     "CNI_CONTAINERID %.80s is no valid id", env->container_id);
	if (op->container && !ifname_valid(env->ifname))
		return cni_error_set(e, CNI_INVALID_ENVIRONMENT,
				     "CNI_IFNAME %.80s is no name for a device", env->ifname);
	return 0;
}

int cni_env_read(struct cni_env *ret, struct cni_error *e)
{
	size_t i;

	*ret = (struct cni_env){
		.command = variable("CNI_COMMAND"),
		.container_id = variable("CNI_CONTAINERID"),
		.netns = variable("CNI_NETNS"),
		.ifname = variable("CNI_IFNAME"),
		.path = variable("CNI_PATH"),
		.netns_override = *variable("CNI_NETNS_OVERRIDE") != '\0',
	};
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (!strcmp(ret->command, ops[i].name)) {
			ret->op = (enum cni_op)i;
			return check(ret, &ops[i], e);
		}
	}
	return cni_error_set(e, CNI_INVALID_ENVIRONMENT, "CNI_COMMAND is \"%.40s\", no operation",
			     ret->command);
}
