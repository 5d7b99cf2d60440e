/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/keypair.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define SEC   1000000000ULL
#define BIRTH (1000 * SEC)
/* 2^64 - 8130; the protocol's figure, not our macro. */
#define LIMIT (UINT64_MAX - 8129)

static const struct {
	uint64_t now_ns;
	uint64_t send_counter;
	uint64_t recv_next;
	bool can_send;
	bool can_receive;
} usable_cases[] = {
	{BIRTH, 0, 0, true, true},
	{BIRTH + 180 * SEC - 1, 0, 0, true, true},
	{BIRTH + 180 * SEC, 0, 0, false, false},
	{BIRTH + 180 * SEC + 1, 0, 0, false, false},
	{UINT64_MAX, 0, 0, false, false},
	/* A clock read before the birth: new, not ancient. */
	{BIRTH - 1, 0, 0, true, true},
	{1, 0, 0, true, true},
	/* Each counter closes its own direction only. */
	{BIRTH, LIMIT - 1, 0, true, true},
	{BIRTH, LIMIT, 0, false, true},
	{BIRTH, LIMIT + 1, 0, false, true},
	{BIRTH, UINT64_MAX, 0, false, true},
	{BIRTH, 0, LIMIT - 1, true, true},
	{BIRTH, 0, LIMIT, true, false},
};

static void test_usable(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(usable_cases) / sizeof(usable_cases[0]); i++) {
		struct keypair kp = {
			.birth_ns = BIRTH,
			.send_counter = usable_cases[i].send_counter,
			.replay.next = usable_cases[i].recv_next,
		};

		if (keypair_can_send(&kp, usable_cases[i].now_ns) != usable_cases[i].can_send)
			fail_msg("send, case %zu", i);
		if (keypair_can_receive(&kp, usable_cases[i].now_ns) != usable_cases[i].can_receive)
			fail_msg("receive, case %zu", i);
	}
	assert_false(keypair_can_send(NULL, BIRTH));
	assert_false(keypair_can_receive(NULL, BIRTH));
}

static const struct {
	bool initiator;
	uint64_t now_ns;
	uint64_t send_counter;
	bool on_send;
	bool on_receive;
} rekey_cases[] = {
	{true, BIRTH, 0, false, false},
	{true, BIRTH + 120 * SEC - 1, 0, false, false},
	{true, BIRTH + 120 * SEC, 0, true, false},
	{true, BIRTH + 165 * SEC - 1, 0, true, false},
	{true, BIRTH + 165 * SEC, 0, true, true},
	{true, BIRTH + 180 * SEC, 0, true, true},
	{true, BIRTH - 1, 0, false, false},
	/* The responder leaves time to the initiator. */
	{false, BIRTH + 120 * SEC, 0, false, false},
	{false, BIRTH + 165 * SEC, 0, false, false},
	{false, BIRTH + 1000 * SEC, 0, false, false},
	/* Volume binds both. */
	{true, BIRTH, 1ULL << 60, false, false},
	{true, BIRTH, (1ULL << 60) + 1, true, false},
	{false, BIRTH, 1ULL << 60, false, false},
	{false, BIRTH, (1ULL << 60) + 1, true, false},
	{false, BIRTH, LIMIT, true, false},
};

static void test_rekey(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rekey_cases) / sizeof(rekey_cases[0]); i++) {
		struct keypair kp = {
			.birth_ns = BIRTH,
			.initiator = rekey_cases[i].initiator,
			.send_counter = rekey_cases[i].send_counter,
		};
		uint64_t now_ns = rekey_cases[i].now_ns;

		if (keypair_wants_rekey_on_send(&kp, now_ns) != rekey_cases[i].on_send)
			fail_msg("send, case %zu", i);
		if (keypair_wants_rekey_on_receive(&kp, now_ns) != rekey_cases[i].on_receive)
			fail_msg("receive, case %zu", i);
	}
}

static const struct {
	uint64_t send_counter;
	unsigned n;
	bool reserved;
} reserve_cases[] = {
	{0, 1, true},
	{0, 64, true},
	{1ULL << 60, 64, true},
	{LIMIT - 1, 1, true},
	{LIMIT - 1, 2, false},
	{LIMIT - 64, 64, true},
	{LIMIT - 64, 65, false},
	{LIMIT - 63, 64, false},
	{LIMIT, 1, false},
	{LIMIT, UINT32_MAX, false},
	/* Beyond the limit and where a sum would wrap. */
	{LIMIT + 1, 1, false},
	{UINT64_MAX, 1, false},
	{UINT64_MAX, 64, false},
	{UINT64_MAX - 1, UINT32_MAX, false},
	{LIMIT - 10, UINT32_MAX, false},
	{LIMIT - UINT32_MAX, UINT32_MAX, true},
};

static void test_reserve(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(reserve_cases) / sizeof(reserve_cases[0]); i++) {
		uint64_t before = reserve_cases[i].send_counter, first = 12345;
		struct keypair kp = {.send_counter = before};
		unsigned n = reserve_cases[i].n;

		if (keypair_reserve(&kp, n, &first) != reserve_cases[i].reserved)
			fail_msg("case %zu", i);
		assert_true(kp.send_counter == before + (reserve_cases[i].reserved ? n : 0));
		assert_true(first == (reserve_cases[i].reserved ? before : 12345));
	}
}

/* The last COUNTERS counters of a session, fought over by THREADS threads. */
enum { THREADS = 4, COUNTERS = 200000 };

static struct keypair shared_kp;
static uint8_t taken[COUNTERS];

static void *reserve_until_empty(void *arg)
{
	unsigned n = *(unsigned *)arg;
	uint64_t first;

	/* The last ones go one by one: a refused train must take nothing. */
	for (; n > 0; n /= 2)
		while (keypair_reserve(&shared_kp, n, &first))
			for (unsigned i = 0; i < n; i++)
				__atomic_add_fetch(&taken[first + i - (LIMIT - COUNTERS)], 1,
						   __ATOMIC_RELAXED);
	return NULL;
}

static void test_reserve_from_many_threads(void **state)
{
	unsigned train_len[THREADS] = {1, 7, 33, 64};
	pthread_t thread[THREADS];

	(void)state;
	shared_kp.send_counter = LIMIT - COUNTERS;
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&thread[i], NULL, reserve_until_empty, &train_len[i]), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);

	assert_true(shared_kp.send_counter == LIMIT);
	for (unsigned i = 0; i < COUNTERS; i++)
		assert_int_equal(taken[i], 1);
}

/*
 * Rotation. Sessions are letters: '.' an empty slot; "cpn" gives current,
 * previous, next. 'i' and 'r' are the new session, initiated by us or by the
 * peer.
 */
static struct keypair session['z' + 1];

static struct keypair *by_letter(char c)
{
	return c == '.' ? NULL : &session[(unsigned char)c];
}

static struct keypair_slots slots_of(const char *letters)
{
	return (struct keypair_slots){
		.current = by_letter(letters[0]),
		.previous = by_letter(letters[1]),
		.next = by_letter(letters[2]),
	};
}

static void assert_slots(const struct keypair_slots *s, const char *letters)
{
	assert_ptr_equal(s->current, by_letter(letters[0]));
	assert_ptr_equal(s->previous, by_letter(letters[1]));
	assert_ptr_equal(s->next, by_letter(letters[2]));
}

/* Exactly @letters, in any order. */
static void assert_dropped(const struct keypair_dropped *d, const char *letters)
{
	assert_int_equal(d->n, strlen(letters));
	for (; *letters; letters++)
		assert_true(d->kp[0] == by_letter(*letters) ||
			    (d->n > 1 && d->kp[1] == by_letter(*letters)));
}

static const struct {
	const char *before;
	char new;
	const char *after;
	const char *dropped;
} add_cases[] = {
	/* We initiated: current at once, */
	{"...", 'i', "i..", ""},
	{"c..", 'i', "ic.", ""},
	{"cp.", 'i', "ic.", "p"},
	{".p.", 'i', "i..", "p"},
	/* and an unconfirmed session outranks the current one as previous. */
	{"..n", 'i', "in.", ""},
	{"c.n", 'i', "in.", "c"},
	{".pn", 'i', "in.", "p"},
	{"cpn", 'i', "in.", "cp"},
	/* The peer initiated: next until confirmed. */
	{"...", 'r', "..r", ""},
	{"c..", 'r', "c.r", ""},
	{"cp.", 'r', "c.r", "p"},
	{"..n", 'r', "..r", "n"},
	{"c.n", 'r', "c.r", "n"},
	{".p.", 'r', "..r", "p"},
	{".pn", 'r', "..r", "pn"},
	{"cpn", 'r', "c.r", "pn"},
};

static void test_slots_add(void **state)
{
	(void)state;
	session['i'].initiator = true;
	for (size_t i = 0; i < sizeof(add_cases) / sizeof(add_cases[0]); i++) {
		struct keypair_slots s = slots_of(add_cases[i].before);
		struct keypair_dropped d = keypair_slots_add(&s, by_letter(add_cases[i].new));

		assert_slots(&s, add_cases[i].after);
		assert_dropped(&d, add_cases[i].dropped);
	}
}

/* Both initiated at once: `previous` is what the peer sends under, so it stays
 * where `current` (ours alone) or nothing would; once. */
static void test_slots_add_crossed(void **state)
{
	struct keypair_slots s = slots_of("cp.");
	struct keypair_dropped d;

	(void)state;
	session['i'].initiator = true;
	session['p'].crossed = true;
	d = keypair_slots_add(&s, by_letter('r'));
	assert_slots(&s, "cpr");
	assert_dropped(&d, "");
	assert_true(keypair_slots_confirm(&s, by_letter('r'), &d));
	assert_slots(&s, "rc.");
	assert_dropped(&d, "p");

	s = slots_of("cp.");
	d = keypair_slots_add(&s, by_letter('i'));
	assert_slots(&s, "ip.");
	assert_dropped(&d, "c");
	session['x'].initiator = true;
	d = keypair_slots_add(&s, by_letter('x'));
	assert_slots(&s, "xi.");
	assert_dropped(&d, "p");
	session['x'].initiator = session['p'].crossed = false;
}

static const struct {
	const char *before;
	char kp;
	bool promoted;
	const char *after;
	const char *dropped;
} confirm_cases[] = {
	{"..n", 'n', true, "n..", ""},
	{"c.n", 'n', true, "nc.", ""},
	{".pn", 'n', true, "n..", "p"},
	{"cpn", 'n', true, "nc.", "p"},
	/* Data under any other session says nothing about next. */
	{"cpn", 'c', false, "cpn", ""},
	{"cpn", 'p', false, "cpn", ""},
	{"cpn", 'x', false, "cpn", ""},
	{"cp.", 'n', false, "cp.", ""},
	{"cp.", 'c', false, "cp.", ""},
	{"cp.", '.', false, "cp.", ""},
};

static void test_slots_confirm(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(confirm_cases) / sizeof(confirm_cases[0]); i++) {
		struct keypair_slots s = slots_of(confirm_cases[i].before);
		struct keypair_dropped d = {.n = 2};

		if (keypair_slots_confirm(&s, by_letter(confirm_cases[i].kp), &d) !=
		    confirm_cases[i].promoted)
			fail_msg("case %zu", i);
		assert_slots(&s, confirm_cases[i].after);
		assert_dropped(&d, confirm_cases[i].dropped);
	}
}

static void test_wipe(void **state)
{
	static const struct keypair zero;
	struct keypair kp;

	(void)state;
	memset(&kp, 0xff, sizeof(kp));
	keypair_wipe(&kp);
	assert_memory_equal(&kp, &zero, sizeof(kp));
	keypair_wipe(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usable),
		cmocka_unit_test(test_rekey),
		cmocka_unit_test(test_reserve),
		cmocka_unit_test(test_reserve_from_many_threads),
		cmocka_unit_test(test_slots_add),
		cmocka_unit_test(test_slots_add_crossed),
		cmocka_unit_test(test_slots_confirm),
		cmocka_unit_test(test_wipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
