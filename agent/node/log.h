/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines for a person on stderr: `sealane-agent: text`, or, where stderr is the
 * journal, which knows the name, `<N>text` with the priority. Never waits longer
 * than LOG_PATIENCE_MS for a reader, and not again until one reads. Control thread.
 */
#ifndef SEALANE_NODE_LOG_H
#define SEALANE_NODE_LOG_H

#include "config.h"

enum { LOG_PATIENCE_MS = 100, LOG_LINE_LEN = 1024 };

/* Lines above @level are left out; CONFIG_LOG_INFO before the first call. */
void log_setup(enum config_log level);
/* Looks whether stderr is the journal (JOURNAL_STREAM). */
void log_open(char *(*getenv_fn)(const char *name));

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
