/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/lane_client.h"

#include <errno.h>

#include "lane_server.h"

/* Answers to what is not the version's question. */
struct script {
	const char *control_get; /* to "get=1"; NULL: as a lane */
	const char *answer;	 /* to all else; NULL: the end */
	size_t fill;		 /* lines of 100 bytes before it */
};

static char *play(void *ctx, enum lane_socket which, const char *request)
{
	const struct script *s = ctx;
	char *text;

	if (which == LANE_CONTROL && !strcmp(request, "get=1\n"))
		return strdup(s->control_get ? s->control_get
					     : "version=1\nsealane=1.0\nup=1\nerrno=0\n\n");
	if (!s->answer)
		return NULL;
	text = malloc(s->fill * 100 + strlen(s->answer) + 1);
	for (size_t i = 0; i < s->fill; i++)
		sprintf(text + i * 100, "fill=%094zu\n", i);
	strcpy(text + s->fill * 100, s->answer);
	return text;
}

static void test_ask(void **state)
{
	struct script script = {.answer = "a=1\nb=2\nerrno=0\n\n"};
	struct lane_server s;
	struct lane_client *c;
	char err[LANE_CLIENT_ERR_LEN] = "before", *answer;

	(void)state;
	lane_server_start(&s, play, &script);
	c = lane_server_client(&s);
	assert_int_equal(lane_client_ask(c, LANE_UAPI, "get=1\n", &answer, err), 0);
	assert_string_equal(answer, "a=1\nb=2\n");
	assert_string_equal(err, "");
	lane_answer_free(answer);

	/* No answer wanted; no lines but errno. */
	script.answer = "errno=0\n\n";
	assert_int_equal(lane_client_ask(c, LANE_UAPI, "set=1\nfwmark=1\n", NULL, err), 0);
	assert_int_equal(lane_client_ask(c, LANE_CONTROL, "set=1\nport=a\n", &answer, err), 0);
	assert_string_equal(answer, "");
	lane_answer_free(answer);
	lane_answer_free(NULL);

	assert_int_equal(s.n_requests, 4);
	assert_string_equal(s.requests[1], "get=1\n");
	assert_int_equal(s.of[1], LANE_UAPI);
	assert_string_equal(s.requests[2], "set=1\nfwmark=1\n");
	assert_int_equal(s.of[2], LANE_UAPI);
	assert_string_equal(s.requests[3], "set=1\nport=a\n");
	assert_int_equal(s.of[3], LANE_CONTROL);
	lane_client_close(c);
	lane_client_close(NULL);
	lane_server_stop(&s);
}

/* Numbers are positive after a get and negative after a set. */
static void test_refused(void **state)
{
	static const struct {
		const char *answer, *text;
		int err;
	} rows[] = {
		{"errno=22\n\n", "", -22},
		{"errno=-98\n\n", "", -98},
		{"version=1\nerror=port: no such port\nerrno=19\n\n", "port: no such port", -19},
		{"error=line 3: vni: a=b\nerrno=-22\n\n", "line 3: vni: a=b", -22},
		{"error=\nerrno=-22\n\n", "", -22},
		{"a=1\nerrno=-5\n\n", "", -5},
	};
	struct script script = {0};
	struct lane_server s;
	struct lane_client *c;
	char err[LANE_CLIENT_ERR_LEN], untouched[] = "", *answer = untouched;

	(void)state;
	lane_server_start(&s, play, &script);
	c = lane_server_client(&s);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		script.answer = rows[i].answer;
		strcpy(err, "before");
		assert_int_equal(lane_client_ask(c, LANE_CONTROL, "set=1\n", &answer, err),
				 rows[i].err);
		assert_string_equal(err, rows[i].text);
		assert_ptr_equal(answer, untouched);
		assert_true(lane_client_usable(c));
	}
	lane_client_close(c);
	lane_server_stop(&s);
}

/* Error texts longer than there is room for are cut off. */
static void test_long_error(void **state)
{
	static char text[2000];
	struct script script = {.answer = text};
	struct lane_server s;
	struct lane_client *c;
	char err[LANE_CLIENT_ERR_LEN];

	(void)state;
	sprintf(text, "error=%01500d\nerrno=-22\n\n", 7);
	lane_server_start(&s, play, &script);
	c = lane_server_client(&s);
	assert_int_equal(lane_client_ask(c, LANE_CONTROL, "set=1\n", NULL, err), -22);
	assert_int_equal(strlen(err), LANE_CLIENT_ERR_LEN - 1);
	lane_client_close(c);
	lane_server_stop(&s);
}

static void test_large_answer(void **state)
{
	enum { N_LINES = 40000 };
	struct script script = {.answer = "last=1\nerrno=0\n\n", .fill = N_LINES};
	char err[LANE_CLIENT_ERR_LEN], *answer, *key, *value;
	struct lane_lines lines;
	struct lane_server s;
	struct lane_client *c;
	size_t n = 0;

	(void)state;
	lane_server_start(&s, play, &script);
	c = lane_server_client(&s);
	assert_int_equal(lane_client_ask(c, LANE_UAPI, "get=1\n", &answer, err), 0);
	lines.next = answer;
	while (lane_lines_next(&lines, &key, &value) && !strcmp(key, "fill"))
		assert_int_equal(strtoull(value, NULL, 10), n++);
	assert_int_equal(n, N_LINES);
	assert_string_equal(key, "last");
	assert_false(lane_lines_next(&lines, &key, &value));
	lane_answer_free(answer);
	lane_client_close(c);
	lane_server_stop(&s);
}

/* More than a socket's buffer takes at once, both ways at the same time. */
static void test_large_request(void **state)
{
	enum { LEN = 4 << 20 };
	struct script script = {.answer = "errno=0\n\n"};
	char err[LANE_CLIENT_ERR_LEN], *request = malloc(LEN + 1);
	struct lane_server s;
	struct lane_client *c;

	(void)state;
	memset(request, 'x', LEN);
	memcpy(request, "set=1\n", 6);
	for (size_t i = 100; i < LEN; i += 100)
		request[i] = '\n';
	request[LEN - 1] = '\n';
	request[LEN] = '\0';
	lane_server_start(&s, play, &script);
	c = lane_server_client(&s);
	assert_int_equal(lane_client_ask(c, LANE_UAPI, request, NULL, err), 0);
	assert_int_equal(s.n_requests, 2);
	assert_string_equal(s.requests[1], request);
	free(request);
	lane_client_close(c);
	lane_server_stop(&s);
}

static void test_bytewise(void **state)
{
	struct script script = {.answer = "a=1\nb=\nerrno=0\n\n"};
	char err[LANE_CLIENT_ERR_LEN], *answer;
	struct lane_server s;
	struct lane_client *c;

	(void)state;
	lane_server_start(&s, play, &script);
	s.bytewise = true;
	c = lane_server_client(&s);
	assert_int_equal(lane_client_ask(c, LANE_UAPI, "get=1\n", &answer, err), 0);
	assert_string_equal(answer, "a=1\nb=\n");
	lane_answer_free(answer);
	lane_client_close(c);
	lane_server_stop(&s);
}

/* It ends with our request unread, which the kernel tells otherwise than an end. */
static void test_reset(void **state)
{
	struct script script = {.answer = "errno=0\n\n"};
	char err[LANE_CLIENT_ERR_LEN];
	struct lane_server s;
	struct lane_client *c;

	(void)state;
	lane_server_start(&s, play, &script);
	s.rude = true;
	c = lane_server_client(&s);
	assert_int_equal(lane_client_ask(c, LANE_UAPI, "get=1\n", NULL, err), -EPIPE);
	assert_false(lane_client_usable(c));
	lane_client_close(c);
	lane_server_stop(&s);
}

/* After these nothing is asked any more. */
static void test_useless(void **state)
{
	static const struct {
		const char *answer;
		int err;
	} rows[] = {
		{NULL, -EPIPE},
		{"a=1\n\n", -EPROTO},
		{"errno=x\n\n", -EPROTO},
		{"errno=\n\n", -EPROTO},
		{"errno=99999\n\n", -EPROTO},
		{"errno=0\na=1\n\n", -EPROTO},
		{"\n\n", -EPROTO},
		{"errno=0\n\nerrno=0\n\n", -EPROTO},
	};
	char err[LANE_CLIENT_ERR_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct script script = {.answer = rows[i].answer};
		struct lane_server s;
		struct lane_client *c;

		lane_server_start(&s, play, &script);
		c = lane_server_client(&s);
		assert_int_equal(lane_client_ask(c, LANE_UAPI, "get=1\n", NULL, err), rows[i].err);
		assert_false(lane_client_usable(c));
		assert_string_equal(err, "");
		assert_int_equal(lane_client_ask(c, LANE_CONTROL, "get=1\n", NULL, err), -EPIPE);
		assert_int_equal(s.n_requests, 2);
		lane_client_close(c);
		lane_server_stop(&s);
	}
}

static void test_no_answer(void **state)
{
	static const char *const answers[] = {"", "a=1\nerrno=0\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct script script = {.control_get = answers[i]};
		struct lane_client *c = NULL;
		struct lane_server s;
		bool uapi_only = true;

		lane_server_start(&s, play, &script);
		assert_int_equal(lane_client_open_at(s.path[LANE_UAPI], s.path[LANE_CONTROL], 50,
						     &c, &uapi_only),
				 -ETIMEDOUT);
		assert_null(c);
		assert_false(uapi_only);
		lane_server_stop(&s);
	}
}

static void test_open(void **state)
{
	static const struct {
		const char *answer;
		int err;
	} rows[] = {
		{"version=1\nerrno=0\n\n", 0},	      {"version=2\nerrno=0\n\n", -EPROTO},
		{"version=11\nerrno=0\n\n", -EPROTO}, {"version=\nerrno=0\n\n", -EPROTO},
		{"sealane=1\nerrno=0\n\n", -EPROTO},  {"errno=0\n\n", -EPROTO},
		{"version=1\nerrno=22\n\n", -EPROTO}, {"hello\n\n", -EPROTO},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct script script = {.control_get = rows[i].answer};
		struct lane_client *c = NULL;
		struct lane_server s;
		bool uapi_only = true;

		lane_server_start(&s, play, &script);
		assert_int_equal(lane_client_open_at(s.path[LANE_UAPI], s.path[LANE_CONTROL],
						     SERVER_PATIENCE_MS, &c, &uapi_only),
				 rows[i].err);
		assert_false(uapi_only);
		assert_int_equal(c != NULL, !rows[i].err);
		lane_client_close(c);
		lane_server_stop(&s);
	}
}

static void test_open_without_lane(void **state)
{
	struct script script = {0};
	struct lane_client *c = NULL;
	struct lane_server s;
	char long_path[200], stale[96];
	bool uapi_only;

	(void)state;
	lane_server_start(&s, play, &script);

	/* A socket file that nobody listens at any more. */
	snprintf(stale, sizeof(stale), "%s/stale.sock", s.folder);
	close(server_listen(stale));
	uapi_only = false;
	assert_int_equal(lane_client_open_at(s.path[LANE_UAPI], stale, 50, &c, &uapi_only),
			 -ENOENT);
	assert_true(uapi_only);

	/* Another WireGuard. */
	assert_int_equal(
		lane_client_open_at(s.path[LANE_UAPI], "/nonexistent/x", 50, &c, &uapi_only),
		-ENOENT);
	assert_true(uapi_only);

	/* Nothing. */
	assert_int_equal(
		lane_client_open_at("/nonexistent/x", s.path[LANE_UAPI], 50, &c, &uapi_only),
		-ENOENT);
	assert_false(uapi_only);
	uapi_only = true;
	assert_int_equal(lane_client_open_at(stale, s.path[LANE_CONTROL], 50, &c, &uapi_only),
			 -ECONNREFUSED);
	assert_false(uapi_only);

	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	assert_int_equal(lane_client_open_at(long_path, long_path, 50, &c, &uapi_only),
			 -ENAMETOOLONG);
	/* No device is called so, whatever lanes this host has. */
	uapi_only = true;
	assert_int_equal(lane_client_open("no/such/lane", &c, &uapi_only), -ENOENT);
	assert_false(uapi_only);
	assert_null(c);
	unlink(stale);
	lane_server_stop(&s);
}

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, timeout_ms) == 1;
}

/* The descriptor for the loop is quiet as long as the lane lives. */
static void test_watch(void **state)
{
	struct script script = {.answer = "errno=0\n\n"};
	char err[LANE_CLIENT_ERR_LEN], byte;
	struct lane_server s;
	struct lane_client *c;

	(void)state;
	lane_server_start(&s, play, &script);
	c = lane_server_client(&s);
	assert_int_equal(lane_client_ask(c, LANE_CONTROL, "set=1\n", NULL, err), 0);
	assert_false(is_readable(lane_client_fd(c, LANE_CONTROL), 0));
	lane_server_stop(&s);
	assert_true(is_readable(lane_client_fd(c, LANE_CONTROL), SERVER_PATIENCE_MS));
	assert_int_equal(recv(lane_client_fd(c, LANE_CONTROL), &byte, 1, 0), 0);
	assert_int_equal(lane_client_ask(c, LANE_UAPI, "get=1\n", NULL, err), -EPIPE);
	lane_client_close(c);
}

/* Asking without waiting */

/* Until all of the answer came. */
static int look_to_end(struct lane_client *c, enum lane_socket which, char **answer)
{
	int err = lane_client_look_more(c, which, answer);

	while (err == -EAGAIN && is_readable(lane_client_fd(c, which), SERVER_PATIENCE_MS))
		err = lane_client_look_more(c, which, answer);
	return err;
}

static struct lane_client *connect_client(const struct lane_server *s)
{
	struct lane_client *c = NULL;
	bool uapi_only = true;

	assert_int_equal(lane_client_connect_at(s->path[LANE_UAPI], s->path[LANE_CONTROL],
						SERVER_PATIENCE_MS, &c, &uapi_only),
			 0);
	assert_false(uapi_only);
	return c;
}

static void test_look(void **state)
{
	struct script script = {.control_get = "version=1\na=b\nerrno=0\n\n",
				.answer = "private_key=x\nerrno=0\n\n"};
	char err[LANE_CLIENT_ERR_LEN], *answer = NULL;
	struct lane_server s;
	struct lane_client *c;

	(void)state;
	lane_server_start(&s, play, &script);
	s.bytewise = true;
	c = connect_client(&s);
	assert_int_equal(lane_client_look(c, LANE_CONTROL), 0);
	assert_int_equal(lane_client_look(c, LANE_CONTROL), 0); /* is the same one */
	assert_int_equal(lane_client_ask(c, LANE_CONTROL, "set=1\n", NULL, err), -EBUSY);
	assert_true(lane_client_usable(c));
	assert_int_equal(lane_client_look(c, LANE_UAPI), 0);
	assert_int_equal(look_to_end(c, LANE_UAPI, &answer), 0);
	assert_string_equal(answer, "private_key=x\n");
	lane_answer_free(answer);
	assert_int_equal(look_to_end(c, LANE_CONTROL, &answer), 0);
	assert_string_equal(answer, "version=1\na=b\n");
	lane_answer_free(answer);
	assert_int_equal(s.n_requests, 2);
	assert_int_equal(lane_client_ask(c, LANE_CONTROL, "set=1\n", NULL, err), 0);
	lane_client_close(c);
	lane_server_stop(&s);
}

/* It never waits, and what came is kept, or wiped with the client. */
static void test_look_at_a_silent_lane(void **state)
{
	struct script script = {.control_get = "version=1\n"};
	struct lane_server s;
	struct lane_client *c;
	char *answer = NULL;

	(void)state;
	lane_server_start(&s, play, &script);
	c = connect_client(&s);
	assert_int_equal(lane_client_look(c, LANE_CONTROL), 0);
	assert_true(is_readable(lane_client_fd(c, LANE_CONTROL), SERVER_PATIENCE_MS));
	assert_int_equal(lane_client_look_more(c, LANE_CONTROL, &answer), -EAGAIN);
	assert_int_equal(lane_client_look_more(c, LANE_CONTROL, &answer), -EAGAIN);
	assert_true(lane_client_usable(c));
	assert_null(answer);
	lane_client_close(c);
	lane_server_stop(&s);
}

static void test_look_in_vain(void **state)
{
	static const struct {
		const char *answer;
		int err;
	} rows[] = {
		{NULL, -EPIPE},
		{"a=1\n\n", -EPROTO},
		{"version=2\nerrno=0\n\n", -EPROTO},
		{"xversion=1\nerrno=0\n\n", -EPROTO},
		{"version=1\nerrno=22\n\n", -EPROTO},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const enum lane_socket which = rows[i].answer ? LANE_CONTROL : LANE_UAPI;
		struct script script = {.control_get = rows[i].answer};
		struct lane_server s;
		struct lane_client *c;
		char *answer = NULL;

		lane_server_start(&s, play, &script);
		c = connect_client(&s);
		assert_int_equal(lane_client_look(c, which), 0);
		assert_int_equal(look_to_end(c, which, &answer), rows[i].err);
		assert_null(answer);
		assert_false(lane_client_usable(c));
		assert_int_equal(lane_client_look(c, which), -EPIPE);
		assert_int_equal(lane_client_look_more(c, which, &answer), -EPIPE);
		lane_client_close(c);
		lane_server_stop(&s);
	}
}

static void test_answer_copy(void **state)
{
	char *copy = lane_answer_copy("a=1\nb=2\n");

	(void)state;
	assert_string_equal(copy, "a=1\nb=2\n");
	lane_answer_free(copy);
}

static void test_lines(void **state)
{
	static const struct {
		const char *text;
		const char *expected; /* key, value, key, ... */
	} rows[] = {
		{"", ""},
		{"a=1\n", "a|1|"},
		{"a=1", "a|1|"},
		{"a=1\nb=2 3\n", "a|1|b|2 3|"},
		{"a=\n=b\n", "a|||b|"},
		{"a=b=c\n", "a|b=c|"},
		{"nothing\n\na=1\nno\n", "a|1|"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = strdup(rows[i].text), *key, *value, seen[64] = "";
		struct lane_lines lines = {.next = text};

		while (lane_lines_next(&lines, &key, &value)) {
			strcat(strcat(seen, key), "|");
			strcat(strcat(seen, value), "|");
		}
		assert_string_equal(seen, rows[i].expected);
		assert_false(lane_lines_next(&lines, &key, &value));
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ask),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_long_error),
		cmocka_unit_test(test_large_answer),
		cmocka_unit_test(test_large_request),
		cmocka_unit_test(test_bytewise),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_useless),
		cmocka_unit_test(test_no_answer),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_open_without_lane),
		cmocka_unit_test(test_watch),
		cmocka_unit_test(test_look),
		cmocka_unit_test(test_look_at_a_silent_lane),
		cmocka_unit_test(test_look_in_vain),
		cmocka_unit_test(test_answer_copy),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
