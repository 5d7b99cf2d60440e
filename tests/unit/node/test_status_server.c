/* SPDX-License-Identifier: Apache-2.0 */
#include "loop_reader.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "agent/node/lane_waiter.h"
#include "agent/node/status.h"

/* Takes the place of the real document, and of the lane. */
static void fake_refresh(void *ctx, struct lane_waiter *waiter);
static void fake_forget(void *ctx, struct lane_waiter *waiter);
static const struct status_source source = {.refresh = fake_refresh, .forget = fake_forget};
static bool is_lane_slow;
static struct lane_waiter *waiting[STATUS_CLIENTS_MAX];
static unsigned n_waiting, n_forgotten;
static size_t document_len;
static unsigned n_documents;

char *status_json(const struct status_source *s)
{
	char *text;

	assert_ptr_equal(s, &source);
	n_documents++;
	if (!document_len)
		return NULL;
	text = malloc(document_len + 1);
	assert_non_null(text);
	memset(text, 'x', document_len);
	text[document_len] = '\0';
	return text;
}

static void fake_refresh(void *ctx, struct lane_waiter *waiter)
{
	assert_null(ctx);
	if (!is_lane_slow) {
		waiter->told(waiter->ctx);
		return;
	}
	waiter->waits = true;
	waiting[n_waiting++] = waiter;
}

static void fake_forget(void *ctx, struct lane_waiter *waiter)
{
	assert_null(ctx);
	assert_true(waiter->waits);
	waiter->waits = false;
	n_forgotten++;
}

struct world {
	uv_loop_t loop;
	char folder[32], path[80];
	struct status_server *server;
};

static void begin(struct world *w)
{
	*w = (struct world){.folder = "/tmp/test_status.XXXXXX"};
	assert_non_null(mkdtemp(w->folder));
	snprintf(w->path, sizeof(w->path), "%s/run/agent.sock", w->folder);
	assert_int_equal(uv_loop_init(&w->loop), 0);
	document_len = 100;
	n_documents = n_waiting = n_forgotten = 0;
	is_lane_slow = false;
}

static int start(struct world *w)
{
	return status_server_start(&w->loop, w->path, &source, &w->server);
}

static void stop(struct world *w)
{
	status_server_stop(w->server);
	w->server = NULL;
	uv_run(&w->loop, UV_RUN_DEFAULT);
}

static void end(struct world *w)
{
	char folder[48];

	stop(w);
	assert_int_equal(uv_loop_close(&w->loop), 0);
	unlink(w->path);
	snprintf(folder, sizeof(folder), "%s/run", w->folder);
	rmdir(folder);
	assert_int_equal(rmdir(w->folder), 0); /* nothing is left behind */
}

static int connect_to(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static void test_a_document_and_the_end(void **state)
{
	static const size_t lens[] = {1, 100, 3 << 20};
	struct world w;

	(void)state;
	begin(&w);
	assert_int_equal(start(&w), 0);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		struct reader r;

		document_len = lens[i];
		reader_begin(&r, &w.loop, connect_to(w.path));
		reader_wait(&r);
		assert_int_equal(r.len, lens[i]);
		assert_int_equal(strspn(r.text, "x"), lens[i]);
		reader_done(&r);
	}
	assert_int_equal(n_documents, 3);
	end(&w);
}

/* Nobody but those who want to know waits for a lane, and their end is theirs alone. */
static void test_slow_lane(void **state)
{
	struct reader r[3];
	struct world w;

	(void)state;
	begin(&w);
	assert_int_equal(start(&w), 0);
	is_lane_slow = true;
	for (int i = 0; i < 2; i++) {
		reader_begin(&r[i], &w.loop, connect_to(w.path));
		while (n_waiting < (unsigned)i + 1)
			uv_run(&w.loop, UV_RUN_ONCE);
	}
	assert_int_equal(n_documents, 0);
	is_lane_slow = false; /* for the next */
	reader_begin(&r[2], &w.loop, connect_to(w.path));
	reader_wait(&r[2]);
	assert_int_equal(r[2].len, document_len);
	assert_int_equal(n_documents, 1);
	waiting[0]->waits = false;
	waiting[0]->told(waiting[0]->ctx);
	reader_wait(&r[0]);
	assert_int_equal(r[0].len, document_len);
	assert_int_equal(r[1].len, 0);
	status_server_stop(w.server); /* with one that waits */
	w.server = NULL;
	assert_int_equal(n_forgotten, 1);
	reader_wait(&r[1]);
	assert_int_equal(r[1].len, 0);
	for (int i = 0; i < 3; i++)
		reader_done(&r[i]);
	end(&w);
}

static void test_without_memory(void **state)
{
	struct reader r;
	struct world w;

	(void)state;
	begin(&w);
	document_len = 0;
	assert_int_equal(start(&w), 0);
	reader_begin(&r, &w.loop, connect_to(w.path));
	reader_wait(&r);
	assert_int_equal(r.len, 0);
	reader_done(&r);
	end(&w);
}

static void test_for_its_owner_alone(void **state)
{
	char folder[48];
	struct world w;
	struct stat st;

	(void)state;
	begin(&w);
	assert_int_equal(start(&w), 0);
	assert_int_equal(lstat(w.path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0600);
	snprintf(folder, sizeof(folder), "%s/run", w.folder);
	assert_int_equal(stat(folder, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	stop(&w);
	assert_int_equal(lstat(w.path, &st), -1);
	end(&w);
}

static void test_only_one(void **state)
{
	struct status_server *second = NULL;
	struct reader r;
	struct world w;

	(void)state;
	begin(&w);
	assert_int_equal(start(&w), 0);
	assert_int_equal(status_server_start(&w.loop, w.path, &source, &second), -EADDRINUSE);
	assert_null(second);
	/* The first is none the worse. The probe was a reader that left. */
	reader_begin(&r, &w.loop, connect_to(w.path));
	reader_wait(&r);
	assert_int_equal(r.len, document_len);
	reader_done(&r);
	end(&w);
}

static void test_a_dead_ones_socket(void **state)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct reader r;
	struct world w;
	int fd;

	(void)state;
	begin(&w);
	assert_int_equal(start(&w), 0); /* makes the folder */
	stop(&w);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", w.path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	close(fd);
	assert_int_equal(start(&w), 0);
	reader_begin(&r, &w.loop, connect_to(w.path));
	reader_wait(&r);
	assert_int_equal(r.len, document_len);
	reader_done(&r);
	end(&w);
}

static void test_bad_places(void **state)
{
	struct world w;
	FILE *file;

	(void)state;
	begin(&w);
	assert_int_equal(start(&w), 0);
	stop(&w);
	file = fopen(w.path, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(start(&w), -EEXIST);
	assert_int_equal(access(w.path, F_OK), 0); /* and is still there */
	unlink(w.path);
	assert_int_equal(status_server_start(&w.loop, "/proc/x/agent.sock", &source, &w.server),
			 -ENOENT);
	assert_int_equal(
		status_server_start(&w.loop,
				    "/123456789012345678901234567890123456789012345678901234567890"
				    "123456789012345678901234567890123456789012345678901234567890",
				    &source, &w.server),
		-ENAMETOOLONG);
	end(&w);
}

/* One that took the place of ours is not removed with it. */
static void test_anothers_socket_stays(void **state)
{
	struct world w;
	FILE *file;

	(void)state;
	begin(&w);
	assert_int_equal(start(&w), 0);
	unlink(w.path);
	file = fopen(w.path, "w");
	assert_non_null(file);
	fclose(file);
	stop(&w);
	assert_int_equal(access(w.path, F_OK), 0);
	end(&w);
}

/* Readers that do not read: those beyond the limit get nothing, and at the end all are
 * let go. */
static void test_many_readers(void **state)
{
	int fds[STATUS_CLIENTS_MAX];
	struct reader r;
	struct world w;

	(void)state;
	begin(&w);
	document_len = 4 << 20;
	assert_int_equal(start(&w), 0);
	for (unsigned i = 0; i < STATUS_CLIENTS_MAX; i++) {
		fds[i] = connect_to(w.path);
		while (n_documents <= i)
			uv_run(&w.loop, UV_RUN_ONCE);
	}
	reader_begin(&r, &w.loop, connect_to(w.path));
	reader_wait(&r);
	assert_int_equal(r.len, 0);
	assert_int_equal(n_documents, STATUS_CLIENTS_MAX);
	reader_done(&r);

	close(fds[0]); /* whose place is free again when the server has noticed */
	while (n_documents == STATUS_CLIENTS_MAX) {
		reader_begin(&r, &w.loop, connect_to(w.path));
		reader_wait(&r);
		if (n_documents > STATUS_CLIENTS_MAX)
			assert_int_equal(r.len, document_len);
		reader_done(&r);
	}
	for (unsigned i = 1; i < STATUS_CLIENTS_MAX; i++)
		close(fds[i]);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_document_and_the_end),
		cmocka_unit_test(test_slow_lane),
		cmocka_unit_test(test_without_memory),
		cmocka_unit_test(test_for_its_owner_alone),
		cmocka_unit_test(test_only_one),
		cmocka_unit_test(test_a_dead_ones_socket),
		cmocka_unit_test(test_bad_places),
		cmocka_unit_test(test_anothers_socket_stays),
		cmocka_unit_test(test_many_readers),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
