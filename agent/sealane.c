/* SPDX-License-Identifier: Apache-2.0 */
/* sealane: the operator's command. Everything is in agent/cli/. */
#include <stdio.h>

#include "agent/cli/cli.h"

int main(int argc, char **argv)
{
	return cli_main(argc, argv, stdout, stderr);
}
