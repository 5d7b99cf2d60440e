/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one failure that ends a call. Functions of this folder return 0 or its code,
 * having filled it in.
 */
#ifndef SEALANE_CNI_ERROR_H
#define SEALANE_CNI_ERROR_H

#include <stdio.h>

struct nl;

/* SPEC.md, "Error"; from 100 on they are ours. */
enum cni_code {
	CNI_INCOMPATIBLE_VERSION = 1,
	CNI_UNSUPPORTED_FIELD = 2,
	CNI_UNKNOWN_CONTAINER = 3,
	CNI_INVALID_ENVIRONMENT = 4,
	CNI_IO_FAILURE = 5,
	CNI_DECODE_FAILURE = 6,
	CNI_INVALID_CONFIG = 7,
	CNI_TRY_AGAIN_LATER = 11,
	CNI_NOT_AVAILABLE = 50,
	CNI_KERNEL_REFUSED = 100,
	CNI_ALREADY_ATTACHED = 101,
	CNI_CHECK_FAILED = 102,
	CNI_IPAM_FAILED = 103,
};

struct cni_error {
	int code; /* 0: none */
	char msg[192];
	char details[512];
};

/* Fills in @e with an empty @details and returns @code. */
int cni_error_set(struct cni_error *e, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* CNI_KERNEL_REFUSED: "cannot WHAT: words for @err (-errno)", and the kernel's own as
 * details; @nl may be NULL. */
int cni_error_kernel(struct cni_error *e, int err, struct nl *nl, const char *what);
/* The error object of the spec; @version: of the configuration. */
void cni_error_print(const struct cni_error *e, const char *version, FILE *out);

#endif
