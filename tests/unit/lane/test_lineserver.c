/* SPDX-License-Identifier: Apache-2.0 */
/* What is said over connections. */
#include "agent/lane/lineserver.h"

#include "lineserver_world.h"

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
	/* All that came at once; and, it may be, once more for what waited for its reply. */
	assert_true(w->n_entered >= 1 && w->n_entered <= 5);
	hang_up(w, fd);
}

/* A set is entered once for all its lines. */
static void test_enters_once(void **state)
{
	struct world *w = *state;
	int fd = dial(w);
	char lines[1000] = "set=1\n";

	for (unsigned i = 0; i < 90; i++)
		strcat(lines, "a=1\n");
	strcat(lines, "\n");
	say(w, fd, lines);
	hear(w, fd, "errno=0\n\n");
	assert_true(w->n_entered >= 1 && w->n_entered <= 2);
	assert_int_equal(w->depth, 0);
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

/* A client that goes silent in the middle does not lock out the others. */
static void test_silent_setter(void **state)
{
	static struct lineserver_ops impatient;
	struct world *w = *state;
	char text[100] = "";
	int a, b;

	impatient = ops;
	impatient.set_timeout_ms = 50;
	lineserver_stop(w->server);
	assert_int_equal(start(w, &impatient, -1), 0);
	a = dial(w);
	b = dial(w);
	say(w, a, "set=1\na=1\nha");
	say(w, b, "get=1\n\n");
	for (int i = 0; i < PATIENCE_MS && recv(a, text, sizeof(text) - 1, 0) < 0; i++) {
		nap();
		turn(w);
	}
	assert_string_equal(text, "error=no line and no end for too long\nerrno=-110\n\n");
	hear(w, b, "lines=4\nerrno=0\n\n");
	assert_int_equal(w->n_ended, 1);
	hear_end(w, a);
	hang_up(w, a);

	/* Between operations it may be silent. */
	say(w, b, "set=1\nb=1\n\n");
	hear(w, b, "errno=0\n\n");
	for (int i = 0; i < 100; i++) {
		nap();
		hear_nothing(w, b);
	}
	say(w, b, "get=1\n\n");
	hear(w, b, "lines=8\nerrno=0\n\n");
	hang_up(w, b);
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

/* Whoever asks for nothing makes room; where all are at work, the next is sent off. */
static void test_too_many_clients(void **state)
{
	struct world *w = *state;
	int fds[LINESERVER_CLIENTS_MAX], extra;

	for (int i = 0; i < LINESERVER_CLIENTS_MAX; i++) {
		fds[i] = dial(w);
		if (i != 5 && i != 9)
			say(w, fds[i], "get=1\n");
	}
	extra = dial(w);
	hear_end(w, fds[5]);
	close(fds[5]);
	fds[5] = extra;
	say(w, fds[5], "get=1\n\n");
	hear(w, fds[5], "lines=0\nerrno=0\n\n");
	say(w, fds[5], "get=1\n");
	say(w, fds[9], "get=1\n");
	extra = dial(w);
	hear_end(w, extra);
	close(extra);
	for (int i = 0; i < LINESERVER_CLIENTS_MAX; i++) {
		say(w, fds[i], "\n");
		hear(w, fds[i], "lines=0\nerrno=0\n\n");
		hang_up(w, fds[i]);
	}
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_operations),	       TEST(test_pipelined),
		TEST(test_enters_once),	       TEST(test_carriage_returns),
		TEST(test_byte_by_byte),       TEST(test_set_error),
		TEST(test_bad_operation),      TEST(test_get_wants_blank_line),
		TEST(test_long_line),	       TEST(test_disconnect_in_set),
		TEST(test_half_closed),	       TEST(test_sets_take_turns),
		TEST(test_silent_setter),      TEST(test_slow_reader),
		TEST(test_reader_leaves),      TEST(test_stop_in_all_states),
		TEST(test_get_without_memory), TEST(test_too_many_clients),
		TEST(test_read_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
