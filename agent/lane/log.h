/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines for a person on stderr, `sealaned: IFNAME: text`, or in the syslog once
 * nobody sees stderr. Control thread only; never per packet; never waits. LOG_LEVEL: silent, error,
 * info (default), verbose.
 */
#ifndef SEALANE_LANE_LOG_H
#define SEALANE_LANE_LOG_H

#include <stdbool.h>

enum log_level { LOG_SILENT, LOG_ERROR, LOG_INFO, LOG_VERBOSE };

/* Parses a LOG_LEVEL word ("debug" = verbose, "warn" = error); false: unknown. */
bool log_level_parse(const char *word, enum log_level *ret);
void log_setup(enum log_level level);
/* From now on every line names the device; @ifname is kept by reference. Before
 * that they are answers to whoever starts the program. */
void log_name(const char *ifname);

/* From now on to the syslog. */
void log_use_syslog(void);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_verbose(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
