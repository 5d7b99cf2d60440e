/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One session (transport keys in both directions) and the three slots a peer
 * keeps its sessions in.
 *
 * Rotation (paper 6.1-6.3, kernel noise.c:add_new_keypair): the initiator uses
 * a new session at once as `current`; the responder parks it in `next` until
 * the first authenticated data message under it proves that the initiator has
 * it too. The session replaced lives on as `previous` for packets in flight.
 *
 * Pure. The caller owns the memory of every keypair; a function that drops one
 * hands it back so that the caller can unindex, wipe and free it.
 */
#ifndef SEALANE_CRYPTO_KEYPAIR_H
#define SEALANE_CRYPTO_KEYPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "messages.h"
#include "replay.h"

struct keypair {
	uint8_t send_key[WG_KEY_LEN];
	uint8_t recv_key[WG_KEY_LEN];
	uint64_t send_counter; /* next counter to use; atomic access only */
	uint64_t birth_ns;     /* CLOCK_BOOTTIME at derivation */
	uint32_t local_index;  /* what the peer puts in receiver_index */
	uint32_t remote_index;
	bool initiator;		      /* we initiated this session */
	bool crossed;		      /* one of two that both sides initiated at once: the peer
					 sends under one, we under the other */
	uint64_t rekey_delay_ns;      /* renew that much later than REKEY_AFTER_TIME */
	struct keypair *next_retired; /* the caller's, for one that fell out of the slots */
	uint32_t replay_lock;	      /* the caller's, for its calls of replay.h */
	struct replay replay;
};

/* Changed by one thread at a time; `current` and `next` are looked at by others, by
 * the functions below. */
struct keypair_slots {
	struct keypair *current;
	struct keypair *previous;
	struct keypair *next;
};

/* Up to two sessions fall out of the slots on one rotation, three when cleared. */
struct keypair_dropped {
	struct keypair *kp[3];
	unsigned n;
};

/* The session to send under, NULL: none. What it points to stays as long as the caller
 * sees to it. Any thread. */
struct keypair *keypair_current(const struct keypair_slots *s);
/* Does @kp wait for the peer's first data message? Any thread. */
bool keypair_is_next(const struct keypair_slots *s, const struct keypair *kp);

/* Usable to send / receive at @now_ns: younger than REJECT_AFTER_TIME and below
 * REJECT_AFTER_MESSAGES. NULL is never usable. A @now_ns before the birth counts
 * as age 0, here and below: threads read the clock at different moments. Any
 * thread. */
bool keypair_can_send(const struct keypair *kp, uint64_t now_ns);
bool keypair_can_receive(const struct keypair *kp, uint64_t now_ns);

/*
 * Reserves @n consecutive counters, the first in *ret_first. False (nothing
 * reserved) when any of them would reach REJECT_AFTER_MESSAGES. Any thread.
 */
bool keypair_reserve(struct keypair *kp, unsigned n, uint64_t *ret_first);

/* Sends no more, as if the numbers were used up; still receives. NULL is fine. */
void keypair_end_sending(struct keypair *kp);

/* After sending: more than REKEY_AFTER_MESSAGES sent, or we initiated and the
 * session is REKEY_AFTER_TIME (and its rekey_delay) old. */
bool keypair_wants_rekey_on_send(const struct keypair *kp, uint64_t now_ns);

/* After receiving under `current`: we initiated and the session is no younger
 * than REJECT_AFTER_TIME - KEEPALIVE_TIMEOUT - REKEY_TIMEOUT (165 s). The caller
 * does this once per session (timers.h: sent_lastminute_handshake). */
bool keypair_wants_rekey_on_receive(const struct keypair *kp, uint64_t now_ns);

/* Puts a fresh session in its slot by role (kp->initiator). */
struct keypair_dropped keypair_slots_add(struct keypair_slots *s, struct keypair *kp);

/*
 * The session @kp authenticated a data message. If it is `next` it becomes
 * `current`, `current` becomes `previous`, the old `previous` is dropped.
 * Returns true when such a promotion happened. *ret_dropped is written in either
 * case.
 */
bool keypair_slots_confirm(struct keypair_slots *s, struct keypair *kp,
			   struct keypair_dropped *ret_dropped);

/* Empties the slots. */
struct keypair_dropped keypair_slots_clear(struct keypair_slots *s);

/* Wipes the whole struct. NULL is fine. */
void keypair_wipe(struct keypair *kp);

#endif
