/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's policy rules, which say where a packet's way is looked up: to read, for
 * they are the host's. Control thread. */
#ifndef SEALANE_OVERLAY_RULES_H
#define SEALANE_OVERLAY_RULES_H

#include <stdbool.h>
#include <stdint.h>

struct nl;
struct nlmsghdr;

struct rule {
	uint32_t table;	     /* where it leads; 0: to none, but elsewhere */
	uint32_t mark, mask; /* of packets; mask 0: of all */
	bool invert;	     /* it is for packets that are not so */
	bool partial;	     /* looks at more than the mark, which is not told here */
};

/* Those of @family (AF_INET, AF_INET6) in their order. @fn returns 0 to go on, else that
 * ends the list and is returned. May show one twice (nl_call()). 0 or -errno. */
typedef int (*rule_fn)(const struct rule *rule, void *arg);
int rule_list(struct nl *nl, int family, rule_fn fn, void *arg);

/* May it lead a packet with @mark? / Does it lead every packet with @mark? Pure. */
bool rule_may_lead(const struct rule *rule, uint32_t mark);
bool rule_leads(const struct rule *rule, uint32_t mark);

/* Parses an RTM_NEWRULE whose nlmsg_len bytes are there. False: it is none, or malformed.
 * Any thread. */
bool rule_parse(const struct nlmsghdr *nlh, struct rule *ret);

#endif
