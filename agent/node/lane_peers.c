/* SPDX-License-Identifier: Apache-2.0 */
#include "lane_peers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lane_client.h"

enum { FIRST_PEERS = 64 };

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, KEY_LEN); /* with which a peer begins */
}

/* A new one at the end, or NULL. */
static struct lane_peer *add_peer(struct lane_peers *p, size_t *capacity)
{
	if (p->n == *capacity) {
		const size_t more = *capacity ? 2 * *capacity : FIRST_PEERS;
		struct lane_peer *list = realloc(p->list, more * sizeof(*list));

		if (!list)
			return NULL;
		p->list = list;
		*capacity = more;
	}
	p->list[p->n] = (struct lane_peer){.handshake_s = 0};
	return &p->list[p->n++];
}

static void take_value(struct lane_peer *peer, const char *key, const char *value)
{
	if (!strcmp(key, "endpoint"))
		snprintf(peer->endpoint, sizeof(peer->endpoint), "%s", value);
	else if (!strcmp(key, "last_handshake_time_sec"))
		lane_value_number(value, INT64_MAX, &peer->handshake_s);
	else if (!strcmp(key, "rx_bytes"))
		lane_value_number(value, UINT64_MAX, &peer->received_bytes);
	else if (!strcmp(key, "tx_bytes"))
		lane_value_number(value, UINT64_MAX, &peer->transmitted_bytes);
}

int lane_peers_parse(char *answer, struct lane_peers *ret)
{
	struct lane_lines lines = {answer};
	struct lane_peers p = {0};
	struct lane_peer *peer = NULL;
	uint8_t public_key[KEY_LEN];
	size_t capacity = 0;
	char *key, *value;

	while (lane_lines_next(&lines, &key, &value)) {
		if (strcmp(key, "public_key") != 0) {
			if (peer)
				take_value(peer, key, value);
			continue;
		}
		peer = NULL;
		if (!lane_value_key(value, public_key))
			continue;
		peer = add_peer(&p, &capacity);
		if (!peer) {
			lane_peers_done(&p);
			return -ENOMEM;
		}
		memcpy(peer->public_key, public_key, KEY_LEN);
	}
	if (p.n)
		qsort(p.list, p.n, sizeof(*p.list), compare);
	*ret = p;
	return 0;
}

void lane_peers_done(struct lane_peers *p)
{
	free(p->list);
	*p = (struct lane_peers){0};
}

const struct lane_peer *lane_peers_find(const struct lane_peers *p,
					const uint8_t public_key[KEY_LEN])
{
	return p->n ? bsearch(public_key, p->list, p->n, sizeof(*p->list), compare) : NULL;
}
