/* SPDX-License-Identifier: Apache-2.0 */
#include "config_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void config_free(struct config *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_overlays; i++)
		free(c->overlays[i].addresses);
	for (size_t i = 0; i < c->n_peers; i++)
		member_clear(&c->peers[i]);
	free(c->overlays);
	free(c->peers);
	free(c->etcd.endpoints);
	free(c);
}

/* The values of a text whose form was found good enough to look at them. */
static void parse_values(struct config_reading *r, const char *clean,
			 void (*check)(struct config_reading *r, const struct raw_config *raw))
{
	struct raw_config *raw;
	const int err = config_schema_load(clean, strlen(clean), &raw);

	if (err == -ENOMEM)
		r->no_memory = true;
	else if (err < 0) /* a mistake of ours, but no reason to end */
		config_fault_file(r, "cannot be loaded; allowed: what sealane.yaml(5) describes");
	if (err < 0)
		return;
	check(r, raw);
	config_schema_free(raw);
}

/* 0, -ENOMEM, or -EINVAL with the faults told. */
static int parse(struct config_reading *r, const char *text, size_t len,
		 void (*check)(struct config_reading *r, const struct raw_config *raw))
{
	char *clean = NULL;

	if (len > CONFIG_TEXT_MAX)
		config_fault_file(r, "is too long; allowed: %d bytes", CONFIG_TEXT_MAX);
	else
		clean = config_walk(r, text, len);
	if (clean)
		parse_values(r, clean, check);
	free(clean);
	config_lines_done(&r->lines);
	if (r->no_memory)
		return -ENOMEM;
	return r->n_faults ? -EINVAL : 0;
}

int config_parse(const char *text, size_t len, const char *path,
		 char *(*getenv_fn)(const char *name), struct config **ret,
		 struct config_faults *faults)
{
	struct config_reading r = {.file = path, .getenv_fn = getenv_fn, .faults = faults};
	int err;

	r.config = calloc(1, sizeof(*r.config));
	if (!r.config)
		return -ENOMEM;
	err = parse(&r, text, len, config_check);
	if (err)
		config_free(r.config);
	else
		*ret = r.config;
	return err;
}

static void check_peers_alone(struct config_reading *r, const struct raw_config *raw)
{
	const struct {
		const char *key;
		bool given;
	} others[] = {
		{"node", raw->node},	       {"lane", raw->lane},
		{"overlays", raw->n_overlays}, {"etcd", raw->etcd},
		{"http", raw->http},	       {"peer_directory", raw->peer_directory},
		{"log_level", raw->log_level},
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (others[i].given)
			config_fault(r, others[i].key,
				     "belongs into the configuration; allowed here: peers");
	}
	r->config->peers = calloc(raw->n_peers + 1, sizeof(*r->config->peers));
	if (!r->config->peers) {
		r->no_memory = true;
		return;
	}
	r->config->n_peers = raw->n_peers;
	config_check_peers(r, raw);
	config_check_whole(r);
}

int config_parse_peers(const char *text, size_t len, const char *path, const struct config *config,
		       struct member **ret, size_t *ret_n, struct config_faults *faults)
{
	/* All but the peers is borrowed. */
	struct config around = *config;
	struct config_reading r = {.file = path, .faults = faults, .config = &around};
	int err;

	around.peers = NULL;
	around.n_peers = 0;
	err = parse(&r, text, len, check_peers_alone);
	if (!err) {
		*ret = around.peers;
		*ret_n = around.n_peers;
		return 0;
	}
	for (size_t i = 0; i < around.n_peers; i++)
		member_clear(&around.peers[i]);
	free(around.peers);
	return err;
}

/* Up to one byte more than is allowed, so that config_parse() sees it. */
static int read_whole(int fd, char **ret, size_t *ret_len)
{
	size_t len = 0, capacity = 1 << 16;
	char *text = malloc(capacity);

	while (text) {
		const ssize_t n = read(fd, text + len, capacity - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			const int err = -errno;

			free(text);
			return err;
		}
		len += (size_t)n;
		if (!n || len > CONFIG_TEXT_MAX) {
			*ret = text;
			*ret_len = len;
			return 0;
		}
		if (len == capacity) {
			char *larger = realloc(text, capacity *= 2);

			if (!larger)
				free(text);
			text = larger;
		}
	}
	return -ENOMEM;
}

/* 0 with *ret, the caller's, or -errno, which is told. */
static int read_file(const char *path, char **ret, size_t *ret_len, struct config_faults *faults)
{
	struct config_reading r = {.file = path, .faults = faults};
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int err = fd < 0 ? -errno : 0;

	if (!err)
		err = read_whole(fd, ret, ret_len);
	if (fd >= 0)
		close(fd);
	if (err < 0)
		config_fault_file(&r, "cannot be read: %s", strerror(-err));
	return err;
}

int config_load(const char *path, char *(*getenv_fn)(const char *name), struct config **ret,
		struct config_faults *faults)
{
	char *text = NULL;
	size_t len = 0;
	int err = read_file(path, &text, &len, faults);

	if (!err)
		err = config_parse(text, len, path, getenv_fn, ret, faults);
	free(text);
	return err;
}

int config_load_peers(const char *path, const struct config *config, struct member **ret,
		      size_t *ret_n, struct config_faults *faults)
{
	char *text = NULL;
	size_t len = 0;
	int err = read_file(path, &text, &len, faults);

	if (!err)
		err = config_parse_peers(text, len, path, config, ret, ret_n, faults);
	free(text);
	return err;
}
