/* SPDX-License-Identifier: Apache-2.0 */
#include "result.h"

#include <stdio.h>
#include <string.h>

#include "error.h"

/* Where the container's end stands among "interfaces". */
enum { CONTAINER_INDEX = 1 };

const struct ip_addr result_gateway4 = {.bytes = {169, 254, 1, 1}, .len = 4};
const struct ip_addr result_gateway6 = {.bytes = {0xfe, 0x80, [15] = 1}, .len = 16};

const struct ip_addr *result_gateway(size_t addr_len)
{
	return addr_len == 4 ? &result_gateway4 : &result_gateway6;
}

static int bad(struct cni_error *e, const char *what)
{
	return cni_error_set(e, CNI_IPAM_FAILED, "the IPAM plugin's result: %s", what);
}

static bool parse(const json_t *item, const char *key, struct ip_prefix *ret)
{
	const char *text = json_string_value(json_object_get(item, key));

	return text && ip_prefix_parse(text, ret);
}

static int take_ips(const json_t *doc, struct result *ret, struct cni_error *e)
{
	const json_t *list = json_object_get(doc, "ips");
	struct ip_prefix prefix;
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		if (!parse(json_array_get(list, i), "address", &prefix))
			return bad(e, "ips has what is no address");
		if (ret->n_ips == RESULT_MAX_IPS)
			return bad(e, "more than 16 addresses");
		ret->ips[ret->n_ips++] = prefix.addr;
	}
	return ret->n_ips ? 0 : bad(e, "no address");
}

static int take_routes(const json_t *doc, struct result *ret, struct cni_error *e)
{
	const json_t *list = json_object_get(doc, "routes");
	struct ip_prefix prefix;
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		if (!parse(json_array_get(list, i), "dst", &prefix))
			return bad(e, "routes has what is no prefix");
		if (ret->n_routes == RESULT_MAX_ROUTES)
			return bad(e, "more than 64 routes");
		ret->routes[ret->n_routes++] = ip_prefix_network(&prefix);
	}
	return 0;
}

static bool has_route(const struct result *r, uint8_t addr_len)
{
	size_t i;

	for (i = 0; i < r->n_routes; i++) {
		if (r->routes[i].addr.len == addr_len)
			return true;
	}
	return false;
}

static int add_defaults(struct result *r, struct cni_error *e)
{
	size_t i;

	for (i = 0; i < r->n_ips; i++) {
		const uint8_t len = r->ips[i].len;

		if (has_route(r, len))
			continue;
		if (r->n_routes == RESULT_MAX_ROUTES)
			return bad(e, "more than 64 routes");
		r->routes[r->n_routes++] = (struct ip_prefix){.addr = {.len = len}};
	}
	return 0;
}

int result_take_ipam(const json_t *doc, struct result *ret, struct cni_error *e)
{
	int err;

	ret->n_ips = ret->n_routes = 0;
	ret->dns = json_object_get(doc, "dns");
	err = take_ips(doc, ret, e);
	if (!err)
		err = take_routes(doc, ret, e);
	return err ? err : add_defaults(ret, e);
}

static json_t *make_interface(const struct result_interface *i, enum cni_version version)
{
	char mac[18];
	json_t *doc;

	snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", i->mac[0], i->mac[1], i->mac[2],
		 i->mac[3], i->mac[4], i->mac[5]);
	doc = json_pack("{s:s, s:s}", "name", i->name, "mac", mac);
	if (*i->sandbox)
		json_object_set_new(doc, "sandbox", json_string(i->sandbox));
	if (version >= CNI_1_1_0)
		json_object_set_new(doc, "mtu", json_integer(i->mtu));
	return doc;
}

/* "version" went away with 1.0.0. */
static json_t *make_ip(const struct ip_addr *addr, enum cni_version version)
{
	const struct ip_prefix prefix = ip_prefix_of_host(addr);
	char text[IP_PREFIX_TEXT_LEN], gateway[IP_ADDR_TEXT_LEN];
	json_t *doc = json_pack("{s:s, s:s, s:i}", "address", ip_prefix_format(&prefix, text),
				"gateway", ip_addr_format(result_gateway(addr->len), gateway),
				"interface", CONTAINER_INDEX);

	if (version < CNI_1_0_0)
		json_object_set_new(doc, "version", json_string(addr->len == 4 ? "4" : "6"));
	return doc;
}

static json_t *make_route(const struct ip_prefix *dst, uint32_t mtu, enum cni_version version)
{
	char text[IP_PREFIX_TEXT_LEN], gateway[IP_ADDR_TEXT_LEN];
	json_t *doc = json_pack("{s:s, s:s}", "dst", ip_prefix_format(dst, text), "gw",
				ip_addr_format(result_gateway(dst->addr.len), gateway));

	if (version >= CNI_1_1_0)
		json_object_set_new(doc, "mtu", json_integer(mtu));
	return doc;
}

json_t *result_make(const struct result *r, enum cni_version version)
{
	json_t *ips = json_array(), *routes = json_array();
	size_t i;

	for (i = 0; i < r->n_ips; i++)
		json_array_append_new(ips, make_ip(&r->ips[i], version));
	for (i = 0; i < r->n_routes; i++)
		json_array_append_new(routes, make_route(&r->routes[i], r->container.mtu, version));
	return json_pack("{s:s, s:[o, o], s:o, s:o, s:o}", "cniVersion", cni_version_names[version],
			 "interfaces", make_interface(&r->host, version),
			 make_interface(&r->container, version), "ips", ips, "routes", routes,
			 "dns", r->dns ? json_deep_copy(r->dns) : json_object());
}

json_t *result_convert(const json_t *doc, enum cni_version version)
{
	json_t *copy = json_deep_copy(doc), *ips = json_object_get(copy, "ips");
	size_t i;

	json_object_set_new(copy, "cniVersion", json_string(cni_version_names[version]));
	for (i = 0; i < json_array_size(ips); i++) {
		json_t *ip = json_array_get(ips, i);
		const char *address = json_string_value(json_object_get(ip, "address"));

		if (version >= CNI_1_0_0)
			json_object_del(ip, "version");
		else if (address)
			json_object_set_new(ip, "version",
					    json_string(strchr(address, ':') ? "6" : "4"));
	}
	return copy;
}
