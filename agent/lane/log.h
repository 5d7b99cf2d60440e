/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines for a person on stderr, `sealaned: IFNAME: text`. Control thread only;
 * never per packet. LOG_LEVEL: silent, error, info (default), verbose.
 */
#ifndef SEALANE_LANE_LOG_H
#define SEALANE_LANE_LOG_H

#include <stdbool.h>

enum log_level { LOG_SILENT, LOG_ERROR, LOG_INFO, LOG_VERBOSE };

/* Parses a LOG_LEVEL word ("debug" = verbose, "warn" = error); false: unknown. */
bool log_level_parse(const char *word, enum log_level *ret);
/* @ifname is kept by reference. */
void log_setup(enum log_level level, const char *ifname);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_verbose(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
