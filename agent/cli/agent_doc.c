/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_doc.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/node/status.h"

enum { READ_LEN = 64 << 10 };

const char *agent_doc_path(void)
{
	const char *path = getenv("SEALANE_AGENT_SOCKET");

	return path && *path ? path : STATUS_SOCKET;
}

/* ---- Fetching ---- */

static int open_socket(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	/* Not blocking: a full backlog answers at once, with EAGAIN. */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0) {
		const int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

static pid_t peer_pid(int fd)
{
	struct ucred cred = {0};
	socklen_t len = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 ? 0 : cred.pid;
}

struct text {
	char *p;
	size_t len, room;
};

static int make_room(struct text *t)
{
	const size_t room = t->room ? 2 * t->room : READ_LEN;
	char *p;

	if (t->room - t->len >= READ_LEN / 2)
		return 0;
	if (room > AGENT_DOC_MAX_LEN)
		return -EMSGSIZE;
	p = realloc(t->p, room);
	if (!p)
		return -ENOMEM;
	t->p = p;
	t->room = room;
	return 0;
}

static int read_all(int fd, struct text *t)
{
	for (;;) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		int n = poll(&wait, 1, AGENT_DOC_TIMEOUT_MS), err;
		ssize_t len;

		if (n < 0 && errno != EINTR)
			return -errno;
		if (!n)
			return -ETIMEDOUT;
		err = make_room(t);
		if (err)
			return err;
		len = read(fd, t->p + t->len, t->room - t->len);
		if (!len)
			return 0;
		if (len > 0)
			t->len += (size_t)len;
		else if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
}

int agent_doc_fetch(const char *path, struct agent_doc *ret)
{
	struct text text = {0};
	int fd = open_socket(path), err;
	pid_t pid;

	if (fd < 0)
		return fd;
	pid = peer_pid(fd);
	ret->pid = pid;
	err = read_all(fd, &text);
	close(fd);
	if (!err)
		err = agent_doc_parse(text.p, text.len, ret);
	ret->pid = pid;
	free(text.p);
	return err;
}

/* Right as far as it goes: what is wrong with it is where it ends. */
static bool is_cut_short(const json_error_t *error, size_t len)
{
	return error->position >= 0 && (size_t)error->position >= len;
}

int agent_doc_parse(const char *text, size_t len, struct agent_doc *ret)
{
	json_error_t error = {.position = -1};
	json_t *root = text ? json_loadb(text, len, 0, &error) : NULL;

	if (text && !root && is_cut_short(&error, len))
		return -EPIPE;
	if (!json_is_object(root)) {
		json_decref(root);
		return -EPROTO;
	}
	*ret = (struct agent_doc){.root = root};
	return 0;
}

void agent_doc_done(struct agent_doc *doc)
{
	json_decref(doc->root);
	doc->root = NULL;
}

/* ---- Access ---- */

const char *agent_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

int64_t agent_number(const json_t *object, const char *key, int64_t otherwise)
{
	const json_t *value = json_object_get(object, key);

	if (json_is_integer(value))
		return json_integer_value(value);
	/* Out of range is as good as not told; NaN is not JSON. */
	if (json_is_real(value) && json_real_value(value) > -1e15 && json_real_value(value) < 1e15)
		return (int64_t)json_real_value(value);
	return otherwise;
}

bool agent_flag(const json_t *object, const char *key, bool otherwise)
{
	const json_t *value = json_object_get(object, key);

	return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

const json_t *agent_part(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_object(value) ? value : NULL;
}

size_t agent_count(const json_t *object, const char *key)
{
	return json_array_size(json_object_get(object, key));
}

const json_t *agent_item(const json_t *object, const char *key, size_t i)
{
	return json_array_get(json_object_get(object, key), i);
}
