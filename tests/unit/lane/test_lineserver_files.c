/* SPDX-License-Identifier: Apache-2.0 */
/* The socket as a file: made, found there already, taken away. */
#include "agent/lane/lineserver.h"

#include "lineserver_world.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
