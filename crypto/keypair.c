/* SPDX-License-Identifier: Apache-2.0 */
#include "keypair.h"

#include <sodium.h>

/* A thread may still work with a time read before the session was derived; the
 * session is then new, not ancient. */
static uint64_t age_ns(const struct keypair *kp, uint64_t now_ns)
{
	return now_ns > kp->birth_ns ? now_ns - kp->birth_ns : 0;
}

/* The counter only hands out numbers and orders no other memory, so relaxed is
 * enough everywhere. */
static uint64_t next_send_counter(const struct keypair *kp)
{
	return __atomic_load_n(&kp->send_counter, __ATOMIC_RELAXED);
}

/* Whoever finds a session in a slot must find it whole. */
static void put(struct keypair **slot, struct keypair *kp)
{
	__atomic_store_n(slot, kp, __ATOMIC_RELEASE);
}

struct keypair *keypair_current(const struct keypair_slots *s)
{
	return __atomic_load_n(&s->current, __ATOMIC_ACQUIRE);
}

bool keypair_is_next(const struct keypair_slots *s, const struct keypair *kp)
{
	return kp && __atomic_load_n(&s->next, __ATOMIC_ACQUIRE) == kp;
}

static void drop(struct keypair_dropped *d, struct keypair *kp)
{
	if (kp)
		d->kp[d->n++] = kp;
}

bool keypair_can_send(const struct keypair *kp, uint64_t now_ns)
{
	return kp && age_ns(kp, now_ns) < REJECT_AFTER_TIME_NS &&
	       next_send_counter(kp) < REJECT_AFTER_MESSAGES;
}

bool keypair_can_receive(const struct keypair *kp, uint64_t now_ns)
{
	return kp && age_ns(kp, now_ns) < REJECT_AFTER_TIME_NS &&
	       __atomic_load_n(&kp->replay.next, __ATOMIC_RELAXED) < REJECT_AFTER_MESSAGES;
}

bool keypair_reserve(struct keypair *kp, unsigned n, uint64_t *ret_first)
{
	uint64_t first = next_send_counter(kp);

	/* A plain fetch-and-add could run past the limit and, much later, wrap
	 * into counters already used under this key. */
	do {
		if (first > REJECT_AFTER_MESSAGES || n > REJECT_AFTER_MESSAGES - first)
			return false;
	} while (!__atomic_compare_exchange_n(&kp->send_counter, &first, first + n, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	*ret_first = first;
	return true;
}

void keypair_end_sending(struct keypair *kp)
{
	if (kp)
		__atomic_store_n(&kp->send_counter, REJECT_AFTER_MESSAGES, __ATOMIC_RELAXED);
}

bool keypair_wants_rekey_on_send(const struct keypair *kp, uint64_t now_ns)
{
	return next_send_counter(kp) > REKEY_AFTER_MESSAGES ||
	       (kp->initiator && age_ns(kp, now_ns) >= REKEY_AFTER_TIME_NS + kp->rekey_delay_ns);
}

bool keypair_wants_rekey_on_receive(const struct keypair *kp, uint64_t now_ns)
{
	return kp->initiator &&
	       age_ns(kp, now_ns) >= REJECT_AFTER_TIME_NS - KEEPALIVE_TIMEOUT_NS - REKEY_TIMEOUT_NS;
}

/* One older session in flight is enough, and it goes when a newer one comes, unless
 * the peer uses it as we use `current`. */
static bool in_use_by_peer(const struct keypair *previous)
{
	return previous && previous->crossed;
}

struct keypair_dropped keypair_slots_add(struct keypair_slots *s, struct keypair *kp)
{
	struct keypair_dropped dropped = {0};

	if (!kp->initiator) {
		/* Unconfirmed, so `current` keeps carrying what we send. */
		drop(&dropped, s->next);
		put(&s->next, kp);
		if (!in_use_by_peer(s->previous)) {
			drop(&dropped, s->previous);
			s->previous = NULL;
		}
		return dropped;
	}

	/* A session the peer initiated and has not used yet is what the peer may
	 * be sending under any moment, and so is a crossed one: it outranks
	 * `current` as `previous`. */
	if (s->next) {
		drop(&dropped, s->previous);
		drop(&dropped, s->current);
		s->previous = s->next;
		put(&s->next, NULL);
	} else if (in_use_by_peer(s->previous)) {
		drop(&dropped, s->current);
		/* Only until the peer has come over to the new one. */
		s->previous->crossed = false;
	} else {
		drop(&dropped, s->previous);
		s->previous = s->current;
	}
	put(&s->current, kp);
	return dropped;
}

bool keypair_slots_confirm(struct keypair_slots *s, struct keypair *kp,
			   struct keypair_dropped *ret_dropped)
{
	*ret_dropped = (struct keypair_dropped){0};
	if (!kp || s->next != kp)
		return false;

	drop(ret_dropped, s->previous);
	s->previous = s->current;
	put(&s->current, kp);
	put(&s->next, NULL);
	return true;
}

struct keypair_dropped keypair_slots_clear(struct keypair_slots *s)
{
	struct keypair_dropped dropped = {0};

	drop(&dropped, s->current);
	drop(&dropped, s->previous);
	drop(&dropped, s->next);
	put(&s->current, NULL);
	put(&s->next, NULL);
	s->previous = NULL;
	return dropped;
}

void keypair_wipe(struct keypair *kp)
{
	if (kp)
		sodium_memzero(kp, sizeof(*kp));
}
