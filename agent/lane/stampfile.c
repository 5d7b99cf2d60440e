/* SPDX-License-Identifier: Apache-2.0 */
#include "stampfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "offload/be.h"
#include "socketfile.h"

enum { TEXT_LEN = 2 * WG_TAI64N_LEN + 1 };

static bool parse_hex(const char *text, uint8_t ret[WG_TAI64N_LEN])
{
	unsigned byte;

	for (unsigned i = 0; i < WG_TAI64N_LEN; i++) {
		if (strspn(text + (size_t)2 * i, "0123456789abcdef") < 2 ||
		    sscanf(text + (size_t)2 * i, "%2x", &byte) != 1)
			return false;
		ret[i] = (uint8_t)byte;
	}
	return text[2 * WG_TAI64N_LEN] == '\n';
}

int stampfile_open(struct stampfile *f, const char *path, struct tai64n_clock *clock)
{
	char text[TEXT_LEN + 1] = "";
	ssize_t len;
	int fd;

	*f = (struct stampfile){.path = ""};
	if (strlen(path) >= sizeof(f->path))
		return -ENAMETOOLONG;
	memcpy(f->path, path, strlen(path) + 1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	len = read(fd, text, TEXT_LEN);
	close(fd);
	if (len != TEXT_LEN || !parse_hex(text, f->saved)) {
		memset(f->saved, 0, sizeof(f->saved));
		return -EINVAL;
	}
	memcpy(f->loaded, f->saved, sizeof(f->loaded));
	memcpy(clock->last, f->saved, sizeof(clock->last));
	return 0;
}

/* Whole or not at all, also when the power goes. */
static int replace(const char *path, const char *text, size_t len)
{
	char folder[SOCKETFILE_PATH_MAX], temporary[STAMPFILE_PATH_LEN + 8];
	int fd, dir, err = 0;

	socketfile_folder(path, folder);
	if (mkdir(folder, 0700) && errno != EEXIST)
		return -errno;
	snprintf(temporary, sizeof(temporary), "%s.new", path);
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != (ssize_t)len || fsync(fd) || rename(temporary, path))
		err = errno ? -errno : -EIO;
	close(fd);
	if (err) {
		unlink(temporary);
		return err;
	}
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0) {
		(void)fsync(dir);
		close(dir);
	}
	return 0;
}

static void later(const uint8_t stamp[WG_TAI64N_LEN], uint32_t seconds, uint8_t ret[WG_TAI64N_LEN])
{
	uint64_t high = (uint64_t)be32_load(stamp) << 32 | be32_load(stamp + 4);

	high += seconds;
	memcpy(ret, stamp, WG_TAI64N_LEN);
	be32_store(ret, (uint32_t)(high >> 32));
	be32_store(ret + 4, (uint32_t)high);
}

bool stampfile_due(struct stampfile *f, const struct tai64n_clock *clock,
		   uint8_t ret[WG_TAI64N_LEN])
{
	uint8_t soon[WG_TAI64N_LEN];

	later(clock->last, STAMPFILE_AHEAD_S / 2, soon);
	if (!f->path[0] || !memcmp(clock->last, f->loaded, sizeof(f->loaded)) ||
	    memcmp(soon, f->saved, sizeof(soon)) <= 0)
		return false;
	later(clock->last, STAMPFILE_AHEAD_S, f->saved);
	memcpy(ret, f->saved, WG_TAI64N_LEN);
	return true;
}

int stampfile_write(const char *path, const uint8_t stamp[WG_TAI64N_LEN])
{
	char text[TEXT_LEN + 1];

	for (unsigned i = 0; i < WG_TAI64N_LEN; i++)
		snprintf(text + (size_t)2 * i, 3, "%02x", stamp[i]);
	text[2 * WG_TAI64N_LEN] = '\n';
	return replace(path, text, TEXT_LEN);
}
