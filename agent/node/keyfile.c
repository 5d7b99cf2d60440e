/* SPDX-License-Identifier: Apache-2.0 */
#include "keyfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A key file may have white space around its key; more than that is no key. */
enum { TEXT_MAX = 128 };

static const char white[] = " \t\r\n\v\f";

/* libsodium takes some bytes above ASCII for letters. In constant time, as it is. */
static bool is_ascii(const char *text, size_t len)
{
	unsigned char bits = 0;

	for (size_t i = 0; i < len; i++)
		bits |= (unsigned char)text[i];
	return bits < 0x80;
}

bool key_parse(const char *text, uint8_t ret[KEY_LEN])
{
	const char *start = text + strspn(text, white);
	size_t len = strcspn(start, white), bin_len;
	uint8_t key[KEY_LEN];
	bool ok;

	if (len != KEY_TEXT_LEN - 1 || start[len + strspn(start + len, white)])
		return false;
	ok = !sodium_base642bin(key, sizeof(key), start, len, NULL, &bin_len, NULL,
				sodium_base64_VARIANT_ORIGINAL) &&
	     bin_len == KEY_LEN && is_ascii(start, len);
	if (ok)
		memcpy(ret, key, KEY_LEN);
	sodium_memzero(key, sizeof(key));
	return ok;
}

const char *key_format(const uint8_t key[KEY_LEN], char buf[KEY_TEXT_LEN])
{
	return sodium_bin2base64(buf, KEY_TEXT_LEN, key, KEY_LEN, sodium_base64_VARIANT_ORIGINAL);
}

/* What X25519 does before every use. A lane tells its key clamped, so only a clamped
 * one can be compared with it. */
static void clamp(uint8_t private_key[KEY_LEN])
{
	private_key[0] &= 248;
	private_key[31] = (private_key[31] & 127) | 64;
}

void key_generate(uint8_t ret_private[KEY_LEN])
{
	randombytes_buf(ret_private, KEY_LEN);
	clamp(ret_private);
}

void key_public(const uint8_t private_key[KEY_LEN], uint8_t ret[KEY_LEN])
{
	/* Fails for no scalar: the base point is of prime order. */
	crypto_scalarmult_base(ret, private_key);
}

/* All of a short file. The bytes read, or -errno; -EINVAL: longer than @size. */
static ssize_t read_all(int fd, char *buf, size_t size)
{
	size_t len = 0;

	while (len < size) {
		ssize_t n = read(fd, buf + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return (ssize_t)len;
		len += (size_t)n;
	}
	return -EINVAL;
}

static int read_key(int fd, uint8_t ret[KEY_LEN])
{
	char text[TEXT_MAX];
	struct stat st;
	ssize_t len;
	int err = 0;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_mode & 077)
		return -EPERM;
	len = read_all(fd, text, sizeof(text) - 1);
	if (len < 0) {
		err = (int)len;
	} else {
		text[len] = '\0';
		if (strlen(text) != (size_t)len || !key_parse(text, ret))
			err = -EINVAL;
	}
	sodium_memzero(text, sizeof(text));
	return err;
}

int keyfile_load(const char *path, uint8_t ret[KEY_LEN])
{
	/* Non-blocking: a FIFO is refused, not waited for. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err;

	if (fd < 0)
		return errno == ENXIO ? -EPERM : -errno; /* ENXIO: a socket */
	err = read_key(fd, ret);
	close(fd);
	return err;
}

/* The folder of @path, -ENAMETOOLONG if it does not fit. */
static int folder_of(const char *path, char ret[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	int len = slash ? (int)(slash - path) : 0;

	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (!slash)
		snprintf(ret, PATH_MAX, ".");
	else
		snprintf(ret, PATH_MAX, "%.*s", len ? len : 1, path);
	return 0;
}

static int sync_folder(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	/* EINVAL: a filesystem that has no such thing for folders. */
	if (fsync(fd) < 0 && errno != EINVAL)
		err = -errno;
	close(fd);
	return err;
}

static int make_folder(const char *folder)
{
	char parent[PATH_MAX];
	int err;

	if (mkdir(folder, 0700) < 0)
		return errno == EEXIST ? 0 : -errno;
	err = folder_of(folder, parent);
	return err ? err : sync_folder(parent);
}

static int write_text(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

/* The key and a newline, 0600, in a new file named after the template @path. */
static int write_key(char *path, const uint8_t key[KEY_LEN])
{
	char text[KEY_TEXT_LEN];
	int fd = mkostemp(path, O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	key_format(key, text);
	text[KEY_TEXT_LEN - 1] = '\n';
	err = fchmod(fd, 0600) < 0 ? -errno : write_text(fd, text, sizeof(text));
	sodium_memzero(text, sizeof(text));
	if (close(fd) < 0 && !err)
		err = -errno;
	if (err)
		unlink(path);
	return err;
}

/* Atomic, and never over another file; some filesystems can only do it by a link. */
static int rename_new(const char *from, const char *to)
{
	if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (link(from, to) < 0)
		return -errno;
	unlink(from);
	return 0;
}

int keyfile_create(const char *path, const uint8_t key[KEY_LEN])
{
	char folder[PATH_MAX], temporary[PATH_MAX];
	struct stat st;
	int err;

	if (!lstat(path, &st))
		return -EEXIST;
	err = folder_of(path, folder);
	if (err)
		return err;
	if (snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) >= PATH_MAX)
		return -ENAMETOOLONG;
	err = make_folder(folder);
	if (!err)
		err = write_key(temporary, key);
	if (err)
		return err;
	err = rename_new(temporary, path);
	if (err) {
		unlink(temporary);
		return err;
	}
	return sync_folder(folder);
}

static int create_new(const char *path, uint8_t ret[KEY_LEN])
{
	uint8_t key[KEY_LEN];
	int err;

	key_generate(key);
	err = keyfile_create(path, key);
	if (!err)
		memcpy(ret, key, KEY_LEN);
	sodium_memzero(key, sizeof(key));
	return err;
}

int keyfile_ensure(const char *path, uint8_t ret[KEY_LEN], bool *ret_new)
{
	int err = keyfile_load(path, ret);

	*ret_new = false;
	if (err == -ENOENT) {
		err = create_new(path, ret);
		*ret_new = !err;
		if (err == -EEXIST) /* somebody was quicker */
			err = keyfile_load(path, ret);
	}
	if (!err)
		clamp(ret);
	return err;
}
