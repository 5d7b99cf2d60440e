/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node says of itself in etcd: JSON with the keys of an entry of `peers` that are no file's
 * name, and `since`. The node's name is that of the record. Control thread.
 */
#ifndef SEALANE_NODE_ETCD_RECORD_H
#define SEALANE_NODE_ETCD_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "config.h"
#include "member.h"

enum { ETCD_RECORD_MAX = 1 << 20 };

/* What this node publishes; malloc'd. @endpoint: ss_family 0: none. NULL: no memory. */
char *etcd_record_format(const struct config *config, const uint8_t public_key[NODE_KEY_LEN],
			 const struct sockaddr_storage *endpoint, uint64_t since);

/*
 * The record of node @name as a member for @config, which must not be this node's. What it has on
 * overlays that this node has not is left out, and so are keys that are not known. @where is for
 * the faults. 0; -EINVAL with the faults told; -ENOMEM. *ret is untouched on failure.
 */
int etcd_record_parse(const char *text, size_t len, const char *name, const char *where,
		      const struct config *config, struct member *ret,
		      struct config_faults *faults);

/* The key and since of a record; false: it has none. */
bool etcd_record_identity(const char *text, size_t len, uint8_t ret_public_key[NODE_KEY_LEN],
			  uint64_t *ret_since);

#endif
