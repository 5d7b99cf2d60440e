/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripts of events for one peer's timers. Expected times are written as the
 * paper's seconds (section 6), not as the constants of messages.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "crypto/timers.h"

#define S      1000000000ULL
#define MS     1000000ULL
#define T0     (1000 * S) /* the scripts' time zero on the clock */
#define NONE   UINT64_MAX
#define JITTER 123456789ULL
#define RETRY  (TIMER_CLEAR_SOURCE | TIMER_SEND_INITIATION)

enum event {
	END,
	START,
	STOP,
	PERSISTENT, /* arg: interval in seconds */
	DATA_SENT,  /* arg: jitter */
	DATA_RECEIVED,
	ANY_SENT,
	ANY_RECEIVED,
	TRAVERSAL,
	INITIATED,   /* arg: jitter */
	RETRY_LATER, /* arg: jitter */
	RESPONSE_SENT,
	NEW_ATTEMPT,
	COMPLETE,
	DERIVED,
	EXPIRE, /* arg: actions expected */
};

/* Times are relative to T0; @next_ns is the deadline expected afterwards. */
struct step {
	enum event event;
	uint64_t at_ns;
	uint64_t arg;
	uint64_t next_ns;
};

struct scenario {
	const char *name;
	struct step steps[16];
};

static const struct scenario scenarios[] = {
	{"nothing while stopped",
	 {
		 {DATA_SENT, 0, JITTER, NONE},
		 {DATA_RECEIVED, 0, 0, NONE},
		 {DATA_RECEIVED, 1, 0, NONE},
		 {PERSISTENT, 1, 25, NONE},
		 {TRAVERSAL, 1, 0, NONE},
		 {INITIATED, 1, JITTER, NONE},
		 {RESPONSE_SENT, 1, 0, NONE},
		 {RETRY_LATER, 1, JITTER, NONE},
		 {DERIVED, 1, 0, NONE},
		 {EXPIRE, 10000 * S, 0, NONE},
	 }},
	{"an initiation is retransmitted",
	 {
		 {START, 0, 0, NONE},
		 {INITIATED, 1 * S, JITTER, 6 * S + JITTER},
		 {EXPIRE, 6 * S + JITTER, RETRY, NONE},
		 {INITIATED, 6 * S + JITTER, 0, 11 * S + JITTER},
		 {COMPLETE, 7 * S, 0, NONE},
		 {EXPIRE, 12 * S, 0, NONE},
	 }},
	{"a retry too close to a response comes 5 s after that",
	 {
		 {START, 0, 0, NONE},
		 {INITIATED, 0, 0, 5 * S},
		 {RESPONSE_SENT, 4 * S, 0, 5 * S},
		 {EXPIRE, 5 * S, RETRY, NONE},
		 {RETRY_LATER, 5 * S, JITTER, 9 * S + JITTER},
		 {EXPIRE, 9 * S + JITTER, RETRY, NONE},
		 {INITIATED, 9 * S + JITTER, 0, 14 * S + JITTER},
	 }},
	{"a pending retransmission is not put off",
	 {
		 {START, 0, 0, NONE},
		 {DATA_SENT, 0, 0, 15 * S},
		 {INITIATED, 11 * S, 0, 15 * S},
		 {EXPIRE, 15 * S, RETRY, 16 * S},
		 {RETRY_LATER, 15 * S, JITTER, 16 * S},
		 {RESPONSE_SENT, 15 * S, 0, 16 * S},
		 {RETRY_LATER, 15 * S, JITTER, 16 * S},
	 }},
	{"a retry for later ends with the handshake",
	 {
		 {START, 0, 0, NONE},
		 {RESPONSE_SENT, 14 * S, 0, NONE},
		 {RETRY_LATER, 15 * S, 0, 19 * S},
		 {COMPLETE, 16 * S, 0, NONE},
		 {EXPIRE, 19 * S, 0, NONE},
	 }},
	{"data sent without an answer",
	 {
		 {START, 0, 0, NONE},
		 {DATA_SENT, 2 * S, JITTER, 17 * S + JITTER},
		 {EXPIRE, 17 * S + JITTER, RETRY, NONE},
	 }},
	{"more data does not postpone the new handshake",
	 {
		 {START, 0, 0, NONE},
		 {DATA_SENT, 0, 0, 15 * S},
		 {DATA_SENT, 14 * S, 0, 15 * S},
		 {EXPIRE, 15 * S, RETRY, NONE},
		 {DATA_SENT, 15 * S, JITTER, 30 * S + JITTER},
	 }},
	{"anything received ends the wait for an answer",
	 {
		 {START, 0, 0, NONE},
		 {DATA_SENT, 0, 0, 15 * S},
		 {ANY_RECEIVED, 15 * S - 1, 0, NONE},
		 {DATA_SENT, 16 * S, 0, 31 * S},
	 }},
	{"data received is acknowledged once",
	 {
		 {START, 0, 0, NONE},
		 {DATA_RECEIVED, 3 * S, 0, 13 * S},
		 {EXPIRE, 13 * S, TIMER_SEND_KEEPALIVE, NONE},
		 {EXPIRE, 100 * S, 0, NONE},
	 }},
	{"data received while a keepalive is due asks for another",
	 {
		 {START, 0, 0, NONE},
		 {DATA_RECEIVED, 0, 0, 10 * S},
		 {DATA_RECEIVED, 4 * S, 0, 10 * S},
		 {DATA_RECEIVED, 5 * S, 0, 10 * S},
		 {EXPIRE, 10 * S, TIMER_SEND_KEEPALIVE, 20 * S},
		 {EXPIRE, 20 * S, TIMER_SEND_KEEPALIVE, NONE},
	 }},
	{"anything sent makes the keepalive needless",
	 {
		 {START, 0, 0, NONE},
		 {DATA_RECEIVED, 0, 0, 10 * S},
		 {ANY_SENT, 10 * S - 1, 0, NONE},
		 {EXPIRE, 10 * S, 0, NONE},
		 {DATA_RECEIVED, 11 * S, 0, 21 * S},
	 }},
	{"what is sent instead keeps the wish for another",
	 {
		 {START, 0, 0, NONE},
		 {DATA_RECEIVED, 0, 0, 10 * S},
		 {DATA_RECEIVED, 1 * S, 0, 10 * S},
		 {ANY_SENT, 2 * S, 0, NONE},
		 {DATA_RECEIVED, 3 * S, 0, 13 * S},
		 {EXPIRE, 13 * S, TIMER_SEND_KEEPALIVE, 23 * S},
	 }},
	{"keys are wiped three lifetimes after the last session",
	 {
		 {START, 0, 0, NONE},
		 {DERIVED, 1 * S, 0, 541 * S},
		 {DERIVED, 121 * S, 0, 661 * S},
		 {EXPIRE, 661 * S, TIMER_ZERO_KEYS, NONE},
	 }},
	{"persistent keepalive fires at start and once per traversal",
	 {
		 {PERSISTENT, 0, 25, NONE},
		 {START, 1 * S, 0, 1 * S},
		 {EXPIRE, 1 * S, TIMER_SEND_KEEPALIVE, NONE},
		 {EXPIRE, 60 * S, 0, NONE},
		 {TRAVERSAL, 60 * S, 0, 85 * S},
		 {TRAVERSAL, 70 * S, 0, 95 * S},
		 {EXPIRE, 95 * S, TIMER_SEND_KEEPALIVE, NONE},
		 {TRAVERSAL, 95 * S, 0, 120 * S},
		 {START, 96 * S, 0, 120 * S},
	 }},
	{"persistent keepalive switched on, changed and off",
	 {
		 {START, 0, 0, NONE},
		 {TRAVERSAL, 0, 0, NONE},
		 {PERSISTENT, 1 * S, 65535, 1 * S},
		 {EXPIRE, 1 * S, TIMER_SEND_KEEPALIVE, NONE},
		 {TRAVERSAL, 1 * S, 0, 65536 * S},
		 {PERSISTENT, 2 * S, 10, 65536 * S},
		 {TRAVERSAL, 3 * S, 0, 13 * S},
		 {PERSISTENT, 4 * S, 10, 13 * S},
		 {PERSISTENT, 5 * S, 0, NONE},
		 {TRAVERSAL, 6 * S, 0, NONE},
		 {PERSISTENT, 7 * S, 1, 7 * S},
	 }},
	{"stop forgets all but the interval",
	 {
		 {PERSISTENT, 0, 7, NONE},
		 {START, 0, 0, 0},
		 {DERIVED, 0, 0, 0},
		 {INITIATED, 0, 0, 0},
		 {DATA_SENT, 0, 0, 0},
		 {DATA_RECEIVED, 0, 0, 0},
		 {DATA_RECEIVED, 0, 0, 0},
		 {STOP, 1 * S, 0, NONE},
		 {EXPIRE, 1000 * S, 0, NONE},
		 {START, 1000 * S, 0, 1000 * S},
		 {EXPIRE, 1000 * S, TIMER_SEND_KEEPALIVE, NONE},
		 {DATA_RECEIVED, 1000 * S, 0, 1010 * S},
		 {EXPIRE, 1010 * S, TIMER_SEND_KEEPALIVE, NONE},
	 }},
	{"several at once, and late",
	 {
		 {START, 0, 0, NONE},
		 {PERSISTENT, 0, 30, 0},
		 {EXPIRE, 0, TIMER_SEND_KEEPALIVE, NONE},
		 {TRAVERSAL, 0, 0, 30 * S},
		 {DERIVED, 0, 0, 30 * S},
		 {DATA_SENT, 0, 0, 15 * S},
		 {DATA_RECEIVED, 1 * S, 0, 11 * S},
		 {INITIATED, 2 * S, 0, 7 * S},
		 {EXPIRE, 600 * S, TIMER_ZERO_KEYS | RETRY | TIMER_SEND_KEEPALIVE, NONE},
	 }},
};

static void apply(struct timers *t, const struct step *s)
{
	const uint64_t now_ns = T0 + s->at_ns;

	switch (s->event) {
	case START:
		timers_start(t, now_ns);
		break;
	case STOP:
		timers_stop(t);
		break;
	case PERSISTENT:
		timers_set_persistent(t, (uint16_t)s->arg, now_ns);
		break;
	case DATA_SENT:
		timers_data_sent(t, now_ns, s->arg);
		break;
	case DATA_RECEIVED:
		timers_data_received(t, now_ns);
		break;
	case ANY_SENT:
		timers_any_authenticated_packet_sent(t);
		break;
	case ANY_RECEIVED:
		timers_any_authenticated_packet_received(t);
		break;
	case TRAVERSAL:
		timers_any_authenticated_packet_traversal(t, now_ns);
		break;
	case INITIATED:
		timers_handshake_initiated(t, now_ns, s->arg);
		break;
	case RETRY_LATER:
		timers_retry_later(t, s->arg);
		break;
	case RESPONSE_SENT:
		timers_response_sent(t, now_ns);
		break;
	case NEW_ATTEMPT:
		timers_new_attempt(t);
		break;
	case COMPLETE:
		timers_handshake_complete(t);
		break;
	case DERIVED:
		timers_session_derived(t, now_ns);
		break;
	case EXPIRE:
	case END:
		break;
	}
}

/* One nanosecond early nothing may happen or change; one late the same actions
 * come out; and what has fired does not fire again. */
static void expire_at(struct timers *t, uint64_t now_ns, unsigned actions)
{
	struct timers early = *t, late = *t;

	if (timers_next(t) == now_ns) {
		assert_int_equal(timers_expire(&early, now_ns - 1), 0);
		assert_memory_equal(&early, t, sizeof(early));
		assert_int_equal(timers_expire(&late, now_ns + 1), actions);
	}
	assert_int_equal(timers_expire(t, now_ns), actions);
	assert_int_equal(timers_expire(t, now_ns), 0);
}

static void run(const struct scenario *sc)
{
	struct timers t;
	const struct step *s;

	memset(&t, 0, sizeof(t));
	for (s = sc->steps; s->event != END; s++) {
		const uint64_t want = s->next_ns == NONE ? NONE : T0 + s->next_ns;

		if (s->event == EXPIRE)
			expire_at(&t, T0 + s->at_ns, (unsigned)s->arg);
		else
			apply(&t, s);
		if (timers_next(&t) != want)
			fail_msg("%s: step %zu: next %llu, expected %llu", sc->name,
				 (size_t)(s - sc->steps), (unsigned long long)timers_next(&t),
				 (unsigned long long)want);
	}
}

static void test_scenarios(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		run(&scenarios[i]);
}

static void test_may_initiate(void **state)
{
	struct timers t = {.enabled = true};

	(void)state;
	assert_true(timers_may_initiate(&t, 1));
	timers_handshake_initiated(&t, T0, JITTER);
	assert_false(timers_may_initiate(&t, T0));
	assert_false(timers_may_initiate(&t, T0 + 5 * S - 1));
	assert_true(timers_may_initiate(&t, T0 + 5 * S));
	assert_true(timers_may_initiate(&t, T0 + 5 * S + 1));

	timers_response_sent(&t, T0 + 7 * S);
	assert_false(timers_may_initiate(&t, T0 + 12 * S - 1));
	assert_true(timers_may_initiate(&t, T0 + 12 * S));
	timers_stop(&t);
	assert_true(timers_may_initiate(&t, T0 + 7 * S));
}

/* The first moment at which the retry may go out, not one nanosecond before; it
 * counts as an attempt, as every retry. */
static void test_retry_later(void **state)
{
	struct timers t = {.enabled = true};

	(void)state;
	timers_new_attempt(&t);
	timers_handshake_initiated(&t, T0, 0);
	timers_response_sent(&t, T0 + 5 * S - 1);
	assert_int_equal(timers_expire(&t, T0 + 5 * S), RETRY);
	assert_false(timers_may_initiate(&t, T0 + 5 * S));
	timers_retry_later(&t, 0);
	assert_true(timers_next(&t) == T0 + 10 * S - 1);
	assert_false(timers_may_initiate(&t, timers_next(&t) - 1));
	assert_true(timers_may_initiate(&t, timers_next(&t)));
	assert_int_equal(timers_expire(&t, T0 + 10 * S - 1), RETRY);
	assert_int_equal(t.handshake_attempts, 2);
	assert_true(timers_next(&t) == NONE);
}

static void test_response_arms_nothing(void **state)
{
	struct timers t = {.enabled = true};

	(void)state;
	timers_response_sent(&t, T0);
	assert_true(timers_next(&t) == NONE);
}

static void test_complete_resets(void **state)
{
	struct timers t = {
		.enabled = true,
		.handshake_attempts = 7,
		.sent_lastminute_handshake = true,
		.retransmit_handshake_ns = T0,
	};

	(void)state;
	timers_session_derived(&t, T0);
	assert_true(t.sent_lastminute_handshake);
	assert_int_equal(t.handshake_attempts, 7);
	timers_handshake_complete(&t);
	assert_false(t.sent_lastminute_handshake);
	assert_int_equal(t.handshake_attempts, 0);
	assert_true(timers_next(&t) == T0 + 540 * S);
}

/* Plays a caller whose initiations nobody answers, from the first at @now_ns on;
 * returns how many it sent and sets @now_ns to when it gave up. */
static unsigned initiate_unanswered(struct timers *t, uint64_t *now_ns, uint64_t jitter_ns)
{
	unsigned actions = RETRY, n_sent = 0;

	while (actions == RETRY) {
		assert_true(timers_may_initiate(t, *now_ns));
		timers_handshake_initiated(t, *now_ns, jitter_ns);
		n_sent++;
		*now_ns = timers_next(t);
		assert_int_equal(timers_expire(t, *now_ns - 1), 0);
		actions = timers_expire(t, *now_ns);
	}
	assert_int_equal(actions, TIMER_GIVE_UP);
	return n_sent;
}

/* 18 is 90 s / 5 s; the counter is compared with > after the first initiation,
 * so there are 20 of them, each waited for. */
static void test_give_up(void **state)
{
	static const uint64_t jitters_ns[] = {0, 333333333};
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct timers t = {.enabled = true};
		uint64_t now_ns = T0;

		timers_new_attempt(&t);
		assert_int_equal(initiate_unanswered(&t, &now_ns, jitters_ns[i]), 20);
		assert_true(now_ns == T0 + 100 * S + 20 * jitters_ns[i]);
		assert_true(timers_next(&t) == now_ns + 540 * S);
		expire_at(&t, now_ns + 540 * S, TIMER_ZERO_KEYS);
		assert_true(timers_next(&t) == NONE);
	}
}

static void test_give_up_at_the_edge(void **state)
{
	static const struct {
		uint32_t attempts, after;
		unsigned actions;
	} rows[] = {
		{0, 1, RETRY},
		{17, 18, RETRY},
		{18, 19, RETRY},
		{19, 19, TIMER_GIVE_UP},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct timers t = {.enabled = true, .handshake_attempts = rows[i].attempts};

		t.retransmit_handshake_ns = T0;
		assert_int_equal(timers_expire(&t, T0), rows[i].actions);
		assert_int_equal(t.handshake_attempts, rows[i].after);
	}
}

/* Giving up cancels the keepalive even when that is due too, and leaves the
 * deadline of an earlier session's keys alone. */
static void test_give_up_cancels(void **state)
{
	struct timers t = {.enabled = true, .handshake_attempts = 19};

	(void)state;
	timers_session_derived(&t, T0);
	timers_data_received(&t, T0);
	timers_handshake_initiated(&t, T0 + 5 * S, 0);
	assert_int_equal(timers_expire(&t, T0 + 10 * S), TIMER_GIVE_UP);
	assert_true(timers_next(&t) == T0 + 540 * S);
}

static void test_new_trigger_starts_over(void **state)
{
	struct timers t = {.enabled = true};
	uint64_t now_ns = T0;

	(void)state;
	assert_int_equal(initiate_unanswered(&t, &now_ns, 0), 20);
	/* Without a new attempt the counter stands: one initiation, no more. */
	assert_int_equal(initiate_unanswered(&t, &now_ns, 0), 1);
	timers_new_attempt(&t);
	assert_int_equal(initiate_unanswered(&t, &now_ns, 0), 20);

	/* Silence on a session is a new trigger as well. */
	timers_data_sent(&t, now_ns, 0);
	now_ns += 15 * S;
	assert_int_equal(timers_expire(&t, now_ns), RETRY);
	assert_int_equal(t.handshake_attempts, 0);
	assert_int_equal(initiate_unanswered(&t, &now_ns, 0), 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scenarios),
		cmocka_unit_test(test_may_initiate),
		cmocka_unit_test(test_retry_later),
		cmocka_unit_test(test_response_arms_nothing),
		cmocka_unit_test(test_complete_resets),
		cmocka_unit_test(test_give_up),
		cmocka_unit_test(test_give_up_at_the_edge),
		cmocka_unit_test(test_give_up_cancels),
		cmocka_unit_test(test_new_trigger_starts_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
