/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/lane_keeper.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "agent/node/config.h"
#include "agent/node/lane_process.h"

enum { NEVER = 100000000, GUARD_MS = 60000, PID = 4711 };

/* Takes the place of lane_process.c: processes that only exist in here. */
static struct {
	int start_err;
	unsigned n_starts, n_ends, n_forgotten;
	bool runs;
	const struct config_lane *config;
	void (*exited)(int status, void *ctx);
	void *ctx;
	uv_loop_t *loop;
} fake;

int lane_process_start(uv_loop_t *loop, const struct config_lane *lane,
		       void (*exited)(int status, void *ctx), void *ctx, struct lane_process **ret)
{
	assert_false(fake.runs);
	fake.n_starts++;
	fake.config = lane;
	uv_stop(loop);
	if (fake.start_err)
		return fake.start_err;
	fake.runs = true;
	fake.exited = exited;
	fake.ctx = ctx;
	*ret = (struct lane_process *)(void *)&fake;
	return 0;
}

void lane_process_end(struct lane_process *p)
{
	assert_ptr_equal(p, &fake);
	fake.n_ends++;
}

void lane_process_forget(struct lane_process *p)
{
	assert_ptr_equal(p, &fake);
	fake.n_forgotten++;
	fake.runs = false;
}

pid_t lane_process_pid(const struct lane_process *p)
{
	assert_ptr_equal(p, &fake);
	return PID;
}

static void die(int status)
{
	assert_true(fake.runs);
	fake.runs = false;
	fake.exited(status, fake.ctx);
}

static struct world {
	uv_loop_t loop;
	uv_timer_t guard;
	struct config_lane config;
	struct lane_keeper *k;
} w;

static void begin(uint64_t first_ms, uint64_t max_ms, uint64_t stays_ms)
{
	const struct lane_keeper_times times = {first_ms, max_ms, stays_ms};

	memset(&fake, 0, sizeof(fake));
	memset(&w, 0, sizeof(w));
	assert_int_equal(uv_loop_init(&w.loop), 0);
	uv_timer_init(&w.loop, &w.guard);
	w.k = lane_keeper_new(&w.loop, &times);
	assert_non_null(w.k);
}

static void close_loop(void)
{
	uv_close((uv_handle_t *)&w.guard, NULL);
	uv_run(&w.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&w.loop), 0);
}

static void on_guard(uv_timer_t *timer)
{
	(void)timer;
	fail_msg("not started; starts: %u", fake.n_starts);
}

static void run_starts(unsigned n)
{
	uv_timer_start(&w.guard, on_guard, GUARD_MS, 0);
	while (fake.n_starts < n)
		uv_run(&w.loop, UV_RUN_DEFAULT);
	uv_timer_stop(&w.guard);
}

/* Milliseconds to the next start, -1: none is planned. */
static int planned_ms(void)
{
	uv_update_time(&w.loop);
	return uv_backend_timeout(&w.loop);
}

static void assert_planned(int ms)
{
	int have;

	uv_run(&w.loop, UV_RUN_NOWAIT);
	have = planned_ms();
	if (have > ms || have <= ms / 2)
		fail_msg("a start is planned in %d ms, not %d", have, ms);
}

static bool is_planned(void)
{
	uv_run(&w.loop, UV_RUN_NOWAIT);
	return planned_ms() > 0;
}

static void test_started_where_there_is_none(void **state)
{
	(void)state;
	begin(NEVER, NEVER, NEVER);
	assert_int_equal(lane_keeper_pid(w.k), 0);
	lane_keeper_there(w.k, false);
	lane_keeper_config(w.k, &w.config, true);
	run_starts(1); /* at once */
	assert_ptr_equal(fake.config, &w.config);
	assert_int_equal(lane_keeper_pid(w.k), PID);
	lane_keeper_there(w.k, false); /* it does not answer yet */
	assert_false(is_planned());
	assert_int_equal(fake.n_starts, 1);
	lane_keeper_leave(w.k);
	assert_int_equal(fake.n_forgotten, 1);
	assert_int_equal(fake.n_ends, 0);
	close_loop();
}

static void test_one_that_is_there_is_used(void **state)
{
	(void)state;
	begin(1000000, NEVER, NEVER);
	lane_keeper_there(w.k, true);
	lane_keeper_config(w.k, &w.config, true);
	assert_false(is_planned());
	/* It ends: whoever started it has a moment to do so again. */
	lane_keeper_there(w.k, false);
	assert_planned(1000000);
	lane_keeper_there(w.k, true);
	assert_false(is_planned());
	assert_int_equal(fake.n_starts, 0);
	lane_keeper_leave(w.k);
	assert_int_equal(fake.n_forgotten, 0);
	close_loop();
}

static void test_not_wanted(void **state)
{
	(void)state;
	begin(1, 1, NEVER);
	lane_keeper_config(w.k, &w.config, false);
	lane_keeper_there(w.k, false);
	assert_false(is_planned());
	lane_keeper_config(w.k, &w.config, true);
	lane_keeper_config(w.k, &w.config, false); /* before its time came */
	assert_false(is_planned());
	assert_int_equal(fake.n_starts, 0);
	lane_keeper_leave(w.k);
	close_loop();
}

static void test_started_again(void **state)
{
	(void)state;
	begin(1, 1, NEVER);
	lane_keeper_config(w.k, &w.config, true);
	run_starts(1);
	lane_keeper_there(w.k, true);
	die(9);
	lane_keeper_there(w.k, false);
	run_starts(2);
	lane_keeper_leave(w.k);
	close_loop();
}

static void test_patience_grows(void **state)
{
	static const struct lane_keeper_times times = {200, 1000, 30000};
	static const struct {
		uint64_t delay_ms, answered_ms, want_ms;
	} cases[] = {
		{0, 0, 200},	 {200, 0, 400},	     {400, 29999, 800}, {800, 5, 1000},
		{1000, 5, 1000}, {1000, 30000, 200}, {200, 30000, 200},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(
			lane_keeper_delay_ms(&times, cases[i].delay_ms, cases[i].answered_ms),
			cases[i].want_ms);

	begin(1000000, NEVER, NEVER);
	lane_keeper_config(w.k, &w.config, true);
	run_starts(1);
	die(256);
	assert_planned(1000000);
	lane_keeper_leave(w.k);
	close_loop();
}

/* Lives until it has been there for long enough, or has not. */
static void live(bool answers, uint64_t ms)
{
	lane_keeper_there(w.k, answers);
	uv_sleep((unsigned)ms);
	uv_update_time(&w.loop);
	die(9);
	lane_keeper_there(w.k, false);
}

static void test_patience_returns(void **state)
{
	(void)state;
	begin(100, 100000000, 20);
	lane_keeper_config(w.k, &w.config, true);
	run_starts(1);
	live(false, 0);
	run_starts(2);
	live(false, 30); /* that it lives is not enough */
	run_starts(3);
	live(false, 0);
	assert_planned(400);
	run_starts(4);
	live(true, 30);
	assert_planned(100);
	run_starts(5);
	live(false, 0); /* that the one before answered does not help this one */
	assert_planned(200);
	lane_keeper_leave(w.k);
	close_loop();
}

static void test_no_program(void **state)
{
	(void)state;
	begin(1, 4, NEVER);
	fake.start_err = -ENOENT;
	lane_keeper_config(w.k, &w.config, true);
	run_starts(5);
	fake.start_err = 0;
	run_starts(6);
	assert_int_equal(lane_keeper_pid(w.k), PID);
	lane_keeper_leave(w.k);
	close_loop();
}

static void count(void *ctx)
{
	++*(unsigned *)ctx;
}

static void test_ended_with_us(void **state)
{
	unsigned n_ended = 0;

	(void)state;
	begin(1, 1, NEVER);
	lane_keeper_config(w.k, &w.config, true);
	run_starts(1);
	lane_keeper_end(w.k, count, &n_ended);
	assert_int_equal(fake.n_ends, 1);
	assert_int_equal(n_ended, 0);
	die(15);
	assert_int_equal(n_ended, 1);
	assert_int_equal(fake.n_starts, 1);

	close_loop();
	begin(NEVER, NEVER, NEVER);
	lane_keeper_there(w.k, true); /* another's */
	lane_keeper_end(w.k, count, &n_ended);
	assert_int_equal(n_ended, 2);
	assert_int_equal(fake.n_ends, 0);
	lane_keeper_leave(NULL);
	close_loop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_started_where_there_is_none),
		cmocka_unit_test(test_one_that_is_there_is_used),
		cmocka_unit_test(test_not_wanted),
		cmocka_unit_test(test_started_again),
		cmocka_unit_test(test_patience_grows),
		cmocka_unit_test(test_patience_returns),
		cmocka_unit_test(test_no_program),
		cmocka_unit_test(test_ended_with_us),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
