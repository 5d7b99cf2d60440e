/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random members that want the same few things, compared with a twin that knows no
 * order of doing: it says of each thing who has it, by asking who else has it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "members_text.h"

enum { LANE = -1, ROUNDS = 1500 };

/* Sorted, as the results are. */
static const char *const prefixes[] = {
	"10.10.0.1/32", "10.10.0.2/32",	 "10.10.0.3/32",  "10.10.0.4/32", "10.10.0.5/32",
	"10.10.0.6/32", "10.10.0.7/32",	 "10.21.0.0/24",  "10.21.0.0/25", "10.22.0.0/24",
	"10.23.0.0/24", "10.244.0.0/16", "10.245.0.0/16", "fd10::1/128",  "fd10::2/128",
	"fd10::3/128",	"fd10::4/128",	 "fd21::/64",	  "fd45::/64",
};
static const char *const addresses[] = {"10.244.0.1", "10.244.0.2", "10.244.0.3",
					"10.245.0.1", "fd45::1",    "fd45::2"};
static const char *const tunnels4[] = {"10.10.0.1", "10.10.0.2", "10.10.0.3", "10.10.0.4",
				       "10.10.0.5", "10.10.0.6", "10.10.0.7"};
static const char *const tunnels6[] = {"fd10::1", "fd10::2", "fd10::3", "fd10::4"};
static const char *const overlays[WORLD_OVERLAYS] = {"ov0", "ov1", "ov6", "bare"};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static uint32_t random_state;

static uint32_t below(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state % n;
}

/* Does @a come before @b? Names differ. */
static bool outranks(const struct member *a, const struct member *b)
{
	int order = memcmp(a->public_key, b->public_key, NODE_KEY_LEN);

	if (a->since != b->since)
		return a->since > b->since;
	return order ? order > 0 : strcmp(a->name, b->name) > 0;
}

static bool is_peer(const struct world *w, const struct member *m)
{
	if (!memcmp(m->public_key, w->facts.public_key, NODE_KEY_LEN))
		return false;
	for (const struct member *n = w->members; n < w->members + w->n_members; n++) {
		if (outranks(n, m) && !memcmp(n->public_key, m->public_key, NODE_KEY_LEN))
			return false;
	}
	return true;
}

static const struct member_overlay *attachment(const struct member *m, int overlay)
{
	for (size_t i = 0; i < m->n_overlays; i++) {
		if (!strcmp(m->overlays[i].name, overlays[overlay]))
			return &m->overlays[i];
	}
	return NULL;
}

static bool is_among(const struct ip_prefix *list, size_t n, const struct ip_prefix *p)
{
	for (size_t i = 0; i < n; i++) {
		struct ip_prefix network = ip_prefix_network(&list[i]);

		if (ip_prefix_equal(&network, p))
			return true;
	}
	return false;
}

static bool is_host_of(const struct ip_addr tunnel[2], const struct ip_prefix *p)
{
	return p->len == 8 * p->addr.len &&
	       (ip_addr_equal(&tunnel[0], &p->addr) || ip_addr_equal(&tunnel[1], &p->addr));
}

/* The next three ask each other, always about members of a higher rank or about an
 * earlier place of the same one. */
static bool has_prefix(const struct world *w, const struct member *m, int place,
		       const struct ip_prefix *p);

static void mac_of(const struct world *w, const struct member *m, int overlay, uint8_t ret[6])
{
	const struct member_overlay *a = attachment(m, overlay);

	if (a->has_mac)
		memcpy(ret, a->mac, 6);
	else
		desired_mac(m->public_key, w->overlays[overlay].vni, ret);
}

static bool has_vtep(const struct world *w, const struct member *m, int overlay)
{
	const struct ip_addr *vtep = &m->tunnel[w->overlays[overlay].outer6];
	struct ip_prefix host = ip_prefix_of_host(vtep);

	return vtep->len && has_prefix(w, m, LANE, &host);
}

static bool is_station(const struct world *w, const struct member *m, int overlay)
{
	uint8_t mac[6], other[6];

	if (!is_peer(w, m) || !attachment(m, overlay) || !has_vtep(w, m, overlay))
		return false;
	if (w->overlays[overlay].type == CONFIG_BAREUDP)
		return true;
	mac_of(w, m, overlay, mac);
	if (w->overlays[overlay].has_mac && !memcmp(mac, w->overlays[overlay].mac, 6))
		return false;
	for (const struct member *n = w->members; n < w->members + w->n_members; n++) {
		if (!outranks(n, m) || !attachment(n, overlay))
			continue;
		mac_of(w, n, overlay, other);
		if (!memcmp(mac, other, 6) && is_station(w, n, overlay))
			return false;
	}
	return true;
}

static bool wants_prefix(const struct world *w, const struct member *m, int place,
			 const struct ip_prefix *p)
{
	const struct member_overlay *a;

	if (place == LANE)
		return is_peer(w, m) &&
		       (is_host_of(m->tunnel, p) || is_among(m->allowed_ips, m->n_allowed_ips, p));
	a = attachment(m, place);
	return a && is_among(a->routes, a->n_routes, p) && is_station(w, m, place);
}

static bool is_prefix_ours(const struct world *w, const struct ip_prefix *p)
{
	return is_host_of(w->config.node.tunnel, p) ||
	       is_among(w->addresses, COUNT(w->addresses), p);
}

static bool has_prefix(const struct world *w, const struct member *m, int place,
		       const struct ip_prefix *p)
{
	if (!wants_prefix(w, m, place, p) || is_prefix_ours(w, p))
		return false;
	for (int before = LANE; before < place; before++) {
		if (wants_prefix(w, m, before, p))
			return false;
	}
	for (const struct member *n = w->members; n < w->members + w->n_members; n++) {
		for (int other = LANE; outranks(n, m) && other < WORLD_OVERLAYS; other++) {
			if (has_prefix(w, n, other, p))
				return false;
		}
	}
	return true;
}

static bool wants_address(const struct world *w, const struct member *m, int overlay,
			  const struct ip_addr *addr)
{
	const struct member_overlay *a = attachment(m, overlay);

	for (size_t i = 0; a && i < a->n_addresses; i++) {
		if (ip_addr_equal(&a->addresses[i], addr))
			return is_station(w, m, overlay);
	}
	return false;
}

static bool has_address(const struct world *w, const struct member *m, int overlay,
			const struct ip_addr *addr)
{
	const struct config_overlay *config;

	if (overlay < 0 || !wants_address(w, m, overlay, addr))
		return false;
	config = &w->overlays[overlay];
	for (size_t i = 0; i < config->n_addresses; i++) {
		if (ip_addr_equal(&config->addresses[i].addr, addr))
			return false;
	}
	for (const struct member *n = w->members; n < w->members + w->n_members; n++) {
		if (outranks(n, m) && has_address(w, n, overlay, addr))
			return false;
	}
	return true;
}

/* What @m has in that place; how much it wants there and has not is added to *lost. */
static void print_place(const struct world *w, const struct member *m, int place, FILE *f,
			size_t *lost)
{
	for (size_t i = 0; place != LANE && i < COUNT(addresses); i++) {
		struct ip_addr addr = world_addr(addresses[i]);

		if (has_address(w, m, place, &addr))
			fprintf(f, " %s", addresses[i]);
		else
			*lost += wants_address(w, m, place, &addr);
	}
	for (size_t i = 0; i < COUNT(prefixes); i++) {
		struct ip_prefix p = world_prefix(prefixes[i]);

		if (has_prefix(w, m, place, &p))
			fprintf(f, " %s", prefixes[i]);
		else
			*lost += wants_prefix(w, m, place, &p);
	}
	fprintf(f, "\n");
}

/* As world_text() without the conflicts, which are only counted. Keys are the numbers
 * up to 9, in whose order all is. */
static char *twin_text(const struct world *w, size_t *ret_lost)
{
	const struct member *by_key[10] = {NULL};
	char *text = NULL;
	size_t len, lost = 0;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	for (const struct member *m = w->members; m < w->members + w->n_members; m++) {
		if (is_peer(w, m))
			by_key[m->public_key[0]] = m;
		else
			lost += m->public_key[0] != w->facts.public_key[0];
	}
	for (int i = 0; i < 10; i++) {
		if (by_key[i]) {
			fprintf(f, "%s:", by_key[i]->name);
			print_place(w, by_key[i], LANE, f, &lost);
		}
	}
	for (int overlay = 0; overlay < WORLD_OVERLAYS; overlay++) {
		for (int i = 0; i < 10; i++) {
			if (!by_key[i] || !attachment(by_key[i], overlay))
				continue;
			if (!is_station(w, by_key[i], overlay)) {
				lost++; /* for its MAC or its VTEP, either is one line */
				continue;
			}
			fprintf(f, "%s %s:", overlays[overlay], by_key[i]->name);
			print_place(w, by_key[i], overlay, f, &lost);
		}
	}
	fclose(f);
	*ret_lost = lost;
	return text;
}

/* Up to @most of a list, as a word's items; without slash where there is no prefix. */
static void add_items(char *text, const char *const *list, size_t n, uint32_t most)
{
	for (uint32_t i = below(most + 1); i; i--)
		sprintf(text + strlen(text), "%s,", list[below((uint32_t)n)]);
}

static void add_random_member(struct world *w)
{
	char text[512];

	sprintf(text, "m%zu %u %u tunnel=", w->n_members, 1 + below(9), below(3));
	if (below(8))
		sprintf(text + strlen(text), "%s,", tunnels4[below(COUNT(tunnels4))]);
	if (below(3))
		sprintf(text + strlen(text), "%s,", tunnels6[below(COUNT(tunnels6))]);
	strcat(text, " allowed=");
	add_items(text, prefixes, COUNT(prefixes), 3);
	for (int i = 0; i < WORLD_OVERLAYS; i++) {
		if (!below(3))
			continue;
		sprintf(text + strlen(text), " %s=", overlays[i]);
		if (below(2))
			sprintf(text + strlen(text), "mac:%u,", 1 + below(4));
		add_items(text, addresses, COUNT(addresses), 2);
		add_items(text, prefixes, COUNT(prefixes), 3);
	}
	world_add(w, text);
}

static void shuffle(struct world *w)
{
	for (size_t i = w->n_members; i > 1; i--) {
		size_t j = below((uint32_t)i);
		struct member m = w->members[j];

		w->members[j] = w->members[i - 1];
		w->members[i - 1] = m;
	}
}

static void compare(const struct world *w, const struct desired *d, uint32_t seed)
{
	size_t lost;
	char *text = world_text(d), *twin = twin_text(w, &lost);

	if (strncmp(text, twin, strlen(twin)) || (text[strlen(twin)] && text[strlen(twin)] != '!'))
		fail_msg("seed %u:\n%s--- twin:\n%s", seed, text, twin);
	if (d->n_conflicts != lost)
		fail_msg("seed %u: %zu of:\n%s", seed, lost, text);
	free(text);
	free(twin);
}

static void test_twin(void **state)
{
	size_t n_lost = 0, n_stations = 0;

	(void)state;
	for (uint32_t seed = 1; seed <= ROUNDS; seed++) {
		struct desired *d, *again;
		struct world w;
		char *text, *text_again;

		random_state = seed * 2654435761u;
		world_init(&w);
		for (uint32_t i = 1 + below(WORLD_MEMBERS_MAX); i; i--)
			add_random_member(&w);
		assert_int_equal(desired_build(&w.config, w.members, w.n_members, &w.facts, &d), 0);
		compare(&w, d, seed);
		for (size_t i = 0; i < d->n_conflicts; i++)
			n_lost += !!strstr(d->conflicts[i], "which came later");
		for (size_t i = 0; i < d->n_overlays; i++)
			n_stations += d->overlays[i].n_stations;
		text = world_text(d);
		desired_free(d);
		shuffle(&w);
		assert_int_equal(desired_build(&w.config, w.members, w.n_members, &w.facts, &again),
				 0);
		text_again = world_text(again);
		assert_string_equal(text, text_again);
		desired_free(again);
		free(text);
		free(text_again);
		world_done(&w);
	}
	/* Much is lost and much is not, or the rounds would show little. */
	assert_true(n_lost > 2 * ROUNDS && n_stations > 3 * ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_twin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
