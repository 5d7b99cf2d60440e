/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cli/agent_doc.h"

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli_world.h"

/* ---- From memory ---- */

static void test_parse(void **state)
{
	static const struct {
		const char *text;
		int want;
	} cases[] = {
		{"{}", 0},
		{" {\"pid\": 3}\n", 0},
		{"", -EPIPE},
		{"[]", -EPROTO},
		{"{", -EPIPE},
		{"{} {}", -EPROTO},
		{"{\"a\": \"\\u0000\"}", -EPROTO},
		{"{\"a\": \"\xff\"}", -EPROTO},
		{"HTTP/1.1 200 OK\r\n", -EPROTO},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct agent_doc doc = {0};

		assert_int_equal(agent_doc_parse(cases[i].text, strlen(cases[i].text), &doc),
				 cases[i].want);
		assert_int_equal(doc.root != NULL, !cases[i].want);
		agent_doc_done(&doc);
	}
}

/* An agent that ends while it tells: wherever that is, it is not said to be something else. */
static void test_cut_short(void **state)
{
	static const char text[] =
		"{\"version\": \"1.0 \\u00e4\", \"pid\": -12, \"ready\": true, \"real\": 1.5e3,"
		" \"lane\": null, \"faults\": [{\"a\": false}, []]}";
	struct agent_doc doc = {0};

	(void)state;
	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		const int err = agent_doc_parse(text, len, &doc);

		if (err != -EPIPE)
			fail_msg("%.*s: %d", (int)len, text, err);
	}
	assert_int_equal(agent_doc_parse(text, sizeof(text) - 1, &doc), 0);
	agent_doc_done(&doc);
}

/* Every key may be missing or something else. */
static void test_tolerant(void **state)
{
	static const char text[] =
		"{\"text\": \"word\", \"number\": 7, \"real\": 7.9, \"huge\": 1e300,"
		" \"yes\": true, \"no\": false, \"null\": null,"
		" \"part\": {\"text\": \"inner\"}, \"list\": [\"a\", \"b\"]}";
	struct agent_doc doc;

	(void)state;
	assert_int_equal(agent_doc_parse(text, sizeof(text) - 1, &doc), 0);
	assert_string_equal(agent_text(doc.root, "text"), "word");
	assert_null(agent_text(doc.root, "number"));
	assert_null(agent_text(doc.root, "none"));
	assert_null(agent_text(NULL, "text"));
	assert_int_equal(agent_number(doc.root, "number", -1), 7);
	assert_int_equal(agent_number(doc.root, "real", -1), 7);
	assert_int_equal(agent_number(doc.root, "huge", -1), -1);
	assert_int_equal(agent_number(doc.root, "text", -1), -1);
	assert_int_equal(agent_number(doc.root, "none", -1), -1);
	assert_true(agent_flag(doc.root, "yes", false));
	assert_false(agent_flag(doc.root, "no", true));
	assert_true(agent_flag(doc.root, "null", true));
	assert_string_equal(agent_text(agent_part(doc.root, "part"), "text"), "inner");
	assert_null(agent_part(doc.root, "list"));
	assert_int_equal(agent_count(doc.root, "list"), 2);
	assert_string_equal(json_string_value(agent_item(doc.root, "list", 1)), "b");
	assert_null(agent_item(doc.root, "list", 2));
	assert_int_equal(agent_count(doc.root, "part"), 0);
	assert_null(agent_item(doc.root, "text", 0));
	agent_doc_done(&doc);
}

/* ---- Over a socket ---- */

struct server {
	char folder[32], path[64];
	int fd;
	const char *text;
	size_t len, chunk;
	pthread_t thread;
};

/* Answers one connection, in pieces. */
static void *serve(void *arg)
{
	const struct server *s = arg;
	int fd = accept(s->fd, NULL, NULL);

	for (size_t done = 0; fd >= 0 && done < s->len;) {
		const size_t len = s->len - done < s->chunk ? s->len - done : s->chunk;
		const ssize_t n = send(fd, s->text + done, len, MSG_NOSIGNAL);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	close(fd);
	return NULL;
}

static void server_begin(struct server *s, const char *text, size_t len, size_t chunk)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	*s = (struct server){
		.folder = "/tmp/sealane-XXXXXX", .text = text, .len = len, .chunk = chunk};
	assert_non_null(mkdtemp(s->folder));
	snprintf(s->path, sizeof(s->path), "%s/a.sock", s->folder);
	memcpy(addr.sun_path, s->path, strlen(s->path) + 1);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s->fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(s->fd, 1), 0);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void server_end(struct server *s)
{
	pthread_join(s->thread, NULL);
	close(s->fd);
	unlink(s->path);
	rmdir(s->folder);
}

static void test_fetch(void **state)
{
	struct agent_doc doc = {0};
	struct server s;

	(void)state;
	server_begin(&s, "{\"pid\": 12}", 11, 2);
	assert_int_equal(agent_doc_fetch(s.path, &doc), 0);
	assert_int_equal(agent_number(doc.root, "pid", 0), 12);
	assert_int_equal(doc.pid, getpid()); /* the kernel's word */
	agent_doc_done(&doc);
	server_end(&s);
}

static void test_fetch_long(void **state)
{
	enum { LEN = 3 << 20 };
	char *text = malloc(LEN);
	struct agent_doc doc = {0};
	struct server s;

	(void)state;
	memset(text, ' ', LEN);
	memcpy(text, "{\"a\": 1}", 8);
	memcpy(text + LEN - 1, "\n", 1);
	server_begin(&s, text, LEN, 70000);
	assert_int_equal(agent_doc_fetch(s.path, &doc), 0);
	assert_int_equal(agent_number(doc.root, "a", 0), 1);
	agent_doc_done(&doc);
	server_end(&s);
	free(text);
}

static void test_fetch_something_else(void **state)
{
	struct agent_doc doc = {0};
	struct server s;

	(void)state;
	server_begin(&s, "version=1\n", 10, 10);
	assert_int_equal(agent_doc_fetch(s.path, &doc), -EPROTO);
	assert_null(doc.root);
	assert_int_equal(doc.pid, getpid());
	server_end(&s);
	server_begin(&s, "{\"pid\": 12, \"na", 15, 4);
	assert_int_equal(agent_doc_fetch(s.path, &doc), -EPIPE);
	assert_int_equal(doc.pid, getpid());
	server_end(&s);
	/* Nothing at all. */
	server_begin(&s, "", 0, 1);
	assert_int_equal(agent_doc_fetch(s.path, &doc), -EPIPE);
	server_end(&s);
}

static void test_fetch_nobody(void **state)
{
	char long_path[200];
	struct agent_doc doc = {0};
	struct server s;

	(void)state;
	server_begin(&s, "{}", 2, 2);
	assert_int_equal(agent_doc_fetch(s.path, &doc), 0);
	agent_doc_done(&doc);
	pthread_join(s.thread, NULL);
	close(s.fd);
	doc.pid = 0;
	assert_int_equal(agent_doc_fetch(s.path, &doc), -ECONNREFUSED);
	assert_int_equal(doc.pid, 0);
	unlink(s.path);
	assert_int_equal(agent_doc_fetch(s.path, &doc), -ENOENT);
	rmdir(s.folder);
	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	assert_int_equal(agent_doc_fetch(long_path, &doc), -ENAMETOOLONG);
}

static void test_path(void **state)
{
	(void)state;
	unsetenv("SEALANE_AGENT_SOCKET");
	assert_string_equal(agent_doc_path(), "/run/sealane/agent.sock");
	setenv("SEALANE_AGENT_SOCKET", "", 1);
	assert_string_equal(agent_doc_path(), "/run/sealane/agent.sock");
	setenv("SEALANE_AGENT_SOCKET", "/elsewhere", 1);
	assert_string_equal(agent_doc_path(), "/elsewhere");
	unsetenv("SEALANE_AGENT_SOCKET");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),	     cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_tolerant),     cmocka_unit_test(test_fetch),
		cmocka_unit_test(test_fetch_long),   cmocka_unit_test(test_fetch_something_else),
		cmocka_unit_test(test_fetch_nobody), cmocka_unit_test(test_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
