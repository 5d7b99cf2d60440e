/* SPDX-License-Identifier: Apache-2.0 */
/* The CNI plugin: one call, one operation. Spec: CNI SPEC.md 0.4.0, 1.0.0, 1.1.0. */
#ifndef SEALANE_CNI_CNI_H
#define SEALANE_CNI_CNI_H

#include <stdio.h>

/* Does what the CNI_ variables of the environment ask for, with the configuration on
 * @in; prints the result or the error object to @out. Returns the exit status: 0 or 1. */
int cni_main(FILE *in, FILE *out);

#endif
