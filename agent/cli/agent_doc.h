/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's status document (node/status.h), read tolerantly: whatever is missing or of
 * another type is as if it were not told. One thread.
 */
#ifndef SEALANE_CLI_AGENT_DOC_H
#define SEALANE_CLI_AGENT_DOC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { AGENT_DOC_TIMEOUT_MS = 5000, AGENT_DOC_MAX_LEN = 64 << 20 };

struct agent_doc {
	json_t *root; /* an object */
	pid_t pid;    /* of the process at the other end, 0: not told */
};

/* SEALANE_AGENT_SOCKET, else where the agent has it by itself. */
const char *agent_doc_path(void);

/*
 * 0; -ENOENT or -ECONNREFUSED: no agent there; -ETIMEDOUT: nothing came for
 * AGENT_DOC_TIMEOUT_MS; -EPIPE: it ended before it had told all; -EPROTO: what came is no such
 * document; -EMSGSIZE; or -errno. *ret is untouched on failure, but its pid is set once something
 * accepted the connection.
 */
int agent_doc_fetch(const char *path, struct agent_doc *ret);
/* From memory: 0, -EPIPE (cut short), -EPROTO or -ENOMEM. */
int agent_doc_parse(const char *text, size_t len, struct agent_doc *ret);
void agent_doc_done(struct agent_doc *doc);

/* @object may be NULL or anything else. */
const char *agent_text(const json_t *object, const char *key); /* NULL: not told */
int64_t agent_number(const json_t *object, const char *key, int64_t otherwise);
bool agent_flag(const json_t *object, const char *key, bool otherwise);
const json_t *agent_part(const json_t *object, const char *key); /* NULL: not told */
/* Of a list; 0 and NULL where there is none. */
size_t agent_count(const json_t *object, const char *key);
const json_t *agent_item(const json_t *object, const char *key, size_t i);

#endif
