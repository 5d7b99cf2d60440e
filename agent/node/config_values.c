/* SPDX-License-Identifier: Apache-2.0 */
#include "config_values.h"

#include <assert.h>
#include <errno.h>
#include <net/if.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "config_values_ip.h"
#include "keyfile.h"

typedef bool (*value_parser)(const struct config_value *row, const char *text, void *ret,
			     struct config_why *why);

bool config_wrong(struct config_why *why, const char *wrong)
{
	snprintf(why->wrong, sizeof(why->wrong), "%s", wrong);
	return false;
}

static bool is_graphic(const char *text)
{
	for (; *text; text++) {
		if (*text <= ' ' || *text > '~')
			return false;
	}
	return true;
}

static bool parse_name(const struct config_value *row, const char *text, void *ret,
		       struct config_why *why)
{
	const size_t len = strlen(text);

	snprintf(why->allowed, sizeof(why->allowed),
		 "1 to %zu letters, digits and signs of ASCII without blanks", row->size - 1);
	if (!len || len >= row->size)
		return config_wrong(why, len ? "is too long" : "is empty");
	if (!is_graphic(text))
		return config_wrong(why, "has a blank or another character that no name has");
	memcpy(ret, text, len + 1);
	return true;
}

/* Every network namespace has the first, and below /proc/sys the others stand for all
 * devices and for new ones. */
static bool is_taken(const char *name)
{
	return !strcmp(name, "lo") || !strcmp(name, "all") || !strcmp(name, "default");
}

/* The kernel's rules; and no '%', which would have it choose a name of its own. */
static bool parse_ifname(const struct config_value *row, const char *text, void *ret,
			 struct config_why *why)
{
	const size_t len = strlen(text);

	(void)row;
	if (!len || len >= IFNAMSIZ)
		return config_wrong(why, len ? "is too long for a device" : "is empty");
	if (!is_graphic(text) || strpbrk(text, "/:%") || !strcmp(text, ".") || !strcmp(text, ".."))
		return config_wrong(why, "is no name of a device");
	if (is_taken(text)) {
		snprintf(why->allowed, sizeof(why->allowed), "another name");
		return config_wrong(why, "is a name that the kernel keeps for itself");
	}
	memcpy(ret, text, len + 1);
	return true;
}

static bool parse_path(const struct config_value *row, const char *text, void *ret,
		       struct config_why *why)
{
	const size_t len = strlen(text);

	snprintf(why->allowed, sizeof(why->allowed), "an absolute path of up to %zu bytes",
		 row->size - 1);
	if (text[0] != '/')
		return config_wrong(why, "does not begin with /");
	if (len >= row->size)
		return config_wrong(why, "is too long");
	memcpy(ret, text, len + 1);
	return true;
}

static bool store_number(const struct config_value *row, uint64_t number, void *ret,
			 struct config_why *why)
{
	const uint32_t value = (uint32_t)number;
	const uint16_t value16 = (uint16_t)number;
	const uint8_t value8 = (uint8_t)number;

	if ((number < row->min || number > row->max) && (number || !row->or_zero))
		return config_wrong(why, "is out of range");
	if (row->size == sizeof(value))
		memcpy(ret, &value, sizeof(value));
	else if (row->size == sizeof(value16))
		memcpy(ret, &value16, sizeof(value16));
	else
		memcpy(ret, &value8, sizeof(value8));
	return true;
}

/* Digits of @base, 10 or 16, and nothing else; what is too large stays above UINT32_MAX. */
static bool digits(const char *text, unsigned base, uint64_t *ret)
{
	static const char all[] = "0123456789abcdefABCDEF";
	uint64_t number = 0;
	unsigned value;

	if (!*text)
		return false;
	for (; *text; text++) {
		const char *found = memchr(all, *text, base == 16 ? 22 : 10);

		if (!found)
			return false;
		value = (unsigned)(found - all);
		if (number <= UINT32_MAX)
			number = number * base + (value < 16 ? value : value - 6);
	}
	*ret = number;
	return true;
}

static bool parse_number(const struct config_value *row, const char *text, void *ret,
			 struct config_why *why)
{
	uint64_t number;

	snprintf(why->allowed, sizeof(why->allowed), "%s%u to %u", row->or_zero ? "0, or " : "",
		 row->min, row->max);
	/* 010 is eight to some readers of YAML. */
	if (!digits(text, 10, &number) || (text[0] == '0' && text[1]))
		return config_wrong(why, "is no decimal number");
	return store_number(row, number, ret, why);
}

static bool parse_mark(const struct config_value *row, const char *text, void *ret,
		       struct config_why *why)
{
	uint64_t number;

	if (strncmp(text, "0x", 2) != 0)
		return parse_number(row, text, ret, why);
	snprintf(why->allowed, sizeof(why->allowed), "0x%x to 0x%x", row->min, row->max);
	if (!digits(text + 2, 16, &number))
		return config_wrong(why, "is no hexadecimal number");
	return store_number(row, number, ret, why);
}

static bool parse_bool(const struct config_value *row, const char *text, void *ret,
		       struct config_why *why)
{
	const bool value = !strcmp(text, "true");

	(void)row;
	if (!value && strcmp(text, "false") != 0)
		return config_wrong(why, "is neither");
	memcpy(ret, &value, sizeof(value));
	return true;
}

static bool parse_word(const struct config_value *row, const char *text, void *ret,
		       struct config_why *why)
{
	size_t len = 0;

	for (const struct config_word *w = row->words; w->word; w++) {
		const bool flag = w->value;

		if (!strcmp(w->word, text)) {
			memcpy(ret, row->size == sizeof(flag) ? (const void *)&flag : &w->value,
			       row->size);
			return true;
		}
		if (!w->hidden)
			len += (size_t)snprintf(why->allowed + len, sizeof(why->allowed) - len,
						"%s%s", len ? ", " : "", w->word);
	}
	return config_wrong(why, "is none of its words");
}

/* Of a server alone; "/" at its end means the same. */
static bool parse_url(const struct config_value *row, const char *text, void *ret,
		      struct config_why *why)
{
	const size_t scheme = !strncmp(text, "http://", 7)    ? 7
			      : !strncmp(text, "https://", 8) ? 8
							      : 0;
	size_t len = strlen(text);
	struct config_url url = {""};

	(void)row;
	if (!scheme)
		return config_wrong(why, "is no URL of http or https");
	if (text[len - 1] == '/')
		len--;
	if (len >= sizeof(url.text))
		return config_wrong(why, "is too long");
	memcpy(url.text, text, len);
	if (len <= scheme || !is_graphic(url.text) || strpbrk(url.text + scheme, "/@?#\\"))
		return config_wrong(why, "is more than a server, or none");
	memcpy(ret, &url, sizeof(url));
	return true;
}

static bool parse_mac(const struct config_value *row, const char *text, void *ret,
		      struct config_why *why)
{
	uint8_t mac[6];
	uint64_t byte;

	(void)row;
	if (strlen(text) != 17)
		return config_wrong(why, "is no MAC address");
	for (size_t i = 0; i < sizeof(mac); i++) {
		const char pair[3] = {text[3 * i], text[3 * i + 1], '\0'};

		if (!digits(pair, 16, &byte) || (text[3 * i + 2] != ':' && text[3 * i + 2]))
			return config_wrong(why, "is no MAC address");
		mac[i] = (uint8_t)byte;
	}
	if (mac[0] & 1 || sodium_is_zero(mac, sizeof(mac)))
		return config_wrong(why, "is no MAC address of one device");
	memcpy(ret, mac, sizeof(mac));
	return true;
}

static bool parse_key(const struct config_value *row, const char *text, void *ret,
		      struct config_why *why)
{
	uint8_t key[KEY_LEN];

	(void)row;
	if (!key_parse(text, key) || sodium_is_zero(key, sizeof(key)))
		return config_wrong(why, "the value is no key");
	memcpy(ret, key, sizeof(key));
	return true;
}

static bool parse_key_file(const struct config_value *row, const char *text, void *ret,
			   struct config_why *why)
{
	const struct config_value path_row = {.size = CONFIG_PATH_LEN};
	char path[CONFIG_PATH_LEN];
	uint8_t key[KEY_LEN];
	int err;

	(void)row;
	if (!parse_path(&path_row, text, path, why))
		return false;
	snprintf(why->allowed, sizeof(why->allowed),
		 "a file of one key that its owner alone may read");
	err = keyfile_load(path, key);
	if (err == -EINVAL)
		return config_wrong(why, "holds no key");
	if (err == -EPERM)
		return config_wrong(why, "is no file, or others than its owner may read it");
	if (err < 0)
		snprintf(why->wrong, sizeof(why->wrong), "cannot be read (%s)", strerror(-err));
	else
		memcpy(ret, key, sizeof(key));
	sodium_memzero(key, sizeof(key));
	return err >= 0;
}

static const struct {
	value_parser parse;
	const char *allowed; /* where the parser does not say it itself */
} kinds[] = {
	[KIND_NAME] = {parse_name, ""},
	[KIND_IFNAME] = {parse_ifname, "1 to 15 characters without blanks, /, : and %"},
	[KIND_PATH] = {parse_path, ""},
	[KIND_NUMBER] = {parse_number, ""},
	[KIND_MARK] = {parse_mark, ""},
	[KIND_BOOL] = {parse_bool, "true or false"},
	[KIND_WORD] = {parse_word, ""},
	[KIND_TUNNEL] = {value_tunnel, "up to one IPv4 and one IPv6 address of a host, without /N"},
	[KIND_ADDRESS] = {value_address, "an IP address of a host, without /N"},
	[KIND_OWN_ADDRESS] = {value_own_address, "ADDRESS/LENGTH, the address being a host's"},
	[KIND_NETWORK] = {value_network, "ADDRESS/LENGTH"},
	[KIND_ALLOWED_IP] = {value_allowed_ip, "ADDRESS/LENGTH"},
	[KIND_MAC] = {parse_mac, "six pairs of hexadecimal digits with colons between, unicast"},
	[KIND_KEY] = {parse_key, "44 characters as 'sealane pubkey' or 'wg pubkey' write them"},
	[KIND_KEY_FILE] = {parse_key_file, ""},
	[KIND_ENDPOINT] = {value_endpoint, "ADDRESS:PORT or \"[IPv6 ADDRESS]:PORT\""},
	[KIND_URL] = {parse_url, "http://HOST:PORT or https://HOST:PORT"},
	[KIND_LISTEN] = {value_listen, "ADDRESS:PORT, \"[IPv6 ADDRESS]:PORT\" or off"},
};

bool config_value_parse(const struct config_value *row, const char *text, void *ret,
			struct config_why *why)
{
	why->wrong[0] = '\0';
	snprintf(why->allowed, sizeof(why->allowed), "%s", kinds[row->kind].allowed);
	return kinds[row->kind].parse(row, text, ret, why);
}

bool config_value_secret(const struct config_value *row)
{
	return row->kind == KIND_KEY;
}
