/* SPDX-License-Identifier: Apache-2.0 */
#include "desired_claims.h"

#include <errno.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "desired_arena.h"
#include "keyfile.h"
#include "member.h"

enum kind { KIND_KEY, KIND_PREFIX, KIND_ADDRESS, KIND_MAC };

/* Without gaps: compared and hashed as bytes. */
struct thing {
	uint64_t scope; /* the overlay's address in memory, or 0 */
	uint8_t kind;
	struct ip_prefix prefix;
	uint8_t bytes[NODE_KEY_LEN]; /* of a key or MAC */
	uint8_t zero[5];
};
_Static_assert(sizeof(struct thing) == 64, "no gaps");

struct claim {
	struct thing thing;
	struct claimant owner;
};

struct line {
	struct line *next;
	char text[];
};

/* A hash table with open addressing: slots are indices of claims, 0 is free. */
struct desired_claims {
	struct desired_arena **arena;
	struct claim *claims; /* from 1 */
	size_t n, n_max;
	uint32_t *slots;
	size_t n_slots; /* a power of two, more than half of them free */
	/* The things come from other nodes: none shall know what collides. */
	uint8_t hash_key[crypto_shorthash_KEYBYTES];
	struct line *lines;
	size_t n_lines;
	bool failed; /* a line found no memory */
};

struct desired_claims *desired_claims_new(size_t n_max, struct desired_arena **arena)
{
	struct desired_claims *c = calloc(1, sizeof(*c));

	if (!c || n_max > UINT32_MAX / 4) {
		free(c);
		return NULL;
	}
	c->arena = arena;
	c->n_max = n_max;
	for (c->n_slots = 16; c->n_slots <= 2 * n_max;)
		c->n_slots *= 2;
	c->claims = malloc((n_max + 1) * sizeof(*c->claims));
	c->slots = calloc(c->n_slots, sizeof(*c->slots));
	if (!c->claims || !c->slots) {
		desired_claims_free(c);
		return NULL;
	}
	randombytes_buf(c->hash_key, sizeof(c->hash_key));
	return c;
}

void desired_claims_free(struct desired_claims *c)
{
	if (!c)
		return;
	free(c->claims);
	free(c->slots);
	free(c);
}

/* Neither has padding that may differ, and both are zero behind what is used. */
static int compare_rest(const struct member *a, const struct member *b)
{
	int order = strcmp(b->name, a->name);

	for (int i = 0; i < 2 && !order; i++)
		order = ip_addr_compare(&b->tunnel[i], &a->tunnel[i]);
	return order ? order : memcmp(&b->endpoint, &a->endpoint, sizeof(a->endpoint));
}

int desired_claims_order(const void *a, const void *b)
{
	const struct member *left = *(const struct member *const *)a;
	const struct member *right = *(const struct member *const *)b;
	int order;

	if (left->since != right->since)
		return left->since > right->since ? -1 : 1;
	order = memcmp(right->public_key, left->public_key, NODE_KEY_LEN);
	return order ? order : compare_rest(left, right);
}

/* The slot of @thing, or a free one. */
static uint32_t *find_slot(struct desired_claims *c, const struct thing *thing)
{
	uint8_t hash[crypto_shorthash_BYTES];
	uint64_t at;

	crypto_shorthash(hash, (const uint8_t *)thing, sizeof(*thing), c->hash_key);
	memcpy(&at, hash, sizeof(at));
	for (;; at++) {
		uint32_t *slot = &c->slots[at & (c->n_slots - 1)];

		if (!*slot || !memcmp(&c->claims[*slot].thing, thing, sizeof(*thing)))
			return slot;
	}
}

static const char *thing_format(const struct thing *thing, char buf[static 64])
{
	const uint8_t *m = thing->bytes;

	switch ((enum kind)thing->kind) {
	case KIND_KEY:
		key_format(thing->bytes, buf + snprintf(buf, 64, "public key "));
		return buf;
	case KIND_PREFIX:
		return ip_prefix_format(&thing->prefix, buf);
	case KIND_ADDRESS:
		return ip_addr_format(&thing->prefix.addr, buf);
	case KIND_MAC:
		snprintf(buf, 64, "MAC address %02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2],
			 m[3], m[4], m[5]);
		return buf;
	}
	return "";
}

static void note_loss(struct desired_claims *c, struct claimant by, const struct claim *claim)
{
	const struct claimant *owner = &claim->owner;
	const char *on = by.overlay ? " on " : "", *name = by.overlay ? by.overlay->name : "";
	const char *place = owner->overlay ? owner->overlay->name : "the lane";
	char what[64];

	thing_format(&claim->thing, what);
	if (owner->member == by.member)
		desired_claims_note(c, "%s: %s%s%s is its own on %s", by.member->name, what, on,
				    name, place);
	else if (!owner->member)
		desired_claims_note(c, "%s: %s%s%s is ours", by.member->name, what, on, name);
	else
		desired_claims_note(c, "%s: %s%s%s is %s's%s", by.member->name, what, on, name,
				    owner->member->name,
				    owner->member->since > by.member->since ? ", which came later"
									    : "");
}

static bool take(struct desired_claims *c, struct claimant by, const struct thing *thing)
{
	uint32_t *slot = find_slot(c, thing);
	const struct claim *claim = &c->claims[*slot];

	if (*slot) {
		/* This node has no quarrel with itself: what it has twice is its own. */
		if (by.member && memcmp(&claim->owner, &by, sizeof(by)) != 0)
			note_loss(c, by, claim);
		return false;
	}
	if (c->n == c->n_max) {
		c->failed = true;
		return false;
	}
	*slot = (uint32_t)++c->n;
	c->claims[*slot] = (struct claim){.thing = *thing, .owner = by};
	return true;
}

bool desired_claim_key(struct desired_claims *c, struct claimant by, const uint8_t *public_key)
{
	struct thing thing = {.kind = KIND_KEY};

	memcpy(thing.bytes, public_key, NODE_KEY_LEN);
	return take(c, by, &thing);
}

bool desired_claim_prefix(struct desired_claims *c, struct claimant by,
			  const struct ip_prefix *network)
{
	struct thing thing = {.kind = KIND_PREFIX, .prefix = *network};

	return take(c, by, &thing);
}

bool desired_claim_address(struct desired_claims *c, struct claimant by, const struct ip_addr *addr)
{
	struct thing thing = {.kind = KIND_ADDRESS, .scope = (uintptr_t)by.overlay};

	thing.prefix.addr = *addr;
	return take(c, by, &thing);
}

bool desired_claim_mac(struct desired_claims *c, struct claimant by, const uint8_t mac[6])
{
	struct thing thing = {.kind = KIND_MAC, .scope = (uintptr_t)by.overlay};

	memcpy(thing.bytes, mac, 6);
	return take(c, by, &thing);
}

void desired_claims_note(struct desired_claims *c, const char *fmt, ...)
{
	struct line *line;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	line = desired_arena_alloc(c->arena, 1, sizeof(*line) + (size_t)len + 1);
	if (!line) {
		c->failed = true;
		return;
	}
	va_start(args, fmt);
	vsnprintf(line->text, (size_t)len + 1, fmt, args);
	va_end(args);
	line->next = c->lines;
	c->lines = line;
	c->n_lines++;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Who claims twice what another has lost it once. */
static size_t unique_lines(char **lines, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (!kept || strcmp(lines[kept - 1], lines[i]) != 0)
			lines[kept++] = lines[i];
	}
	return kept;
}

int desired_claims_lines(const struct desired_claims *c, char ***ret, size_t *ret_n)
{
	char **lines = desired_arena_alloc(c->arena, c->n_lines, sizeof(*lines));
	size_t n = 0;

	if (!lines || c->failed)
		return -ENOMEM;
	for (struct line *line = c->lines; line; line = line->next)
		lines[n++] = line->text;
	qsort(lines, n, sizeof(*lines), compare_lines);
	*ret = lines;
	*ret_n = unique_lines(lines, n);
	return 0;
}
