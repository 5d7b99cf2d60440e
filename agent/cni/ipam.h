/* SPDX-License-Identifier: Apache-2.0 */
/* The IPAM plugin: another program of CNI_PATH, run as the spec's "Plugin delegation". */
#ifndef SEALANE_CNI_IPAM_H
#define SEALANE_CNI_IPAM_H

#include <stddef.h>

#include <jansson.h>

struct cni_env;
struct cni_error;

/*
 * Runs the plugin @type with our environment but CNI_COMMAND=@command, and @stdin_text;
 * of our files it gets stderr alone. Waits for it; the runtime's own timeout ends both.
 * @ret_result: what it printed, to be freed, or NULL where it printed nothing; may be
 * NULL itself. 0; CNI_IPAM_FAILED: not found, not started, or it answered nonsense; or
 * the code, message and details that it gave.
 */
int ipam_run(const struct cni_env *env, const char *type, const char *command,
	     const char *stdin_text, size_t stdin_len, json_t **ret_result, struct cni_error *e);

#endif
