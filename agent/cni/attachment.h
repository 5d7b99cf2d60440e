/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which device of the host belongs to which container: by names and marks made from
 * the attachment alone, so that no state file is needed. Pure.
 *
 *   name   slc and 12 hex digits of the attachment's hash
 *   alias  "cni sealane NETWORK ATTACHMENT ID": both hashes of 16 digits, and
 *          the beginning of the container's id for people
 *
 * The hash of an attachment is of network, container and CNI_IFNAME (FNV-1a, 64 bit).
 */
#ifndef SEALANE_CNI_ATTACHMENT_H
#define SEALANE_CNI_ATTACHMENT_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "overlay/link.h"

struct attachment {
	char name[IFNAMSIZ];
	char alias[LINK_ALIAS_LEN];
};

struct attachment attachment_make(const char *network, const char *container_id,
				  const char *ifname);
/* Is it the host end of this attachment? One with its name and no alias is: it was made
 * by a call that ended before the mark. */
bool attachment_owns(const struct attachment *a, const struct link_info *link);
/* Is it the host end of an attachment to @network? */
bool attachment_of_network(const char *network, const struct link_info *link);

#endif
