/* SPDX-License-Identifier: Apache-2.0 */
#include "rules.h"

#include <libmnl/libmnl.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

#include "nl.h"

static bool leads_by_mark(const struct rule *rule, uint32_t mark)
{
	return !((mark ^ rule->mark) & rule->mask) != rule->invert;
}

/* What else it looks at may fit or not. Of one that is for all others, one thing that
 * does not fit is enough. */
bool rule_may_lead(const struct rule *rule, uint32_t mark)
{
	return rule->table && (leads_by_mark(rule, mark) || (rule->partial && rule->invert));
}

bool rule_leads(const struct rule *rule, uint32_t mark)
{
	return rule->table && leads_by_mark(rule, mark) && (!rule->partial || rule->invert);
}

/* Those that tell nothing about the packets it is for. */
static bool says_nothing(uint16_t type)
{
	return type == FRA_PRIORITY || type == FRA_SUPPRESS_PREFIXLEN ||
	       type == FRA_SUPPRESS_IFGROUP || type == FRA_PROTOCOL || type == FRA_PAD ||
	       type == FRA_FLOW;
}

static bool read_attr(const struct nlattr *attr, struct rule *rule)
{
	switch (mnl_attr_get_type(attr)) {
	case FRA_TABLE:
		return nl_attr_u32(attr, &rule->table);
	case FRA_FWMARK:
		return nl_attr_u32(attr, &rule->mark);
	case FRA_FWMASK:
		return nl_attr_u32(attr, &rule->mask);
	default:
		rule->partial |= !says_nothing(mnl_attr_get_type(attr));
		return true;
	}
}

bool rule_parse(const struct nlmsghdr *nlh, struct rule *ret)
{
	const struct fib_rule_hdr *header = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;
	struct nl_attrs attrs;
	struct rule rule;

	if (nlh->nlmsg_type != RTM_NEWRULE || !nl_attrs_begin(nlh, sizeof(*header), &attrs))
		return false;
	rule = (struct rule){
		.table = header->table,
		.invert = header->flags & FIB_RULE_INVERT,
		.partial = header->dst_len || header->src_len || header->tos,
	};
	while ((attr = nl_attrs_next(&attrs))) {
		if (!read_attr(attr, &rule))
			return false;
	}
	if (attrs.left)
		return false;
	if (header->action != FR_ACT_TO_TBL)
		rule.table = 0;
	*ret = rule;
	return true;
}

struct listing {
	rule_fn fn;
	void *arg;
};

static int on_message(const struct nlmsghdr *nlh, void *arg)
{
	const struct listing *listing = arg;
	struct rule rule;

	return rule_parse(nlh, &rule) ? listing->fn(&rule, listing->arg) : 0;
}

int rule_list(struct nl *nl, int family, rule_fn fn, void *arg)
{
	struct listing listing = {fn, arg};
	char buf[128];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct fib_rule_hdr *header;

	nlh->nlmsg_type = RTM_GETRULE;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	header = mnl_nlmsg_put_extra_header(nlh, sizeof(*header));
	header->family = (uint8_t)family;
	return nl_call(nl, nlh, on_message, &listing);
}
