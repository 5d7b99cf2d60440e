/* SPDX-License-Identifier: Apache-2.0 */
#include "port_keeper.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lane.h"
#include "log.h"
#include "portdev.h"

static void free_timer(uv_handle_t *timer)
{
	free(timer);
}

int port_keeper_open(struct port_keeper *k, struct lane *lane, uv_loop_t *loop, const char *name,
		     struct portdev *device)
{
	int err;

	*k = (struct port_keeper){.lane = lane, .name = name, .device = device};
	/* On the heap, for libuv keeps a closed handle until its next turn. */
	k->timer = calloc(1, sizeof(*k->timer));
	if (!k->timer)
		return -ENOMEM;
	err = uv_timer_init(loop, k->timer);
	if (err) {
		free(k->timer);
		k->timer = NULL;
		return err;
	}
	k->timer->data = k;
	return 0;
}

void port_keeper_close(struct port_keeper *k)
{
	if (k->timer)
		uv_close((uv_handle_t *)k->timer, free_timer);
	k->timer = NULL;
}

static void tell(struct port_keeper *k, int kept, const char *what)
{
	if (kept > 0)
		log_info("port %s: somebody set %s; put back", k->name, what);
	else if (!k->told)
		log_error("port %s: somebody set %s, which cannot be put back: %s", k->name, what,
			  strerror(-kept));
	k->told = kept < 0;
}

static void on_timer(uv_timer_t *timer)
{
	port_keeper_look(timer->data);
}

void port_keeper_look(struct port_keeper *k)
{
	const uint64_t now_ms = uv_now(k->timer->loop);
	const uint32_t wait_ms = pace_wait_ms(&k->pace, now_ms);
	char what[PORTDEV_KEPT_LEN];
	int kept;

	if (wait_ms) {
		uv_timer_start(k->timer, on_timer, wait_ms, 0);
		return;
	}
	/* Workers, too, ask over its netlink socket. */
	lane_lock(k->lane);
	kept = portdev_keep(k->device, what);
	lane_unlock(k->lane);
	if (!kept || kept == -ENODEV)
		return;
	pace_mended(&k->pace, now_ms);
	tell(k, kept, what);
	/* No event may come of what did not work. */
	if (kept < 0)
		uv_timer_start(k->timer, on_timer, pace_wait_ms(&k->pace, now_ms), 0);
}
