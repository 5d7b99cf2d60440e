/* SPDX-License-Identifier: Apache-2.0 */
/* JSON documents that commands print. Where memory is short, the process ends, with a
 * line on standard error: nothing here returns NULL. One thread. */
#ifndef SEALANE_CLI_JSON_OUT_H
#define SEALANE_CLI_JSON_OUT_H

#include <jansson.h>
#include <stdio.h>

/* Before any other use of jansson. */
void json_out_setup(void);

/* A string, or null for NULL. Text that is no UTF-8 is written as term_put() does. */
json_t *json_out_text(const char *text);
/* A number if @text is one, else as json_out_text(). */
json_t *json_out_word(const char *text);

/* Prints and releases @document; ASCII only, control characters escaped. */
void json_out(json_t *document, FILE *out);

#endif
