/* SPDX-License-Identifier: Apache-2.0 */
#include "sync_rules.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "overlay/rules.h"
#include "sync_kernel.h"

static int on_rule(const struct rule *rule, void *arg)
{
	return sync_list_add(arg, rule);
}

static bool any_leads(const struct sync_list *rules, uint32_t table, uint32_t mark)
{
	for (size_t i = 0; i < rules->n; i++) {
		const struct rule *rule = sync_list_at(rules, i);

		if (rule->table == table && rule_may_lead(rule, mark))
			return true;
	}
	return false;
}

/* A kernel may have been built without them, or without a family. */
static bool is_without_rules(int err)
{
	return err == -EAFNOSUPPORT || err == -EOPNOTSUPP;
}

int sync_unmarked_table(struct nl *nl, int family, uint32_t mark, uint32_t *ret)
{
	struct sync_list rules = {.item_len = sizeof(struct rule)};
	uint32_t table = 0;
	int err = mark ? rule_list(nl, family, on_rule, &rules) : 0;

	if (is_without_rules(err))
		err = 0;
	for (size_t i = 0; !err && !table && i < rules.n; i++) {
		const struct rule *rule = sync_list_at(&rules, i);

		if (rule_leads(rule, 0) && !any_leads(&rules, rule->table, mark))
			table = rule->table;
	}
	sync_list_done(&rules);
	if (!err)
		*ret = table;
	return err;
}
