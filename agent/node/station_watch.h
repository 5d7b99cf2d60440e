/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the kernel's news about neighbour and FDB entries want a pass: those that say
 * of an overlay's device what a pass would change. What the kernel learns or confirms,
 * what others keep on devices of theirs, and what a pass itself did, do not. Control
 * thread.
 */
#ifndef SEALANE_NODE_STATION_WATCH_H
#define SEALANE_NODE_STATION_WATCH_H

#include <stdbool.h>

struct desired;
struct monitor_event;
struct nl;
struct station_watch;

/* Keeps what a pass for @d wants, on the devices that are there now. 0 or -errno. */
int station_watch_new(struct nl *nl, const struct desired *d, struct station_watch **ret);
void station_watch_free(struct station_watch *w); /* NULL is fine */
/* @ev is a MONITOR_NEIGH. NULL, which knows of nothing that is wanted: false. */
bool station_watch_wants_pass(const struct station_watch *w, const struct monitor_event *ev);

#endif
