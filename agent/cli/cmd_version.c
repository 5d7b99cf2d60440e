/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"
#include "json_out.h"

int cmd_version(const struct cli *cli)
{
	if (cli->options.given & OPTION_JSON)
		json_out(json_pack("{s:s}", "version", SEALANE_VERSION), cli->out);
	else
		fprintf(cli->out, "sealane %s\n", SEALANE_VERSION);
	return CLI_FINE;
}
