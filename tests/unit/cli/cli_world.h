/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the command share: printed text, and views made from canned
 * answers of agent and lane. */
#ifndef SEALANE_TESTS_CLI_WORLD_H
#define SEALANE_TESTS_CLI_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/cli/view.h"

/* A stream whose text can be compared. */
struct printed {
	FILE *out;
	char *text;
	size_t len;
};

static inline void printed_begin(struct printed *p)
{
	p->out = open_memstream(&p->text, &p->len);
	assert_non_null(p->out);
}

static inline const char *printed_text(struct printed *p)
{
	assert_int_equal(fflush(p->out), 0);
	return p->text;
}

static inline void printed_end(struct printed *p)
{
	fclose(p->out);
	free(p->text);
}

/* Compares, and shows both whole when they differ. */
static inline void assert_printed(struct printed *p, const char *want)
{
	if (strcmp(printed_text(p), want) != 0)
		fail_msg("printed:\n%s\nwanted:\n%s", p->text, want);
	printed_end(p);
}

/* A view over texts that the test owns; NULL: agent or lane are not there. */
struct canned {
	struct view view;
	char *control, *wg;
};

static inline void canned_begin(struct canned *c, const char *agent, const char *control,
				const char *wg)
{
	*c = (struct canned){.control = NULL};
	if (agent) {
		assert_int_equal(agent_doc_parse(agent, strlen(agent), &c->view.agent), 0);
		view_index_names(&c->view);
		c->view.has_agent = true;
	} else {
		snprintf(c->view.agent_why, sizeof(c->view.agent_why), "not running");
	}
	if (!control) {
		snprintf(c->view.lane_why, sizeof(c->view.lane_why), "not there");
		return;
	}
	c->control = strdup(control);
	c->wg = strdup(wg ? wg : "");
	assert_int_equal(lane_doc_parse(c->control, &c->view.control), 0);
	assert_int_equal(wg_doc_parse(c->wg, &c->view.wg), 0);
	c->view.has_lane = true;
	snprintf(c->view.lane, sizeof(c->view.lane), "sl0");
}

static inline void canned_end(struct canned *c)
{
	view_close(&c->view); /* which has no texts of its own */
	free(c->control);
	free(c->wg);
}

#endif
