/* SPDX-License-Identifier: Apache-2.0 */
#include "port_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "desired.h"
#include "lane_client.h"
#include "lane_value.h"

enum { VNI_MAX = (1 << 24) - 1 };

struct value_handler {
	const char *key;
	/* 0, -EPROTO or -ENOMEM; @value may be written to. */
	int (*take)(struct port_state *s, char *value);
};

void port_state_done(struct port_state *s)
{
	free(s->fdb);
	free(s->flood);
	free(s->neighbours);
	*s = (struct port_state){0};
}

/* Arrays double when they are full, at the powers of two. The new element; NULL: no
 * memory. */
static void *append(void **array, size_t *n, size_t size)
{
	void *grown;

	if (!(*n & (*n - 1))) {
		grown = reallocarray(*array, *n ? 2 * *n : 1, size);
		if (!grown)
			return NULL;
		*array = grown;
	}
	return memset((char *)*array + (*n)++ * size, 0, size);
}

static int add_fdb(struct port_state *s, const uint8_t mac[6], const struct ip_addr *vtep)
{
	struct port_fdb_entry *e;
	void *array = s->fdb;

	e = append(&array, &s->n_fdb, sizeof(*e));
	s->fdb = array;
	if (!e)
		return -ENOMEM;
	memcpy(e->mac, mac, sizeof(e->mac));
	e->vtep = *vtep;
	return 0;
}

static int add_flood(struct port_state *s, const struct ip_addr *vtep)
{
	void *array = s->flood;
	struct ip_addr *e = append(&array, &s->n_flood, sizeof(*e));

	s->flood = array;
	if (!e)
		return -ENOMEM;
	*e = *vtep;
	return 0;
}

static int add_neighbour(struct port_state *s, const struct ip_addr *addr, const uint8_t mac[6])
{
	struct port_neighbour *e;
	void *array = s->neighbours;

	e = append(&array, &s->n_neighbours, sizeof(*e));
	s->neighbours = array;
	if (!e)
		return -ENOMEM;
	e->addr = *addr;
	memcpy(e->mac, mac, sizeof(e->mac));
	return 0;
}

/* Order */

static int compare_fdb(const void *a, const void *b)
{
	return memcmp(((const struct port_fdb_entry *)a)->mac,
		      ((const struct port_fdb_entry *)b)->mac, 6);
}

static int compare_flood(const void *a, const void *b)
{
	return ip_addr_compare(a, b);
}

static int compare_neighbours(const void *a, const void *b)
{
	return ip_addr_compare(&((const struct port_neighbour *)a)->addr,
			       &((const struct port_neighbour *)b)->addr);
}

/* Sorts, and leaves one of each. How many there are then. */
static size_t sort_uniq(void *array, size_t n, size_t size,
			int (*compare)(const void *a, const void *b))
{
	char *bytes = array;
	size_t kept = 0;

	if (!n)
		return 0;
	qsort(array, n, size, compare);
	for (size_t i = 1; i < n; i++) {
		if (compare(bytes + kept * size, bytes + i * size) != 0)
			memmove(bytes + ++kept * size, bytes + i * size, size);
	}
	return kept + 1;
}

static void sort_tables(struct port_state *s)
{
	s->n_fdb = sort_uniq(s->fdb, s->n_fdb, sizeof(*s->fdb), compare_fdb);
	s->n_flood = sort_uniq(s->flood, s->n_flood, sizeof(*s->flood), compare_flood);
	s->n_neighbours = sort_uniq(s->neighbours, s->n_neighbours, sizeof(*s->neighbours),
				    compare_neighbours);
}

/* What the lane tells */

static int take_number(const char *value, uint64_t max, uint32_t *ret)
{
	uint64_t number;

	if (!lane_value_number(value, max, &number))
		return -EPROTO;
	*ret = (uint32_t)number;
	return 0;
}

static int take_bool(const char *value, bool *ret)
{
	return lane_value_bool(value, ret) ? 0 : -EPROTO;
}

static int take_mtu(struct port_state *s, char *value)
{
	return take_number(value, UINT32_MAX, &s->mtu);
}

static int take_mac(struct port_state *s, char *value)
{
	return lane_value_mac(value, s->mac) ? 0 : -EPROTO;
}

static int take_gso_max_size(struct port_state *s, char *value)
{
	return take_number(value, UINT32_MAX, &s->gso_max_size);
}

static int take_vtep(struct port_state *s, char *value)
{
	return ip_addr_parse(value, &s->vtep) ? 0 : -EPROTO;
}

static int take_udp_port(struct port_state *s, char *value)
{
	uint32_t port = 0;
	const int err = take_number(value, UINT16_MAX, &port);

	s->udp_port = (uint16_t)port;
	return err;
}

static int take_vni(struct port_state *s, char *value)
{
	return take_number(value, VNI_MAX, &s->vni);
}

static int take_ttl(struct port_state *s, char *value)
{
	uint32_t ttl = 0;
	const int err = take_number(value, UINT8_MAX, &ttl);

	s->ttl = (uint8_t)ttl;
	return err;
}

static int take_checksum(struct port_state *s, char *value)
{
	return take_bool(value, &s->checksum);
}

static int take_answer_neighbours(struct port_state *s, char *value)
{
	return take_bool(value, &s->answer_neighbours);
}

static int take_learning(struct port_state *s, char *value)
{
	return take_bool(value, &s->learning);
}

static int take_fdb_limit(struct port_state *s, char *value)
{
	return take_number(value, UINT32_MAX, &s->fdb_limit);
}

static int take_learned_limit(struct port_state *s, char *value)
{
	return take_number(value, UINT32_MAX, &s->learned_limit);
}

/* "MAC VTEP static" or "MAC VTEP learned SECONDS". */
static int take_fdb(struct port_state *s, char *value)
{
	const char *mac_text = strsep(&value, " "), *vtep_text = strsep(&value, " ");
	struct ip_addr vtep;
	uint8_t mac[6];

	if (!value || !lane_value_mac(mac_text, mac) || !ip_addr_parse(vtep_text, &vtep))
		return -EPROTO;
	return strcmp(value, "static") ? 0 : add_fdb(s, mac, &vtep);
}

static int take_flood(struct port_state *s, char *value)
{
	struct ip_addr vtep;

	return ip_addr_parse(value, &vtep) ? add_flood(s, &vtep) : -EPROTO;
}

static int take_neighbour(struct port_state *s, char *value)
{
	const char *addr_text = strsep(&value, " ");
	struct ip_addr addr;
	uint8_t mac[6];

	if (!value || !ip_addr_parse(addr_text, &addr) || !lane_value_mac(value, mac))
		return -EPROTO;
	return add_neighbour(s, &addr, mac);
}

static const struct value_handler handlers[] = {
	{"mtu", take_mtu},
	{"mac", take_mac},
	{"gso_max_size", take_gso_max_size},
	{"vtep", take_vtep},
	{"udp_port", take_udp_port},
	{"vni", take_vni},
	{"ttl", take_ttl},
	{"checksum", take_checksum},
	{"answer_neighbours", take_answer_neighbours},
	{"learning", take_learning},
	{"fdb_limit", take_fdb_limit},
	{"learned_limit", take_learned_limit},
	{"fdb", take_fdb},
	{"flood", take_flood},
	{"neighbour", take_neighbour},
	{NULL, NULL},
};

static int begin_port(struct port_list *list, const char *name)
{
	void *array = list->ports;
	struct port_state *s = append(&array, &list->n, sizeof(*s));

	list->ports = array;
	if (!s)
		return -ENOMEM;
	if (!*name || strlen(name) >= sizeof(s->name))
		return -EPROTO;
	memcpy(s->name, name, strlen(name) + 1);
	return 0;
}

static int take_line(struct port_list *list, const char *key, char *value)
{
	const struct value_handler *h = handlers;

	if (!strcmp(key, "port"))
		return begin_port(list, value);
	if (!list->n) /* the lane's own, such as its MTU */
		return 0;
	while (h->key && strcmp(h->key, key) != 0)
		h++;
	return h->key ? h->take(&list->ports[list->n - 1], value) : 0;
}

int port_list_parse(char *answer, struct port_list *ret)
{
	struct lane_lines lines = {.next = answer};
	struct port_list list = {0};
	char *key, *value;
	int err = 0;

	while (!err && lane_lines_next(&lines, &key, &value))
		err = take_line(&list, key, value);
	for (size_t i = 0; !err && i < list.n; i++) {
		if (!list.ports[i].vtep.len)
			err = -EPROTO;
		sort_tables(&list.ports[i]);
	}
	if (err)
		port_list_done(&list);
	else
		*ret = list;
	return err;
}

void port_list_done(struct port_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		port_state_done(&list->ports[i]);
	free(list->ports);
	*list = (struct port_list){0};
}

const struct port_state *port_list_find(const struct port_list *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++) {
		if (!strcmp(list->ports[i].name, name))
			return &list->ports[i];
	}
	return NULL;
}

/* What is desired */

static int want_station(struct port_state *s, const struct desired_station *station, bool flood)
{
	int err = add_fdb(s, station->mac, &station->vtep);

	if (!err && flood)
		err = add_flood(s, &station->vtep);
	for (size_t i = 0; !err && i < station->n_addresses; i++)
		err = add_neighbour(s, &station->addresses[i], station->mac);
	return err;
}

static void want_config(struct port_state *s, const struct desired_overlay *o)
{
	const struct config_overlay *config = o->config;

	memcpy(s->name, config->name, sizeof(s->name));
	memcpy(s->mac, o->mac, sizeof(s->mac));
	s->mtu = o->mtu;
	s->gso_max_size = config->gso_max_size;
	s->vtep = o->vtep;
	s->udp_port = config->udp_port;
	s->vni = config->vni;
	s->ttl = config->ttl;
	s->checksum = o->csum;
	s->answer_neighbours = config->answer_neighbours;
	s->learning = config->learning;
	s->fdb_limit = config->fdb_limit;
	/* As many as there may be at all: once lowered it would stay low. */
	s->learned_limit = config->fdb_limit;
}

int port_state_want(const struct desired_overlay *o, struct port_state *ret)
{
	const bool floods = desired_floods(o);
	struct port_state s = {0};
	int err = 0;

	want_config(&s, o);
	for (size_t i = 0; !err && i < o->n_stations; i++) {
		if (o->stations[i].vtep.len)
			err = want_station(&s, &o->stations[i], floods);
	}
	if (err) {
		port_state_done(&s);
		return err;
	}
	sort_tables(&s);
	*ret = s;
	return 0;
}
