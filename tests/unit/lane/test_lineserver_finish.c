/* SPDX-License-Identifier: Apache-2.0 */
/* Sets that are applied as a whole at their end, and gets that ask for something. */
#include "agent/lane/lineserver.h"

#include "lineserver_world.h"

/* Lines gather in world.lines as ever; "bad=2" makes the end fail. */
static unsigned n_finished;

static int finish(void *state)
{
	const struct set_state *s = state;
	const struct textbuf *lines = &s->w->lines;

	n_finished++;
	return lines->len >= 6 && !memcmp(lines->data + lines->len - 6, "bad=2;", 6) ? -ENOENT : 0;
}

static const char *why(void *state)
{
	const struct set_state *s = state;

	return s->w->get_fails ? "" : "it is so,\nsaid \a friend";
}

static void get_of(void *ctx, const char *lines, struct textbuf *out)
{
	struct world *w = ctx;

	textbuf_printf(out, "asked=%s", lines);
	textbuf_printf(out, "errno=0\n\n");
	out->failed = w->get_fails;
}

static const struct lineserver_ops whole_ops = {
	.set_state_len = sizeof(struct set_state),
	.get = world_get,
	.get_of = get_of,
	.set_begin = world_set_begin,
	.set_line = world_set_line,
	.set_finish = finish,
	.set_error = why,
	.set_end = world_set_end,
};

static int setup_whole(void **state)
{
	struct world *w;

	setup(state);
	w = *state;
	lineserver_stop(w->server);
	n_finished = 0;
	assert_int_equal(start(w, &whole_ops, -1), 0);
	return 0;
}

static void test_finish(void **state)
{
	struct world *w = *state;
	int fd = dial(w);

	say(w, fd, "set=1\na=1\n");
	assert_int_equal(n_finished, 0);
	say(w, fd, "\n");
	hear(w, fd, "errno=0\n\n");
	assert_int_equal(n_finished, 1);
	say(w, fd, "set=1\n\r\n");
	hear(w, fd, "errno=0\n\n");
	assert_int_equal(n_finished, 2);
	expect_lines(w, "a=1;");
	hang_up(w, fd);
}

/* After a refusal at the end, the connection goes on where it would after a success;
 * after one of a line, what was under way is skipped. */
static void test_refused(void **state)
{
	static const char answer[] = "error=it is so,?said ? friend\nerrno=-2\n\n";
	struct world *w = *state;
	int fd = dial(w);

	say(w, fd, "set=1\nbad=2\n\nget=1\n\n");
	hear(w, fd, "error=it is so,?said ? friend\nerrno=-2\n\nlines=6\nerrno=0\n\n");
	say(w, fd, "set=1\nbad=2\n\n");
	hear(w, fd, answer);
	assert_int_equal(n_finished, 2);
	say(w, fd, "set=1\nbad=1\nc=1\n\nset=1\nd=1\n\n");
	hear(w, fd, "error=it is so,?said ? friend\nerrno=-22\n\nerrno=0\n\n");
	assert_int_equal(n_finished, 3);
	expect_lines(w, "bad=2;bad=2;d=1;");
	/* No words, no line. */
	w->get_fails = true;
	say(w, fd, "set=1\nbad=1\n\n");
	hear(w, fd, "errno=-22\n\n");
	say(w, fd, "set=1\nbad=2\n\n");
	hear(w, fd, "errno=-2\n\n");
	say(w, fd, "c=1\n");
	hear_end(w, fd);
	hang_up(w, fd);
}

static void test_unfinished(void **state)
{
	static const struct {
		const char *text, *answer;
	} rows[] = {
		{"set=1\na=1\n", "error=no empty line at the end: nothing was done\nerrno=-5\n\n"},
		{"set=1\na=1\nb", "error=no empty line at the end: nothing was done\nerrno=-5\n\n"},
		{"set=1\n", "error=no empty line at the end: nothing was done\nerrno=-5\n\n"},
		{"set=1\na=1\n\n", "errno=0\n\n"},
		{"get=1\nport=x\n", ""},
		{"get=1\nport=x\n\n", "asked=port=x\nerrno=0\n\n"},
	};
	struct world *w = *state;
	int fd;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[128] = "";
		size_t len = 0;
		ssize_t n = -1;

		fd = dial(w);
		n_finished = 0;
		send(fd, rows[i].text, strlen(rows[i].text), 0);
		shutdown(fd, SHUT_WR);
		for (int j = 0; j < PATIENCE_MS && n; j++) {
			turn(w);
			n = recv(fd, text + len, sizeof(text) - 1 - len, 0);
			if (n > 0)
				len += (size_t)n;
			else if (n)
				nap();
		}
		assert_int_equal(n, 0);
		assert_string_equal(text, rows[i].answer);
		assert_int_equal(n_finished, !strncmp(text, "errno=0", 7));
		assert_int_equal(w->n_begun, w->n_ended);
		hang_up(w, fd);
	}

	/* Gone without a word. */
	n_finished = 0;
	fd = dial(w);
	say(w, fd, "set=1\na=1\n");
	assert_int_equal(w->n_begun, w->n_ended + 1);
	hang_up(w, fd);
	assert_int_equal(w->n_begun, w->n_ended);
	assert_int_equal(n_finished, 0);
}

static void test_stopped(void **state)
{
	struct world *w = *state;
	int fd = dial(w);

	say(w, fd, "set=1\na=1\n");
	lineserver_stop(w->server);
	w->server = NULL;
	assert_int_equal(w->n_begun, w->n_ended);
	assert_int_equal(n_finished, 0);
	close(fd);
}

static void test_get_of(void **state)
{
	struct world *w = *state;
	int fd = dial(w), other = dial(w);

	say(w, fd, "get=1\nport=x\n");
	hear_nothing(w, fd);
	say(w, other, "get=1\nport=y\r\n\nget=1\n\n");
	hear(w, other, "asked=port=y\nerrno=0\n\nlines=0\nerrno=0\n\n");
	say(w, fd, "a=1\n\nget=1\n\nget=1\nport=z\n\n");
	hear(w, fd,
	     "asked=port=x\na=1\nerrno=0\n\nlines=0\nerrno=0\n\n"
	     "asked=port=z\nerrno=0\n\n");

	/* It waits for another's set, as every get. */
	say(w, other, "set=1\n");
	say(w, fd, "get=1\nport=x\n\n");
	hear_nothing(w, fd);
	say(w, other, "\n");
	hear(w, other, "errno=0\n\n");
	hear(w, fd, "asked=port=x\nerrno=0\n\n");

	w->get_fails = true;
	say(w, fd, "get=1\nport=x\n\n");
	hear(w, fd, "errno=12\n\n");
	w->get_fails = false;
	say(w, fd, "get=1\n\n");
	hear(w, fd, "lines=0\nerrno=0\n\n");
	hang_up(w, fd);
	hang_up(w, other);
}

static void expect_refused(struct world *w, const char *text, size_t len)
{
	char answer[64] = "";
	int fd = dial(w);

	say_bytes(w, fd, text, len);
	for (int i = 0; i < PATIENCE_MS && recv(fd, answer, sizeof(answer) - 1, 0) < 0; i++) {
		nap();
		turn(w);
	}
	assert_string_equal(answer, "errno=22\n\n");
	hear_end(w, fd);
	hang_up(w, fd);
}

static void test_get_of_refused(void **state)
{
	static const char nul[] = "get=1\nport=x\0y\n";
	char text[LINESERVER_QUESTION_MAX + 16] = "get=1\n";
	struct world *w = *state;
	char *answer = calloc(1, sizeof(text) + 32);
	int fd = dial(w);

	expect_refused(w, nul, sizeof(nul) - 1);
	/* The longest question there may be, newline included, and one byte more. */
	memset(text + 6, 'x', LINESERVER_QUESTION_MAX - 1);
	strcpy(text + 6 + LINESERVER_QUESTION_MAX - 1, "\n\n");
	sprintf(answer, "asked=%.*serrno=0\n\n", LINESERVER_QUESTION_MAX, text + 6);
	say(w, fd, text);
	hear(w, fd, answer);
	hang_up(w, fd);
	strcpy(text + 6 + LINESERVER_QUESTION_MAX - 1, "x\n");
	expect_refused(w, text, strlen(text));
	free(answer);
}

#define WHOLE(name) cmocka_unit_test_setup_teardown(name, setup_whole, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WHOLE(test_finish),  WHOLE(test_refused), WHOLE(test_unfinished),
		WHOLE(test_stopped), WHOLE(test_get_of),  WHOLE(test_get_of_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
