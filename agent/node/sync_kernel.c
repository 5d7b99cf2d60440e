/* SPDX-License-Identifier: Apache-2.0 */
#include "sync_kernel.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "overlay/link.h"
#include "overlay/tunnel.h"

enum { LIST_CAPACITY_MIN = 16 };

static int grow(struct sync_list *list)
{
	const size_t capacity = list->capacity ? 2 * list->capacity : LIST_CAPACITY_MIN;
	void *items = reallocarray(list->items, capacity, list->item_len);

	if (!items)
		return -ENOMEM;
	list->items = items;
	list->capacity = capacity;
	return 0;
}

int sync_list_add(struct sync_list *list, const void *item)
{
	if (list->n == list->capacity && grow(list) < 0)
		return -ENOMEM;
	memcpy(sync_list_at(list, list->n++), item, list->item_len);
	return 0;
}

void *sync_list_at(const struct sync_list *list, size_t i)
{
	return (uint8_t *)list->items + i * list->item_len;
}

void sync_list_sort(struct sync_list *list, sync_compare_fn compare)
{
	if (list->n > 1)
		qsort(list->items, list->n, list->item_len, compare);
}

void sync_list_unique(struct sync_list *list, sync_compare_fn compare)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		const void *item = sync_list_at(list, i);

		if (n && !compare(sync_list_at(list, n - 1), item))
			continue;
		if (n != i)
			memcpy(sync_list_at(list, n), item, list->item_len);
		n++;
	}
	list->n = n;
}

size_t sync_list_lower(const struct sync_list *list, const void *key, sync_compare_fn compare)
{
	size_t low = 0, high = list->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (compare(sync_list_at(list, middle), key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void *sync_list_find(const struct sync_list *list, const void *key, sync_compare_fn compare)
{
	const size_t i = sync_list_lower(list, key, compare);

	return i < list->n && !compare(sync_list_at(list, i), key) ? sync_list_at(list, i) : NULL;
}

void sync_list_done(struct sync_list *list)
{
	free(list->items);
	*list = (struct sync_list){.item_len = list->item_len};
}

/* A lane's device is a TUN or TAP, or the kernel's WireGuard; a port's a veth or TAP. */
bool sync_is_lanes(const char *kind)
{
	return !strcmp(kind, "tun") || !strcmp(kind, "wireguard") || !strcmp(kind, "veth");
}

int sync_ifindex(struct nl *nl, const char *name, int *ret)
{
	struct link_info lane;
	int err = sync_lane_find(nl, name, &lane);

	if (err && err != -ENODEV)
		return err;
	*ret = err ? 0 : lane.ifindex;
	return 0;
}

bool sync_is_tunnel(const struct desired_overlay *overlay)
{
	return overlay->config->type != CONFIG_PORT;
}

int sync_overlay_ifindex(struct nl *nl, const struct desired_overlay *overlay, int *ret)
{
	struct tunnel_found found;
	struct link_info port;
	int err;

	if (!sync_is_tunnel(overlay)) {
		err = sync_port_find(nl, overlay->config->name, &port);
		if (err && err != -ENODEV)
			return err;
		*ret = err ? 0 : port.ifindex;
		return 0;
	}
	err = tunnel_find(nl, overlay->config->name, &found);
	if (err && err != -ENODEV)
		return err;
	*ret = !err && found.ours ? found.ifindex : 0;
	return 0;
}

bool sync_endpoint(const struct member *member, struct ip_addr *ret)
{
	const struct sockaddr_storage *ss = &member->endpoint;

	switch (ss->ss_family) {
	case AF_INET:
		return ip_addr_from_bytes(&((const struct sockaddr_in *)ss)->sin_addr, 4, ret);
	case AF_INET6:
		return ip_addr_from_bytes(&((const struct sockaddr_in6 *)ss)->sin6_addr, 16, ret);
	default:
		return false;
	}
}

const char *sync_ifname(int ifindex, char buf[IFNAMSIZ])
{
	if (!if_indextoname((unsigned)ifindex, buf))
		snprintf(buf, IFNAMSIZ, "?");
	return buf;
}
