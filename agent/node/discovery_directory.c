/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider that reads `peer_directory`. The folder is watched, and what happens in it is
 * gathered for a moment; it is looked at again once a minute besides, for not every file system
 * tells, and every second while it cannot be read. Whoever replaces it takes the watch away with
 * it: each reading sees to it that the watch is where the folder is.
 */
#include "discovery.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "log.h"
#include "loop.h"
#include "peer_files.h"
#include "told.h"

enum { SETTLE_MS = 50, AGAIN_MS = 60000, UNREADABLE_MS = 1000, FAULTS_TOLD = 100 };

struct directory {
	uv_loop_t *loop;
	void (*changed)(void *ctx);
	void *ctx;
	const struct config *config;
	char folder[CONFIG_PATH_LEN]; /* what the files are of */
	struct peer_files files;
	bool synced, config_changed;
	int64_t synced_s;
	int err; /* of the last reading */
	char *folder_fault;
	struct told told;

	uv_fs_event_t *watch; /* NULL: there is none; closes by itself */
	dev_t dev;	      /* of what is watched */
	ino_t ino;
	uv_timer_t *timer;
};

static void on_timer(uv_timer_t *timer);

/* The watch */

static void on_watch_closed(uv_handle_t *handle)
{
	free(handle);
}

static void unwatch(struct directory *d)
{
	if (!d->watch)
		return;
	d->watch->data = NULL;
	uv_close((uv_handle_t *)d->watch, on_watch_closed);
	d->watch = NULL;
}

static void plan(struct directory *d, uint64_t ms)
{
	uv_timer_start(d->timer, on_timer, ms, 0);
}

/* What follows at once is read with it. */
static void on_event(uv_fs_event_t *watch, const char *name, int events, int status)
{
	struct directory *d = watch->data;

	(void)name;
	(void)events;
	(void)status;
	if (d)
		plan(d, SETTLE_MS);
}

/* -errno where it cannot be watched, which the minute makes up for. */
static int watch(struct directory *d)
{
	struct stat st;
	int err;

	if (stat(d->folder, &st) < 0) {
		unwatch(d);
		return -errno;
	}
	if (d->watch && d->dev == st.st_dev && d->ino == st.st_ino)
		return 0;
	unwatch(d);
	d->watch = malloc(sizeof(*d->watch));
	if (!d->watch)
		return -ENOMEM;
	err = uv_fs_event_init(d->loop, d->watch);
	if (err) {
		free(d->watch);
		d->watch = NULL;
		return err;
	}
	d->watch->data = d;
	err = uv_fs_event_start(d->watch, on_event, d->folder, 0);
	if (err) {
		unwatch(d);
		return err;
	}
	d->dev = st.st_dev;
	d->ino = st.st_ino;
	return 0;
}

/* Reading */

static void tell_line(const char *line)
{
	log_error("%s", line);
}

/* Each fault once for as long as it lasts. */
static void tell_faults(struct directory *d, const char *text)
{
	const char *lines[FAULTS_TOLD];
	char *copy = text ? strdup(text) : NULL, *next = copy, *line;
	size_t n = 0;

	while (n < FAULTS_TOLD && (line = strsep(&next, "\n"))) {
		if (*line)
			lines[n++] = line;
	}
	told_update(&d->told, lines, n, tell_line);
	free(copy);
}

static void set_folder_fault(struct directory *d, int err)
{
	free(d->folder_fault);
	d->folder_fault = NULL;
	if (err &&
	    asprintf(&d->folder_fault, "%s: cannot be read: %s\n", d->folder, strerror(-err)) < 0)
		d->folder_fault = NULL;
}

/* True: something else is to be told now. */
static bool read_folder(struct directory *d)
{
	const bool was_synced = d->synced, had_fault = d->err != 0;
	bool changed = false;

	/* First the watch: what changes while it is read is seen. */
	(void)watch(d);
	d->err = peer_files_read(&d->files, d->folder, d->config, d->config_changed, &changed);
	set_folder_fault(d, d->err);
	tell_faults(d, d->err ? d->folder_fault : d->files.faults.text);
	if (!d->err) {
		d->config_changed = false;
		d->synced = true;
		d->synced_s = time(NULL);
	}
	if (changed)
		log_info("read %s: %zu files, %zu peers", d->folder, d->files.n,
			 d->files.n_members);
	plan(d, d->err ? UNREADABLE_MS : AGAIN_MS);
	return changed || was_synced != d->synced || had_fault != (d->err != 0);
}

static void on_timer(uv_timer_t *timer)
{
	struct directory *d = timer->data;

	if (read_folder(d))
		d->changed(d->ctx);
}

/* The provider */

static bool wanted(const struct config *config)
{
	return config->peer_directory[0];
}

static int start(uv_loop_t *loop, const struct config *config, void (*changed)(void *ctx),
		 void *ctx, void **ret)
{
	struct directory *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->loop = loop;
	d->changed = changed;
	d->ctx = ctx;
	d->config = config;
	memcpy(d->folder, config->peer_directory, sizeof(d->folder));
	d->timer = loop_timer_new(loop, d);
	if (!d->timer) {
		free(d);
		return -ENOMEM;
	}
	(void)read_folder(d);
	*ret = d;
	return 0;
}

/* What the files say depends on this node's names and addresses. Another folder is read before
 * what the one before said is forgotten. */
static void reconfigure(void *provider, const struct config *config)
{
	struct directory *d = provider;

	d->config = config;
	d->config_changed = true;
	if (strcmp(d->folder, config->peer_directory) != 0) {
		memcpy(d->folder, config->peer_directory, sizeof(d->folder));
		d->synced = false;
		unwatch(d);
	}
	(void)read_folder(d);
}

static void view(const void *provider, struct discovery_view *ret)
{
	const struct directory *d = provider;

	*ret = (struct discovery_view){
		.kind = "directory",
		.where = d->folder,
		.synced = d->synced,
		.synced_s = d->synced_s,
		.members = d->files.members,
		.n_members = d->files.n_members,
		.faults = d->err ? d->folder_fault : d->files.faults.text,
	};
}

static void stop(void *provider)
{
	struct directory *d = provider;

	unwatch(d);
	loop_timer_free(&d->timer);
	peer_files_done(&d->files);
	told_done(&d->told);
	free(d->folder_fault);
	free(d);
}

const struct discovery_ops discovery_directory = {
	.wanted = wanted,
	.start = start,
	.reconfigure = reconfigure,
	.view = view,
	.stop = stop,
};
