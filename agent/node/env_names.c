/* SPDX-License-Identifier: Apache-2.0 */
#include "env_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "config_values.h"
#include "offload/policy.h"

#define PREFIX "SEALANE_"

enum { PREFIX_LEN = sizeof(PREFIX) - 1, NAME_LEN = 64 };

/* Lists of names with blanks between them, some of them other programs'. */
static const char *const lists[] = {
#define X(id, name, variables) variables,
	OFFLOAD_LIST(X)
#undef X
	/* What else a lane reads, or will. */
	PREFIX "DISABLE_IO_URING " PREFIX "ZERO_CSUM_GRO " PREFIX "ENCAP_PORTS",
	PREFIX "DEVICE " PREFIX "PORT " PREFIX "WORKERS " PREFIX "FAIL_OPEN",
	/* The agent's that are no keys of its configuration. */
	PREFIX "AGENT_SOCKET",
	/* What builds and tests use. */
	PREFIX "CACHE " PREFIX "SECONDS " PREFIX "FUZZ_SECONDS " PREFIX "LOGS",
	PREFIX "TEST_TIMEOUT " PREFIX "KERNEL " PREFIX "SOURCE_DIR",
};

struct search {
	const char *name;
	char nearest[NAME_LEN];
	size_t distance; /* of it */
	bool known;
};

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Letters to insert, delete or replace, upper and lower case being the same. Both are
 * shorter than NAME_LEN. */
static size_t distance(const char *a, const char *b)
{
	size_t row[NAME_LEN];

	for (size_t j = 0; j < NAME_LEN; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; b[j - 1]; j++) {
			const bool same = toupper((unsigned char)a[i - 1]) ==
					  toupper((unsigned char)b[j - 1]);
			const size_t replaced = diagonal + !same;

			diagonal = row[j];
			row[j] = min(min(row[j], row[j - 1]) + 1, replaced);
		}
	}
	return row[strlen(b)];
}

/* A third of what is particular about a name may be wrong, and two letters always. */
static size_t tolerance(const char *known)
{
	static const char disable[] = PREFIX "DISABLE_";
	const bool is_switch = !strncmp(known, disable, sizeof(disable) - 1);
	const size_t len = strlen(known) - (is_switch ? sizeof(disable) - 1 : PREFIX_LEN);

	return len < 6 ? 2 : len / 3;
}

static void compare(struct search *s, const char *known)
{
	size_t d;

	if (strncmp(known, PREFIX, PREFIX_LEN) != 0 || strlen(known) >= NAME_LEN)
		return;
	d = distance(s->name, known);
	s->known |= !strcmp(s->name, known);
	if (d >= s->distance || d > tolerance(known))
		return;
	s->distance = d;
	snprintf(s->nearest, sizeof(s->nearest), "%s", known);
}

static void compare_list(struct search *s, const char *list)
{
	char name[NAME_LEN];

	while (*list) {
		const size_t len = strcspn(list, " ");

		if (len < sizeof(name)) {
			memcpy(name, list, len);
			name[len] = '\0';
			compare(s, name);
		}
		list += len;
		list += strspn(list, " ");
	}
}

static void compare_keys(struct search *s)
{
	for (size_t i = 0; i < SECTION_COUNT; i++) {
		for (size_t j = 0; j < config_sections[i].n; j++) {
			const struct config_value *row = &config_sections[i].values[j];

			for (size_t k = 0; k < 2 && row->env[k]; k++)
				compare(s, row->env[k]);
		}
	}
}

static void check_name(const char *name, void (*tell)(const char *name, const char *nearest))
{
	struct search s = {.name = name, .distance = NAME_LEN};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		compare_list(&s, lists[i]);
	compare_keys(&s);
	if (!s.known)
		tell(name, *s.nearest ? s.nearest : NULL);
}

/* The beginning of a name that is longer than all of ours is as telling as the whole. */
void env_names_check(char *const *environment, void (*tell)(const char *name, const char *nearest))
{
	char name[NAME_LEN];

	for (; environment && *environment; environment++) {
		if (strncmp(*environment, PREFIX, PREFIX_LEN) != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*environment, "="), *environment);
		check_name(name, tell);
	}
}
