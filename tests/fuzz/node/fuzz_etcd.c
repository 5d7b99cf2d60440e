/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes from etcd, by the first byte: a record ('r'), an answer to a range ('a'), a line of
 * a watch ('w'), a refusal ('e'). Properties: a record is refused with words, or is a member
 * under the name it is asked for and without a key of a file; keys are text; words are one line.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/node/etcd_record.h"
#include "agent/node/etcd_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static char *no_env(const char *name)
{
	(void)name;
	return NULL;
}

static const struct config *this_node(void)
{
	static const char text[] = "node: {name: a, tunnel_addresses: [10.9.0.1, \"fd00::1\"], "
				   "private_key_file: /none}\n"
				   "overlays: [{name: ov0, vni: 42, addresses: [10.10.0.1/24]}]\n";
	static struct config *config;
	struct config_faults faults = {0};

	if (!config)
		check(!config_parse(text, sizeof(text) - 1, "F", no_env, &config, &faults));
	return config;
}

static void on_kv(void *ctx, const struct etcd_kv *kv)
{
	(void)ctx;
	check(kv->key && kv->value && !kv->value[kv->len]);
}

static void try_record(const char *text, size_t len)
{
	struct config_faults faults = {0};
	struct member m;
	uint8_t key[NODE_KEY_LEN];
	uint64_t since;
	const int err = etcd_record_parse(text, len, "b", "W", this_node(), &m, &faults);

	check(!err || err == -EINVAL);
	if (err) {
		check(faults.n && faults.text);
	} else {
		check(!strcmp(m.name, "b") && !m.has_psk && m.n_overlays <= 1);
		member_clear(&m);
	}
	config_faults_free(&faults);
	(void)etcd_record_identity(text, len, key, &since);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char error[ETCD_ERROR_LEN], token[64], *text = malloc(size + 1);
	const size_t len = size ? size - 1 : 0;
	struct etcd_range range;
	struct etcd_watch w = {0};
	int64_t number;

	check(text != NULL);
	memcpy(text, data + !!size, len);
	switch (size ? data[0] : 0) {
	case 'r':
		try_record(text, len);
		break;
	case 'a':
		if (etcd_wire_parse_range(text, len, on_kv, NULL, &range))
			check(range.revision > 0);
		break;
	case 'w':
		(void)etcd_wire_parse_watch(text, len, on_kv, NULL, &w);
		check(!strchr(w.reason, '\n'));
		break;
	default:
		etcd_wire_parse_error(text, len, error);
		check(!strchr(error, '\n') && strlen(error) < sizeof(error));
		(void)etcd_wire_parse_token(text, len, token, sizeof(token));
		(void)etcd_wire_parse_grant(text, len, &number);
		(void)etcd_wire_parse_keepalive(text, len, &number);
		break;
	}
	free(text);
	return 0;
}
