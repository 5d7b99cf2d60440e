/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that a pass of the real agent calls. */
#include "desired.h"
#include "lane_client.h"
#include "overlay/monitor.h"
#include "reconcile.h"
#include "station_watch.h"
#include "sync.h"

static int open_monitor(struct monitor **ret)
{
	struct monitor *m;
	int err = monitor_open(&m);

	if (err)
		return err;
	err = monitor_watch_neighbours(m);
	if (err) {
		monitor_close(m);
		return err;
	}
	*ret = m;
	return 0;
}

const struct reconcile_ops reconcile_system = {
	.build = desired_build,
	.desired_free = desired_free,
	.path_mtu = sync_path_mtu,
	.memory_new = sync_lane_memory_new,
	.memory_free = sync_lane_memory_free,
	.lane_connect = lane_client_connect,
	.lane_close = lane_client_close,
	.lane_fd = lane_client_fd,
	.lane_look = lane_client_look,
	.lane_look_more = lane_client_look_more,
	.lane_add = sync_lane_add,
	.lane_remove = sync_lane_remove,
	.ports_add = sync_ports_add,
	.ports_remove = sync_ports_remove,
	.make_way = sync_devices_make_way,
	.kernel =
		{
			{sync_devices_add, sync_devices_remove},
			{sync_addresses_add, sync_addresses_remove},
			{sync_stations_add, sync_stations_remove},
			{sync_routes_add, sync_routes_remove},
		},
	.watch_new = station_watch_new,
	.watch_free = station_watch_free,
	.watch_wants_pass = station_watch_wants_pass,
	.monitor_open = open_monitor,
	.monitor_close = monitor_close,
	.monitor_fd = monitor_fd,
	.monitor_read = monitor_read,
};
