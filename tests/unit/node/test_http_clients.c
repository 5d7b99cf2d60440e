/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that hold connections: nobody else may have to wait for them. */
#include "http_world.h"

#include <poll.h>
#include <sys/resource.h>

enum { HELD = HTTP_CONNECTIONS_MAX + 20 };

/* Each holds connections in its own way. */
static void stay_silent(int fd)
{
	(void)fd;
}

static void say_half(int fd)
{
	assert_int_equal(send(fd, "GET /metr", 9, MSG_NOSIGNAL), 9);
}

static void close_half(int fd)
{
	say_half(fd);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
}

/* Many requests at once, of whose answers none is read. */
static void never_read(int fd)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

	for (int i = 0; i < 2000; i++) {
		const ssize_t n = send(fd, request, sizeof(request) - 1,
				       MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < (ssize_t)sizeof(request) - 1)
			return;
	}
}

static void stay_after_an_answer(int fd)
{
	static const char request[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

	assert_int_equal(send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL), sizeof(request) - 1);
}

static const struct holder {
	const char *name;
	void (*hold)(int fd);
} holders[] = {
	{"silent", stay_silent},     {"half a request", say_half},   {"half-closed", close_half},
	{"never reads", never_read}, {"kept", stay_after_an_answer},
};
enum { N_HOLDERS = sizeof(holders) / sizeof(holders[0]) };

static void turn(struct world *w, unsigned n)
{
	while (n--)
		uv_run(&w->loop, UV_RUN_NOWAIT);
}

static void hold(struct world *w, const struct holder *h, int fds[HELD])
{
	for (int i = 0; i < HELD; i++) {
		fds[i] = connect_to(&w->address);
		h->hold(fds[i]);
		turn(w, 2);
	}
}

static void let_go(const int fds[HELD])
{
	for (int i = 0; i < HELD; i++)
		close(fds[i]);
}

static void check_answer(struct world *w, const char *name)
{
	struct reader r;

	ask(w, "GET /healthz" REST, &r);
	if (!strstr(r.text, " 200 "))
		fail_msg("%s: no answer, but \"%s\"", name, r.text);
	reader_done(&r);
}

/* A new client has its answer while others hold more connections than there may be, and
 * after they have gone. Nobody's time is over, so nothing but that makes room. */
static void test_held_connections(void **state)
{
	int fds[HELD];
	struct world w;

	(void)state;
	for (size_t i = 0; i < N_HOLDERS; i++) {
		begin(&w);
		hold(&w, &holders[i], fds);
		assert_true(w.server->n_clients <= HTTP_CONNECTIONS_MAX);
		for (int n = 0; n < 3; n++)
			check_answer(&w, holders[i].name);
		let_go(fds);
		for (int n = 0; n < 3; n++)
			check_answer(&w, holders[i].name);
		end(&w);
	}
}

/* Nothing that idle clients do or do not do keeps the loop awake: after what there is to do,
 * no descriptor is ready and no timer is due before somebody's time is over. */
static void test_idle(void **state)
{
	int fds[HELD];
	struct world w;

	(void)state;
	for (size_t i = 0; i < N_HOLDERS; i++) {
		begin(&w);
		hold(&w, &holders[i], fds);
		for (unsigned turns = 0; uv_backend_timeout(&w.loop) == 0; turns++) {
			if (turns > 100000)
				fail_msg("%s: timers without end", holders[i].name);
			turn(&w, 1);
		}
		for (unsigned turns = 0;; turns++) {
			struct pollfd p = {.fd = uv_backend_fd(&w.loop), .events = POLLIN};

			if (!poll(&p, 1, 50))
				break;
			if (turns > 100000)
				fail_msg("%s: events without end", holders[i].name);
			turn(&w, 1);
		}
		assert_true(uv_backend_timeout(&w.loop) > LONG_MS / 2);
		let_go(fds);
		end(&w);
	}
}

/* For as long as it takes. */
static void run_until(struct world *w, const unsigned *number, unsigned wanted)
{
	const uint64_t begun = uv_hrtime();

	while (*number != wanted) {
		if (uv_hrtime() - begun > (uint64_t)READER_GUARD_MS * 1000000)
			fail_msg("%u instead of %u", *number, wanted);
		turn(w, 1);
		usleep(1000);
	}
}

static void run_until_readable(struct world *w, int fd)
{
	const uint64_t begun = uv_hrtime();
	struct pollfd p = {.fd = fd, .events = POLLIN};

	while (!poll(&p, 1, 1)) {
		if (uv_hrtime() - begun > (uint64_t)READER_GUARD_MS * 1000000)
			fail_msg("nothing came");
		turn(w, 1);
	}
}

/* Each ends when its time is over, though its client would hold it for ever. */
static void test_times_over(void **state)
{
	int fds[HELD];
	struct world w;

	(void)state;
	for (size_t i = 0; i < N_HOLDERS; i++) {
		begin_with(&w, SHORT_MS);
		hold(&w, &holders[i], fds);
		run_until(&w, &w.server->n_clients, 0);
		check_answer(&w, holders[i].name);
		let_go(fds);
		end(&w);
	}
}

/* A byte now and then does not buy time. */
static void test_slow_sender(void **state)
{
	struct world w;
	uint64_t begun;
	int fd;

	(void)state;
	begin_with(&w, SHORT_MS);
	fd = connect_to(&w.address);
	begun = uv_hrtime();
	while (send(fd, "G", 1, MSG_NOSIGNAL) == 1) {
		turn(&w, 1);
		usleep(1000);
		if (uv_hrtime() - begun > (uint64_t)READER_GUARD_MS * 1000000)
			fail_msg("it is still there");
	}
	check_answer(&w, "slow");
	close(fd);
	end(&w);
}

/* One that asks now and then is not among those that make room. */
static void test_who_makes_room(void **state)
{
	int busy, idle[HTTP_CONNECTIONS_MAX];
	char byte;
	struct world w;

	(void)state;
	begin(&w);
	busy = connect_to(&w.address);
	run_until(&w, &w.server->n_clients, 1);
	for (unsigned i = 0; i < HTTP_CONNECTIONS_MAX - 1; i++) {
		idle[i] = connect_to(&w.address);
		run_until(&w, &w.server->n_clients, i + 2);
	}
	stay_after_an_answer(busy);
	run_until_readable(&w, busy);
	assert_int_equal(recv(busy, &byte, 1, MSG_DONTWAIT), 1);
	idle[HTTP_CONNECTIONS_MAX - 1] = connect_to(&w.address);
	run_until_readable(&w, idle[0]); /* the one that was there first */
	assert_int_equal(recv(idle[0], &byte, 1, MSG_DONTWAIT), 0);
	run_until(&w, &w.server->n_clients, HTTP_CONNECTIONS_MAX);
	assert_int_equal(recv(idle[1], &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(recv(busy, &byte, 1, MSG_DONTWAIT), 1);
	for (int i = 0; i < HTTP_CONNECTIONS_MAX; i++)
		close(idle[i]);
	close(busy);
	end(&w);
}

/* Without descriptors it sleeps and tries again. */
static void test_no_descriptors(void **state)
{
	struct rlimit before, none;
	struct reader r;
	struct world w;
	int fd;

	(void)state;
	begin(&w);
	fd = connect_to(&w.address);
	assert_int_equal(send(fd, "GET /healthz" REST, strlen("GET /healthz" REST), 0),
			 strlen("GET /healthz" REST));
	reader_begin(&r, &w.loop, fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	while (!w.server->pause_due_ms)
		turn(&w, 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(r.len, 0);
	reader_wait(&r);
	assert_non_null(strstr(r.text, " 200 "));
	reader_done(&r);
	end(&w);
}

/* Waiting for the lane */

static void send_to(struct world *w, const char *request, struct reader *r)
{
	int fd = connect_to(&w->address);

	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
	reader_begin(r, &w->loop, fd);
}

/* Who wants metrics waits for the lane, and nobody else does. One question is for all. */
static void test_slow_lane(void **state)
{
	struct reader first, second;
	struct world w;

	(void)state;
	begin(&w);
	is_lane_slow = true;
	send_to(&w, "GET /metrics" REST, &first);
	send_to(&w, "GET /metrics" REST, &second);
	run_until(&w, &w.server->n_waiting, 2);
	check_answer(&w, "while others wait");
	assert_int_equal(n_refreshes, 1);
	assert_int_equal(n_metrics, 0);
	assert_int_equal(first.len + second.len, 0);
	tell_waiting();
	reader_wait(&first);
	reader_wait(&second);
	assert_non_null(strstr(first.text, "a_metric 1\n"));
	assert_non_null(strstr(second.text, "a_metric 1\n"));
	assert_int_equal(n_refreshes, 1);
	assert_int_equal(n_metrics, 1);
	assert_int_equal(w.server->n_waiting, 0);
	reader_done(&first);
	reader_done(&second);
	end(&w);
}

/* However many want metrics of a slow lane, others are answered; and the end may come. */
static void test_many_wait(void **state)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
	int fds[HELD];
	struct world w;

	(void)state;
	begin(&w);
	is_lane_slow = true;
	for (int i = 0; i < HELD; i++) {
		fds[i] = connect_to(&w.address);
		assert_int_equal(send(fds[i], request, sizeof(request) - 1, MSG_NOSIGNAL),
				 sizeof(request) - 1);
		turn(&w, 3);
	}
	run_until(&w, &w.server->n_waiting, HTTP_WAITING_MAX);
	check_answer(&w, "while many wait");
	let_go(fds);
	check_answer(&w, "while many wait who have gone");
	assert_non_null(waiting);
	end(&w);
	assert_null(waiting);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_held_connections), cmocka_unit_test(test_idle),
		cmocka_unit_test(test_times_over),	 cmocka_unit_test(test_slow_sender),
		cmocka_unit_test(test_who_makes_room),	 cmocka_unit_test(test_no_descriptors),
		cmocka_unit_test(test_slow_lane),	 cmocka_unit_test(test_many_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
