/* SPDX-License-Identifier: Apache-2.0 */
#include "log_syslog.h"

#include <syslog.h>

void log_syslog_open(void)
{
	openlog("sealaned", LOG_PID | LOG_NDELAY, LOG_DAEMON);
}

void log_syslog_write(bool error, const char *ifname, const char *text)
{
	syslog(error ? LOG_ERR : LOG_INFO, "%s: %s", ifname, text);
}
