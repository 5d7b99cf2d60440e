/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment's part of the policy: which variable switches what off, and which
 * names are ours at all.
 */
#include "policy.h"

#include <string.h>
#include <strings.h>

#define N_ELEMENTS(a)	  (sizeof(a) / sizeof(*(a)))
#define BIT(o)		  (1u << (o))
#define PREFIX		  "SEALANE_"
#define DISABLE		  "SEALANE_DISABLE_"
#define LITERAL_LEN(text) (sizeof(text) - 1)

enum { VARIABLE_MAX_LEN = 40 };

typedef const char *(*getenv_fn_t)(void *ctx, const char *name);

static const struct {
	const char *name, *variables; /* variables: separated by a blank */
} offloads[N_OFFLOADS] = {
#define X(id, name, env) [OFFLOAD_##id] = {name, env},
	OFFLOAD_LIST(X)
#undef X
};

/* Without the vnet header there is no place to say that a packet is a superpacket. */
static const unsigned in_vnet_hdr = BIT(OFFLOAD_TUN_GSO) | BIT(OFFLOAD_TUN_TCP_GRO) |
				    BIT(OFFLOAD_TUN_UDP_GRO) | BIT(OFFLOAD_TUNNEL_GSO);

/* ---- Switches ---- */

enum truth { NOT_TRUE, TRUE, NO_TRUTH_VALUE };

static enum truth truth_of(const char *value)
{
	if (!value || !*value || !strcmp(value, "0") || !strcasecmp(value, "false"))
		return NOT_TRUE;
	if (!strcmp(value, "1") || !strcasecmp(value, "true"))
		return TRUE;
	return NO_TRUTH_VALUE;
}

/* Cuts off what does not fit; always terminated. */
static void say(struct policy_state *s, const char *text)
{
	const size_t used = strlen(s->reason), room = sizeof(s->reason) - 1 - used;
	size_t len = strlen(text);

	if (len > room)
		len = room;
	memcpy(s->reason + used, text, len);
	s->reason[used + len] = '\0';
}

/* Copies the first name of a list and returns what follows it, NULL at the end. */
static const char *next_variable(const char *list, char name[VARIABLE_MAX_LEN + 1])
{
	size_t len;

	list += strspn(list, " ");
	len = strcspn(list, " ");
	if (!len || len > VARIABLE_MAX_LEN)
		return NULL;
	memcpy(name, list, len);
	name[len] = '\0';
	return list + len;
}

/* The first variable of @o whose value is @wanted: its name is in @name then. */
static bool find_variable(enum offload o, enum truth wanted, getenv_fn_t getenv_fn, void *ctx,
			  char name[VARIABLE_MAX_LEN + 1])
{
	const char *list = offloads[o].variables;

	if (!getenv_fn)
		return false;
	while ((list = next_variable(list, name)))
		if (truth_of(getenv_fn(ctx, name)) == wanted)
			return true;
	return false;
}

/* The values themselves are not repeated: anything may be in them. */
static void say_ignored(enum offload o, getenv_fn_t getenv_fn, void *ctx, struct policy_state *s)
{
	char name[VARIABLE_MAX_LEN + 1];

	if (!find_variable(o, NO_TRUTH_VALUE, getenv_fn, ctx, name))
		return;
	say(s, "; ");
	say(s, name);
	say(s, " ignored: no truth value");
}

const char *offload_name(enum offload o)
{
	return (unsigned)o < N_OFFLOADS ? offloads[o].name : "unknown";
}

struct policy_state policy_offload(enum offload o, const struct kernel_release *r,
				   getenv_fn_t getenv_fn, void *ctx)
{
	struct policy_state s = {.on = false};
	char name[VARIABLE_MAX_LEN + 1];
	const char *why;

	if (find_variable(o, TRUE, getenv_fn, ctx, name)) {
		say(&s, "switched off by ");
		say(&s, name);
		return s;
	}
	if ((in_vnet_hdr & BIT(o)) && find_variable(OFFLOAD_VNET_HDR, TRUE, getenv_fn, ctx, name)) {
		say(&s, "needs the vnet header, switched off by ");
		say(&s, name);
		return s;
	}
	why = policy_release_forbids(o, r);
	s.on = !why;
	say(&s, why ? why : "nothing known against it");
	say_ignored(o, getenv_fn, ctx, &s);
	return s;
}

/* ---- Names ---- */

static const char *const known_variables[] = {
	DISABLE "VNET_HDR",
	DISABLE "TUN_GSO",
	DISABLE "TUN_TCP_GRO",
	DISABLE "TUN_UDP_GRO",
	DISABLE "TUNNEL_GSO",
	DISABLE "UDP_GSO",
	DISABLE "UDP_GRO",
	DISABLE "IO_URING",
	DISABLE "BIG_TCP",
	DISABLE "SIMD",
	DISABLE "ECN",
	PREFIX "ZERO_CSUM_GRO",
	PREFIX "ENCAP_PORTS",
	PREFIX "DEVICE",
	PREFIX "WORKERS",
	PREFIX "FAIL_OPEN",
	PREFIX "PORT",
	/* What builds and tests use. */
	PREFIX "CACHE",
	PREFIX "SECONDS",
	PREFIX "FUZZ_SECONDS",
	PREFIX "LOGS",
	PREFIX "TEST_TIMEOUT",
	PREFIX "KERNEL",
	PREFIX "SOURCE_DIR",
	NULL,
};

static unsigned min2(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static int fold_case(char c)
{
	return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c;
}

/*
 * Damerau-Levenshtein distance without regard to case, in its "optimal string
 * alignment" form: insertions, deletions, substitutions and swaps of neighbours
 * count one each. Three rows of the matrix are enough. Both lengths are at most
 * VARIABLE_MAX_LEN.
 */
static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned row_memory[3][VARIABLE_MAX_LEN + 1];
	unsigned *above2 = row_memory[0], *above = row_memory[1], *row = row_memory[2], *spare;
	size_t i, j;

	for (j = 0; j <= b_len; j++)
		row[j] = (unsigned)j;
	for (i = 1; i <= a_len; i++) {
		spare = above2;
		above2 = above;
		above = row;
		row = spare;
		row[0] = (unsigned)i;
		for (j = 1; j <= b_len; j++) {
			const int ca = fold_case(a[i - 1]), cb = fold_case(b[j - 1]);

			row[j] = min2(min2(above[j], row[j - 1]) + 1, above[j - 1] + (ca != cb));
			if (i > 1 && j > 1 && ca == fold_case(b[j - 2]) &&
			    cb == fold_case(a[i - 2]))
				row[j] = min2(row[j], above2[j - 2] + 1);
		}
	}
	return row[b_len];
}

/* A third of what is particular about a name may be wrong, and always one letter. */
static unsigned tolerance(const char *known)
{
	const bool disable = !strncmp(known, DISABLE, LITERAL_LEN(DISABLE));
	const size_t len = strlen(known) - (disable ? LITERAL_LEN(DISABLE) : LITERAL_LEN(PREFIX));

	return len < 6 ? 1 : (unsigned)(len / 3);
}

struct search {
	const char *name; /* @len bytes of it */
	size_t len;
	const char *nearest;
	unsigned distance; /* of that */
	bool known;	   /* it is the name itself */
};

static void compare_all(struct search *s, const char *const *known)
{
	for (; *known && !s->known; known++) {
		const size_t len = strlen(*known);
		unsigned d;

		if (len == s->len && !strncmp(*known, s->name, len)) {
			s->nearest = *known;
			s->known = true;
			return;
		}
		if (len > VARIABLE_MAX_LEN)
			continue;
		d = distance(s->name, s->len, *known, len);
		if (d <= tolerance(*known) && d < s->distance) {
			s->distance = d;
			s->nearest = *known;
		}
	}
}

const char *policy_nearest_variable(const char *name, const char *const *more, bool *ret_known)
{
	struct search s = {
		.name = name, .len = strcspn(name, "="), .distance = VARIABLE_MAX_LEN + 1};

	*ret_known = false;
	if (s.len > VARIABLE_MAX_LEN)
		return NULL;
	compare_all(&s, known_variables);
	if (more)
		compare_all(&s, more);
	*ret_known = s.known;
	return s.nearest;
}
