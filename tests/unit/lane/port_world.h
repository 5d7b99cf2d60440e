/* SPDX-License-Identifier: Apache-2.0 */
/* A lane whose ports have no devices. What the tests and the fuzzer of commands about
 * ports share. */
#ifndef SEALANE_TESTS_PORT_WORLD_H
#define SEALANE_TESTS_PORT_WORLD_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/lane/batch.h"
#include "agent/lane/control_ports.h"
#include "agent/lane/control_set.h"
#include "agent/lane/lane.h"
#include "agent/lane/textbuf.h"

struct port_world {
	struct lane lane;
	struct lane_env env;
	struct port_env port_env;
	uint64_t now_ns;
	uint8_t random;
	int open_err, check_err; /* what port_env answers */
	unsigned n_opened, n_closed;
	uint8_t mac[6]; /* of the port opened last */
};

static inline uint64_t port_world_now(void *ctx)
{
	return ((struct port_world *)ctx)->now_ns;
}

static inline void port_world_random(void *ctx, void *buf, size_t len)
{
	memset(buf, ++((struct port_world *)ctx)->random, len);
}

static inline void port_world_mac(void *ctx, uint8_t mac[6])
{
	memcpy(mac, ((struct port_world *)ctx)->mac, 6);
}

static inline const char *port_world_kind(void *ctx)
{
	(void)ctx;
	return "veth";
}

static inline const char *port_world_reason(void *ctx)
{
	(void)ctx;
	return "a test";
}

static inline int port_world_open(void *ctx, struct port *port, struct port_io *ret,
				  char err_text[PORT_ERR_LEN])
{
	struct port_world *w = ctx;

	if (w->open_err) {
		snprintf(err_text, PORT_ERR_LEN, "open says no");
		return w->open_err;
	}
	w->n_opened++;
	memcpy(w->mac, (const uint8_t[6]){2, 0, 0, 0, 0xaa, (uint8_t)w->n_opened}, 6);
	if (port->config.has_mac)
		memcpy(w->mac, port->config.mac, 6);
	*ret = (struct port_io){
		.ctx = w,
		.mac = port_world_mac,
		.kind = port_world_kind,
		.reason = port_world_reason,
	};
	return 0;
}

static inline void port_world_close(void *ctx, struct port_io *io)
{
	(void)io;
	((struct port_world *)ctx)->n_closed++;
}

static inline int port_world_check(void *ctx, const struct port_config *config,
				   char err_text[PORT_ERR_LEN])
{
	struct port_world *w = ctx;

	(void)config;
	if (w->check_err)
		snprintf(err_text, PORT_ERR_LEN, "check says no");
	return w->check_err;
}

/* @w stays where it is until port_world_done(). */
static inline void port_world_init(struct port_world *w)
{
	*w = (struct port_world){.now_ns = 1000 * NSEC_PER_SEC};
	w->env = (struct lane_env){w, port_world_now, NULL, port_world_random};
	w->port_env = (struct port_env){w, port_world_open, port_world_close, port_world_check};
	w->lane.env = &w->env;
	w->lane.self.lane = &w->lane;
	w->lane.n_workers = 1;
	w->lane.port_env = &w->port_env;
	TAILQ_INIT(&w->lane.ports.list);
}

static inline void port_world_done(struct port_world *w)
{
	port_remove_all(&w->lane);
	port_batch_free(w->lane.self.port_batch);
	w->lane.self.port_batch = NULL;
}

static inline int port_world_compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Neighbours come in no order of their own. */
static inline void port_world_sort_neighbours(char *text)
{
	static const char key[] = "neighbour=";
	char *copy = strdup(text), **lines = calloc(strlen(text) + 1, sizeof(*lines));
	char *save = NULL, *line, *to = text;
	size_t n = 0;

	for (line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (!strncmp(line, key, sizeof(key) - 1)) {
			lines[n++] = line;
			continue;
		}
		qsort(lines, n, sizeof(*lines), port_world_compare_lines);
		for (size_t i = 0; i < n; i++)
			to += sprintf(to, "%s\n", lines[i]);
		n = 0;
		to += sprintf(to, "%s\n", line);
	}
	*to = '\0';
	free(lines);
	free(copy);
}

/* All there is to be told of all ports; the caller frees it. */
static inline char *port_world_text(const struct port_world *w)
{
	struct textbuf b = {0};
	const struct port *port;
	char line[32], *text;

	control_ports_put(&w->lane, &b);
	TAILQ_FOREACH (port, &w->lane.ports.list, entry) {
		snprintf(line, sizeof(line), "port=%s\n", port->config.name);
		control_ports_get(&w->lane, line, &b);
	}
	text = b.failed ? NULL : strdup(b.data);
	textbuf_done(&b);
	if (text)
		port_world_sort_neighbours(text);
	return text;
}

/* One command: lines, each with its newline; the empty one comes by itself. As
 * control_set_finish(), or as the line that was refused. */
static inline int port_world_set(struct port_world *w, const char *lines, size_t len,
				 char err_text[PORT_ERR_LEN])
{
	struct control_set s;
	const char *end;
	int err = 0;

	control_set_begin(&s, &w->lane);
	for (; !err && (end = memchr(lines, '\n', len)); lines = end + 1) {
		err = control_set_line(&s, lines, (size_t)(end - lines));
		len -= (size_t)(end + 1 - lines);
	}
	if (!err)
		err = control_set_finish(&s);
	strcpy(err_text, control_set_error(&s));
	control_set_end(&s);
	return err;
}

#endif
