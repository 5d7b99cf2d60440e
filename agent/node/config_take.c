/* SPDX-License-Identifier: Apache-2.0 */
#include "config_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_values.h"

enum { COMMAS_MAX = 16 };

/* Where a value comes from. */
struct origin {
	struct config_reading *r;
	const char *path;     /* in the file */
	const char *variable; /* or of the environment; NULL: the file */
};

static bool take_text(const struct origin *o, const struct config_value *row, const char *text,
		      void *ret)
{
	struct config_why why;
	char quote[CONFIG_QUOTE_LEN];

	if (config_value_parse(row, text, ret, &why))
		return true;
	if (o->variable)
		config_fault_env(o->r, o->variable, text, "%s; allowed: %s", why.wrong,
				 why.allowed);
	else if (config_value_secret(row))
		config_fault(o->r, o->path, "%s; allowed: %s", why.wrong, why.allowed);
	else
		config_fault(o->r, o->path, "\"%s\" %s; allowed: %s", config_quote(text, quote),
			     why.wrong, why.allowed);
	return false;
}

static void take_one(const struct origin *o, const struct config_value *row, const char *text,
		     char *typed)
{
	const bool given = true;

	if (take_text(o, row, text, typed + row->at) && row->beside)
		memcpy(typed + row->beside, &given, sizeof(given));
}

/* Values into places or an array; those of the file each by its own path. */
static void take_list(const struct origin *o, const struct config_value *row,
		      const struct raw_list *list, char *typed)
{
	char path[CONFIG_KEY_LEN], *array = NULL;
	struct origin item = {.r = o->r, .path = path, .variable = o->variable};
	size_t n = 0;

	if (row->shape == SHAPE_LIST && list->n) {
		array = calloc(list->n, row->size);
		if (!array) {
			o->r->no_memory = true;
			return;
		}
	}
	for (unsigned i = 0; i < list->n; i++) {
		config_key(path, "%s[%u]", o->path, i);
		n += take_text(&item, row, list->items[i],
			       array ? array + n * row->size : typed + row->at);
	}
	if (row->shape == SHAPE_LIST) {
		memcpy(typed + row->at, &array, sizeof(array));
		memcpy(typed + row->beside, &n, sizeof(n));
	}
}

/* One variable with commas between the values, which takes the place of the file's. */
static void take_commas(const struct origin *o, const struct config_value *row, const char *text,
			char *typed)
{
	char *copy = strdup(text), *next = copy, *items[COMMAS_MAX], *item;
	struct raw_list list = {.items = items};

	while (copy && list.n < COMMAS_MAX && (item = strsep(&next, ",")) != NULL) {
		item += strspn(item, " \t");
		item[strcspn(item, " \t")] = '\0';
		items[list.n++] = item;
	}
	if (!copy)
		o->r->no_memory = true;
	else if (next)
		config_fault_env(o->r, o->variable, text, "has too many values; allowed: %d",
				 COMMAS_MAX);
	else
		take_list(o, row, &list, typed);
	free(copy);
}

/* What the file says. */
static void drop_list(const struct config_value *row, char *typed)
{
	const size_t none = 0;
	void *array;

	if (row->shape == SHAPE_SLOTS) {
		memset(typed + row->at, 0, row->size);
		return;
	}
	memcpy(&array, typed + row->at, sizeof(array));
	free(array);
	memset(typed + row->at, 0, sizeof(array));
	memcpy(typed + row->beside, &none, sizeof(none));
}

static void take_row(const struct origin *o, const struct config_value *row, const char *raw,
		     char *typed)
{
	const struct raw_list *list = row->shape == SHAPE_ONE ? NULL : (const void *)raw;
	const char *text = list ? NULL : *(char *const *)(const void *)raw, *value;
	struct origin env = {.r = o->r};
	struct config_why why;

	if (row->preset && !config_value_parse(row, row->preset, typed + row->at, &why))
		assert(!"a preset is no value of its kind");
	if (list)
		take_list(o, row, list, typed);
	else if (text)
		take_one(o, row, text, typed);
	value = config_env(row, o->r->getenv_fn, &env.variable);
	if (value && list) {
		drop_list(row, typed);
		take_commas(&env, row, value, typed);
	} else if (value) {
		take_one(&env, row, value, typed);
	}
	if (row->required && !value && (list ? !list->n : !text))
		config_fault(o->r, o->path, "is missing; allowed: no default, give a value");
}

void config_take(struct config_reading *r, const char *path, const struct config_section *section,
		 const void *raw, void *ret)
{
	for (size_t i = 0; i < section->n; i++) {
		const struct config_value *row = &section->values[i];
		char whole[CONFIG_KEY_LEN];
		const struct origin o = {.r = r, .path = whole};

		snprintf(whole, sizeof(whole), "%s%s", path, row->key);
		take_row(&o, row, (const char *)raw + row->raw_at, ret);
	}
}
