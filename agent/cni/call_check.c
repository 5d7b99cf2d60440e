/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <net/if.h>
#include <stdbool.h>
#include <string.h>

#include "call.h"
#include "ipam.h"
#include "overlay/address.h"
#include "overlay/ipaddr.h"
#include "overlay/link.h"
#include "overlay/nl.h"
#include "overlay/routes.h"
#include "wire.h"

static int missing(struct call *call, const char *what, const char *which)
{
	return cni_error_set(call->error, CNI_CHECK_FAILED, "%s %.60s is not there", what, which);
}

/* One thing sought in a list of the kernel's. */
struct sought {
	struct ip_prefix prefix;
	int ifindex;
	bool found;
};

static int on_address(const struct address *address, void *arg)
{
	struct sought *s = arg;

	s->found |= ip_prefix_equal(&address->prefix, &s->prefix);
	return 0;
}

static int on_route(const struct route *route, void *arg)
{
	struct sought *s = arg;

	s->found |= route->oif == s->ifindex && ip_prefix_equal(&route->dst, &s->prefix);
	return 0;
}

static int check_route(struct call *call, struct nl *nl, int ifindex, const struct ip_prefix *dst,
		       const char *what)
{
	struct sought s = {.prefix = *dst, .ifindex = ifindex};
	char text[IP_PREFIX_TEXT_LEN];
	const int err = route_list(nl, 0, on_route, &s);

	if (err)
		return cni_error_kernel(call->error, err, nl, "list routes");
	return s.found ? 0 : missing(call, what, ip_prefix_format(dst, text));
}

static bool parse(const json_t *item, const char *key, struct ip_prefix *ret)
{
	const char *text = json_string_value(json_object_get(item, key));

	return text && ip_prefix_parse(text, ret);
}

static int malformed(struct call *call, const char *where)
{
	return cni_error_set(call->error, CNI_INVALID_CONFIG, "prevResult: %s is malformed", where);
}

static int check_ips(struct call *call, const struct wire *w)
{
	const json_t *ips = json_object_get(call->config.prev, "ips");
	size_t i;

	for (i = 0; i < json_array_size(ips); i++) {
		struct sought s = {.found = false};
		char text[IP_PREFIX_TEXT_LEN];
		int err;

		if (!parse(json_array_get(ips, i), "address", &s.prefix))
			return malformed(call, "ips");
		err = address_list(w->netns.nl, w->container_ifindex, on_address, &s);
		if (err)
			return cni_error_kernel(call->error, err, w->netns.nl, "list addresses");
		if (!s.found)
			return missing(call, "the container's address",
				       ip_prefix_format(&s.prefix, text));
		err = check_route(call, w->nl, w->host_ifindex, &s.prefix,
				  "the host's route to the container");
		if (err)
			return err;
	}
	return 0;
}

static int check_routes(struct call *call, const struct wire *w)
{
	const json_t *routes = json_object_get(call->config.prev, "routes");
	struct ip_prefix dst;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < json_array_size(routes); i++) {
		if (!parse(json_array_get(routes, i), "dst", &dst))
			return malformed(call, "routes");
		err = check_route(call, w->netns.nl, w->container_ifindex, &dst,
				  "the container's route");
	}
	return err;
}

/* An end that prevResult names must be up and have the MAC address that it tells. */
static int check_end(struct call *call, struct nl *nl, const char *name, struct link_info *ret)
{
	const json_t *list = json_object_get(call->config.prev, "interfaces");
	const int err = link_get(nl, name, ret);
	char mac[18];
	size_t i;

	if (err == -ENODEV)
		return missing(call, "device", name);
	if (err)
		return cni_error_kernel(call->error, err, nl, "look at a device");
	if (!(ret->flags & IFF_UP))
		return cni_error_set(call->error, CNI_CHECK_FAILED, "device %s is down", name);
	snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", ret->mac[0], ret->mac[1],
		 ret->mac[2], ret->mac[3], ret->mac[4], ret->mac[5]);
	for (i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);
		const char *its = json_string_value(json_object_get(item, "name"));
		const char *told = json_string_value(json_object_get(item, "mac"));

		if (its && told && !strcmp(its, name))
			return strcasecmp(told, mac)
				       ? cni_error_set(call->error, CNI_CHECK_FAILED,
						       "device %s has the MAC %s", name, mac)
				       : 0;
	}
	return missing(call, "in prevResult, interface", name);
}

static int check_wire(struct call *call, struct wire *w)
{
	struct link_info link;
	int err = check_end(call, w->nl, w->attachment.name, &link);

	if (err)
		return err;
	if (!attachment_owns(&w->attachment, &link))
		return cni_error_set(call->error, CNI_CHECK_FAILED, "device %s is not ours",
				     link.name);
	w->host_ifindex = link.ifindex;
	err = check_end(call, w->netns.nl, call->env.ifname, &link);
	w->container_ifindex = link.ifindex;
	if (!err)
		err = check_ips(call, w);
	return err ? err : check_routes(call, w);
}

int call_check(struct call *call)
{
	struct wire w = {
		.nl = call->nl,
		.attachment = attachment_make(call->config.name, call->env.container_id,
					      call->env.ifname),
	};
	int err;

	if (!call->config.prev)
		return cni_error_set(call->error, CNI_INVALID_CONFIG, "CHECK needs prevResult");
	err = netns_open(&call->env, &w.netns, call->error);
	if (!err)
		err = check_wire(call, &w);
	netns_close(&w.netns);
	return err ? err
		   : ipam_run(&call->env, call->config.ipam, "CHECK", call->text, call->text_len,
			      NULL, call->error);
}

int call_status(struct call *call)
{
	const char *device = call->config.device;
	struct link_info link;
	int err = device ? link_get(call->nl, device, &link) : 0;

	if (err == -ENODEV)
		return cni_error_set(call->error, CNI_NOT_AVAILABLE, "there is no device %s",
				     device);
	if (err)
		return cni_error_kernel(call->error, err, call->nl, "look at the device");
	if (device && !(link.flags & IFF_UP))
		return cni_error_set(call->error, CNI_NOT_AVAILABLE, "device %s is down", device);
	return call->config.ipam ? ipam_run(&call->env, call->config.ipam, "STATUS", call->text,
					    call->text_len, NULL, call->error)
				 : 0;
}
