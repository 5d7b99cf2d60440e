/* SPDX-License-Identifier: Apache-2.0 */
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
	assert_string_equal(w.last, "path build +lane " ADDED REMOVED);
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
	assert_null(reconcile_lane(w.r));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lane_ends_and_returns),
		cmocka_unit_test(test_lane_that_speaks_unasked),
		cmocka_unit_test(test_lane_lost_in_a_pass),
		cmocka_unit_test(test_lane_lost_by_another_asker),
		cmocka_unit_test(test_uapi_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
