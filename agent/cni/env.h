/* SPDX-License-Identifier: Apache-2.0 */
/* What the runtime says in the environment. */
#ifndef SEALANE_CNI_ENV_H
#define SEALANE_CNI_ENV_H

#include <stdbool.h>

struct cni_error;

enum cni_op { CNI_ADD, CNI_DEL, CNI_CHECK, CNI_GC, CNI_STATUS, CNI_VERSION };

/* Texts borrow from the environment; "" where a variable is not set. */
struct cni_env {
	enum cni_op op;
	const char *command; /* the operation's name */
	const char *container_id, *netns, *ifname, *path;
	bool netns_override; /* CNI_NETNS may be our own namespace */
};

/* Reads and checks the variables that the operation needs. 0 or
 * CNI_INVALID_ENVIRONMENT. */
int cni_env_read(struct cni_env *ret, struct cni_error *e);
/* Names of containers and networks: a letter or digit, then those and "_.-". */
bool cni_name_valid(const char *name);

#endif
