/* SPDX-License-Identifier: Apache-2.0 */
#include "lane_client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <sodium.h>

#include "lane_client_internal.h"
#include "lane_value.h"

enum { GRAMMAR_VERSION = 1 };
/* An answer of 20,000 peers with many prefixes, or a full forwarding database, is a
 * fraction of that. */
enum { ANSWER_FIRST = 16384, ANSWER_MAX = 256 << 20 };

struct lane_client {
	int fd[LANE_SOCKETS]; /* by enum lane_socket */
	int timeout_ms;
	bool broken;	/* requests and answers may be out of step */
	unsigned notes; /* LANE_NOTE_* that were taken */
	bool looks[LANE_SOCKETS];
	struct answer *looked[LANE_SOCKETS]; /* what came of it so far */
};

/* lane_answer_free() must wipe all of it, whatever was done to the text. */
struct answer {
	size_t capacity, len;
	char text[];
};

/* Answers' memory */

static void wipe_answer(struct answer *a)
{
	if (!a)
		return;
	sodium_memzero(a->text, a->capacity);
	free(a);
}

void lane_answer_free(char *answer)
{
	if (answer)
		wipe_answer((struct answer *)(void *)(answer - offsetof(struct answer, text)));
}

char *lane_answer_copy(const char *answer)
{
	const size_t capacity = strlen(answer) + 1;
	struct answer *copy = malloc(sizeof(*copy) + capacity);

	if (copy)
		*copy = (struct answer){.capacity = capacity, .len = capacity - 1};
	/* cppcheck-suppress memleak ; its text is the handle of all of it */
	return copy ? memcpy(copy->text, answer, capacity) : NULL;
}

/* Room for one more byte and a NUL at least. */
static int grow_answer(struct answer **a)
{
	struct answer *old = *a, *grown;
	const size_t capacity = old ? 2 * old->capacity : ANSWER_FIRST;

	if (old && old->capacity - old->len > 1)
		return 0;
	if (capacity > ANSWER_MAX)
		return -EPROTO;
	grown = malloc(sizeof(*grown) + capacity);
	if (!grown)
		return -ENOMEM;
	grown->capacity = capacity;
	grown->len = old ? old->len : 0;
	if (old)
		memcpy(grown->text, old->text, old->len);
	wipe_answer(old);
	*a = grown;
	return 0;
}

/* Bytes */

static int wait_for(int fd, short events, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = events};
	int n;

	do {
		n = poll(&p, 1, timeout_ms);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n ? 0 : -ETIMEDOUT;
}

/* What the socket says of an end that has gone. */
static int connection_error(int number)
{
	return number == ECONNRESET || number == ENOTCONN ? -EPIPE : -number;
}

static int send_all(const struct lane_client *c, int fd, const char *bytes, size_t len)
{
	while (len) {
		const ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n >= 0) {
			bytes += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			const int err = wait_for(fd, POLLOUT, c->timeout_ms);

			if (err)
				return err;
		} else if (errno != EINTR) {
			return connection_error(errno);
		}
	}
	return 0;
}

/* 0: bytes came; -EAGAIN: none. */
static int receive_some(int fd, struct answer *a)
{
	const ssize_t n = recv(fd, a->text + a->len, a->capacity - a->len - 1, 0);

	if (n < 0)
		return errno == EINTR ? -EAGAIN : connection_error(errno);
	if (!n)
		return -EPIPE;
	if (memchr(a->text + a->len, '\0', (size_t)n))
		return -EPROTO;
	a->len += (size_t)n;
	a->text[a->len] = '\0';
	return 0;
}

/* Up to the empty line, after which nothing may come that was not asked for. What came
 * before -ETIMEDOUT is kept, for another call. */
static int receive_answer(int fd, int timeout_ms, struct answer **a)
{
	const char *end = NULL;

	while (!end) {
		size_t searched;
		int err = grow_answer(a);

		if (err)
			return err;
		searched = (*a)->len ? (*a)->len - 1 : 0;
		err = receive_some(fd, *a);
		if (err == -EAGAIN)
			err = wait_for(fd, POLLIN, timeout_ms);
		else if (!err)
			end = strstr((*a)->text + searched, "\n\n");
		if (err)
			return err;
	}
	return end + 2 == (*a)->text + (*a)->len ? 0 : -EPROTO;
}

/* Answers */

static char *last_line(char *text)
{
	char *newline = strrchr(text, '\n');

	return newline ? newline + 1 : text;
}

/* A get's errno is positive and a set's negative. */
static bool parse_errno(const char *line, int *ret)
{
	static const char key[] = "errno=";
	uint64_t number;

	if (strncmp(line, key, sizeof(key) - 1) != 0)
		return false;
	line += sizeof(key) - 1;
	if (!lane_value_number(line + (*line == '-'), 4095, &number))
		return false;
	*ret = -(int)number;
	return true;
}

/* Cuts the empty line and that of errno off, which are the last two. */
static int take_errno(struct answer *a, int *ret, char err[LANE_CLIENT_ERR_LEN])
{
	static const char key[] = "error=";
	char *line;

	a->text[a->len - 2] = '\0';
	line = last_line(a->text);
	if (!parse_errno(line, ret))
		return -EPROTO;
	*line = '\0';
	if (line == a->text || !*ret)
		return 0;
	line[-1] = '\0';
	line = last_line(a->text);
	if (!strncmp(line, key, sizeof(key) - 1))
		snprintf(err, LANE_CLIENT_ERR_LEN, "%s", line + sizeof(key) - 1);
	return 0;
}

int lane_client_ask(struct lane_client *c, enum lane_socket which, const char *request, char **ret,
		    char err[LANE_CLIENT_ERR_LEN])
{
	struct answer *a = NULL;
	int number = 0, status;

	err[0] = '\0';
	if (c->broken)
		return -EPIPE;
	if (c->looks[which])
		return -EBUSY;
	status = send_all(c, c->fd[which], request, strlen(request));
	if (!status)
		status = send_all(c, c->fd[which], "\n", 1);
	if (!status)
		status = receive_answer(c->fd[which], c->timeout_ms, &a);
	if (!status)
		status = take_errno(a, &number, err);
	c->broken = status != 0;
	if (!status && !number && ret)
		*ret = a->text;
	else
		wipe_answer(a);
	return status ? status : number;
}

bool lane_client_notes(struct lane_client *c, enum lane_note note)
{
	const bool is_new = !(c->notes & note);

	c->notes |= note;
	return is_new;
}

/* Asking without waiting */

int lane_client_look(struct lane_client *c, enum lane_socket which)
{
	static const char request[] = "get=1\n\n";
	ssize_t n;

	if (c->broken)
		return -EPIPE;
	if (c->looks[which])
		return 0;
	n = send(c->fd[which], request, sizeof(request) - 1, MSG_NOSIGNAL);
	if (n == sizeof(request) - 1) {
		c->looks[which] = true;
		return 0;
	}
	c->broken = true;
	return n < 0 ? connection_error(errno) : -EPIPE;
}

/* Leaves @text as it is. */
static bool has_version(const char *text)
{
	static const char key[] = "version=";
	char value[16] = "";
	uint64_t version = 0;

	while (text && strncmp(text, key, sizeof(key) - 1) != 0) {
		const char *end = strchr(text, '\n');

		text = end ? end + 1 : NULL;
	}
	if (!text)
		return false;
	text += sizeof(key) - 1;
	snprintf(value, sizeof(value), "%.*s", (int)strcspn(text, "\n"), text);
	return lane_value_number(value, UINT32_MAX, &version) && version == GRAMMAR_VERSION;
}

int lane_client_look_more(struct lane_client *c, enum lane_socket which, char **ret)
{
	char err_text[LANE_CLIENT_ERR_LEN];
	struct answer *a = c->looked[which];
	int number = 0, status;

	if (c->broken)
		return -EPIPE;
	status = receive_answer(c->fd[which], 0, &a);
	c->looked[which] = a;
	if (status == -ETIMEDOUT)
		return -EAGAIN;
	c->looks[which] = false;
	c->looked[which] = NULL;
	if (!status)
		status = take_errno(a, &number, err_text);
	if (!status && (number || (which == LANE_CONTROL && !has_version(a->text))))
		status = -EPROTO;
	c->broken = status != 0;
	if (status)
		wipe_answer(a);
	else
		*ret = a->text;
	return status;
}

bool lane_client_usable(const struct lane_client *c)
{
	return !c->broken;
}

bool lane_lines_next(struct lane_lines *lines, char **key, char **value)
{
	while (lines->next && *lines->next) {
		char *line = lines->next, *end = strchrnul(line, '\n'), *equals;

		lines->next = *end ? end + 1 : end;
		*end = '\0';
		equals = strchr(line, '=');
		if (!equals)
			continue;
		*equals = '\0';
		*key = line;
		*value = equals + 1;
		return true;
	}
	return false;
}

/* Opening */

/* A descriptor, or -errno. */
static int connect_to(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const size_t len = strlen(path);
	int fd, err;

	if (len >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, len + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (const struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int connect_both(struct lane_client *c, const char *uapi_path, const char *control_path,
			bool *ret_uapi_only)
{
	int err = c->fd[LANE_UAPI] = connect_to(uapi_path);

	if (err < 0)
		return err;
	err = c->fd[LANE_CONTROL] = connect_to(control_path);
	if (err == -ENOENT || err == -ECONNREFUSED) {
		*ret_uapi_only = true;
		err = -ENOENT;
	}
	return err < 0 ? err : 0;
}

int lane_client_connect_at(const char *uapi_path, const char *control_path, int timeout_ms,
			   struct lane_client **ret, bool *ret_uapi_only)
{
	struct lane_client *c = malloc(sizeof(*c));
	int err;

	*ret_uapi_only = false;
	if (!c)
		return -ENOMEM;
	*c = (struct lane_client){.fd = {-1, -1}, .timeout_ms = timeout_ms};
	err = connect_both(c, uapi_path, control_path, ret_uapi_only);
	if (err) {
		lane_client_close(c);
		return err;
	}
	*ret = c;
	return 0;
}

static int check_version(struct lane_client *c)
{
	int err = lane_client_look(c, LANE_CONTROL);
	char *answer;

	while (!err) {
		err = lane_client_look_more(c, LANE_CONTROL, &answer);
		if (!err) {
			lane_answer_free(answer);
			return 0;
		}
		if (err == -EAGAIN)
			err = wait_for(c->fd[LANE_CONTROL], POLLIN, c->timeout_ms);
	}
	return err;
}

int lane_client_open_at(const char *uapi_path, const char *control_path, int timeout_ms,
			struct lane_client **ret, bool *ret_uapi_only)
{
	struct lane_client *c;
	int err = lane_client_connect_at(uapi_path, control_path, timeout_ms, &c, ret_uapi_only);

	if (err)
		return err;
	err = check_version(c);
	if (err) {
		lane_client_close(c);
		return err;
	}
	*ret = c;
	return 0;
}

/* By name */

enum { PATH_LEN = sizeof(((struct sockaddr_un *)0)->sun_path) };

static int find_paths(const char *ifname, char uapi[PATH_LEN], char control[PATH_LEN])
{
	if (snprintf(uapi, PATH_LEN, "/var/run/wireguard/%s.sock", ifname) >= PATH_LEN ||
	    snprintf(control, PATH_LEN, "/var/run/sealane/%s.sock", ifname) >= PATH_LEN)
		return -ENAMETOOLONG;
	return 0;
}

int lane_client_open(const char *ifname, struct lane_client **ret, bool *ret_uapi_only)
{
	char uapi[PATH_LEN], control[PATH_LEN];
	int err = find_paths(ifname, uapi, control);

	*ret_uapi_only = false;
	return err ? err
		   : lane_client_open_at(uapi, control, LANE_CLIENT_TIMEOUT_MS, ret, ret_uapi_only);
}

int lane_client_connect(const char *ifname, struct lane_client **ret, bool *ret_uapi_only)
{
	char uapi[PATH_LEN], control[PATH_LEN];
	int err = find_paths(ifname, uapi, control);

	*ret_uapi_only = false;
	return err ? err
		   : lane_client_connect_at(uapi, control, LANE_CLIENT_TIMEOUT_MS, ret,
					    ret_uapi_only);
}

void lane_client_close(struct lane_client *c)
{
	if (!c)
		return;
	for (int i = 0; i < LANE_SOCKETS; i++) {
		if (c->fd[i] >= 0)
			close(c->fd[i]);
		wipe_answer(c->looked[i]);
	}
	free(c);
}

int lane_client_fd(const struct lane_client *c, enum lane_socket which)
{
	return c->fd[which];
}
