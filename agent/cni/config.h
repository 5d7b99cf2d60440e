/* SPDX-License-Identifier: Apache-2.0 */
/* The network configuration on stdin. */
#ifndef SEALANE_CNI_CONFIG_H
#define SEALANE_CNI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct cni_error;

#define CNI_VERSION_NEWEST "1.1.0"

/* The versions of the spec that we speak. 0.3.x has no CHECK and is refused. */
enum cni_version { CNI_0_4_0, CNI_1_0_0, CNI_1_1_0, CNI_N_VERSIONS };
extern const char *const cni_version_names[CNI_N_VERSIONS];

struct cni_config {
	json_t *root; /* owned; what follows borrows from it */
	enum cni_version version;
	const char *name;
	const char *ipam;    /* its plugin's name; NULL: we are chained behind another plugin */
	const char *device;  /* that leads to the other nodes, or NULL */
	uint32_t mtu;	     /* 0: the device's, without one the kernel's choice */
	bool big_tcp;	     /* superpackets as long as the kernel takes */
	const json_t *prev;  /* prevResult, or NULL */
	const json_t *valid; /* cni.dev/valid-attachments, or NULL */
};

/*
 * Parses @text. CNI_DECODE_FAILURE: no JSON object; CNI_INCOMPATIBLE_VERSION;
 * CNI_INVALID_CONFIG: a value that cannot be; CNI_UNSUPPORTED_FIELD: one that we do not
 * have. Keys that we do not know are other people's and no error. Free with
 * cni_config_free() in either case.
 */
int cni_config_parse(const char *text, size_t len, struct cni_config *ret, struct cni_error *e);
void cni_config_free(struct cni_config *c);
/* Of the error object: the configuration's version where it could be read. */
const char *cni_config_version_text(const struct cni_config *c);

#endif
