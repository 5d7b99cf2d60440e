/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void report_fault(struct report *r, int err, const char *fmt, ...)
{
	const char *name = err ? strerror(-err) : "";
	/* However long the text, the reason behind it stays. */
	size_t room = REPORT_TEXT_LEN - (err ? strlen(name) + 2 : 0);
	char *text;
	va_list args;

	if (r->failed++ >= REPORT_FAULTS_MAX)
		return;
	text = r->faults[r->failed - 1];
	va_start(args, fmt);
	vsnprintf(text, room, fmt, args);
	va_end(args);
	if (err)
		snprintf(text + strlen(text), REPORT_TEXT_LEN - strlen(text), ": %s", name);
}

void report_did(struct report *r, unsigned *counter, const char *fmt, ...)
{
	char text[REPORT_TEXT_LEN];
	va_list args;

	(*counter)++;
	if (!r->log)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	r->log(text, r->log_arg);
}
