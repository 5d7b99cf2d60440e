/* SPDX-License-Identifier: Apache-2.0 */
#include "etcd_wire.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

enum { INT64_LEN = 24 };

/* Requests */

static json_t *base64(const char *data, size_t len)
{
	const size_t room = sodium_base64_encoded_len(len, sodium_base64_VARIANT_ORIGINAL);
	char *text = malloc(room);
	json_t *string = NULL;

	if (text) {
		sodium_bin2base64(text, room, (const unsigned char *)data, len,
				  sodium_base64_VARIANT_ORIGINAL);
		string = json_string(text);
	}
	free(text);
	return string;
}

static json_t *int64(int64_t number)
{
	char text[INT64_LEN];

	snprintf(text, sizeof(text), "%" PRId64, number);
	return json_string(text);
}

/* The end of all keys that begin with @prefix: its last byte, of ASCII, is one more. */
static json_t *end_of(const char *prefix)
{
	const size_t len = strlen(prefix);
	char *end = strdup(prefix);
	json_t *string = NULL;

	if (end) {
		end[len - 1]++;
		string = base64(end, len);
	}
	free(end);
	return string;
}

/* Of json_pack(), which takes what it is given even if it fails. */
static char *dump(json_t *root)
{
	char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;

	json_decref(root);
	return text;
}

char *etcd_wire_range(const char *prefix, const char *from, unsigned limit, int64_t revision)
{
	const char *first = from ? from : prefix;

	/* A key is followed by itself with a NUL. */
	return dump(json_pack("{s:o, s:o, s:o, s:o}", "key",
			      base64(first, strlen(first) + (from ? 1 : 0)), "range_end",
			      end_of(prefix), "limit", int64(limit), "revision", int64(revision)));
}

char *etcd_wire_watch(const char *prefix, int64_t revision)
{
	return dump(json_pack("{s:{s:o, s:o, s:o, s:b}}", "create_request", "key",
			      base64(prefix, strlen(prefix)), "range_end", end_of(prefix),
			      "start_revision", int64(revision), "progress_notify", 1));
}

char *etcd_wire_put(const char *key, const char *value, int64_t lease)
{
	return dump(json_pack("{s:o, s:o, s:o}", "key", base64(key, strlen(key)), "value",
			      base64(value, strlen(value)), "lease", int64(lease)));
}

char *etcd_wire_grant(uint32_t ttl)
{
	return dump(json_pack("{s:o}", "TTL", int64(ttl)));
}

char *etcd_wire_keepalive(int64_t lease)
{
	return dump(json_pack("{s:o}", "ID", int64(lease)));
}

char *etcd_wire_authenticate(const char *name, const char *password)
{
	return dump(json_pack("{s:s, s:s}", "name", name, "password", password));
}

/* Answers */

static json_t *load(const char *text, size_t len)
{
	json_error_t why;

	return json_loadb(text, len, 0, &why);
}

/* 0 where it is left out. */
static int64_t int64_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (json_is_integer(value))
		return json_integer_value(value);
	return json_is_string(value) ? strtoll(json_string_value(value), NULL, 10) : 0;
}

static bool bool_of(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

/* Malloc'd, with a NUL behind it; NULL: no base64 (what is left out is empty), or no memory. */
static char *bytes_of(const json_t *object, const char *key, size_t *ret_len)
{
	const json_t *value = json_object_get(object, key);
	const char *text = value ? json_string_value(value) : "";
	const size_t text_len = text ? strlen(text) : 0;
	char *bytes = text ? malloc(text_len + 1) : NULL;

	if (bytes && sodium_base642bin((unsigned char *)bytes, text_len, text, text_len, NULL,
				       ret_len, NULL, sodium_base64_VARIANT_ORIGINAL)) {
		free(bytes);
		bytes = NULL;
	}
	if (bytes)
		bytes[*ret_len] = '\0';
	return bytes;
}

static bool tell_kv(const json_t *object, bool deleted, etcd_kv_fn fn, void *ctx)
{
	size_t key_len = 0, len = 0;
	char *key = bytes_of(object, "key", &key_len), *value = bytes_of(object, "value", &len);
	const struct etcd_kv kv = {.key = key, .value = value, .len = len, .deleted = deleted};
	const bool ok = key && value;

	if (ok && strlen(key) == key_len)
		fn(ctx, &kv);
	free(key);
	free(value);
	return ok;
}

bool etcd_wire_parse_range(const char *text, size_t len, etcd_kv_fn fn, void *ctx,
			   struct etcd_range *ret)
{
	json_t *root = load(text, len), *kv;
	const json_t *header = json_object_get(root, "header");
	json_t *kvs = json_object_get(root, "kvs");
	bool ok = header && int64_of(header, "revision") > 0 && (!kvs || json_is_array(kvs));
	size_t i;

	if (ok)
		*ret = (struct etcd_range){int64_of(header, "revision"), bool_of(root, "more")};
	json_array_foreach(kvs, i, kv)
	{
		if (ok)
			ok = tell_kv(kv, false, fn, ctx);
	}
	json_decref(root);
	return ok;
}

static void one_line(const char *text, char line[ETCD_ERROR_LEN])
{
	snprintf(line, ETCD_ERROR_LEN, "%s", text ? text : "");
	for (char *p = line; *p; p++) {
		if (*p > 0 && *p < ' ')
			*p = ' ';
	}
}

static bool take_events(json_t *events, etcd_kv_fn fn, void *ctx)
{
	json_t *event;
	size_t i;
	bool ok = !events || json_is_array(events);

	json_array_foreach(events, i, event)
	{
		const char *type = json_string_value(json_object_get(event, "type"));

		if (ok)
			ok = tell_kv(json_object_get(event, "kv"), type && !strcmp(type, "DELETE"),
				     fn, ctx);
	}
	return ok;
}

bool etcd_wire_parse_watch(const char *line, size_t len, etcd_kv_fn fn, void *ctx,
			   struct etcd_watch *ret)
{
	json_t *root = load(line, len);
	const json_t *result = json_object_get(root, "result");
	const json_t *error = json_object_get(root, "error");
	bool ok = json_is_object(result) || error;

	*ret = (struct etcd_watch){
		.revision = int64_of(json_object_get(result, "header"), "revision"),
		.compact_revision = int64_of(result, "compact_revision"),
		.created = bool_of(result, "created"),
		.canceled = bool_of(result, "canceled"),
		.failed = error,
	};
	if (error)
		one_line(json_is_string(error)
				 ? json_string_value(error)
				 : json_string_value(json_object_get(error, "message")),
			 ret->reason);
	else
		one_line(json_string_value(json_object_get(result, "cancel_reason")), ret->reason);
	if (ok)
		ok = take_events(json_object_get(result, "events"), fn, ctx);
	json_decref(root);
	return ok;
}

bool etcd_wire_parse_grant(const char *text, size_t len, int64_t *ret_lease)
{
	json_t *root = load(text, len);
	const int64_t lease = int64_of(root, "ID");

	json_decref(root);
	if (lease)
		*ret_lease = lease;
	return lease;
}

bool etcd_wire_parse_keepalive(const char *text, size_t len, int64_t *ret_ttl)
{
	json_t *root = load(text, len);
	const json_t *result = json_object_get(root, "result");
	const bool ok = json_is_object(result);

	if (ok)
		*ret_ttl = int64_of(result, "TTL");
	json_decref(root);
	return ok;
}

bool etcd_wire_parse_token(const char *text, size_t len, char *token, size_t room)
{
	json_t *root = load(text, len);
	const char *value = json_string_value(json_object_get(root, "token"));
	const bool ok = value && value[0] && strlen(value) < room && !strpbrk(value, "\r\n");

	if (ok)
		snprintf(token, room, "%s", value);
	json_decref(root);
	return ok;
}

void etcd_wire_parse_error(const char *text, size_t len, char error[ETCD_ERROR_LEN])
{
	json_t *root = load(text, len);
	const char *words = json_string_value(json_object_get(root, "error"));

	if (!words)
		words = json_string_value(json_object_get(root, "message"));
	one_line(words, error);
	json_decref(root);
}
