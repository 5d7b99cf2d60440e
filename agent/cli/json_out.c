/* SPDX-License-Identifier: Apache-2.0 */
#include "json_out.h"

#include <stdint.h>
#include <stdlib.h>

#include "term.h"

static void *allocate(size_t len)
{
	void *p = malloc(len);

	if (!p) {
		fputs("sealane: no memory\n", stderr);
		exit(EXIT_FAILURE);
	}
	return p;
}

void json_out_setup(void)
{
	json_set_alloc_funcs(allocate, free);
}

json_t *json_out_text(const char *text)
{
	json_t *value;
	char *safe;

	if (!text)
		return json_null();
	value = json_string(text);
	if (value)
		return value;
	safe = term_safe(text);
	value = safe ? json_string(safe) : json_null();
	free(safe);
	return value;
}

json_t *json_out_word(const char *text)
{
	uint64_t number;

	if (text && term_number(text, &number) && number <= INT64_MAX)
		return json_integer((json_int_t)number);
	return json_out_text(text);
}

void json_out(json_t *document, FILE *out)
{
	json_dumpf(document, out, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	fputc('\n', out);
	json_decref(document);
}
