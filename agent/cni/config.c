/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <net/if.h>
#include <string.h>

#include "env.h"
#include "error.h"

const char *const cni_version_names[CNI_N_VERSIONS] = {
	[CNI_0_4_0] = "0.4.0",
	[CNI_1_0_0] = "1.0.0",
	[CNI_1_1_0] = CNI_VERSION_NEWEST,
};

/* What an Ethernet device can have; IPv4 asks for 68 at least. */
enum { MTU_MIN = 68, MTU_MAX = 65535 };

static int invalid(struct cni_error *e, const char *key, const char *what)
{
	return cni_error_set(e, CNI_INVALID_CONFIG, "%s: %s", key, what);
}

static int take_version(struct cni_config *c, struct cni_error *e)
{
	const json_t *value = json_object_get(c->root, "cniVersion");
	const char *text = json_string_value(value);
	int i;

	if (value && !text)
		return invalid(e, "cniVersion", "must be text");
	for (i = 0; text && i < CNI_N_VERSIONS; i++) {
		if (!strcmp(text, cni_version_names[i])) {
			c->version = (enum cni_version)i;
			return 0;
		}
	}
	/* The spec reads a missing one as 0.1.0. */
	cni_error_set(e, CNI_INCOMPATIBLE_VERSION, "cniVersion %.40s is not supported",
		      text ? text : "0.1.0 (none is given)");
	snprintf(e->details, sizeof(e->details), "supported: 0.4.0, 1.0.0, 1.1.0");
	return e->code;
}

static int take_text(const json_t *in, const char *key, const char **ret, struct cni_error *e)
{
	const json_t *value = json_object_get(in, key);

	*ret = json_string_value(value);
	return value && !*ret ? invalid(e, key, "must be text") : 0;
}

static int take_mtu(struct cni_config *c, struct cni_error *e)
{
	const json_t *value = json_object_get(c->root, "mtu");
	const json_int_t mtu = json_integer_value(value);

	if (!value || (json_is_integer(value) && !mtu))
		return 0;
	if (!json_is_integer(value) || mtu < MTU_MIN || mtu > MTU_MAX)
		return invalid(e, "mtu", "must be a number from 68 to 65535");
	c->mtu = (uint32_t)mtu;
	return 0;
}

static int take_big_tcp(struct cni_config *c, struct cni_error *e)
{
	const json_t *value = json_object_get(c->root, "bigTcp");

	if (value && !json_is_boolean(value))
		return invalid(e, "bigTcp", "must be true or false");
	c->big_tcp = !value || json_is_true(value);
	return 0;
}

static int take_ipam(struct cni_config *c, struct cni_error *e)
{
	const json_t *ipam = json_object_get(c->root, "ipam");
	int err;

	if (!ipam)
		return 0;
	if (!json_is_object(ipam))
		return invalid(e, "ipam", "must be an object with a type");
	err = take_text(ipam, "type", &c->ipam, e);
	if (err)
		return err;
	/* It becomes a file name: no way out of CNI_PATH. */
	if (!c->ipam || !*c->ipam || strchr(c->ipam, '/') || *c->ipam == '.')
		return invalid(e, "ipam.type", "must be the name of a plugin");
	return 0;
}

static int take_chained(const struct cni_config *c, struct cni_error *e)
{
	const json_t *value = json_object_get(c->root, "chained");

	if (value && !json_is_boolean(value))
		return invalid(e, "chained", "must be true or false");
	if (json_is_true(value) && c->ipam)
		return invalid(e, "chained", "has no use for ipam");
	return json_is_false(value) && !c->ipam ? invalid(e, "ipam", "is missing") : 0;
}

static int take_ours(struct cni_config *c, struct cni_error *e)
{
	const char *mode;
	int err = take_text(c->root, "mode", &mode, e);

	if (err)
		return err;
	if (mode && strcmp(mode, "routed") != 0)
		return cni_error_set(e, CNI_UNSUPPORTED_FIELD,
				     "mode: \"%.40s\" is not supported, "
				     "only \"routed\"",
				     mode);
	err = take_text(c->root, "device", &c->device, e);
	if (!err && c->device && (!*c->device || strlen(c->device) >= IFNAMSIZ))
		err = invalid(e, "device", "must be the name of a device");
	if (!err)
		err = take_mtu(c, e);
	if (!err)
		err = take_big_tcp(c, e);
	if (!err)
		err = take_ipam(c, e);
	return err ? err : take_chained(c, e);
}

static int take_runtime(struct cni_config *c, struct cni_error *e)
{
	c->prev = json_object_get(c->root, "prevResult");
	if (c->prev && !json_is_object(c->prev))
		return invalid(e, "prevResult", "must be an object");
	c->valid = json_object_get(c->root, "cni.dev/valid-attachments");
	if (c->valid && !json_is_array(c->valid))
		return invalid(e, "cni.dev/valid-attachments", "must be a list");
	return 0;
}

int cni_config_parse(const char *text, size_t len, struct cni_config *ret, struct cni_error *e)
{
	json_error_t json;
	int err;

	*ret = (struct cni_config){.version = CNI_1_1_0};
	ret->root = json_loadb(text, len, 0, &json);
	if (!json_is_object(ret->root)) {
		cni_error_set(e, CNI_DECODE_FAILURE,
			      "the configuration on stdin is no JSON object");
		if (!ret->root)
			snprintf(e->details, sizeof(e->details), "line %d: %s", json.line,
				 json.text);
		return e->code;
	}
	err = take_version(ret, e);
	if (!err)
		err = take_text(ret->root, "name", &ret->name, e);
	if (err)
		return err;
	if (!ret->name || !cni_name_valid(ret->name))
		return invalid(e, "name", "must be letters, digits and _.-");
	err = take_runtime(ret, e);
	return err ? err : take_ours(ret, e);
}

void cni_config_free(struct cni_config *c)
{
	json_decref(c->root);
	*c = (struct cni_config){0};
}

const char *cni_config_version_text(const struct cni_config *c)
{
	const char *text = json_string_value(json_object_get(c->root, "cniVersion"));

	return text ? text : CNI_VERSION_NEWEST;
}
