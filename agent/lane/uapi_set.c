/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines are applied as they come and never taken back. The device's section
 * lasts until the first public_key line; from there on only peers' keys count.
 */
#include "uapi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include <sodium.h>

#include "decimal.h"
#include "egress.h"
#include "lane.h"
#include "log.h"

/* Longer values have no meaning to any key. */
enum { VALUE_MAX = 256 };

struct line_handler {
	const char *key;
	int (*handle)(struct uapi_set *s, const char *value);
};

static int parse_key(const char *hex, uint8_t ret[WG_KEY_LEN])
{
	const char *end;
	size_t len;

	if (strlen(hex) != 2 * (size_t)WG_KEY_LEN)
		return -EINVAL;
	if (sodium_hex2bin(ret, WG_KEY_LEN, hex, 2 * (size_t)WG_KEY_LEN, NULL, &len, &end) != 0 ||
	    len != WG_KEY_LEN)
		return -EINVAL;
	return 0;
}

static int parse_true(const char *value)
{
	return strcmp(value, "true") ? -EINVAL : 0;
}

/* "10.0.0.0/8", "2001:db8::/32". The length without leading zeros, no zone. */
static int parse_prefix(const char *text, struct allowedips_prefix *ret)
{
	char address[INET6_ADDRSTRLEN];
	const char *slash = strrchr(text, '/');
	size_t address_len;
	bool v6;
	uint32_t cidr;

	if (!slash)
		return -EINVAL;
	address_len = (size_t)(slash - text);
	if (address_len >= sizeof(address))
		return -EINVAL;
	memcpy(address, text, address_len);
	address[address_len] = '\0';

	v6 = strchr(address, ':');
	if (inet_pton(v6 ? AF_INET6 : AF_INET, address, ret->addr) != 1)
		return -EINVAL;
	ret->addr_len = v6 ? 16 : 4;
	if (slash[1] == '0' && slash[2])
		return -EINVAL;
	if (decimal_parse(slash + 1, ret->addr_len * 8u, &cidr) < 0)
		return -EINVAL;
	ret->cidr = (uint8_t)cidr;
	return 0;
}

/* The section's peer; NULL when its lines are only to be checked. */
static struct peer *section_peer(const struct uapi_set *s)
{
	return s->applies ? peer_find(s->lane, s->public_key) : NULL;
}

/* The device's section. */

static int set_private_key(struct uapi_set *s, const char *value)
{
	uint8_t key[WG_KEY_LEN];
	int err = parse_key(value, key);

	if (!err)
		lane_set_private_key(s->lane, key);
	sodium_memzero(key, sizeof(key));
	return err;
}

/* wg's users know one answer for a port or mark that cannot be had; the log has
 * the reason. */
static int set_listen_port(struct uapi_set *s, const char *value)
{
	uint32_t port;
	int err = decimal_parse(value, UINT16_MAX, &port);

	if (err)
		return err;
	err = lane_set_listen_port(s->lane, (uint16_t)port);
	if (!err)
		return 0;
	log_error("listen port %s not taken: %s", value, strerror(-err));
	return -EADDRINUSE;
}

static int set_fwmark(struct uapi_set *s, const char *value)
{
	uint32_t fwmark;
	int err = decimal_parse(value, UINT32_MAX, &fwmark);

	if (err)
		return err;
	err = lane_set_fwmark(s->lane, fwmark);
	if (!err)
		return 0;
	log_error("fwmark %s not set: %s", value, strerror(-err));
	return -EADDRINUSE;
}

static int set_replace_peers(struct uapi_set *s, const char *value)
{
	int err = parse_true(value);

	if (!err)
		lane_remove_all_peers(s->lane);
	return err;
}

/* A peer's section. */

/* The endpoint may have come only now: what waited for it goes out. */
static void finish_peer(struct uapi_set *s)
{
	struct lane *lane = s->lane;
	struct peer *peer = section_peer(s);

	s->applies = false;
	if (!peer || !lane->up)
		return;
	lane_refresh_clock(lane);
	if (s->keepalive_on)
		egress_keepalive(lane, peer);
	else if (peer->n_staged)
		egress_send_staged(lane, peer);
	peer_reschedule(lane, peer);
}

/* Our own key is passed over without a word, so that one file can serve all
 * members of a mesh. */
static int set_public_key(struct uapi_set *s, const char *value)
{
	const struct noise_local *local = &s->lane->local;
	struct peer *peer;
	int err;

	finish_peer(s);
	s->in_peer = true;
	s->created = false;
	s->keepalive_on = false;
	err = parse_key(value, s->public_key);
	if (err)
		return err;
	if (local->has_identity && !memcmp(s->public_key, local->public_key, WG_KEY_LEN))
		return 0;
	if (!peer_find(s->lane, s->public_key)) {
		err = peer_new(s->lane, s->public_key, &peer);
		if (err)
			return err;
		s->created = true;
	}
	s->applies = true;
	return 0;
}

static void remove_peer(struct uapi_set *s)
{
	struct peer *peer = section_peer(s);

	if (peer)
		peer_remove(s->lane, peer);
	s->applies = false;
}

static int set_update_only(struct uapi_set *s, const char *value)
{
	int err = parse_true(value);

	if (!err && s->created)
		remove_peer(s);
	return err;
}

static int set_remove(struct uapi_set *s, const char *value)
{
	int err = parse_true(value);

	if (!err)
		remove_peer(s);
	return err;
}

static int set_preshared_key(struct uapi_set *s, const char *value)
{
	uint8_t key[WG_KEY_LEN];
	struct peer *peer = section_peer(s);
	int err = parse_key(value, key);

	if (!err && peer)
		peer_set_preshared_key(peer, key);
	sodium_memzero(key, sizeof(key));
	return err;
}

static int set_endpoint(struct uapi_set *s, const char *value)
{
	struct endpoint ep;
	struct peer *peer = section_peer(s);
	int err = endpoint_parse(value, &ep);

	if (!err && peer)
		peer_set_endpoint(peer, &ep);
	return err;
}

static int set_keepalive(struct uapi_set *s, const char *value)
{
	struct peer *peer = section_peer(s);
	uint32_t interval_s;
	int err = decimal_parse(value, UINT16_MAX, &interval_s);

	if (err || !peer)
		return err;
	if (!interval_s)
		s->keepalive_on = false;
	else if (!peer->timers.persistent_interval_s)
		s->keepalive_on = true;
	peer_set_keepalive(s->lane, peer, (uint16_t)interval_s);
	return 0;
}

static int set_replace_allowed_ips(struct uapi_set *s, const char *value)
{
	struct peer *peer = section_peer(s);
	int err = parse_true(value);

	if (!err && peer)
		allowedips_remove_owner(&s->lane->allowed, &peer->allowed);
	return err;
}

static int set_allowed_ip(struct uapi_set *s, const char *value)
{
	struct peer *peer = section_peer(s);
	struct allowedips_prefix p;
	bool remove = *value == '-';
	int err = parse_prefix(value + remove, &p);

	if (err || !peer)
		return err;
	if (remove)
		return allowedips_remove(&s->lane->allowed, p.addr, p.addr_len, p.cidr,
					 &peer->allowed);
	return allowedips_insert(&s->lane->allowed, p.addr, p.addr_len, p.cidr, &peer->allowed);
}

static int set_protocol_version(struct uapi_set *s, const char *value)
{
	(void)s;
	return strcmp(value, "1") ? -EINVAL : 0;
}

static const struct line_handler device_keys[] = {
	{"private_key", set_private_key}, {"listen_port", set_listen_port},
	{"fwmark", set_fwmark},		  {"replace_peers", set_replace_peers},
	{"public_key", set_public_key},	  {NULL, NULL},
};

static const struct line_handler peer_keys[] = {
	{"public_key", set_public_key},
	{"update_only", set_update_only},
	{"remove", set_remove},
	{"preshared_key", set_preshared_key},
	{"endpoint", set_endpoint},
	{"persistent_keepalive_interval", set_keepalive},
	{"replace_allowed_ips", set_replace_allowed_ips},
	{"allowed_ip", set_allowed_ip},
	{"protocol_version", set_protocol_version},
	{NULL, NULL},
};

void uapi_set_begin(struct uapi_set *s, struct lane *lane)
{
	*s = (struct uapi_set){.lane = lane};
	lane_refresh_clock(lane);
}

int uapi_set_line(struct uapi_set *s, const char *line, size_t len)
{
	const char *equals = memchr(line, '=', len);
	const struct line_handler *h = s->in_peer ? peer_keys : device_keys;
	char value[VALUE_MAX];
	size_t key_len, value_len;
	int err;

	if (!equals)
		return -EPROTO;
	key_len = (size_t)(equals - line);
	value_len = len - key_len - 1;
	if (value_len >= sizeof(value) || memchr(line, '\0', len))
		return -EINVAL;
	memcpy(value, equals + 1, value_len);
	value[value_len] = '\0';

	while (h->key && (strlen(h->key) != key_len || memcmp(h->key, line, key_len) != 0))
		h++;
	err = h->key ? h->handle(s, value) : -EINVAL;
	sodium_memzero(value, value_len);
	return err;
}

void uapi_set_end(struct uapi_set *s)
{
	finish_peer(s);
	sodium_memzero(s, sizeof(*s));
}
