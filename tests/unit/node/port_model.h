/* SPDX-License-Identifier: Apache-2.0 */
/*
 * VXLAN ports behind a control socket as sealaned(8) has them, in text: a command is done
 * as a whole or not at all, what is to be removed must be there, what is flooded to must
 * not be there yet.
 */
#ifndef SEALANE_TESTS_PORT_MODEL_H
#define SEALANE_TESTS_PORT_MODEL_H

#include <errno.h>

#include "lane_server.h"

enum { MODEL_PORTS = 8, MODEL_ENTRIES = 40, MODEL_TEXT = 80, MODEL_KEYS = 15 };

/* Those that are given when it is created come first. */
static const char *const model_keys[MODEL_KEYS][2] = {
	{"kind", "auto"},
	{"mtu", "0"},
	{"mac", "02:99:99:99:99:99"},
	{"gso_max_size", "0"},
	{"vtep", ""},
	{"udp_port", "4789"},
	{"vni", ""},
	{"ttl", "64"},
	{"dscp", "0"},
	{"checksum", "false"},
	{"answer_neighbours", "false"},
	{"learning", "true"},
	{"age_s", "300"},
	{"fdb_limit", "65536"},
	{"learned_limit", "65536"},
};
enum { MODEL_FIXED = 4, MODEL_VTEP = 4, MODEL_UDP_PORT, MODEL_VNI, MODEL_LIMIT = 13 };

/* "MAC VTEP static", "VTEP", "ADDRESS MAC". */
enum model_table { MODEL_FDB, MODEL_FLOOD, MODEL_NEIGHBOUR, MODEL_TABLES };

static const char *const model_tables[MODEL_TABLES] = {"fdb", "flood", "neighbour"};

struct model_port {
	char name[16], value[MODEL_KEYS][MODEL_TEXT];
	char entry[MODEL_TABLES][MODEL_ENTRIES][MODEL_TEXT];
	size_t n[MODEL_TABLES];
};

struct port_model {
	struct model_port ports[MODEL_PORTS];
	size_t n_ports;
	/* What a line that is refused contains; NULL: none. */
	const char *refuse[2];
	char error[200];
};

static inline struct model_port *model_find(struct port_model *m, const char *name)
{
	for (size_t i = 0; i < m->n_ports; i++) {
		if (!strcmp(m->ports[i].name, name))
			return &m->ports[i];
	}
	return NULL;
}

static inline char *model_value(struct model_port *p, const char *key)
{
	for (size_t i = 0; i < MODEL_KEYS; i++) {
		if (!strcmp(model_keys[i][0], key))
			return p->value[i];
	}
	return NULL;
}

static inline struct model_port *model_add(struct port_model *m, const char *name)
{
	struct model_port *p = &m->ports[m->n_ports++];

	*p = (struct model_port){0};
	strcpy(p->name, name);
	for (size_t i = 0; i < MODEL_KEYS; i++)
		strcpy(p->value[i], model_keys[i][1]);
	return p;
}

static inline void model_remove(struct port_model *m, struct model_port *p)
{
	const size_t i = (size_t)(p - m->ports);

	memmove(p, p + 1, (--m->n_ports - i) * sizeof(*p));
}

/* The entry whose first word is @key's. */
static inline char *model_entry(struct model_port *p, enum model_table t, const char *key)
{
	const size_t len = strcspn(key, " ");

	for (size_t i = 0; i < p->n[t]; i++) {
		if (!strncmp(p->entry[t][i], key, len) && strcspn(p->entry[t][i], " ") == len)
			return p->entry[t][i];
	}
	return NULL;
}

static inline void model_enter(struct model_port *p, enum model_table t, const char *text)
{
	char *old = model_entry(p, t, text);

	strcpy(old ? old : p->entry[t][p->n[t]++], text);
}

static inline void model_leave(struct model_port *p, enum model_table t, char *entry)
{
	const size_t left = (size_t)(p->entry[t][--p->n[t]] - entry);

	memmove(entry, entry + MODEL_TEXT, left);
}

static inline int model_refuse(struct port_model *m, int err, const char *text)
{
	snprintf(m->error, sizeof(m->error), "%s", text);
	return err;
}

static inline int model_table_line(struct port_model *m, struct model_port *p, enum model_table t,
				   bool removes, const char *value)
{
	char text[MODEL_TEXT], *old = model_entry(p, t, value);
	const char *vtep = t == MODEL_FDB ? strchr(value, ' ') : value;

	if (removes && !old)
		return model_refuse(m, -ENOENT, "there is no such entry");
	if (removes) {
		model_leave(p, t, old);
		return 0;
	}
	if (t == MODEL_FLOOD && old)
		return model_refuse(m, -EEXIST, "is in the list already");
	if (t != MODEL_NEIGHBOUR && !strchr(vtep, ':') != !strchr(p->value[MODEL_VTEP], ':') &&
	    t == MODEL_FLOOD)
		return model_refuse(m, -EINVAL, "must be of the family of vtep");
	snprintf(text, sizeof(text), "%s%s", value, t == MODEL_FDB ? " static" : "");
	model_enter(p, t, text);
	return 0;
}

static inline void model_clear(struct model_port *p, const char *what)
{
	for (size_t i = 0; i < p->n[MODEL_FDB];) {
		if (strstr(p->entry[MODEL_FDB][i], what))
			model_leave(p, MODEL_FDB, p->entry[MODEL_FDB][i]);
		else
			i++;
	}
}

static inline int model_config_line(struct port_model *m, struct model_port *p, bool created,
				    const char *key, const char *value)
{
	char *now = model_value(p, key);

	if (!now)
		return model_refuse(m, -EINVAL, "is no key that can be set");
	if (now < p->value[MODEL_FIXED] && !created && strcmp(now, value) != 0)
		return model_refuse(m, -EINVAL, "given when a port is created");
	strcpy(now, value);
	return 0;
}

static inline int model_line(struct port_model *m, struct model_port *p, bool created, char *line)
{
	char *value = strchr(line, '=');

	for (int i = 0; i < 2; i++) {
		if (m->refuse[i] && strstr(line, m->refuse[i]))
			return model_refuse(m, -EINVAL, "must be something else");
	}
	if (!value)
		return model_refuse(m, -EINVAL, "is not of the form key=value");
	*value++ = '\0';
	if (!strcmp(line, "create"))
		return created ? 0 : model_refuse(m, -EEXIST, "there is a port already");
	if (!strcmp(line, "replace_fdb")) {
		model_clear(p, " static");
		return 0;
	}
	if (!strcmp(line, "replace_flood")) {
		p->n[MODEL_FLOOD] = 0;
		return 0;
	}
	for (int t = 0; t < MODEL_TABLES; t++) {
		const size_t len = strlen(model_tables[t]);

		if (strncmp(line, model_tables[t], len) != 0)
			continue;
		if (!line[len] || !strcmp(line + len, "_remove"))
			return model_table_line(m, p, (enum model_table)t, line[len], value);
	}
	return model_config_line(m, p, created, line, value);
}

/* What only the whole command has wrong. */
static inline int model_check(struct port_model *m, struct model_port *p)
{
	const bool v6 = strchr(p->value[MODEL_VTEP], ':');
	size_t n_static = 0;

	if (!p->value[MODEL_VTEP][0] || !p->value[MODEL_VNI][0])
		return model_refuse(m, -EINVAL, "create: needs a vtep and a vni");
	for (size_t i = 0; i < m->n_ports; i++) {
		if (&m->ports[i] != p &&
		    !memcmp(m->ports[i].value[MODEL_VTEP], p->value[MODEL_VTEP], MODEL_TEXT) &&
		    !strcmp(m->ports[i].value[MODEL_UDP_PORT], p->value[MODEL_UDP_PORT]) &&
		    !strcmp(m->ports[i].value[MODEL_VNI], p->value[MODEL_VNI]))
			return model_refuse(m, -EEXIST, "a port has this VTEP, UDP port and VNI");
	}
	for (size_t i = 0; i < p->n[MODEL_FDB]; i++) {
		const char *vtep = strchr(p->entry[MODEL_FDB][i], ' ');

		n_static += strstr(vtep, " static") != NULL;
		if ((strchr(vtep, ':') != NULL) != v6 && strstr(vtep, " static"))
			return model_refuse(m, -EINVAL, "fdb: of another family than vtep");
	}
	for (size_t i = 0; i < p->n[MODEL_FLOOD]; i++) {
		if ((strchr(p->entry[MODEL_FLOOD][i], ':') != NULL) != v6)
			return model_refuse(m, -EINVAL, "flood: of another family than vtep");
	}
	if (n_static > strtoul(p->value[MODEL_LIMIT], NULL, 10))
		return model_refuse(m, -ENOSPC, "fdb: more static entries than fdb_limit");
	if (strtoul(p->value[MODEL_LIMIT + 1], NULL, 10) > strtoul(p->value[MODEL_LIMIT], NULL, 10))
		strcpy(p->value[MODEL_LIMIT + 1], p->value[MODEL_LIMIT]);
	return 0;
}

/* @lines: those after "set=1". */
static inline int model_apply(struct port_model *m, char *lines)
{
	char *save = NULL, *line = strtok_r(lines, "\n", &save), text[sizeof(m->error)];
	const bool create = strstr(save, "create=true\n"), remove = strstr(save, "remove=true\n");
	struct model_port *p = NULL;
	unsigned number = 1;
	int err;

	if (!line || strncmp(line, "port=", 5) != 0)
		return model_refuse(m, -EINVAL, "port=NAME must come first");
	p = model_find(m, line + 5);
	if (!p == !create)
		return model_refuse(m, p ? -EEXIST : -ENODEV,
				    p ? "port: there is" : "port: no such");
	if (remove && m->refuse[0] && strstr(save, m->refuse[0]))
		return model_refuse(m, -EBUSY, "remove: not now");
	if (remove && p && !strcmp(save, "remove=true\n")) {
		model_remove(m, p);
		return 0;
	}
	if (!p)
		p = model_add(m, line + 5);
	while ((line = strtok_r(NULL, "\n", &save))) {
		number++;
		err = model_line(m, p, create, line);
		if (err) {
			strcpy(text, m->error);
			snprintf(m->error, sizeof(m->error), "line %u: %.100s: %.60s", number, line,
				 text);
			return err;
		}
	}
	return model_check(m, p);
}

/* A VTEP of the other family: the tables must have been empty, or be replaced. */
static inline int model_check_family(struct port_model *m, struct model_port *before,
				     const char *request)
{
	struct model_port *p = model_find(m, before->name);

	if (!p || !strchr(p->value[MODEL_VTEP], ':') == !strchr(before->value[MODEL_VTEP], ':'))
		return 0;
	model_clear(before, " learned");
	if ((before->n[MODEL_FDB] && !strstr(request, "\nreplace_fdb=true\n")) ||
	    (before->n[MODEL_FLOOD] && !strstr(request, "\nreplace_flood=true\n")))
		return model_refuse(m, -EINVAL, "vtep: there are entries of the other family");
	model_clear(p, " learned");
	return 0;
}

static inline int model_set(struct port_model *m, const char *request)
{
	struct port_model *before = malloc(sizeof(*before));
	char *lines = strdup(request + strlen("set=1\n"));
	int err;

	memcpy(before, m, sizeof(*m));
	err = model_apply(m, lines);
	for (size_t i = 0; !err && i < before->n_ports; i++) {
		struct model_port port = before->ports[i];

		err = model_check_family(m, &port, request);
	}
	if (err) {
		memcpy(before->error, m->error, sizeof(m->error));
		memcpy(m, before, sizeof(*m));
	}
	free(lines);
	free(before);
	return err;
}

static inline void model_put(const struct model_port *p, bool tables, FILE *out)
{
	fprintf(out, "port=%s\n", p->name);
	for (size_t i = 0; i < MODEL_KEYS; i++)
		fprintf(out, "%s=%s\n", model_keys[i][0], p->value[i]);
	fprintf(out, "port_kind=veth\nport_reason=it is so\nport_stat=reads 7\n");
	for (int t = 0; tables && t < MODEL_TABLES; t++) {
		for (size_t i = 0; i < p->n[t]; i++)
			fprintf(out, "%s=%s\n", model_tables[t], p->entry[t][i]);
	}
}

static inline int model_get(struct port_model *m, const char *request, FILE *out)
{
	char name[16] = "";
	const struct model_port *p;

	fprintf(out, "version=1\n");
	if (sscanf(request, "get=1\nport=%15s", name) < 1) {
		fprintf(out, "mtu=1420\nlisten_port=1\nports=%zu\n", m->n_ports);
		for (size_t i = 0; i < m->n_ports; i++)
			model_put(&m->ports[i], false, out);
		return 0;
	}
	p = model_find(m, name);
	if (!p)
		return model_refuse(m, ENODEV, "port: there is no such port");
	model_put(p, true, out);
	return 0;
}

/* For lane_server_start(). */
static inline char *port_model_answer(void *ctx, enum lane_socket which, const char *request)
{
	struct port_model *m = ctx;
	char *text = NULL;
	size_t len;
	FILE *out;
	int err;

	if (which == LANE_UAPI)
		return NULL;
	out = open_memstream(&text, &len);
	m->error[0] = '\0';
	if (!strncmp(request, "get=1\n", 6))
		err = model_get(m, request, out);
	else
		err = model_set(m, request);
	if (err)
		fprintf(out, "error=%s\n", m->error);
	fprintf(out, "errno=%d\n\n", err);
	fclose(out);
	return text;
}

#endif
