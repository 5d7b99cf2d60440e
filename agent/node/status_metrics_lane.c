/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lane_client.h"
#include "lane_value.h"
#include "metrics_text.h"
#include "status_metrics.h"

/* One line of the answer; of a port's also whose. A value "NAME REST" is taken apart. */
struct told {
	const char *key, *port, *name, *rest;
	uint64_t count;
};

struct answer {
	struct told *list;
	size_t n, capacity;
};

static bool add(struct answer *a, const struct told *told)
{
	if (a->n == a->capacity) {
		const size_t more = a->capacity ? 2 * a->capacity : 256;
		struct told *list = realloc(a->list, more * sizeof(*list));

		if (!list)
			return false;
		a->list = list;
		a->capacity = more;
	}
	a->list[a->n++] = *told;
	return true;
}

/* False: none of the lines that become metrics. */
static bool take_line(const char *key, char *value, const char *port, struct told *ret)
{
	static const char *const counters[] = {"stat", "drop", "port_stat"},
				 *const gauges[] = {"port_fdb_static", "port_fdb_learned",
						    "port_flood", "port_neighbours"};
	char *rest = strchr(value, ' ');

	*ret = (struct told){.key = key, .port = port, .name = value, .rest = ""};
	for (size_t i = 0; i < sizeof(gauges) / sizeof(gauges[0]); i++) {
		if (!strcmp(key, gauges[i]))
			return port && lane_value_number(value, UINT64_MAX, &ret->count);
	}
	if (rest) {
		*rest = '\0';
		ret->rest = rest + 1;
	}
	if (!metrics_word(value))
		return false;
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		if (!strcmp(key, counters[i]))
			return lane_value_number(ret->rest, UINT64_MAX, &ret->count) &&
			       (port || strcmp(key, "port_stat") != 0);
	}
	return !strcmp(key, "capability");
}

static int take_apart(char *answer, struct answer *ret)
{
	struct lane_lines lines = {answer};
	const char *port = NULL;
	char *key, *value;
	struct told told;

	while (lane_lines_next(&lines, &key, &value)) {
		if (!strcmp(key, "port"))
			port = value;
		else if (take_line(key, value, port, &told) && !add(ret, &told))
			return -ENOMEM;
	}
	return 0;
}

static bool is(const struct told *t, const char *key)
{
	return !strcmp(t->key, key);
}

/* "on REASON" */
static void put_capabilities(const struct answer *a, FILE *out)
{
	static const char name[] = "sealane_lane_capability";

	metrics_family(out, name, "gauge", "Whether an ability of kernel or device is used.");
	for (size_t i = 0; i < a->n; i++) {
		const struct told *t = &a->list[i];
		const char *reason = strchrnul(t->rest, ' ');

		if (is(t, "capability"))
			metrics_sample(
				out, name,
				(const struct metrics_label[METRICS_LABELS_MAX]){
					{"name", t->name}, {"reason", *reason ? reason + 1 : ""}},
				!strncmp(t->rest, "on", (size_t)(reason - t->rest)) &&
					reason - t->rest == 2);
	}
}

static void put_counters(const struct answer *a, FILE *out)
{
	char name[METRICS_NAME_LEN], help[METRICS_NAME_LEN];

	for (size_t i = 0; i < a->n; i++) {
		const struct told *t = &a->list[i];

		if (!is(t, "stat"))
			continue;
		snprintf(name, sizeof(name), "sealane_lane_%.60s_total", t->name);
		snprintf(help, sizeof(help), "Counter %.60s of sealaned(8).", t->name);
		metrics_single(out, name, "counter", help, t->count);
	}
}

static void put_drops(const struct answer *a, FILE *out)
{
	static const char name[] = "sealane_lane_drops_total";

	metrics_family(out, name, "counter", "Packets that went no further, by drop reason.");
	for (size_t i = 0; i < a->n; i++) {
		const struct told *t = &a->list[i];

		if (is(t, "drop"))
			metrics_sample(out, name,
				       (const struct metrics_label[METRICS_LABELS_MAX]){
					       {"reason", t->name}},
				       t->count);
	}
}

/* Samples of one family stand together, but the lane tells of port after port: the
 * first of each family fetches the others. */
static bool same_family(const struct told *a, const struct told *b)
{
	return !strcmp(a->key, b->key) && (!is(a, "port_stat") || !strcmp(a->name, b->name));
}

static bool is_first(const struct answer *a, size_t i)
{
	for (size_t j = 0; j < i; j++) {
		if (same_family(&a->list[j], &a->list[i]))
			return false;
	}
	return true;
}

static void put_port_family(const struct answer *a, size_t first, FILE *out)
{
	const struct told *t = &a->list[first];
	char name[METRICS_NAME_LEN], help[METRICS_NAME_LEN];

	if (is(t, "port_stat")) {
		snprintf(name, sizeof(name), "sealane_port_%.60s_total", t->name);
		snprintf(help, sizeof(help), "Counter %.60s of a port, sealaned(8).", t->name);
	} else {
		snprintf(name, sizeof(name), "sealane_%s", t->key);
		snprintf(help, sizeof(help), "State %s of a port, sealaned(8).", t->key);
	}
	metrics_family(out, name, is(t, "port_stat") ? "counter" : "gauge", help);
	for (size_t i = first; i < a->n; i++) {
		if (same_family(t, &a->list[i]))
			metrics_sample(out, name,
				       (const struct metrics_label[METRICS_LABELS_MAX]){
					       {"port", a->list[i].port}},
				       a->list[i].count);
	}
}

int status_metrics_lane(char *answer, FILE *out)
{
	struct answer a = {0};
	int err = take_apart(answer, &a);

	if (!err) {
		put_capabilities(&a, out);
		put_counters(&a, out);
		put_drops(&a, out);
	}
	for (size_t i = 0; !err && i < a.n; i++) {
		if (!strncmp(a.list[i].key, "port_", 5) && is_first(&a, i))
			put_port_family(&a, i, out);
	}
	free(a.list);
	return err;
}
