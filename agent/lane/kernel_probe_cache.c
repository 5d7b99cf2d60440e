/* SPDX-License-Identifier: Apache-2.0 */
/* The file that remembers what the probe found. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "kernel_probe.h"

#define HEADER "sealane-kernel-probe 1\n"

enum { ENTRIES_MAX = 16, FILE_MAX = 4096 };

/* Sixteen of the longest lines fit. */
_Static_assert(sizeof(HEADER) + ENTRIES_MAX * (sizeof("passed\t\t\n") + 2 * 64) <= FILE_MAX,
	       "a full file can be read back");

struct entry {
	enum zero_csum_probe result;
	const char *release, *version;
};

struct cache {
	char text[FILE_MAX + 1]; /* what the entries point into */
	struct entry entry[ENTRIES_MAX];
	unsigned n;
};

static const char *const words[] = {
	[ZERO_CSUM_PROBE_PASSED] = "passed",
	[ZERO_CSUM_PROBE_FAILED] = "failed",
};

/* ---- Reading ---- */

/* The whole file into @text, which takes FILE_MAX bytes; its length or -errno.
 * Only of a regular one: a pipe would wait, a device never end. */
static int read_file(const char *path, char *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	struct stat st;
	ssize_t len;
	int err = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
		err = -EBADMSG;
	len = err ? 0 : read(fd, text, FILE_MAX);
	if (len < 0)
		err = -errno;
	close(fd);
	return err ? err : (int)len;
}

static bool name_valid(const char *name)
{
	size_t len = strlen(name);

	return len && len < sizeof(((struct utsname *)NULL)->release) && !strpbrk(name, "\t\n");
}

static const struct entry *find(const struct cache *c, const char *release, const char *version)
{
	for (unsigned i = 0; i < c->n; i++) {
		if (!strcmp(c->entry[i].release, release) && !strcmp(c->entry[i].version, version))
			return &c->entry[i];
	}
	return NULL;
}

/* Cuts the text at the next @end, which must be there; returns what is before. */
static char *take(char **text, char end)
{
	char *start = *text, *stop = strchr(start, end);

	if (!stop)
		return NULL;
	*stop = '\0';
	*text = stop + 1;
	return start;
}

static bool take_entry(struct cache *c, char **text)
{
	char *line = take(text, '\n');
	const char *word, *release;
	enum zero_csum_probe result;

	if (!line || c->n == ENTRIES_MAX)
		return false;
	word = take(&line, '\t');
	release = word ? take(&line, '\t') : NULL;
	if (!release || !name_valid(release) || !name_valid(line) || find(c, release, line))
		return false;
	for (result = ZERO_CSUM_PROBE_PASSED; strcmp(word, words[result]) != 0; result++) {
		if (result == ZERO_CSUM_PROBE_FAILED)
			return false;
	}
	c->entry[c->n++] = (struct entry){result, release, line};
	return true;
}

/* 0, -errno, or -EBADMSG; no entries then. */
static int read_cache(const char *path, struct cache *c)
{
	int len = read_file(path, c->text);
	char *text;

	c->n = 0;
	if (len < 0)
		return len;
	c->text[len] = '\0';
	if (strlen(c->text) != (size_t)len || strncmp(c->text, HEADER, sizeof(HEADER) - 1) != 0)
		return -EBADMSG;
	text = c->text + sizeof(HEADER) - 1;
	while (*text) {
		if (!take_entry(c, &text)) {
			c->n = 0;
			return -EBADMSG;
		}
	}
	return 0;
}

enum zero_csum_probe kernel_probe_load(const char *path, const struct utsname *kernel,
				       char ret_reason[KERNEL_PROBE_REASON_LEN], int *ret_err)
{
	const struct entry *e = NULL;
	struct cache c;
	int err = read_cache(path, &c);

	if (!err)
		e = find(&c, kernel->release, kernel->version);
	if (ret_err)
		*ret_err = err;
	if (err == -EBADMSG)
		snprintf(ret_reason, KERNEL_PROBE_REASON_LEN, "its file is malformed");
	else if (err && err != -ENOENT)
		snprintf(ret_reason, KERNEL_PROBE_REASON_LEN, "its file: %s", strerror(-err));
	else
		snprintf(ret_reason, KERNEL_PROBE_REASON_LEN, "%s",
			 e ? "" : "never run here: sealaned --probe");
	return e ? e->result : ZERO_CSUM_UNPROBED;
}

/* ---- Writing ---- */

static int write_entries(FILE *file, const struct cache *c, const struct entry *first)
{
	unsigned n = 1;

	fprintf(file, HEADER "%s\t%s\t%s\n", words[first->result], first->release, first->version);
	for (unsigned i = 0; i < c->n && n < ENTRIES_MAX; i++) {
		const struct entry *e = &c->entry[i];

		if (!strcmp(e->release, first->release) && !strcmp(e->version, first->version))
			continue;
		fprintf(file, "%s\t%s\t%s\n", words[e->result], e->release, e->version);
		n++;
	}
	if (fflush(file) || fsync(fileno(file)) < 0)
		return -errno;
	return ferror(file) ? -EIO : 0;
}

/* Into @path, which is new; removed again if anything fails. */
static int write_new(int fd, const char *path, const struct cache *c, const struct entry *first)
{
	FILE *file = fchmod(fd, 0644) < 0 ? NULL : fdopen(fd, "w");
	int err;

	if (!file) {
		err = -errno;
		close(fd);
	} else {
		err = write_entries(file, c, first);
		if (fclose(file) && !err)
			err = -errno;
	}
	if (err)
		unlink(path);
	return err;
}

/* A rename is there after a crash only once its folder was written out. */
static int sync_folder(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	/* Not every filesystem has anything to do here. */
	if (fsync(fd) < 0 && errno != EINVAL)
		err = -errno;
	close(fd);
	return err;
}

static int replace(const char *folder, const char *path, const struct cache *c,
		   const struct entry *first)
{
	char temporary[PATH_MAX];
	int len = snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path), fd, err;

	if (len < 0 || (size_t)len >= sizeof(temporary))
		return -ENAMETOOLONG;
	if (mkdir(folder, 0755) < 0 && errno != EEXIST)
		return -errno;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = write_new(fd, temporary, c, first);
	if (err)
		return err;
	if (rename(temporary, path) < 0) {
		err = -errno;
		unlink(temporary);
		return err;
	}
	return sync_folder(folder);
}

int kernel_probe_store(const char *path, const struct utsname *kernel, enum zero_csum_probe result)
{
	const struct entry first = {result, kernel->release, kernel->version};
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX] = ".";
	struct cache c;

	if ((result != ZERO_CSUM_PROBE_PASSED && result != ZERO_CSUM_PROBE_FAILED) ||
	    !name_valid(kernel->release) || !name_valid(kernel->version))
		return -EINVAL;
	if (slash && (size_t)(slash - path) < sizeof(folder))
		snprintf(folder, sizeof(folder), "%.*s", slash == path ? 1 : (int)(slash - path),
			 path);
	/* It only remembers: what cannot be read is written anew. */
	(void)read_cache(path, &c);
	return replace(folder, path, &c, &first);
}
