/* SPDX-License-Identifier: Apache-2.0 */
#include "sync_kernel.h"

#include <errno.h>
#include <stddef.h>

#include "overlay/nl_batch.h"
#include "report.h"
#include "sync_ipv6.h"

/* What the answers of one batch are told to. */
struct applying {
	const struct sync_kind *kind;
	struct report *r;
};

static void tell(const struct applying *a, const struct sync_change *change, int err);

int sync_change_add(struct sync_list *changes, enum sync_verb verb, const void *thing)
{
	const struct sync_change change = {.verb = verb, .thing = thing};

	return sync_list_add(changes, &change);
}

static void on_answer(void *cookie, int err, void *arg)
{
	tell(arg, cookie, err);
}

static bool takes_away(const struct sync_change *change)
{
	return change->verb == SYNC_REMOVE || change->verb == SYNC_MAKE_ROOM;
}

void sync_changes_apply(struct nl *nl, const struct sync_list *changes,
			const struct sync_kind *kind, struct report *r)
{
	struct applying a = {.kind = kind, .r = r};
	struct nl_batch *b;
	int err;

	if (!changes->n)
		return;
	err = nl_batch_new(nl, on_answer, &a, &b);
	if (err) {
		report_fault(r, err, "%zu changes", changes->n);
		return;
	}
	for (size_t i = 0; i < changes->n; i++) {
		struct sync_change *change = sync_list_at(changes, i);

		err = takes_away(change) ? kind->remove(b, change->thing, change)
					 : kind->put(b, change->thing, change);
		/* Then it is not in the batch, and nobody else will tell. */
		if (err)
			tell(&a, change, err);
	}
	nl_batch_flush(b);
	nl_batch_free(b);
}

static bool is_gone(int err)
{
	return err == -ESRCH || err == -ENOENT || err == -ENODEV || err == -EADDRNOTAVAIL;
}

static void tell(const struct applying *a, const struct sync_change *change, int err)
{
	char text[160], why[SYNC_IPV6_WHY_LEN] = "";

	if (takes_away(change) && (is_gone(err) || (!err && change->verb == SYNC_MAKE_ROOM)))
		return;
	a->kind->describe(change->thing, text, sizeof(text));
	if (err && a->kind->ipv6_device)
		sync_ipv6_why(a->kind->ipv6_device(change->thing), err, why);
	if (err)
		report_fault(a->r, why[0] ? 0 : err, "%s%s%s%s",
			     takes_away(change) ? "removing " : "", text, why[0] ? ": " : "", why);
	else if (change->verb == SYNC_ADD)
		report_did(a->r, &a->r->added, "added %s", text);
	else if (change->verb == SYNC_CHANGE)
		report_did(a->r, &a->r->changed, "changed %s", text);
	else
		report_did(a->r, &a->r->removed, "removed %s", text);
}
