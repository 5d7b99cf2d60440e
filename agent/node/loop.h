/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles of the event loop on the heap: libuv keeps a closed one until its next
 * turn, and so their owners need not wait for it. After a free no callback comes.
 * Control thread.
 */
#ifndef SEALANE_NODE_LOOP_H
#define SEALANE_NODE_LOOP_H

#include <uv.h>

/* Calls @cb when @fd, which must stay open until loop_poll_free(), is readable. libuv
 * makes it non-blocking. 0 or -errno. */
int loop_poll_new(uv_loop_t *loop, int fd, uv_poll_cb cb, void *data, uv_poll_t **ret);
/* Both set the pointer to NULL; NULL is fine. */
void loop_poll_free(uv_poll_t **poll);

/* Not running yet. NULL: no memory. */
uv_timer_t *loop_timer_new(uv_loop_t *loop, void *data);
void loop_timer_free(uv_timer_t **timer);

#endif
