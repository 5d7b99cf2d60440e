/* SPDX-License-Identifier: Apache-2.0 */
/* Rules as the kernel tells them, and which packets they lead. */
#include "overlay/rules.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <libmnl/libmnl.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

#include "overlay/nl.h"

static void test_leads(void **state)
{
	static const struct {
		struct rule rule;
		uint32_t mark;
		bool may, surely;
	} rows[] = {
		{{.table = 7}, 0, true, true},
		{{.table = 7}, 9, true, true},
		{{.table = 0}, 9, false, false},
		{{.table = 7, .invert = true}, 9, false, false},
		{{.table = 7, .mark = 9, .mask = 0xffffffff}, 9, true, true},
		{{.table = 7, .mark = 9, .mask = 0xffffffff}, 8, false, false},
		{{.table = 7, .mark = 9, .mask = 0xffffffff}, 0, false, false},
		{{.table = 7, .mark = 8, .mask = 8}, 9, true, true},
		{{.table = 7, .mark = 9, .mask = 0xffffffff, .invert = true}, 9, false, false},
		{{.table = 7, .mark = 9, .mask = 0xffffffff, .invert = true}, 0, true, true},
		{{.table = 7, .partial = true}, 9, true, false},
		{{.table = 7, .mark = 9, .mask = 0xffffffff, .partial = true}, 8, false, false},
		{{.table = 7, .mark = 9, .mask = 0xffffffff, .partial = true, .invert = true},
		 9,
		 true,
		 false},
		{{.table = 7, .mark = 9, .mask = 0xffffffff, .partial = true, .invert = true},
		 8,
		 true,
		 true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rule_may_lead(&rows[i].rule, rows[i].mark) != rows[i].may ||
		    rule_leads(&rows[i].rule, rows[i].mark) != rows[i].surely)
			fail_msg("row %zu", i);
	}
}

static struct fib_rule_hdr *begin(char *buf, struct nlmsghdr **ret)
{
	struct fib_rule_hdr *header;

	*ret = mnl_nlmsg_put_header(buf);
	(*ret)->nlmsg_type = RTM_NEWRULE;
	header = mnl_nlmsg_put_extra_header(*ret, sizeof(*header));
	header->action = FR_ACT_TO_TBL;
	header->table = 7;
	return header;
}

static void test_malformed(void **state)
{
	char buf[256] __attribute__((aligned(8)));
	struct nlmsghdr *nlh;
	struct rule rule;

	(void)state;
	begin(buf, &nlh);
	assert_true(rule_parse(nlh, &rule));
	assert_int_equal(rule.table, 7);
	nlh->nlmsg_type = RTM_DELRULE;
	assert_false(rule_parse(nlh, &rule));
	nlh->nlmsg_type = RTM_NEWRULE;
	nlh->nlmsg_len--;
	assert_false(rule_parse(nlh, &rule));
	begin(buf, &nlh);
	mnl_attr_put_u16(nlh, FRA_TABLE, 9);
	assert_false(rule_parse(nlh, &rule));
	begin(buf, &nlh);
	mnl_attr_put_u32(nlh, FRA_TABLE, 1000);
	nlh->nlmsg_len -= 4;
	assert_false(rule_parse(nlh, &rule));
	begin(buf, &nlh)->action = FR_ACT_BLACKHOLE;
	assert_true(rule_parse(nlh, &rule));
	assert_int_equal(rule.table, 0);
}

struct wanted {
	struct rule rule;
	bool found;
};

static int on_rule(const struct rule *rule, void *arg)
{
	struct wanted *w = arg;

	w->found |= rule->table == w->rule.table && rule->mark == w->rule.mark &&
		    rule->mask == w->rule.mask && rule->invert == w->rule.invert &&
		    rule->partial == w->rule.partial;
	return 0;
}

static int stop(const struct rule *rule, void *arg)
{
	(void)rule;
	(void)arg;
	return -ECANCELED;
}

static void test_kernel(void **state)
{
	static const struct {
		const char *command;
		struct rule want;
	} rows[] = {
		{NULL, {.table = RT_TABLE_MAIN}},
		{"not fwmark 0xca6c lookup 51820",
		 {.table = 51820, .mark = 0xca6c, .mask = 0xffffffff, .invert = true}},
		{"fwmark 0x10/0xf0 lookup 100", {.table = 100, .mark = 0x10, .mask = 0xf0}},
		{"lookup 101 suppress_prefixlength 0", {.table = 101}},
		{"iif lo lookup 102", {.table = 102, .partial = true}},
		{"from FROM lookup 103", {.table = 103, .partial = true}},
		{"to FROM lookup 104", {.table = 104, .partial = true}},
		{"ipproto udp lookup 105", {.table = 105, .partial = true}},
		{"uidrange 5-6 lookup 106", {.table = 106, .partial = true}},
	};
	struct nl *nl;

	(void)state;
	if (unshare(CLONE_NEWNET) < 0) {
		print_message("skipped: needs root\n");
		skip();
	}
	assert_int_equal(nl_open(&nl), 0);
	for (int v = 4; v <= 6; v += 2) {
		const int family = v == 4 ? AF_INET : AF_INET6;

		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			struct wanted wanted = {.rule = rows[i].want};
			char command[256];

			snprintf(command, sizeof(command),
				 "ip -%d rule add $(echo '%s' | sed s,FROM,%s,)", v,
				 rows[i].command ? rows[i].command : "",
				 v == 4 ? "192.0.2.0/24" : "2001:db8::/32");
			if (rows[i].command && system(command) != 0)
				fail_msg("failed: %s", command);
			assert_int_equal(rule_list(nl, family, on_rule, &wanted), 0);
			if (!wanted.found)
				fail_msg("not found: %s", command);
		}
		assert_int_equal(rule_list(nl, family, stop, NULL), -ECANCELED);
	}
	nl_close(nl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leads),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
