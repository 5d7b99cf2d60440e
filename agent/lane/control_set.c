/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines fill in a struct port_change; what a line alone can have wrong is refused
 * with it. A key that is not known is refused, too: misspelt, it would leave a port
 * other than it was meant to be.
 */
#include "control_set.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "addrtext.h"
#include "decimal.h"
#include "lane.h"
#include "offload/neigh.h"

/* Longer values have no meaning to any key. */
enum { VALUE_MAX = 256, QUOTE_MAX = 40, VNI_MAX = (1 << 24) - 1, DSCP_MAX = 63 };
enum { GSO_SIZE_MIN = 65536, GSO_SIZE_MAX = 196608 };

struct line_handler {
	const char *key;
	/* 0, or -EINVAL: @value is not what @wanted says; others have their words. */
	int (*handle)(struct control_set *s, char *value);
	const char *wanted;
	bool repeats;
	bool of_lane; /* about the lane and no port */
};

static int refuse(struct control_set *s, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(struct control_set *s, int err, const char *fmt, ...)
{
	int len = snprintf(s->error, sizeof(s->error), "line %u: ", s->line);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->error + len, sizeof(s->error) - (size_t)len, fmt, ap);
	va_end(ap);
	return err;
}

/* The beginning of what a client said, safe to be said back. */
static const char *quote(const char *text, size_t len, char buf[QUOTE_MAX + 4])
{
	const size_t n = len < QUOTE_MAX ? len : QUOTE_MAX;

	for (size_t i = 0; i < n; i++)
		buf[i] = isprint((unsigned char)text[i]) ? text[i] : '?';
	memcpy(buf + n, n < len ? "..." : "\0\0\0", 4);
	return buf;
}

/* Values */

static int parse_bool(const char *value, bool *ret)
{
	if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
		return -EINVAL;
	*ret = *value == 't';
	return 0;
}

/* Only said to have it done. */
static int parse_true(const char *value, bool *ret)
{
	if (strcmp(value, "true") != 0)
		return -EINVAL;
	*ret = true;
	return 0;
}

static int parse_range(const char *value, uint32_t min, uint32_t max, uint32_t *ret)
{
	uint32_t number;

	if (decimal_parse(value, max, &number) < 0 || number < min)
		return -EINVAL;
	*ret = number;
	return 0;
}

/* Splits @value at its blanks. More than @max words: -EINVAL, else how many. */
static int split(char *value, char **words, int max)
{
	char *save = NULL, *word;
	int n = 0;

	for (word = strtok_r(value, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		if (n == max)
			return -EINVAL;
		words[n++] = word;
	}
	return n;
}

/* A field of the configuration was given. */
static int give(struct control_set *s, int err, enum port_field field)
{
	if (!err)
		s->change.given |= field;
	return err;
}

/* The command */

static int set_version(struct control_set *s, char *value)
{
	(void)s;
	return strcmp(value, "1") ? -EINVAL : 0;
}

/* What the kernel takes for a name and a line of text can say. */
static bool is_name(const char *name)
{
	if (!*name || strlen(name) >= IFNAMSIZ || !strcmp(name, ".") || !strcmp(name, ".."))
		return false;
	for (; *name; name++) {
		if (!isgraph((unsigned char)*name) || strchr("/:%", *name))
			return false;
	}
	return true;
}

static int set_port(struct control_set *s, char *value)
{
	if (!is_name(value))
		return -EINVAL;
	memcpy(s->change.config.name, value, strlen(value) + 1);
	s->has_port = true;
	return 0;
}

static int set_create(struct control_set *s, char *value)
{
	return parse_true(value, &s->change.create);
}

static int set_remove(struct control_set *s, char *value)
{
	return parse_true(value, &s->change.remove);
}

/* The device */

static int set_kind(struct control_set *s, char *value)
{
	enum portdev_kind *kind = &s->change.config.kind;
	int err = 0;

	if (!strcmp(value, "auto"))
		*kind = PORTDEV_AUTO;
	else if (!strcmp(value, "veth"))
		*kind = PORTDEV_VETH;
	else if (!strcmp(value, "tap"))
		*kind = PORTDEV_TAP;
	else
		err = -EINVAL;
	return give(s, err, PORT_FIELD_KIND);
}

static int set_mtu(struct control_set *s, char *value)
{
	uint32_t *mtu = &s->change.config.mtu;
	int err = parse_range(value, 0, PORT_MTU_MAX, mtu);

	if (!err && *mtu && *mtu < PORT_MTU_MIN)
		err = -EINVAL;
	return give(s, err, PORT_FIELD_MTU);
}

static int set_mac(struct control_set *s, char *value)
{
	uint8_t *mac = s->change.config.mac;
	int err = addrtext_parse_mac(value, mac);

	if (!err && !neigh_is_station(mac))
		err = -EINVAL;
	return give(s, err, PORT_FIELD_MAC);
}

static int set_gso_max_size(struct control_set *s, char *value)
{
	uint32_t *size = &s->change.config.gso_max_size;
	int err = parse_range(value, 0, GSO_SIZE_MAX, size);

	if (!err && *size && *size < GSO_SIZE_MIN)
		err = -EINVAL;
	return give(s, err, PORT_FIELD_GSO_MAX_SIZE);
}

/* The outer headers */

static int set_vtep(struct control_set *s, char *value)
{
	return give(s, addrtext_parse_ip(value, &s->change.config.local), PORT_FIELD_VTEP);
}

static int set_udp_port(struct control_set *s, char *value)
{
	uint32_t port = 0;
	int err = parse_range(value, 1, UINT16_MAX, &port);

	s->change.config.udp_port = (uint16_t)port;
	return give(s, err, PORT_FIELD_UDP_PORT);
}

static int set_vni(struct control_set *s, char *value)
{
	return give(s, parse_range(value, 0, VNI_MAX, &s->change.config.vni), PORT_FIELD_VNI);
}

static int set_ttl(struct control_set *s, char *value)
{
	uint32_t ttl = 0;
	int err = parse_range(value, 1, UINT8_MAX, &ttl);

	s->change.config.ttl = (uint8_t)ttl;
	return give(s, err, PORT_FIELD_TTL);
}

static int set_dscp(struct control_set *s, char *value)
{
	struct port_config *config = &s->change.config;
	uint32_t dscp = 0;
	int err = 0;

	config->inherit_dscp = !strcmp(value, "inherit");
	if (!config->inherit_dscp)
		err = parse_range(value, 0, DSCP_MAX, &dscp);
	config->dscp = (uint8_t)dscp;
	return give(s, err, PORT_FIELD_DSCP);
}

static int set_checksum(struct control_set *s, char *value)
{
	return give(s, parse_bool(value, &s->change.config.checksum), PORT_FIELD_CHECKSUM);
}

/* The bridge */

static int set_answer_neighbours(struct control_set *s, char *value)
{
	return give(s, parse_bool(value, &s->change.config.answer_neighbours),
		    PORT_FIELD_ANSWER_NEIGHBOURS);
}

static int set_learning(struct control_set *s, char *value)
{
	return give(s, parse_bool(value, &s->change.config.fdb.learning), PORT_FIELD_LEARNING);
}

static int set_age(struct control_set *s, char *value)
{
	uint32_t age_s = 0;
	int err = parse_range(value, 0, UINT32_MAX, &age_s);

	s->change.config.fdb.age_ns = age_s * NSEC_PER_SEC;
	return give(s, err, PORT_FIELD_AGE);
}

static int set_fdb_limit(struct control_set *s, char *value)
{
	uint32_t limit = 0;
	int err = parse_range(value, 0, FDB_LIMIT_MAX, &limit);

	s->change.config.fdb.limit = limit;
	return give(s, err, PORT_FIELD_FDB_LIMIT);
}

static int set_learned_limit(struct control_set *s, char *value)
{
	uint32_t limit = 0;
	int err = parse_range(value, 0, FDB_LIMIT_MAX, &limit);

	s->change.config.fdb.learned_limit = limit;
	return give(s, err, PORT_FIELD_LEARNED_LIMIT);
}

/* The tables */

static int add(struct control_set *s, struct port_ops *list, struct port_op *op)
{
	int err;

	op->line = s->line;
	err = port_change_add(&s->change, list, op);
	if (err == -ENOSPC)
		return refuse(s, err, "at most %d operations in one command", PORT_CHANGE_OPS_MAX);
	if (err)
		return refuse(s, err, "out of memory");
	return 0;
}

static int set_fdb(struct control_set *s, char *value)
{
	struct port_op op = {0};
	char *word[3];
	int n = split(value, word, 3);

	/* "static" is what a get says. */
	if (n < 2 || addrtext_parse_mac(word[0], op.mac) < 0 ||
	    addrtext_parse_ip(word[1], &op.addr) < 0 || (n == 3 && strcmp(word[2], "static") != 0))
		return -EINVAL;
	return add(s, &s->change.fdb, &op);
}

static int set_fdb_remove(struct control_set *s, char *value)
{
	struct port_op op = {.remove = true};

	if (addrtext_parse_mac(value, op.mac) < 0)
		return -EINVAL;
	return add(s, &s->change.fdb, &op);
}

static int set_flood(struct control_set *s, char *value)
{
	struct port_op op = {0};

	if (addrtext_parse_ip(value, &op.addr) < 0)
		return -EINVAL;
	return add(s, &s->change.flood, &op);
}

static int set_flood_remove(struct control_set *s, char *value)
{
	struct port_op op = {.remove = true};

	if (addrtext_parse_ip(value, &op.addr) < 0)
		return -EINVAL;
	return add(s, &s->change.flood, &op);
}

static int set_neighbour(struct control_set *s, char *value)
{
	struct port_op op = {0};
	char *word[2];

	if (split(value, word, 2) != 2 || addrtext_parse_ip(word[0], &op.addr) < 0 ||
	    addrtext_parse_mac(word[1], op.mac) < 0)
		return -EINVAL;
	return add(s, &s->change.neighbours, &op);
}

static int set_neighbour_remove(struct control_set *s, char *value)
{
	struct port_op op = {.remove = true};

	if (addrtext_parse_ip(value, &op.addr) < 0)
		return -EINVAL;
	return add(s, &s->change.neighbours, &op);
}

static int set_flush_learned(struct control_set *s, char *value)
{
	return parse_true(value, &s->change.flush_learned);
}

static int set_replace_fdb(struct control_set *s, char *value)
{
	return parse_true(value, &s->change.replace_fdb);
}

static int set_replace_flood(struct control_set *s, char *value)
{
	return parse_true(value, &s->change.replace_flood);
}

static int set_replace_neighbours(struct control_set *s, char *value)
{
	return parse_true(value, &s->change.replace_neighbours);
}

/* UDP ports of tunnels */

static int add_encap(struct control_set *s, const char *port, enum encap_kind kind)
{
	struct encap_op op = {.line = s->line, .kind = kind};
	uint32_t number;

	if (parse_range(port, 1, UINT16_MAX, &number) < 0)
		return -EINVAL;
	op.port = (uint16_t)number;
	if (!encap_change_add(&s->encap, &op))
		return refuse(s, -ENOSPC, "at most %d ports in one command", ENCAP_OPS_MAX);
	return 0;
}

static int set_encap(struct control_set *s, char *value)
{
	char *word[3];
	int n = split(value, word, 3);
	enum encap_kind kind = n < 2 ? ENCAP_NONE : encap_kind_of(word[1], strlen(word[1]));

	/* "set" is what a get says. */
	if (kind == ENCAP_NONE || (n == 3 && strcmp(word[2], "set") != 0))
		return -EINVAL;
	return add_encap(s, word[0], kind);
}

static int set_encap_remove(struct control_set *s, char *value)
{
	return add_encap(s, value, ENCAP_NONE);
}

static int set_replace_encap(struct control_set *s, char *value)
{
	return parse_true(value, &s->encap.replace);
}

#define MAC_WORDS "a unicast MAC address (02:00:00:00:00:01)"
#define IP_WORDS  "an IPv4 or IPv6 address"

/* The first two are looked for by their place. */
static const struct line_handler keys[] = {
	{"version", set_version, "1", false, false},
	{"port", set_port, "1 to 15 printable characters without blanks, / : %", false, false},
	{"create", set_create, "true", false, false},
	{"remove", set_remove, "true", false, false},
	{"kind", set_kind, "auto, veth or tap", false, false},
	{"mtu", set_mtu, "68 to 65535, or 0", false, false},
	{"mac", set_mac, MAC_WORDS, false, false},
	{"gso_max_size", set_gso_max_size, "65536 to 196608, or 0", false, false},
	{"vtep", set_vtep, IP_WORDS, false, false},
	{"udp_port", set_udp_port, "1 to 65535", false, false},
	{"vni", set_vni, "0 to 16777215", false, false},
	{"ttl", set_ttl, "1 to 255", false, false},
	{"dscp", set_dscp, "0 to 63, or inherit", false, false},
	{"checksum", set_checksum, "true or false", false, false},
	{"answer_neighbours", set_answer_neighbours, "true or false", false, false},
	{"learning", set_learning, "true or false", false, false},
	{"age_s", set_age, "0 to 4294967295", false, false},
	{"fdb_limit", set_fdb_limit, "0 to 1048576", false, false},
	{"learned_limit", set_learned_limit, "0 to 1048576", false, false},
	{"flush_learned", set_flush_learned, "true", false, false},
	{"replace_fdb", set_replace_fdb, "true", false, false},
	{"replace_flood", set_replace_flood, "true", false, false},
	{"replace_neighbours", set_replace_neighbours, "true", false, false},
	{"fdb", set_fdb, "a MAC address and an IPv4 or IPv6 address", true, false},
	{"fdb_remove", set_fdb_remove, "a MAC address", true, false},
	{"flood", set_flood, IP_WORDS, true, false},
	{"flood_remove", set_flood_remove, IP_WORDS, true, false},
	{"neighbour", set_neighbour, "an IPv4 or IPv6 address and a MAC address", true, false},
	{"neighbour_remove", set_neighbour_remove, IP_WORDS, true, false},
	{"encap", set_encap, "1 to 65535 and vxlan, geneve, ip or mpls", true, true},
	{"encap_remove", set_encap_remove, "1 to 65535", true, true},
	{"replace_encap", set_replace_encap, "true", false, true},
};

/* What the words above say. */
static_assert(IFNAMSIZ == 16 && PORT_MTU_MIN == 68 && PORT_MTU_MAX == 65535, "numbers in words");
static_assert(FDB_LIMIT_MAX == 1048576 && VNI_MAX == 16777215, "numbers in words");

enum { KEY_VERSION, KEY_PORT, N_KEYS = sizeof(keys) / sizeof(keys[0]) };
static_assert((int)N_KEYS <= 32, "a bit each");

static unsigned find_key(const char *key, size_t len)
{
	unsigned i = 0;

	while (i < N_KEYS && (strlen(keys[i].key) != len || memcmp(keys[i].key, key, len) != 0))
		i++;
	return i;
}

/* Is it the turn of key @i? */
static int check_turn(struct control_set *s, unsigned i)
{
	const char *key = keys[i].key;

	if (i == KEY_VERSION && s->line != 1)
		return refuse(s, -EINVAL, "%s: must be the first line", key);
	if (keys[i].of_lane ? s->has_port : i != KEY_VERSION && s->has_encap)
		return refuse(s, -EINVAL, "%s: ports and encap need a command each", key);
	if (i != KEY_VERSION && i != KEY_PORT && !keys[i].of_lane && !s->has_port)
		return refuse(s, -EINVAL, "%s: port=NAME must come before it", key);
	s->has_encap |= keys[i].of_lane;
	if (!keys[i].repeats && s->seen & 1U << i)
		return refuse(s, -EINVAL, "%s: given twice", key);
	s->seen |= keys[i].repeats ? 0 : 1U << i;
	return 0;
}

static int take_value(struct control_set *s, unsigned i, const char *text, size_t len)
{
	char value[VALUE_MAX] = "", quoted[QUOTE_MAX + 4];
	int err = -EINVAL;

	if (len < sizeof(value) && !memchr(text, '\0', len)) {
		memcpy(value, text, len);
		err = keys[i].handle(s, value);
	}
	if (err && !s->error[0])
		refuse(s, err, "%s: must be %s, not \"%s\"", keys[i].key, keys[i].wanted,
		       quote(text, len, quoted));
	return err;
}

void control_set_begin(struct control_set *s, struct lane *lane)
{
	*s = (struct control_set){.lane = lane};
}

int control_set_line(struct control_set *s, const char *line, size_t len)
{
	const char *equals = memchr(line, '=', len);
	const size_t key_len = equals ? (size_t)(equals - line) : len;
	char quoted[QUOTE_MAX + 4];
	unsigned i;
	int err;

	s->line++;
	if (!equals)
		return refuse(s, -EINVAL, "\"%s\" is not of the form key=value",
			      quote(line, len, quoted));
	i = find_key(line, key_len);
	if (i == N_KEYS)
		return refuse(s, -EINVAL, "\"%s\" is no key that can be set",
			      quote(line, key_len, quoted));
	err = check_turn(s, i);
	return err ? err : take_value(s, i, equals + 1, len - key_len - 1);
}

int control_set_finish(struct control_set *s)
{
	if (s->has_port)
		return port_change_apply(s->lane, &s->change, s->error);
	if (s->has_encap)
		return encap_change_apply(s->lane, &s->encap, s->error);
	s->line++;
	return refuse(s, -EINVAL, "port=NAME must come before the empty line");
}

const char *control_set_error(const struct control_set *s)
{
	return s->error;
}

void control_set_end(struct control_set *s)
{
	port_change_done(&s->change);
}
