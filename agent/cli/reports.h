/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that only look print, made from documents alone: the tests' way
 * in. One thread. */
#ifndef SEALANE_CLI_REPORTS_H
#define SEALANE_CLI_REPORTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct lane_doc;
struct view;

/* The texts: an enum cli_exit. The documents are the caller's to print (json_out()). */
int drops_print(const struct lane_doc *doc, bool all, FILE *out);
json_t *drops_json(const struct lane_doc *doc, bool all);

int peers_print(const struct view *view, int64_t now_s, FILE *out);
json_t *peers_json(const struct view *view, int64_t now_s);

int status_print(const struct view *view, int64_t now_s, FILE *out);
json_t *status_json_of(const struct view *view, int64_t now_s);

#endif
