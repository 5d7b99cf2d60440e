/* SPDX-License-Identifier: Apache-2.0 */
#include "worker.h"

#include "lane.h"

int worker_init(struct worker *w, struct lane *lane, const struct device_io *device,
		const struct udp_io *udp)
{
	int err;

	*w = (struct worker){
		.lane = lane, .device = *device, .udp = *udp, .gro = &lane->offload.gro};
	err = out_batch_new(&w->out);
	if (!err)
		err = in_batch_new(&w->in);
	if (err)
		worker_done(w);
	return err;
}

void worker_done(struct worker *w)
{
	out_batch_free(w->out);
	in_batch_free(w->in);
	port_batch_free(w->port_batch);
	*w = (struct worker){0};
}

void worker_refresh_clock(struct worker *w)
{
	const struct lane_env *env = w->lane->env;

	w->now_ns = env->now_ns(env->ctx);
}

void worker_begin_rare(struct worker *w)
{
	lane_lock(w->lane);
	if (w != &w->lane->self)
		lane_refresh_clock(w->lane);
}

void worker_end_rare(struct worker *w)
{
	struct lane *lane = w->lane;

	lane_unlock(lane);
	if (lane->wake)
		lane->wake(lane->wake_ctx);
}
