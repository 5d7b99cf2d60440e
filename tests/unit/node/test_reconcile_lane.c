/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/lane_waiter.h"
#include "reconcile_world.h"

static void test_lane_ends_and_returns(void **state)
{
	const struct reconcile_times times = {NEVER, NEVER, SOON, NEVER, NEVER};

	(void)state;
	prepare();
	w.lane_there = true;
	start(&times);
	run_passes(1);

	w.lane_there = false;
	close(w.lane_fd[1]);
	run_passes(2);
	assert_string_equal(w.last, WITHOUT_LANE);
	assert_false(reconcile_state(w.r)->lane_there);
	assert_string_equal(reconcile_state(w.r)->lane_reason, "has ended");
	assert_int_equal(reconcile_state(w.r)->n_lane_returns, 0);
	assert_int_equal(w.n_closes, 1);

	w.n_opens = 0;
	run_until(&w.n_opens, 3); /* looked for again and again, without passes */
	assert_int_equal(w.n_passes, 2);
	w.lane_there = true;
	run_passes(3);
	assert_string_equal(w.last, WITH_LANE);
	assert_string_equal(reconcile_state(w.r)->lane_reason, "");
	assert_int_equal(reconcile_state(w.r)->n_lane_returns, 1);
	finish();
	close(w.lane_fd[1]);
}

static void test_lane_that_speaks_unasked(void **state)
{
	(void)state;
	prepare();
	w.lane_there = true;
	start(&quiet);
	run_passes(1);
	assert_int_equal(write(w.lane_fd[1], "x", 1), 1);
	w.lane_there = false;
	run_passes(2);
	assert_false(reconcile_state(w.r)->lane_there);
	finish();
	close(w.lane_fd[1]);
}

static void test_lane_lost_in_a_pass(void **state)
{
	(void)state;
	prepare();
	w.lane_there = true;
	w.lane_add_err = -ETIMEDOUT;
	start(&quiet);
	run_passes(1);
	assert_string_equal(w.last, "path build way +lane " ADDED REMOVED);
	assert_false(reconcile_state(w.r)->lane_there);
	assert_int_equal(w.n_closes, 1);
	assert_true(next_timer_ms() > NEVER / 2); /* and no pass of its own for that */
	assert_int_equal(w.n_passes, 1);
	finish();
	close(w.lane_fd[1]);
}

static void test_lane_lost_by_another_asker(void **state)
{
	(void)state;
	prepare();
	w.lane_there = true;
	start(&quiet);
	run_passes(1);
	w.lane_there = false;
	reconcile_lane_lost(w.r, -EPIPE);
	assert_false(reconcile_state(w.r)->lane_there);
	reconcile_lane_lost(w.r, -EPIPE);
	assert_int_equal(w.n_closes, 1);
	run_passes(2);
	assert_string_equal(w.last, WITHOUT_LANE);
	finish();
	close(w.lane_fd[1]);
}

static void test_uapi_only(void **state)
{
	const struct reconcile_times times = {NEVER, NEVER, SOON, NEVER, NEVER};

	(void)state;
	prepare();
	w.uapi_only = true;
	start(&times);
	run_until(&w.n_opens, 4);
	assert_false(reconcile_state(w.r)->lane_uapi_only); /* a lane may just be starting */
	run_until(&w.n_opens, 6);
	assert_true(reconcile_state(w.r)->lane_uapi_only);
	run_passes(2); /* so that the agent hears of it */
	assert_non_null(strstr(reconcile_state(w.r)->lane_reason, "wireguard-go"));

	w.uapi_only = false;
	w.lane_there = true;
	run_until(&w.n_opens, w.n_opens + 1);
	assert_true(reconcile_state(w.r)->lane_there);
	assert_false(reconcile_state(w.r)->lane_uapi_only);
	finish();
	close(w.lane_fd[1]);
}

/* A lane that stops: its sockets are there, but nothing answers. */

static const struct reconcile_lane_times impatient = {SOON, SOON};

static void assert_silent(void)
{
	const struct reconcile_state *s = reconcile_state(w.r);

	assert_false(s->lane_there);
	assert_true(s->lane_silent);
	assert_true(s->lane_owned);
	assert_string_equal(s->lane_reason, "does not answer");
}

static void assert_answers(void)
{
	const struct reconcile_state *s = reconcile_state(w.r);

	assert_true(s->lane_there);
	assert_false(s->lane_silent);
	assert_true(s->lane_owned);
	assert_string_equal(s->lane_reason, "");
}

/* It is found by itself, without a pass that would need it, and it is the same lane when it
 * goes on, with the connection that there was. */
static void test_lane_stops_and_goes_on(void **state)
{
	(void)state;
	prepare();
	w.lane_there = true;
	start_at_lane_times(&fake_ops, &quiet, &impatient);
	run_passes(1);
	assert_answers();
	run_until(&w.n_looks, w.n_looks + 3); /* again and again */
	assert_int_equal(w.n_passes, 1);

	w.lane_stops = true;
	run_passes(2);
	assert_string_equal(w.last, WITHOUT_LANE);
	assert_silent();
	w.n_looks = 0;
	reconcile_config(w.r, &w.config);
	run_passes(3); /* passes do not wait for it */
	assert_string_equal(w.last, WITHOUT_LANE);
	assert_silent();
	assert_true(next_timer_ms() > NEVER / 2); /* the answer is waited for, and not asked for */
	assert_int_equal(w.n_looks, 0);

	lane_goes_on();
	run_passes(4);
	assert_string_equal(w.last, WITH_LANE);
	assert_answers();
	assert_int_equal(w.n_opens, 1);
	assert_int_equal(w.n_closes, 0);
	assert_int_equal(reconcile_state(w.r)->n_lane_returns, 0);
	finish();
	close(w.lane_fd[1]);
}

/* Its end is seen, too. */
static void test_silent_lane_ends(void **state)
{
	(void)state;
	prepare();
	w.lane_there = true;
	w.lane_stops = true;
	start_at_lane_times(&fake_ops, &quiet, &impatient);
	assert_true(reconcile_state(w.r)->lane_owned); /* from the first moment */
	assert_int_equal(w.n_owner_changes, 1);
	run_passes(1);
	assert_string_equal(w.last, WITHOUT_LANE);
	assert_silent();
	w.lane_there = false;
	close(w.lane_fd[1]);
	run_until(&w.n_owner_changes, 2);
	run_passes(2);
	assert_false(reconcile_state(w.r)->lane_owned);
	assert_false(reconcile_state(w.r)->lane_silent);
	assert_string_equal(reconcile_state(w.r)->lane_reason, "is awaited");
	finish();
}

/* A pass waits for an answer, as long as one is to be expected. */
static void test_pass_waits_for_an_answer(void **state)
{
	const struct reconcile_lane_times times = {NEVER, SOON};

	(void)state;
	prepare();
	w.lane_there = true;
	start_at_lane_times(&fake_ops, &quiet, &times);
	run_passes(1);
	run_until(&w.n_looks, w.n_looks + 3);
	w.lane_stops = true;
	reconcile_config(w.r, &w.config);
	for (int i = 0; i < 10; i++) {
		uv_run(&w.loop, UV_RUN_NOWAIT);
		reconcile_config(w.r, &w.config);
	}
	assert_int_equal(w.n_passes, 1);
	lane_goes_on();
	run_passes(2);
	assert_string_equal(w.last, WITH_LANE);
	finish();
	close(w.lane_fd[1]);
}

/* An answer that came in time is one, also if nobody had time to look at it. */
static void test_busy_host(void **state)
{
	const struct reconcile_lane_times times = {SOON, NEVER};

	(void)state;
	prepare();
	w.lane_there = true;
	start_at_lane_times(&fake_ops, &quiet, &times);
	usleep(50000);
	run_passes(1);
	assert_string_equal(w.last, WITH_LANE);
	assert_answers();
	assert_true(next_timer_ms() > NEVER / 2);
	finish();
	close(w.lane_fd[1]);
}

/* Nobody can be let in, for it has stopped: it is there all the same. */
static void test_lane_is_full(void **state)
{
	const struct reconcile_times times = {NEVER, NEVER, SOON, NEVER, NEVER};

	(void)state;
	prepare();
	w.lane_full = true;
	start(&times);
	run_passes(1);
	assert_silent();
	run_until(&w.n_opens, 5);
	assert_silent();
	assert_int_equal(w.n_owner_changes, 1);
	w.lane_full = false;
	w.lane_there = true;
	run_passes(2);
	assert_answers();
	finish();
	close(w.lane_fd[1]);
}

/* One that stops in the middle of a pass, which asks it without looking first. */
static void test_lane_stops_in_a_pass(void **state)
{
	const struct reconcile_times times = {NEVER, NEVER, SOON, NEVER, NEVER};

	(void)state;
	prepare();
	w.lane_there = true;
	w.lane_add_err = -ETIMEDOUT;
	start_at_lane_times(&fake_ops, &times, &impatient);
	run_passes(1);
	assert_silent();
	w.lane_stops = true;
	w.lane_add_err = 0;
	close(w.lane_fd[1]); /* of the connection that was given up */
	run_until(&w.n_opens, 2);
	assert_silent(); /* and stays so with a new one */
	run_passes(w.n_passes + 1);
	assert_silent();
	lane_goes_on();
	run_passes(w.n_passes + 1);
	assert_answers();
	finish();
	close(w.lane_fd[1]);
}

/* Those who want to know what it tells */

static struct told_of {
	struct lane_waiter waiter;
	unsigned n;
	char news[2][16];
} told_of;

static void on_told(void *ctx)
{
	struct told_of *t = ctx;

	assert_false(t->waiter.waits);
	t->n++;
	for (int i = 0; i < LANE_SOCKETS; i++) {
		const char *news = reconcile_lane_news(w.r, (enum lane_socket)i);

		snprintf(t->news[i], sizeof(t->news[i]), "%s", news ? news : "none");
	}
	uv_stop(&w.loop);
}

static void refresh(void)
{
	told_of = (struct told_of){.waiter = {.told = on_told, .ctx = &told_of}};
	reconcile_lane_refresh(w.r, &told_of.waiter);
	if (told_of.n)
		uv_run(&w.loop, UV_RUN_NOWAIT); /* which on_told() stops */
}

static void assert_told(const char *control, const char *uapi)
{
	assert_int_equal(told_of.n, 1);
	assert_string_equal(told_of.news[LANE_CONTROL], control);
	assert_string_equal(told_of.news[LANE_UAPI], uapi);
	assert_null(reconcile_lane_news(w.r, LANE_CONTROL)); /* nothing is kept */
	assert_null(reconcile_lane_news(w.r, LANE_UAPI));
}

static void test_news(void **state)
{
	const struct reconcile_lane_times times = {SOON, NEVER};

	(void)state;
	prepare();
	start(&quiet);
	run_passes(1);
	refresh(); /* there is no lane */
	assert_told("none", "none");
	finish();

	prepare();
	w.lane_there = true;
	start_at_lane_times(&fake_ops, &quiet, &times);
	run_passes(1);
	refresh();
	assert_true(told_of.waiter.waits);
	run_until(&told_of.n, 1);
	assert_told("control", "uapi");

	refresh(); /* somebody who leaves */
	reconcile_lane_forget(w.r, &told_of.waiter);
	reconcile_lane_forget(w.r, &told_of.waiter);
	run_until(&w.n_passes, w.n_passes);
	for (int i = 0; i < 10; i++)
		uv_run(&w.loop, UV_RUN_NOWAIT);
	assert_int_equal(told_of.n, 0);

	w.lane_stops = true;
	refresh(); /* not for ever */
	assert_int_equal(told_of.n, 0);
	run_until(&told_of.n, 1);
	assert_told("none", "none");
	assert_silent();
	run_passes(2);
	refresh(); /* now that it is known, at once */
	assert_told("none", "none");

	lane_goes_on();
	run_passes(3);
	refresh();
	run_until(&told_of.n, 1);
	assert_told("control", "uapi");

	refresh(); /* the end does not call it */
	finish();
	assert_false(told_of.waiter.waits);
	assert_int_equal(told_of.n, 0);
	close(w.lane_fd[1]);
}

/* A pass that has waited for a look waits for the next as well, if one was begun. */
static void test_look_before_a_pass(void **state)
{
	(void)state;
	prepare();
	w.lane_there = true;
	start(&quiet);
	run_passes(1);
	w.lane_stops = true;
	refresh();
	reconcile_config(w.r, &w.config);
	for (int i = 0; i < 10; i++)
		uv_run(&w.loop, UV_RUN_NOWAIT);
	assert_int_equal(w.n_passes, 1);
	lane_goes_on();
	run_until(&told_of.n, 1);
	refresh();
	run_passes(2);
	assert_string_equal(w.last, WITH_LANE);
	run_until(&told_of.n, 1);
	assert_told("control", "uapi");
	finish();
	close(w.lane_fd[1]);
}

/* A lane that ends while its news are awaited. */
static void test_no_news(void **state)
{
	(void)state;
	prepare();
	w.lane_there = true;
	start(&quiet);
	run_passes(1);
	w.lane_stops = true;
	w.lane_there = false;
	refresh();
	close(w.lane_fd[1]);
	run_until(&told_of.n, 1);
	assert_told("none", "none");
	assert_false(reconcile_state(w.r)->lane_owned);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lane_ends_and_returns),
		cmocka_unit_test(test_lane_that_speaks_unasked),
		cmocka_unit_test(test_lane_lost_in_a_pass),
		cmocka_unit_test(test_lane_lost_by_another_asker),
		cmocka_unit_test(test_uapi_only),
		cmocka_unit_test(test_lane_stops_and_goes_on),
		cmocka_unit_test(test_silent_lane_ends),
		cmocka_unit_test(test_pass_waits_for_an_answer),
		cmocka_unit_test(test_busy_host),
		cmocka_unit_test(test_lane_is_full),
		cmocka_unit_test(test_lane_stops_in_a_pass),
		cmocka_unit_test(test_news),
		cmocka_unit_test(test_look_before_a_pass),
		cmocka_unit_test(test_no_news),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
