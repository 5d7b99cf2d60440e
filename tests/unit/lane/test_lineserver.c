/* SPDX-License-Identifier: Apache-2.0 */
/* Real sockets in a folder of their own; clients and server take turns in one
 * thread. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/lane/lineserver.h"
#include "agent/lane/textbuf.h"

enum { PATIENCE_MS = 5000, BIG_LEN = 8 << 20 };

struct world {
	uv_loop_t loop;
	char folder[64], path[96];
	struct lineserver *server;
	unsigned n_begun, n_ended, n_gone;
	struct textbuf lines; /* everything sets gave, in order */
	size_t get_len;	      /* 0: a short reply */
	bool get_fails;
	bool stop_when_gone;
};

struct set_state {
	struct world *w;
};

static void world_get(void *ctx, struct textbuf *out)
{
	struct world *w = ctx;

	textbuf_printf(out, "lines=%zu\n", w->lines.len);
	while (out->len < w->get_len)
		textbuf_printf(out, "fill=%0999d\n", 7);
	textbuf_printf(out, "errno=0\n\n");
	out->failed = w->get_fails;
}

static void world_set_begin(void *ctx, void *state)
{
	struct set_state *s = state;

	s->w = ctx;
	s->w->n_begun++;
}

static int world_set_line(void *state, const char *line, size_t len)
{
	struct set_state *s = state;

	if (len == 5 && !memcmp(line, "bad=1", 5))
		return -EINVAL;
	if (len > 1000)
		textbuf_printf(&s->w->lines, "%zu;", len);
	else
		textbuf_printf(&s->w->lines, "%.*s;", (int)len, line);
	return 0;
}

static void world_set_end(void *state)
{
	struct set_state *s = state;

	s->w->n_ended++;
}

static const struct lineserver_ops ops = {
	.set_state_len = sizeof(struct set_state),
	.get = world_get,
	.set_begin = world_set_begin,
	.set_line = world_set_line,
	.set_end = world_set_end,
};

static const struct lineserver_ops read_only_ops = {.get = world_get};

static void world_gone(void *ctx)
{
	struct world *w = ctx;

	w->n_gone++;
	if (!w->stop_when_gone)
		return;
	lineserver_stop(w->server);
	w->server = NULL;
}

static int start(struct world *w, const struct lineserver_ops *o, int listen_fd)
{
	return lineserver_start(&w->loop, w->path, listen_fd, o, w, world_gone, w, &w->server);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	strcpy(w->folder, "/tmp/lineserver.XXXXXX");
	assert_non_null(mkdtemp(w->folder));
	snprintf(w->path, sizeof(w->path), "%s/run/x.sock", w->folder);
	assert_int_equal(uv_loop_init(&w->loop), 0);
	assert_int_equal(start(w, &ops, -1), 0);
	*state = w;
	return 0;
}

/* The loop closing without complaint means that no handle was left. */
static int teardown(void **state)
{
	struct world *w = *state;
	char run[96];

	lineserver_stop(w->server);
	assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&w->loop), 0);
	textbuf_done(&w->lines);
	unlink(w->path);
	snprintf(run, sizeof(run), "%s/run", w->folder);
	rmdir(run);
	assert_int_equal(rmdir(w->folder), 0);
	free(w);
	return 0;
}

static void turn(struct world *w)
{
	for (int i = 0; i < 5; i++)
		uv_run(&w->loop, UV_RUN_NOWAIT);
}

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static int dial(struct world *w)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, w->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	turn(w);
	return fd;
}

static void say_bytes(struct world *w, int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n > 0) {
			text += n;
			len -= (size_t)n;
		} else {
			assert_int_equal(errno, EAGAIN);
		}
		turn(w);
	}
}

static void say(struct world *w, int fd, const char *text)
{
	say_bytes(w, fd, text, strlen(text));
}

/* Exactly @text comes, and nothing after it. */
static void hear(struct world *w, int fd, const char *text)
{
	char buf[4096] = "";
	size_t len = 0;

	for (int i = 0; i < PATIENCE_MS && len < strlen(text); i++) {
		ssize_t n = recv(fd, buf + len, sizeof(buf) - 1 - len, 0);

		if (n > 0)
			len += (size_t)n;
		else
			nap();
		turn(w);
	}
	buf[len] = '\0';
	assert_string_equal(buf, text);
	assert_int_equal(recv(fd, buf, 1, MSG_PEEK), -1);
	assert_int_equal(errno, EAGAIN);
}

static void hear_end(struct world *w, int fd)
{
	char byte;

	for (int i = 0; i < PATIENCE_MS; i++) {
		ssize_t n = recv(fd, &byte, 1, 0);

		assert_true(n <= 0);
		if (!n || errno != EAGAIN)
			return;
		nap();
		turn(w);
	}
	fail_msg("the connection stays open");
}

static void hear_nothing(struct world *w, int fd)
{
	char byte;

	turn(w);
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, EAGAIN);
}

static void hang_up(struct world *w, int fd)
{
	close(fd);
	turn(w);
}

static void expect_lines(const struct world *w, const char *lines)
{
	assert_string_equal(w->lines.len ? w->lines.data : "", lines);
	assert_int_equal(w->n_begun, w->n_ended);
}

static void test_operations(void **state)
{
	struct world *w = *state;
	int fd = dial(w);

	say(w, fd, "get=1\n\n");
	hear(w, fd, "lines=0\nerrno=0\n\n");
	say(w, fd, "set=1\na=1\nb=\n\n");
	hear(w, fd, "errno=0\n\n");
	expect_lines(w, "a=1;b=;");
	say(w, fd, "set=1\n\n");
	hear(w, fd, "errno=0\n\n");
	say(w, fd, "get=1\n\n");
	hear(w, fd, "lines=7\nerrno=0\n\n");
	assert_int_equal(w->n_begun, 2);
	hang_up(w, fd);
}

static void test_pipelined(void **state)
{
	struct world *w = *state;
	int fd = dial(w);

	say(w, fd, "get=1\n\nset=1\na=1\n\nget=1\n\nset=1\nb=2\n\n");
	hear(w, fd, "lines=0\nerrno=0\n\nerrno=0\n\nlines=4\nerrno=0\n\nerrno=0\n\n");
	expect_lines(w, "a=1;b=2;");
	hang_up(w, fd);
}

static void test_carriage_returns(void **state)
{
	struct world *w = *state;
	int fd = dial(w);

	say(w, fd, "set=1\na=1\r\nb=2\r\r\n\r\nset=1\n\r\n");
	hear(w, fd, "errno=0\n\nerrno=0\n\n");
	expect_lines(w, "a=1;b=2\r;");
	hang_up(w, fd);
}

static void test_byte_by_byte(void **state)
{
	static const char text[] = "set=1\na=1\nbb=22\n\nget=1\n\n";
	struct world *w = *state;
	int fd = dial(w);

	for (const char *p = text; *p; p++)
		say_bytes(w, fd, p, 1);
	hear(w, fd, "errno=0\n\nlines=10\nerrno=0\n\n");
	expect_lines(w, "a=1;bb=22;");
	hang_up(w, fd);
}

static void test_set_error(void **state)
{
	static const struct {
		const char *rest; /* what the client still had under way */
	} rows[] = {{""}, {"\n"}, {"c=3\nbad=1\n\n"}, {"c=3\n"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world *w = *state;
		int fd = dial(w);

		textbuf_done(&w->lines);
		say(w, fd, "set=1\na=1\nbad=1\n");
		hear(w, fd, "errno=-22\n\n");
		expect_lines(w, "a=1;");
		say(w, fd, rows[i].rest);
		hear_nothing(w, fd);
		/* The connection can be used on. */
		say(w, fd, "get=1\n\n");
		hear(w, fd, "lines=4\nerrno=0\n\n");
		hang_up(w, fd);
	}
}

static void test_bad_operation(void **state)
{
	static const char *const rows[] = {"\n",       "get=2\n",    "get=1 \n",
					   "get\n",    "GET=1\n",    "get=1\r\n",
					   "sets=1\n", "listen=1\n", "=\n"};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = dial(*state);

		say(*state, fd, rows[i]);
		hear_end(*state, fd);
		hang_up(*state, fd);
	}
	expect_lines(*state, "");
}

static void test_get_wants_blank_line(void **state)
{
	static const char *const rows[] = {"get=1\nx=1\n", "get=1\nget=1\n\n", "get=1\nx"};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = dial(*state);
		char text[64] = "";
		struct world *w = *state;

		say(w, fd, rows[i]);
		for (int j = 0; j < PATIENCE_MS && recv(fd, text, sizeof(text) - 1, 0) < 0; j++)
			turn(w);
		assert_string_equal(text, "errno=22\n\n");
		hear_end(w, fd);
		hang_up(w, fd);
	}
}

static void test_long_line(void **state)
{
	struct world *w = *state;
	char *line = malloc(LINESERVER_LINE_MAX + 1), text[64] = "";
	int fd = dial(w);

	/* The longest there may be, newline included... */
	memset(line, 'x', LINESERVER_LINE_MAX + 1);
	line[LINESERVER_LINE_MAX - 1] = '\n';
	say(w, fd, "set=1\n");
	say_bytes(w, fd, line, LINESERVER_LINE_MAX);
	say(w, fd, "a=1\n\n");
	hear(w, fd, "errno=0\n\n");
	expect_lines(w, "65535;a=1;");

	/* ...and one byte more. */
	line[LINESERVER_LINE_MAX - 1] = 'x';
	line[LINESERVER_LINE_MAX] = '\n';
	say(w, fd, "set=1\nb=1\n");
	say_bytes(w, fd, line, LINESERVER_LINE_MAX + 1);
	for (int i = 0; i < PATIENCE_MS && recv(fd, text, sizeof(text) - 1, 0) < 0; i++)
		turn(w);
	assert_string_equal(text, "errno=-5\n\n");
	hear_end(w, fd);
	expect_lines(w, "65535;a=1;b=1;");
	/* What it goes on to say harms nobody. */
	say_bytes(w, fd, line, LINESERVER_LINE_MAX + 1);
	expect_lines(w, "65535;a=1;b=1;");
	hang_up(w, fd);
	free(line);
}

static void test_disconnect_in_set(void **state)
{
	struct world *w = *state;
	int fd = dial(w);

	say(w, fd, "set=1\na=1\nallowed_ip=10.0.0.0/2");
	assert_int_equal(w->n_begun, 1);
	assert_int_equal(w->n_ended, 0);
	hang_up(w, fd);
	expect_lines(w, "a=1;");
	assert_int_equal(w->n_ended, 1);

	fd = dial(w);
	say(w, fd, "get=1\n\n");
	hear(w, fd, "lines=4\nerrno=0\n\n");
	hang_up(w, fd);
}

static void test_half_closed(void **state)
{
	static const struct {
		const char *text, *answer;
	} rows[] = {
		{"set=1\na=1\n", "errno=0\n\n"},
		{"set=1\na=1\nb=", "errno=-5\n\n"},
		{"set=1\na=1\n\n", "errno=0\n\n"},
		{"set=1\na=1\n\nget=1\n\n", "errno=0\n\nlines=4\nerrno=0\n\n"},
		{"set=1\na=1\n\nget=1\n", "errno=0\n\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world *w = *state;
		char text[128] = "";
		size_t len = 0;
		ssize_t n = -1;
		int fd = dial(w);

		textbuf_done(&w->lines);
		send(fd, rows[i].text, strlen(rows[i].text), 0);
		shutdown(fd, SHUT_WR);
		for (int j = 0; j < PATIENCE_MS && n; j++) {
			turn(w);
			n = recv(fd, text + len, sizeof(text) - 1 - len, 0);
			if (n > 0)
				len += (size_t)n;
		}
		assert_int_equal(n, 0);
		assert_string_equal(text, rows[i].answer);
		expect_lines(w, "a=1;");
		hang_up(w, fd);
	}
}

/* Nobody sees half a set, and no two sets mix. */
static void test_sets_take_turns(void **state)
{
	struct world *w = *state;
	int a = dial(w), b = dial(w), c = dial(w), d = dial(w);

	say(w, b, "get=1\n");
	say(w, a, "set=1\na=1\n");
	say(w, b, "\n");
	say(w, c, "set=1\nc=1\n\nget=1\n\n");
	say(w, d, "get=1\n\n");
	hear_nothing(w, b);
	hear_nothing(w, c);
	hear_nothing(w, d);
	assert_int_equal(w->n_begun, 1);
	say(w, a, "a=2\n\n");
	hear(w, a, "errno=0\n\n");
	hear(w, b, "lines=8\nerrno=0\n\n");
	hear(w, c, "errno=0\n\nlines=12\nerrno=0\n\n");
	hear(w, d, "lines=12\nerrno=0\n\n");
	expect_lines(w, "a=1;a=2;c=1;");

	/* Waiting ends as well when the other hangs up or fails. */
	say(w, a, "set=1\na=3\n");
	say(w, b, "get=1\n\n");
	hear_nothing(w, b);
	hang_up(w, a);
	hear(w, b, "lines=16\nerrno=0\n\n");
	say(w, c, "set=1\n");
	say(w, b, "get=1\n\n");
	say(w, c, "bad=1\n");
	hear(w, c, "errno=-22\n\n");
	hear(w, b, "lines=16\nerrno=0\n\n");

	/* And one that waits may go. */
	say(w, c, "set=1\n");
	say(w, b, "set=1\nb=1\n\n");
	hang_up(w, b);
	say(w, c, "c=4\n\n");
	hear(w, c, "errno=0\n\n");
	hang_up(w, c);
	hang_up(w, d);
	assert_int_equal(w->n_begun, w->n_ended);
}

static void test_slow_reader(void **state)
{
	struct world *w = *state;
	int slow = dial(w), quick;
	char *text = malloc(BIG_LEN + 4096);
	size_t len = 0;

	w->get_len = BIG_LEN;
	say(w, slow, "get=1\n\nset=1\na=1\n\n");
	w->get_len = 0;
	quick = dial(w);
	say(w, quick, "get=1\n\n");
	hear(w, quick, "lines=0\nerrno=0\n\n");
	/* Its own next operation has to wait for it. */
	expect_lines(w, "");

	for (int i = 0; i < 1000000 && (len < BIG_LEN || memcmp(text + len - 9, "errno=0\n\n", 9));
	     i++) {
		ssize_t n = recv(slow, text + len, BIG_LEN + 4096 - len, 0);

		if (n > 0)
			len += (size_t)n;
		turn(w);
	}
	assert_true(len > BIG_LEN);
	assert_memory_equal(text, "lines=0\nfill=0", 14);
	expect_lines(w, "a=1;");
	free(text);
	hang_up(w, quick);
	hang_up(w, slow);
}

/* A client that goes while its reply is being written. */
static void test_reader_leaves(void **state)
{
	struct world *w = *state;
	int fd = dial(w);

	w->get_len = BIG_LEN;
	say(w, fd, "get=1\n\n");
	hang_up(w, fd);
	w->get_len = 0;
	fd = dial(w);
	say(w, fd, "get=1\n\n");
	hear(w, fd, "lines=0\nerrno=0\n\n");
	hang_up(w, fd);
}

static void test_stop_in_all_states(void **state)
{
	struct world *w = *state;
	int idle = dial(w), setter = dial(w), waiter = dial(w), reader = dial(w), half = dial(w);

	w->get_len = BIG_LEN;
	say(w, reader, "get=1\n\n");
	say(w, half, "get=");
	say(w, setter, "set=1\na=1\n");
	say(w, waiter, "set=1\n");
	lineserver_stop(w->server);
	w->server = NULL;
	expect_lines(w, "a=1;");
	turn(w);
	hear_end(w, idle);
	assert_int_equal(access(w->path, F_OK), -1);
	close(idle);
	close(setter);
	close(waiter);
	close(reader);
	close(half);
}

static void test_get_without_memory(void **state)
{
	struct world *w = *state;
	int fd = dial(w);

	w->get_fails = true;
	say(w, fd, "get=1\n\n");
	hear(w, fd, "errno=12\n\n");
	w->get_fails = false;
	say(w, fd, "get=1\n\n");
	hear(w, fd, "lines=0\nerrno=0\n\n");
	hang_up(w, fd);
}

static void test_too_many_clients(void **state)
{
	struct world *w = *state;
	int fds[LINESERVER_CLIENTS_MAX], extra;

	for (int i = 0; i < LINESERVER_CLIENTS_MAX; i++)
		fds[i] = dial(w);
	extra = dial(w);
	hear_end(w, extra);
	close(extra);
	say(w, fds[63], "get=1\n\n");
	hear(w, fds[63], "lines=0\nerrno=0\n\n");
	hang_up(w, fds[0]);
	fds[0] = dial(w);
	say(w, fds[0], "get=1\n\n");
	hear(w, fds[0], "lines=0\nerrno=0\n\n");
	for (int i = 0; i < LINESERVER_CLIENTS_MAX; i++)
		hang_up(w, fds[i]);
}

static void test_read_only(void **state)
{
	struct world *w = *state;
	char text[32] = "";
	int fd;

	lineserver_stop(w->server);
	assert_int_equal(start(w, &read_only_ops, -1), 0);
	fd = dial(w);
	say(w, fd, "get=1\n\n");
	hear(w, fd, "lines=0\nerrno=0\n\n");
	send(fd, "set=1\n", 6, 0);
	for (int i = 0; i < 10; i++)
		turn(w);
	assert_true(recv(fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "errno=-30\n\n");
	hear_end(w, fd);
	hang_up(w, fd);
}

static void test_modes(void **state)
{
	struct world *w = *state;
	char run[96];
	struct stat st;
	mode_t old;

	lineserver_stop(w->server);
	w->server = NULL;
	turn(w);
	assert_int_equal(access(w->path, F_OK), -1);
	snprintf(run, sizeof(run), "%s/run", w->folder);
	assert_int_equal(rmdir(run), 0);

	old = umask(0077); /* that of the process must not matter, and must stay */
	assert_int_equal(start(w, &ops, -1), 0);
	assert_int_equal(umask(old), 0077);
	assert_int_equal(lstat(w->path, &st), 0);
	assert_int_equal(st.st_mode, S_IFSOCK | 0600);
	assert_int_equal(lstat(run, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0755);
}

static void test_somebody_there(void **state)
{
	struct world *w = *state;
	struct lineserver *second = NULL;
	int fd;

	assert_int_equal(lineserver_start(&w->loop, w->path, -1, &ops, w, world_gone, w, &second),
			 -EADDRINUSE);
	assert_null(second);
	turn(w);
	assert_int_equal(w->n_gone, 0);
	fd = dial(w);
	say(w, fd, "get=1\n\n");
	hear(w, fd, "lines=0\nerrno=0\n\n");
	hang_up(w, fd);
}

static void make_stale(const struct world *w)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, w->path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	close(fd);
}

static void test_stale(void **state)
{
	struct world *w = *state;

	lineserver_stop(w->server);
	turn(w);
	make_stale(w);
	assert_int_equal(start(w, &ops, -1), 0);
	hang_up(w, dial(w));
}

static void test_other_file(void **state)
{
	struct world *w = *state;
	struct stat st;
	int fd;

	lineserver_stop(w->server);
	w->server = NULL;
	turn(w);
	fd = open(w->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	assert_int_equal(start(w, &ops, -1), -EEXIST);
	assert_int_equal(lstat(w->path, &st), 0);
	assert_int_equal(st.st_size, 1);
	unlink(w->path);
	assert_int_equal(symlink("/nowhere", w->path), 0);
	assert_int_equal(start(w, &ops, -1), -EEXIST);
	unlink(w->path);
}

static void test_bad_paths(void **state)
{
	struct world *w = *state;
	struct lineserver *s = NULL;
	char path[256];

	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[108] = '\0';
	assert_int_equal(lineserver_start(&w->loop, path, -1, &ops, w, world_gone, w, &s),
			 -ENAMETOOLONG);
	snprintf(path, sizeof(path), "%s/no/such/x.sock", w->folder);
	assert_int_equal(lineserver_start(&w->loop, path, -1, &ops, w, world_gone, w, &s), -ENOENT);
	assert_null(s);
}

static void wait_gone(struct world *w)
{
	for (int i = 0; i < 1000 && !w->n_gone; i++) {
		nap();
		turn(w);
	}
	assert_int_equal(w->n_gone, 1);
}

static void test_gone_by_unlink(void **state)
{
	struct world *w = *state;

	assert_int_equal(unlink(w->path), 0);
	wait_gone(w);
	/* Once is enough, and what comes there later is not ours to remove. */
	make_stale(w);
	turn(w);
	assert_int_equal(w->n_gone, 1);
	lineserver_stop(w->server);
	w->server = NULL;
	turn(w);
	assert_int_equal(access(w->path, F_OK), 0);
}

static void test_gone_by_rename(void **state)
{
	struct world *w = *state;
	char other[128];
	int fd;

	snprintf(other, sizeof(other), "%s/run/other", w->folder);
	fd = open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	close(fd);
	turn(w);
	assert_int_equal(w->n_gone, 0);
	w->stop_when_gone = true;
	assert_int_equal(rename(other, w->path), 0);
	wait_gone(w);
	turn(w);
	assert_int_equal(access(w->path, F_OK), 0);
}

static void test_gone_by_replacement(void **state)
{
	struct world *w = *state;

	/* So fast that the inode number may be the same again. */
	assert_int_equal(unlink(w->path), 0);
	nap();
	nap();
	nap();
	nap();
	nap();
	make_stale(w);
	wait_gone(w);
}

static void test_not_gone(void **state)
{
	struct world *w = *state;
	char other[128];

	snprintf(other, sizeof(other), "%s/run/other", w->folder);
	close(open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	unlink(other);
	assert_int_equal(chmod(w->path, 0660), 0);
	hang_up(w, dial(w));
	nap();
	turn(w);
	assert_int_equal(w->n_gone, 0);
}

/* Both sockets of a daemon lie in one folder and are watched by one loop. */
static void test_two_in_one_folder(void **state)
{
	struct world *w = *state;
	struct lineserver *second;
	char path[128];

	snprintf(path, sizeof(path), "%s/run/second.sock", w->folder);
	assert_int_equal(
		lineserver_start(&w->loop, path, -1, &read_only_ops, w, world_gone, w, &second), 0);
	nap();
	turn(w);
	assert_int_equal(w->n_gone, 0);
	unlink(path);
	wait_gone(w);
	lineserver_stop(second);
	turn(w);
	hang_up(w, dial(w));
}

static void test_given_descriptor(void **state)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct world *w = *state;
	int listen_fd, fd;

	lineserver_stop(w->server);
	turn(w);
	listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	strcpy(addr.sun_path, w->path);
	assert_int_equal(bind(listen_fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(listen_fd, 5), 0);
	assert_int_equal(start(w, &ops, listen_fd), 0);
	fd = dial(w);
	say(w, fd, "get=1\n\n");
	hear(w, fd, "lines=0\nerrno=0\n\n");
	hang_up(w, fd);
	unlink(w->path);
	wait_gone(w);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_operations),
		TEST(test_pipelined),
		TEST(test_carriage_returns),
		TEST(test_byte_by_byte),
		TEST(test_set_error),
		TEST(test_bad_operation),
		TEST(test_get_wants_blank_line),
		TEST(test_long_line),
		TEST(test_disconnect_in_set),
		TEST(test_half_closed),
		TEST(test_sets_take_turns),
		TEST(test_slow_reader),
		TEST(test_reader_leaves),
		TEST(test_stop_in_all_states),
		TEST(test_get_without_memory),
		TEST(test_too_many_clients),
		TEST(test_read_only),
		TEST(test_modes),
		TEST(test_somebody_there),
		TEST(test_stale),
		TEST(test_other_file),
		TEST(test_bad_paths),
		TEST(test_gone_by_unlink),
		TEST(test_gone_by_rename),
		TEST(test_gone_by_replacement),
		TEST(test_not_gone),
		TEST(test_two_in_one_folder),
		TEST(test_given_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
