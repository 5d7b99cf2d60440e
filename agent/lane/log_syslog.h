/* SPDX-License-Identifier: Apache-2.0 */
/* The syslog behind log.h, apart from it: syslog.h's macros have our levels' names. */
#ifndef SEALANE_LANE_LOG_SYSLOG_H
#define SEALANE_LANE_LOG_SYSLOG_H

#include <stdbool.h>

void log_syslog_open(void);
void log_syslog_write(bool error, const char *ifname, const char *text);

#endif
