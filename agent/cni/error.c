/* SPDX-License-Identifier: Apache-2.0 */
#include "error.h"

#include <stdarg.h>
#include <string.h>

#include <jansson.h>

#include "overlay/nl.h"

int cni_error_set(struct cni_error *e, int code, const char *format, ...)
{
	va_list args;

	*e = (struct cni_error){.code = code};
	va_start(args, format);
	vsnprintf(e->msg, sizeof(e->msg), format, args);
	va_end(args);
	return code;
}

int cni_error_kernel(struct cni_error *e, int err, struct nl *nl, const char *what)
{
	cni_error_set(e, CNI_KERNEL_REFUSED, "cannot %s: %s", what, strerror(-err));
	if (nl)
		snprintf(e->details, sizeof(e->details), "%s", nl_errmsg(nl));
	return e->code;
}

void cni_error_print(const struct cni_error *e, const char *version, FILE *out)
{
	/* A message may quote bytes that are no UTF-8, which jansson refuses. */
	json_t *msg = json_string(e->msg), *details = json_string(e->details);
	json_t *doc = json_pack("{s:s, s:i, s:o, s:o}", "cniVersion", version, "code", e->code,
				"msg", msg ? msg : json_string("(not UTF-8)"), "details",
				details ? details : json_string("(not UTF-8)"));

	if (doc)
		json_dumpf(doc, out, JSON_COMPACT);
	fputc('\n', out);
	json_decref(doc);
}
