/* SPDX-License-Identifier: Apache-2.0 */
/* One call of the plugin, and the operations on it. */
#ifndef SEALANE_CNI_CALL_H
#define SEALANE_CNI_CALL_H

#include <stddef.h>
#include <stdio.h>

#include "config.h"
#include "env.h"
#include "error.h"

struct nl;

struct call {
	struct cni_env env;
	struct cni_config config;
	const char *text; /* stdin, for the IPAM plugin */
	size_t text_len;
	struct nl *nl; /* of the host */
	FILE *out;
	struct cni_error *error;
};

/* Each returns 0 or the code of call->error. */

/* All or nothing: what it made is gone again when it fails, IPAM's address too. */
int call_add(struct call *call);
/* What is gone already is no error. The device first, then the address: nobody else
 * may get it while traffic still finds the way here. */
int call_del(struct call *call);
/* CNI_CHECK_FAILED: something of prevResult is not there. */
int call_check(struct call *call);
/* Removes our devices of this network that are not in valid-attachments. */
int call_gc(struct call *call);
/* Any operation of a plugin without ipam but STATUS: behind another one, whose routes get
 * the MTU and whose veth the limits of superpackets. */
int call_chain(struct call *call);
/* CNI_NOT_AVAILABLE: the device to the other nodes is not there or down. */
int call_status(struct call *call);

#endif
