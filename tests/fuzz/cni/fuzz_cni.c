/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration, whose prevResult is read as an IPAM plugin's result too. Properties:
 * it is refused with a code and words, or what comes of it is within all limits; a result
 * that was taken can be made in every version, and taken again from there.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/cni/config.h"
#include "agent/cni/error.h"
#include "agent/cni/result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_made(const struct result *r, enum cni_version version)
{
	json_t *doc = result_make(r, version), *converted;
	struct result again = {.n_ips = 0};
	struct cni_error e = {.code = 0};

	check(doc != NULL);
	check(!result_take_ipam(doc, &again, &e));
	check(again.n_ips == r->n_ips && again.n_routes == r->n_routes);
	check(!memcmp(again.ips, r->ips, r->n_ips * sizeof(r->ips[0])));
	converted = result_convert(doc, CNI_0_4_0);
	check(converted != NULL);
	json_decref(converted);
	json_decref(doc);
}

static void check_result(const json_t *doc)
{
	struct result r = {.host = {.name = "slc", .sandbox = ""},
			   .container = {.name = "eth0", .sandbox = "/n"}};
	struct cni_error e = {.code = 0};

	json_decref(result_convert(doc, CNI_1_1_0));
	if (result_take_ipam(doc, &r, &e)) {
		check(e.code == CNI_IPAM_FAILED && *e.msg);
		return;
	}
	check(r.n_ips && r.n_ips <= RESULT_MAX_IPS && r.n_routes <= RESULT_MAX_ROUTES);
	for (int v = 0; v < CNI_N_VERSIONS; v++)
		check_made(&r, (enum cni_version)v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cni_error e = {.code = 0};
	struct cni_config c;
	const int err = cni_config_parse((const char *)data, size, &c, &e);

	check(err == e.code && !err == !*e.msg);
	if (!err) {
		check(c.name && *c.name && (!c.mtu || (c.mtu >= 68 && c.mtu <= 65535)));
		check(!c.ipam || !strchr(c.ipam, '/'));
		check(!c.device || strlen(c.device) < IFNAMSIZ);
		if (c.prev)
			check_result(c.prev);
	}
	cni_config_free(&c);
	return 0;
}
