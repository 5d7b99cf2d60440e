/* SPDX-License-Identifier: Apache-2.0 */
#include "attachment.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "overlay/owner.h"

#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

/* With the NUL, so that "a" + "bc" is not "ab" + "c". */
static uint64_t hash_text(uint64_t hash, const char *text)
{
	do {
		hash = (hash ^ (uint8_t)*text) * FNV_PRIME;
	} while (*text++);
	return hash;
}

struct attachment attachment_make(const char *network, const char *container_id, const char *ifname)
{
	const uint64_t net = hash_text(FNV_BASIS, network);
	const uint64_t hash = hash_text(hash_text(net, container_id), ifname);
	struct attachment a;

	snprintf(a.name, sizeof(a.name), "slc%012" PRIx64, hash >> 16);
	snprintf(a.alias, sizeof(a.alias), OWNER_CNI_ALIAS "%016" PRIx64 " %016" PRIx64 " %.12s",
		 net, hash, container_id);
	return a;
}

bool attachment_owns(const struct attachment *a, const struct link_info *link)
{
	return !strcmp(link->alias, a->alias) || (!*link->alias && !strcmp(link->name, a->name));
}

bool attachment_of_network(const char *network, const struct link_info *link)
{
	char mark[LINK_ALIAS_LEN];

	snprintf(mark, sizeof(mark), OWNER_CNI_ALIAS "%016" PRIx64 " ",
		 hash_text(FNV_BASIS, network));
	return !strncmp(link->alias, mark, strlen(mark));
}
