/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation: a path-compressed binary trie. Every node stands for one
 * prefix, longer than its parent's and covered by it; which child covers an
 * address is the address' first bit after the prefix. A node either has an owner
 * or is a fork: no owner and exactly two children. So N prefixes take fewer than
 * 2N nodes however often they come and go, and a removal deletes the fork that
 * is no longer one.
 */
#include "allowedips.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The address as numbers, so that a node is compared by a shift, not byte by
 * byte; an IPv4 address is in the uppermost 32 bits. */
struct address {
	uint64_t words[2];
};

struct allowedips_node {
	struct allowedips_node *parent, *child[2];
	struct allowedips_owner *owner; /* NULL: a fork */
	TAILQ_ENTRY(allowedips_node) of_owner;
	struct address prefix; /* host bits zero */
	uint8_t addr_len, cidr;
};

static bool is_addr_len(size_t addr_len)
{
	return addr_len == 4 || addr_len == 16;
}

static struct address address_load(const uint8_t *addr, size_t addr_len)
{
	struct address a = {{0, 0}};

	memcpy(a.words, addr, addr_len);
	a.words[0] = be64toh(a.words[0]);
	a.words[1] = be64toh(a.words[1]);
	return a;
}

/* The upper @n bits set, 0 <= n <= 64. */
static uint64_t upper_bits(unsigned n)
{
	return n ? UINT64_MAX << (64 - n) : 0;
}

static struct address address_mask(struct address a, unsigned cidr)
{
	a.words[0] &= upper_bits(cidr < 64 ? cidr : 64);
	a.words[1] &= upper_bits(cidr < 64 ? 0 : cidr - 64);
	return a;
}

static unsigned address_bit(struct address a, unsigned i)
{
	return a.words[i / 64] >> (63 - i % 64) & 1;
}

/* How many leading bits @a and @b share, at most @limit. */
static unsigned shared_bits(struct address a, struct address b, unsigned limit)
{
	const uint64_t d0 = a.words[0] ^ b.words[0], d1 = a.words[1] ^ b.words[1];
	unsigned n = 128;

	if (d0)
		n = (unsigned)__builtin_clzll(d0);
	else if (d1)
		n = 64 + (unsigned)__builtin_clzll(d1);
	return n < limit ? n : limit;
}

static bool covers(const struct allowedips_node *n, struct address a)
{
	return shared_bits(n->prefix, a, n->cidr) == n->cidr;
}

static struct allowedips_node **root_of(struct allowedips *t, size_t addr_len)
{
	return addr_len == 4 ? &t->root4 : &t->root6;
}

/* The pointer that leads to @n. */
static struct allowedips_node **link_to(struct allowedips *t, const struct allowedips_node *n)
{
	if (!n->parent)
		return root_of(t, n->addr_len);
	return &n->parent->child[n->parent->child[1] == n];
}

/*
 * Walks towards @prefix/@cidr: returns the longest node covering it (perhaps
 * exactly it), NULL when there is none.
 */
static struct allowedips_node *find_covering(struct allowedips_node *root, struct address prefix,
					     unsigned cidr)
{
	struct allowedips_node *best = NULL, *n = root;

	while (n && n->cidr <= cidr && covers(n, prefix)) {
		best = n;
		if (n->cidr == cidr)
			break;
		n = n->child[address_bit(prefix, n->cidr)];
	}
	return best;
}

static struct allowedips_node *node_new(struct address prefix, size_t addr_len, unsigned cidr)
{
	struct allowedips_node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->prefix = address_mask(prefix, cidr);
	n->addr_len = (uint8_t)addr_len;
	n->cidr = (uint8_t)cidr;
	return n;
}

static void set_owner(struct allowedips_node *n, struct allowedips_owner *owner)
{
	if (n->owner == owner)
		return;
	if (n->owner)
		TAILQ_REMOVE(&n->owner->prefixes, n, of_owner);
	n->owner = owner;
	if (!owner->prefixes.tqh_last) /* zero-initialised by its owner */
		TAILQ_INIT(&owner->prefixes);
	TAILQ_INSERT_TAIL(&owner->prefixes, n, of_owner);
}

static void set_child(struct allowedips_node *parent, struct allowedips_node *n)
{
	parent->child[address_bit(n->prefix, parent->cidr)] = n;
	n->parent = parent;
}

/*
 * Hangs the new node @n in below @parent (NULL: at the root). What was there is
 * @n's child if @n covers it; else both become children of a new fork.
 */
static int hang_in(struct allowedips_node **root, struct allowedips_node *parent,
		   struct allowedips_node *n)
{
	struct allowedips_node **link =
		parent ? &parent->child[address_bit(n->prefix, parent->cidr)] : root;
	struct allowedips_node *below = *link, *top = n;

	if (below) {
		const unsigned shared = shared_bits(below->prefix, n->prefix, n->cidr);

		if (shared < n->cidr) {
			top = node_new(n->prefix, n->addr_len, shared);
			if (!top)
				return -ENOMEM;
			set_child(top, n);
		}
		set_child(top, below);
	}
	top->parent = parent;
	*link = top;
	return 0;
}

int allowedips_insert(struct allowedips *t, const uint8_t *addr, size_t addr_len, uint8_t cidr,
		      struct allowedips_owner *owner)
{
	struct allowedips_node **root = root_of(t, addr_len), *n, *covering;
	struct address prefix;
	int err;

	if (!is_addr_len(addr_len) || cidr > 8 * addr_len)
		return -EINVAL;
	prefix = address_mask(address_load(addr, addr_len), cidr);
	covering = find_covering(*root, prefix, cidr);
	if (covering && covering->cidr == cidr) {
		set_owner(covering, owner);
		return 0;
	}

	n = node_new(prefix, addr_len, cidr);
	if (!n)
		return -ENOMEM;
	err = hang_in(root, covering, n);
	if (err) {
		free(n);
		return err;
	}
	set_owner(n, owner);
	return 0;
}

/* Takes a node with at most one child out of the trie; the child moves up. */
static void unlink_and_free(struct allowedips *t, struct allowedips_node *n)
{
	struct allowedips_node *child = n->child[0] ? n->child[0] : n->child[1];

	*link_to(t, n) = child;
	if (child)
		child->parent = n->parent;
	free(n);
}

/* Takes the owner off a node, then what nobody needs any more: the node unless
 * it is now a fork, and above a vanished leaf the fork it was part of. */
static void disown(struct allowedips *t, struct allowedips_node *n)
{
	struct allowedips_node *parent = n->parent;
	const bool leaf = !n->child[0] && !n->child[1];

	TAILQ_REMOVE(&n->owner->prefixes, n, of_owner);
	n->owner = NULL;
	if (n->child[0] && n->child[1])
		return;
	unlink_and_free(t, n);
	if (leaf && parent && !parent->owner)
		unlink_and_free(t, parent);
}

int allowedips_remove(struct allowedips *t, const uint8_t *addr, size_t addr_len, uint8_t cidr,
		      const struct allowedips_owner *owner)
{
	struct allowedips_node *n;
	struct address prefix;

	if (!is_addr_len(addr_len) || cidr > 8 * addr_len)
		return -EINVAL;
	prefix = address_mask(address_load(addr, addr_len), cidr);
	n = find_covering(*root_of(t, addr_len), prefix, cidr);
	if (n && n->cidr == cidr && n->owner && n->owner == owner)
		disown(t, n);
	return 0;
}

void allowedips_remove_owner(struct allowedips *t, struct allowedips_owner *owner)
{
	while (!TAILQ_EMPTY(&owner->prefixes))
		/* The analyzer forgets that disown() takes a node off the list before it
		 * frees it. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		disown(t, TAILQ_FIRST(&owner->prefixes));
}

struct allowedips_owner *allowedips_lookup(const struct allowedips *t, const uint8_t *addr,
					   size_t addr_len)
{
	const struct allowedips_node *n = addr_len == 4 ? t->root4 : t->root6;
	struct allowedips_owner *best = NULL;
	struct address a;

	if (!is_addr_len(addr_len))
		return NULL;
	a = address_load(addr, addr_len);
	while (n && covers(n, a)) {
		if (n->owner)
			best = n->owner;
		if (n->cidr == 8 * addr_len)
			break;
		n = n->child[address_bit(a, n->cidr)];
	}
	return best;
}

bool allowedips_next(const struct allowedips_owner *owner, struct allowedips_node **cursor,
		     struct allowedips_prefix *ret)
{
	const struct allowedips_node *n;
	struct address be;

	*cursor = *cursor ? TAILQ_NEXT(*cursor, of_owner) : TAILQ_FIRST(&owner->prefixes);
	n = *cursor;
	if (!n)
		return false;
	be.words[0] = htobe64(n->prefix.words[0]);
	be.words[1] = htobe64(n->prefix.words[1]);
	memcpy(ret->addr, be.words, sizeof(ret->addr));
	ret->addr_len = n->addr_len;
	ret->cidr = n->cidr;
	return true;
}

/* Leaves first; a parent whose children are gone is a leaf. */
static void free_all(struct allowedips_node *n)
{
	while (n) {
		struct allowedips_node *parent = n->parent;

		if (n->child[0] || n->child[1]) {
			n = n->child[0] ? n->child[0] : n->child[1];
			continue;
		}
		if (n->owner)
			TAILQ_REMOVE(&n->owner->prefixes, n, of_owner);
		if (parent)
			parent->child[parent->child[1] == n] = NULL;
		free(n);
		n = parent;
	}
}

void allowedips_done(struct allowedips *t)
{
	free_all(t->root4);
	free_all(t->root6);
	*t = (struct allowedips){0};
}
