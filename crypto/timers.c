/* SPDX-License-Identifier: Apache-2.0 */
#include "timers.h"

/* Data went out and the other side stayed silent, not even a keepalive. */
#define NEW_HANDSHAKE_AFTER_NS (KEEPALIVE_TIMEOUT_NS + REKEY_TIMEOUT_NS)

/* Deadlines order no other memory. What has the value already is not written: several
 * threads have it in their caches. */
static uint64_t get(const uint64_t *deadline_ns)
{
	return __atomic_load_n(deadline_ns, __ATOMIC_RELAXED);
}

static void put(uint64_t *deadline_ns, uint64_t at_ns)
{
	if (get(deadline_ns) != at_ns)
		__atomic_store_n(deadline_ns, at_ns, __ATOMIC_RELAXED);
}

/* The one place that starts a timer: a stopped peer has none. */
static void arm(const struct timers *t, uint64_t *deadline_ns, uint64_t at_ns)
{
	if (t->enabled)
		put(deadline_ns, at_ns);
}

static bool take_due(uint64_t *deadline_ns, uint64_t now_ns)
{
	uint64_t at_ns = get(deadline_ns);

	/* If a walk arms it anew meanwhile, it is not due any more. */
	return at_ns && at_ns <= now_ns &&
	       __atomic_compare_exchange_n(deadline_ns, &at_ns, 0, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

void timers_start(struct timers *t, uint64_t now_ns)
{
	if (t->enabled)
		return;
	t->enabled = true;
	if (t->persistent_interval_s)
		arm(t, &t->persistent_keepalive_ns, now_ns);
}

void timers_stop(struct timers *t)
{
	*t = (struct timers){.persistent_interval_s = t->persistent_interval_s};
}

void timers_set_persistent(struct timers *t, uint16_t interval_s, uint64_t now_ns)
{
	const bool was_off = !t->persistent_interval_s;

	t->persistent_interval_s = interval_s;
	if (!interval_s)
		put(&t->persistent_keepalive_ns, 0);
	else if (was_off)
		arm(t, &t->persistent_keepalive_ns, now_ns);
}

bool timers_may_initiate(const struct timers *t, uint64_t now_ns)
{
	return !t->last_sent_handshake_ns || t->last_sent_handshake_ns + REKEY_TIMEOUT_NS <= now_ns;
}

void timers_data_sent(struct timers *t, uint64_t now_ns, uint64_t jitter_ns)
{
	if (!get(&t->new_handshake_ns))
		arm(t, &t->new_handshake_ns, now_ns + NEW_HANDSHAKE_AFTER_NS + jitter_ns);
}

bool timers_answer_awaited(const struct timers *t)
{
	return get(&t->new_handshake_ns) != 0;
}

static void need_another(struct timers *t)
{
	if (!__atomic_load_n(&t->need_another_keepalive, __ATOMIC_RELAXED))
		__atomic_store_n(&t->need_another_keepalive, true, __ATOMIC_RELAXED);
}

void timers_data_received(struct timers *t, uint64_t now_ns)
{
	if (get(&t->send_keepalive_ns))
		need_another(t);
	else
		arm(t, &t->send_keepalive_ns, now_ns + KEEPALIVE_TIMEOUT_NS);
}

void timers_any_authenticated_packet_sent(struct timers *t)
{
	put(&t->send_keepalive_ns, 0);
}

void timers_any_authenticated_packet_received(struct timers *t)
{
	put(&t->new_handshake_ns, 0);
}

void timers_any_authenticated_packet_traversal(struct timers *t, uint64_t now_ns)
{
	if (t->persistent_interval_s)
		arm(t, &t->persistent_keepalive_ns,
		    now_ns + t->persistent_interval_s * NSEC_PER_SEC);
}

void timers_handshake_initiated(struct timers *t, uint64_t now_ns, uint64_t jitter_ns)
{
	t->last_sent_handshake_ns = now_ns;
	arm(t, &t->retransmit_handshake_ns, now_ns + REKEY_TIMEOUT_NS + jitter_ns);
}

void timers_retry_later(struct timers *t, uint64_t jitter_ns)
{
	if (!get(&t->retransmit_handshake_ns))
		arm(t, &t->retransmit_handshake_ns,
		    t->last_sent_handshake_ns + REKEY_TIMEOUT_NS + jitter_ns);
}

void timers_response_sent(struct timers *t, uint64_t now_ns)
{
	t->last_sent_handshake_ns = now_ns;
}

void timers_new_attempt(struct timers *t)
{
	t->handshake_attempts = 0;
}

void timers_handshake_complete(struct timers *t)
{
	put(&t->retransmit_handshake_ns, 0);
	t->handshake_attempts = 0;
	__atomic_store_n(&t->sent_lastminute_handshake, false, __ATOMIC_RELAXED);
}

bool timers_sent_lastminute(const struct timers *t)
{
	return __atomic_load_n(&t->sent_lastminute_handshake, __ATOMIC_RELAXED);
}

void timers_note_lastminute(struct timers *t)
{
	__atomic_store_n(&t->sent_lastminute_handshake, true, __ATOMIC_RELAXED);
}

void timers_session_derived(struct timers *t, uint64_t now_ns)
{
	arm(t, &t->zero_key_material_ns, now_ns + ZERO_KEYS_AFTER_NS);
}

uint64_t timers_next(const struct timers *t)
{
	const uint64_t deadlines_ns[] = {
		get(&t->retransmit_handshake_ns), get(&t->send_keepalive_ns),
		get(&t->new_handshake_ns),	  get(&t->zero_key_material_ns),
		get(&t->persistent_keepalive_ns),
	};
	uint64_t next_ns = UINT64_MAX;
	size_t i;

	for (i = 0; i < sizeof(deadlines_ns) / sizeof(deadlines_ns[0]); i++) {
		if (deadlines_ns[i] && deadlines_ns[i] < next_ns)
			next_ns = deadlines_ns[i];
	}
	return next_ns;
}

/* Whoever gives up may have half a handshake left in memory; the keys of an
 * earlier session have their own, earlier deadline, which stays. */
static unsigned give_up(struct timers *t, uint64_t now_ns)
{
	put(&t->send_keepalive_ns, 0);
	if (!get(&t->zero_key_material_ns))
		arm(t, &t->zero_key_material_ns, now_ns + ZERO_KEYS_AFTER_NS);
	return TIMER_GIVE_UP;
}

/* A stale source address may be why nobody answers, so a retry forgets it. */
static unsigned retransmit_handshake(struct timers *t, uint64_t now_ns)
{
	if (t->handshake_attempts > MAX_TIMER_HANDSHAKES)
		return give_up(t, now_ns);
	t->handshake_attempts++;
	return TIMER_CLEAR_SOURCE | TIMER_SEND_INITIATION;
}

static unsigned send_keepalive(struct timers *t, uint64_t now_ns)
{
	if (__atomic_exchange_n(&t->need_another_keepalive, false, __ATOMIC_RELAXED)) {
		arm(t, &t->send_keepalive_ns, now_ns + KEEPALIVE_TIMEOUT_NS);
	}
	return TIMER_SEND_KEEPALIVE;
}

/* Silence on an established session starts a fresh series of attempts. */
static unsigned new_handshake(struct timers *t)
{
	timers_new_attempt(t);
	return TIMER_CLEAR_SOURCE | TIMER_SEND_INITIATION;
}

/*
 * Retransmission comes first: when the caller was late and both it and the
 * passive keepalive are due, giving up must still cancel the keepalive, or that
 * would start the handshake over.
 */
unsigned timers_expire(struct timers *t, uint64_t now_ns)
{
	unsigned actions = 0;

	if (take_due(&t->retransmit_handshake_ns, now_ns))
		actions |= retransmit_handshake(t, now_ns);
	if (take_due(&t->send_keepalive_ns, now_ns))
		actions |= send_keepalive(t, now_ns);
	if (take_due(&t->new_handshake_ns, now_ns))
		actions |= new_handshake(t);
	if (take_due(&t->zero_key_material_ns, now_ns))
		actions |= TIMER_ZERO_KEYS;
	if (take_due(&t->persistent_keepalive_ns, now_ns))
		actions |= TIMER_SEND_KEEPALIVE;
	return actions;
}
