/* SPDX-License-Identifier: Apache-2.0 */
/* What there is to see: the agent, if one answers, and one lane. One thread. */
#ifndef SEALANE_CLI_VIEW_H
#define SEALANE_CLI_VIEW_H

#include <net/if.h>
#include <stdbool.h>
#include <sys/types.h>

#include "agent_doc.h"
#include "lane_doc.h"

#define VIEW_LANE_FOLDER "/var/run/sealane"

enum { VIEW_TEXT_LEN = 320 };

struct view {
	bool has_agent;
	struct agent_doc agent;
	char agent_why[VIEW_TEXT_LEN]; /* why there is none */
	bool agent_broken;	       /* something is there, but does not answer right */
	json_t *names;		       /* of the agent's peers, by public key */

	char lane[IFNAMSIZ]; /* "": none was found */
	bool has_lane;
	bool uapi_only;		      /* a WireGuard answers there that is not sealane's */
	char lane_why[VIEW_TEXT_LEN]; /* why there is none */
	pid_t lane_pid;		      /* 0: not told */
	char *control_text, *wg_text; /* behind the documents */
	struct lane_doc control;
	struct wg_doc wg;
};

/* Asks the agent and the lane: that of @wanted, if not NULL, else the agent's, else the
 * only one there is. Never fails: what there is not is told in @ret. */
void view_open(const char *wanted, struct view *ret);
void view_close(struct view *v);

/* Fills names from the agent's document; view_open() does it. */
void view_index_names(struct view *v);

/* Refuses @command (cli_refuse()): why there is no lane. */
struct cli;
void view_complain(const struct view *v, const struct cli *cli, const char *command);

/* What the agent calls the peer with @public_key; NULL: it does not tell. */
const char *view_peer_name(const struct view *v, const char *public_key);

#endif
