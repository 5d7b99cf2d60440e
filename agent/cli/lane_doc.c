/* SPDX-License-Identifier: Apache-2.0 */
#include "lane_doc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/node/lane_client.h"

static int append(struct lane_doc *doc, size_t *room, const char *key, const char *value)
{
	if (doc->n_items == *room) {
		const size_t more = *room ? 2 * *room : 128;
		struct lane_item *items = reallocarray(doc->items, more, sizeof(*items));

		if (!items)
			return -ENOMEM;
		doc->items = items;
		*room = more;
	}
	doc->items[doc->n_items++] = (struct lane_item){key, value};
	return 0;
}

int lane_doc_parse(char *text, struct lane_doc *ret)
{
	struct lane_lines lines = {text};
	struct lane_doc doc = {0};
	bool in_port = false;
	char *key, *value;
	size_t room = 0;

	while (lane_lines_next(&lines, &key, &value)) {
		in_port = in_port || !strcmp(key, "port");
		if (append(&doc, &room, key, value)) {
			lane_doc_done(&doc);
			return -ENOMEM;
		}
		if (!in_port)
			doc.n_own = doc.n_items;
	}
	*ret = doc;
	return 0;
}

void lane_doc_done(struct lane_doc *doc)
{
	free(doc->items);
	*doc = (struct lane_doc){0};
}

const char *lane_doc_next(const struct lane_doc *doc, const char *key, size_t *cursor)
{
	while (*cursor < doc->n_own) {
		const struct lane_item *item = &doc->items[(*cursor)++];

		if (!strcmp(item->key, key))
			return item->value;
	}
	return NULL;
}

const char *lane_doc_value(const struct lane_doc *doc, const char *key)
{
	size_t cursor = 0;

	return lane_doc_next(doc, key, &cursor);
}

const struct lane_item *lane_doc_next_port(const struct lane_doc *doc, size_t *cursor)
{
	while (*cursor < doc->n_items) {
		const struct lane_item *item = &doc->items[(*cursor)++];

		if (!strcmp(item->key, "port"))
			return item;
	}
	return NULL;
}

const char *lane_doc_port_value(const struct lane_doc *doc, const struct lane_item *port,
				const char *key)
{
	const struct lane_item *end = doc->items + doc->n_items;

	for (const struct lane_item *item = port + 1; item < end; item++) {
		if (!strcmp(item->key, "port"))
			break;
		if (!strcmp(item->key, key))
			return item->value;
	}
	return NULL;
}

const char *lane_doc_word(const char *value, char *word, size_t word_len)
{
	const size_t len = strcspn(value, " ");

	if (!len || len >= word_len)
		return NULL;
	memcpy(word, value, len);
	word[len] = '\0';
	value += len;
	return value + (*value == ' ');
}
