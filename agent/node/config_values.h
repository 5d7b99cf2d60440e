/* SPDX-License-Identifier: Apache-2.0 */
/* How each value of the configuration is read, and what it may be: one row a key, of
 * the file and of the environment alike. Any thread. */
#ifndef SEALANE_NODE_CONFIG_VALUES_H
#define SEALANE_NODE_CONFIG_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a value is; config_values.c has the parser of each. */
enum config_kind {
	KIND_NAME,	  /* char[size] */
	KIND_IFNAME,	  /* char[IFNAMSIZ] */
	KIND_PATH,	  /* char[size], absolute */
	KIND_NUMBER,	  /* uint8_t to uint32_t by size */
	KIND_MARK,	  /* uint32_t, hexadecimal too */
	KIND_BOOL,	  /* bool */
	KIND_WORD,	  /* an enum or bool by size */
	KIND_TUNNEL,	  /* struct ip_addr[2], the place of the address' family */
	KIND_ADDRESS,	  /* struct ip_addr, of a host, link-local too */
	KIND_OWN_ADDRESS, /* struct ip_prefix with host bits, of a host */
	KIND_NETWORK,	  /* struct ip_prefix without host bits */
	KIND_ALLOWED_IP,  /* the same, groups and link-local too */
	KIND_MAC,	  /* uint8_t[6], of a host */
	KIND_KEY,	  /* uint8_t[32] */
	KIND_KEY_FILE,	  /* uint8_t[32], read from a file */
	KIND_ENDPOINT,	  /* struct sockaddr_storage */
	KIND_LISTEN,	  /* struct config_http */
	KIND_URL,	  /* struct config_url */
};

enum config_shape {
	SHAPE_ONE,
	SHAPE_SLOTS, /* a list whose values find their places */
	SHAPE_LIST,  /* a list that becomes an array: pointer and count */
};

struct config_word {
	const char *word; /* NULL ends the list */
	unsigned value;
	bool hidden; /* another program's word for the same */
};

struct config_value {
	const char *key;
	enum config_kind kind;
	enum config_shape shape;
	size_t raw_at;	    /* in the raw struct: char *, or struct raw_list */
	size_t at;	    /* in the typed struct */
	size_t size;	    /* there; of a list's array: of a member */
	size_t beside;	    /* in the typed struct, 0: none: a bool "was given", a list's count */
	const char *preset; /* what is taken if it is not given; NULL: zero bytes */
	uint32_t min, max;  /* numbers */
	bool or_zero;
	const struct config_word *words;
	bool required;
	unsigned types;	    /* of overlays that know it, as bits; 0: all do */
	const char *env[2]; /* variables that override it; the first that is set wins */
};

struct config_section {
	const struct config_value *values;
	size_t n;
};

enum config_section_id {
	SECTION_TOP,
	SECTION_NODE,
	SECTION_LANE,
	SECTION_OVERLAY,
	SECTION_PEER,
	SECTION_PEER_OVERLAY,
	SECTION_ETCD,
	SECTION_HTTP,
	SECTION_COUNT
};

extern const struct config_section config_sections[SECTION_COUNT]; /* config_table.c */

enum { CONFIG_WHY_LEN = 160 };

/* "what is wrong" and "what is allowed" of a value. */
struct config_why {
	char wrong[CONFIG_WHY_LEN], allowed[CONFIG_WHY_LEN];
};

/* Reads @text into @ret, of the row's kind and size; false: *ret is untouched and @why
 * says why. */
bool config_value_parse(const struct config_value *row, const char *text, void *ret,
			struct config_why *why);
/* Must faults not show the value? */
bool config_value_secret(const struct config_value *row);

#endif
