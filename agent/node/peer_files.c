/* SPDX-License-Identifier: Apache-2.0 */
#include "peer_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

/* What tells one state of a file from another. */
struct identity {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed, modified;
};

struct peer_file {
	char *name;
	struct identity identity; /* when it was read */
	struct member *members;
	size_t n_members;
	struct config_faults faults; /* why it is not what it says now */
	bool read;		     /* without a fault, at least once */
};

/* Files */

static void clear_members(struct member *members, size_t n)
{
	for (size_t i = 0; i < n; i++)
		member_clear(&members[i]);
	free(members);
}

static void file_done(struct peer_file *f)
{
	free(f->name);
	clear_members(f->members, f->n_members);
	config_faults_free(&f->faults);
	*f = (struct peer_file){.name = NULL};
}

static void files_done(struct peer_file *files, size_t n)
{
	for (size_t i = 0; i < n; i++)
		file_done(&files[i]);
	free(files);
}

static bool is_peer_file(const char *name)
{
	const char *dot = strrchr(name, '.');

	return name[0] != '.' && dot && (!strcmp(dot, ".yaml") || !strcmp(dot, ".yml"));
}

static int compare_files(const void *a, const void *b)
{
	const struct peer_file *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int add_name(struct peer_file **files, size_t *n, size_t *room, const char *name)
{
	if (*n == PEER_FILES_MAX)
		return -E2BIG;
	if (*n == *room) {
		const size_t more = *room ? 2 * *room : 64;
		struct peer_file *larger = reallocarray(*files, more, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		*files = larger;
		*room = more;
	}
	(*files)[*n] = (struct peer_file){.name = strdup(name)};
	if (!(*files)[*n].name)
		return -ENOMEM;
	++*n;
	return 0;
}

/* The names that are there now. */
static int list_folder(const char *folder, struct peer_file **ret, size_t *ret_n)
{
	DIR *dir = opendir(folder);
	struct peer_file *files = NULL;
	size_t n = 0, room = 0;
	const struct dirent *entry;
	int err = 0;

	if (!dir)
		return -errno;
	while (!err && (errno = 0, entry = readdir(dir))) {
		if (is_peer_file(entry->d_name))
			err = add_name(&files, &n, &room, entry->d_name);
	}
	if (!err && errno)
		err = -errno;
	closedir(dir);
	if (err) {
		files_done(files, n);
		return err;
	}
	if (n)
		qsort(files, n, sizeof(*files), compare_files);
	*ret = files;
	*ret_n = n;
	return 0;
}

/* Reading one */

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same_identity(const struct identity *a, const struct identity *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       same_time(&a->changed, &b->changed) && same_time(&a->modified, &b->modified);
}

static bool identify(const char *path, struct identity *ret)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	*ret = (struct identity){st.st_dev, st.st_ino, st.st_size, st.st_ctim, st.st_mtim};
	return true;
}

/* Those of the configuration are numbered, and all of a file came with it. */
static void date_members(struct peer_file *f)
{
	const struct timespec *t = &f->identity.modified;

	for (size_t i = 0; i < f->n_members; i++)
		f->members[i].since = (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

/* Its new content, or why it stays as it was. True: members are others. */
static bool read_file(struct peer_file *f, const char *path, const struct config *config)
{
	struct member *members;
	size_t n_members;

	config_faults_free(&f->faults);
	f->faults = (struct config_faults){.text = NULL};
	if (config_load_peers(path, config, &members, &n_members, &f->faults))
		return false;
	clear_members(f->members, f->n_members);
	f->members = members;
	f->n_members = n_members;
	f->read = true;
	date_members(f);
	return true;
}

static bool refresh(struct peer_file *f, const char *folder, const struct config *config,
		    bool again)
{
	struct identity now = {.size = 0};
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, f->name);
	/* One that vanished since it was listed is read in vain, and told. */
	(void)identify(path, &now);
	if (!again && same_identity(&now, &f->identity))
		return false;
	f->identity = now;
	return read_file(f, path, config);
}

/* All */

/* What is known of a file goes to its new entry. False: one that was there has gone. */
static bool take_over(struct peer_files *p, struct peer_file *files, size_t n)
{
	size_t i = 0, j = 0;
	bool all = true;

	while (i < p->n) {
		const int order = j < n ? strcmp(p->files[i].name, files[j].name) : -1;

		if (!order) {
			free(files[j].name);
			files[j++] = p->files[i];
			p->files[i++] = (struct peer_file){.name = NULL};
		} else if (order < 0) {
			all = all && !p->files[i].n_members;
			i++;
		} else {
			j++;
		}
	}
	return all;
}

static int gather(struct peer_files *p)
{
	struct member *all;
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += p->files[i].n_members;
	all = calloc(n + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < p->n; i++) {
		const struct peer_file *f = &p->files[i];

		if (f->n_members)
			memcpy(all + n, f->members, f->n_members * sizeof(*all));
		n += f->n_members;
	}
	if (p->members)
		sodium_memzero(p->members, p->n_members * sizeof(*all));
	free(p->members);
	p->members = all;
	p->n_members = n;
	return 0;
}

static void gather_faults(struct peer_files *p)
{
	config_faults_free(&p->faults);
	p->faults = (struct config_faults){.text = NULL};
	for (size_t i = 0; i < p->n; i++)
		config_faults_append(&p->faults, &p->files[i].faults);
}

int peer_files_read(struct peer_files *p, const char *folder, const struct config *config,
		    bool again, bool *ret_changed)
{
	struct peer_file *files = NULL;
	bool changed;
	size_t n = 0;
	int err = list_folder(folder, &files, &n);

	*ret_changed = false;
	if (err)
		return err;
	changed = !take_over(p, files, n);
	files_done(p->files, p->n);
	p->files = files;
	p->n = n;
	for (size_t i = 0; i < n; i++)
		changed |= refresh(&files[i], folder, config, again);
	gather_faults(p);
	err = gather(p);
	*ret_changed = !err && changed;
	return err;
}

void peer_files_done(struct peer_files *p)
{
	files_done(p->files, p->n);
	if (p->members)
		sodium_memzero(p->members, p->n_members * sizeof(*p->members));
	free(p->members);
	config_faults_free(&p->faults);
	*p = (struct peer_files){.files = NULL};
}
