/* SPDX-License-Identifier: Apache-2.0 */
#include "loop.h"

#include <errno.h>
#include <stdlib.h>

static void free_handle(uv_handle_t *h)
{
	free(h);
}

int loop_poll_new(uv_loop_t *loop, int fd, uv_poll_cb cb, void *data, uv_poll_t **ret)
{
	uv_poll_t *poll = calloc(1, sizeof(*poll));
	int err;

	if (!poll)
		return -ENOMEM;
	err = uv_poll_init(loop, poll, fd);
	if (err) {
		free(poll);
		return err;
	}
	poll->data = data;
	err = uv_poll_start(poll, UV_READABLE, cb);
	if (err) {
		loop_poll_free(&poll);
		return err;
	}
	*ret = poll;
	return 0;
}

void loop_poll_free(uv_poll_t **poll)
{
	if (*poll)
		uv_close((uv_handle_t *)*poll, free_handle);
	*poll = NULL;
}

uv_timer_t *loop_timer_new(uv_loop_t *loop, void *data)
{
	uv_timer_t *timer = calloc(1, sizeof(*timer));

	if (!timer)
		return NULL;
	if (uv_timer_init(loop, timer)) {
		free(timer);
		return NULL;
	}
	timer->data = data;
	return timer;
}

void loop_timer_free(uv_timer_t **timer)
{
	if (*timer)
		uv_close((uv_handle_t *)*timer, free_handle);
	*timer = NULL;
}
