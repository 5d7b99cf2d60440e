/* SPDX-License-Identifier: Apache-2.0 */
/* sealane-cni: the CNI plugin. Everything is in agent/cni/. */
#include <stdio.h>

#include "agent/cni/cni.h"

int main(void)
{
	return cni_main(stdin, stdout);
}
