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
	free(c);
}

/* The values of a text whose form was found good enough to look at them. */
static void parse_values(struct config_reading *r, const char *clean)
{
	struct raw_config *raw;
	const int err = config_schema_load(clean, strlen(clean), &raw);

	if (err == -ENOMEM)
		r->no_memory = true;
	else if (err < 0) /* a mistake of ours, but no reason to end */
		config_fault_file(r, "cannot be loaded; allowed: what sealane.yaml(5) describes");
	if (err < 0)
		return;
	config_check(r, raw);
	config_schema_free(raw);
}

int config_parse(const char *text, size_t len, const char *path,
		 char *(*getenv_fn)(const char *name), struct config **ret,
		 struct config_faults *faults)
{
	struct config_reading r = {.file = path, .getenv_fn = getenv_fn, .faults = faults};
	char *clean = NULL;

	r.config = calloc(1, sizeof(*r.config));
	if (!r.config)
		return -ENOMEM;
	if (len > CONFIG_TEXT_MAX)
		config_fault_file(&r, "is too long; allowed: %d bytes", CONFIG_TEXT_MAX);
	else
		clean = config_walk(&r, text, len);
	if (clean)
		parse_values(&r, clean);
	free(clean);
	config_lines_done(&r.lines);
	if (!r.no_memory && !r.n_faults) {
		*ret = r.config;
		return 0;
	}
	config_free(r.config);
	return r.no_memory ? -ENOMEM : -EINVAL;
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

int config_load(const char *path, char *(*getenv_fn)(const char *name), struct config **ret,
		struct config_faults *faults)
{
	struct config_reading r = {.file = path, .faults = faults};
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int err = fd < 0 ? -errno : 0;
	char *text = NULL;
	size_t len = 0;

	if (!err)
		err = read_whole(fd, &text, &len);
	if (fd >= 0)
		close(fd);
	if (err < 0)
		config_fault_file(&r, "cannot be read: %s", strerror(-err));
	else
		err = config_parse(text, len, path, getenv_fn, ret, faults);
	free(text);
	return err;
}
