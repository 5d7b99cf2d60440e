/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timers of one peer (paper 6.1-6.6; kernel timers.c), pure: events in,
 * actions and the next deadline out. Times are CLOCK_BOOTTIME nanoseconds; a
 * deadline of 0 means "not pending" (callers never pass now_ns == 0).
 * @jitter_ns is drawn by the caller, uniform in [0, REKEY_TIMEOUT_JITTER_MAX_NS].

 * One thread at a time, except for the five events of traffic (timers_data_... and
 * timers_any_...), timers_answer_awaited() and timers_next(): any number of threads may
 * call those, also beside timers_expire(). While timers are started and stopped nobody
 * else calls anything.
 *
 *  retransmit_handshake  an initiation was sent and not yet answered
 *  send_keepalive        data came in and nothing went out for 10 s
 *  new_handshake         data went out and nothing came in for 15 s
 *  zero_key_material     540 s after the last session was derived
 *  persistent_keepalive  the configured interval without any traffic
 */
#ifndef SEALANE_CRYPTO_TIMERS_H
#define SEALANE_CRYPTO_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#include "messages.h"

struct timers {
	uint64_t retransmit_handshake_ns;
	uint64_t send_keepalive_ns;
	uint64_t new_handshake_ns;
	uint64_t zero_key_material_ns;
	uint64_t persistent_keepalive_ns;
	uint64_t last_sent_handshake_ns; /* 0: never; initiation or response */
	uint32_t handshake_attempts;
	uint16_t persistent_interval_s; /* 0: off */
	bool need_another_keepalive;
	bool sent_lastminute_handshake;
	bool enabled; /* the device is up and the peer alive */
};

enum timer_action {
	TIMER_SEND_INITIATION = 1 << 0, /* if timers_may_initiate(); attempts are counted here */
	TIMER_SEND_KEEPALIVE = 1 << 1,	/* only if nothing is staged */
	TIMER_GIVE_UP = 1 << 2,		/* drop staged packets */
	TIMER_ZERO_KEYS = 1 << 3,	/* wipe sessions and handshake */
	TIMER_CLEAR_SOURCE = 1 << 4,	/* forget the sticky source address */
};

/* Start and stop (device up / down, peer removed). stop forgets everything but
 * the persistent interval, including when the last handshake was sent; start
 * arms persistent keepalive to fire at once when it is configured. */
void timers_start(struct timers *t, uint64_t now_ns);
void timers_stop(struct timers *t);
/* Interval changed; from 0 to a value on a started peer: fires at once. From one
 * value to another: a pending deadline stays, the next traversal uses the new
 * interval (as the kernel). */
void timers_set_persistent(struct timers *t, uint16_t interval_s, uint64_t now_ns);

/* May an initiation be sent now? At most one per REKEY_TIMEOUT since the last
 * initiation or response. */
bool timers_may_initiate(const struct timers *t, uint64_t now_ns);

/* Events, named as in the paper's and the kernel's text. */
void timers_data_sent(struct timers *t, uint64_t now_ns, uint64_t jitter_ns);
/* Would timers_data_sent() do nothing, because a deadline for the answer is set? */
bool timers_answer_awaited(const struct timers *t);
void timers_data_received(struct timers *t, uint64_t now_ns);
void timers_any_authenticated_packet_sent(struct timers *t);
void timers_any_authenticated_packet_received(struct timers *t);
void timers_any_authenticated_packet_traversal(struct timers *t, uint64_t now_ns);
/* An initiation went out: arms retransmit, notes the time. */
void timers_handshake_initiated(struct timers *t, uint64_t now_ns, uint64_t jitter_ns);
/* A retry was due but timers_may_initiate() says no, for a response went out just
 * now: retransmit comes again when it may, unless it is pending anyway. */
void timers_retry_later(struct timers *t, uint64_t jitter_ns);
/* A response went out: notes the time only. */
void timers_response_sent(struct timers *t, uint64_t now_ns);
/* The caller starts an initiation that is not a timer's retry. */
void timers_new_attempt(struct timers *t);
/* Response consumed, or first data under `next`. */
void timers_handshake_complete(struct timers *t);
void timers_session_derived(struct timers *t, uint64_t now_ns);

/* Was there a last handshake already for the session at hand? Any thread. */
bool timers_sent_lastminute(const struct timers *t);
void timers_note_lastminute(struct timers *t);

/* Earliest deadline, UINT64_MAX when none. */
uint64_t timers_next(const struct timers *t);

/* Fires everything due at @now_ns, each timer once. The returned enum timer_action
 * bits are the caller's to carry out in the order: ZERO_KEYS, GIVE_UP,
 * CLEAR_SOURCE, SEND_INITIATION, SEND_KEEPALIVE. Persistent keepalive is armed
 * again only by the traversal event of what the caller then sends. */
unsigned timers_expire(struct timers *t, uint64_t now_ns);

#endif
