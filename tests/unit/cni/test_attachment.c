/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cni/attachment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char long_id[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static struct link_info link_of(const struct attachment *a)
{
	struct link_info link = {.ifindex = 1};

	strcpy(link.name, a->name);
	strcpy(link.alias, a->alias);
	return link;
}

static void test_same_and_different(void **state)
{
	const struct attachment a = attachment_make("net", long_id, "eth0");
	const struct attachment again = attachment_make("net", long_id, "eth0");
	const struct attachment others[] = {
		attachment_make("net2", long_id, "eth0"),
		attachment_make("net", long_id + 1, "eth0"),
		attachment_make("net", long_id, "eth1"),
		/* The same letters, parted elsewhere. */
		attachment_make("net0", long_id + 1, "eth0"),
	};
	size_t i;

	(void)state;
	assert_int_equal(strlen(a.name), IFNAMSIZ - 1);
	assert_int_equal(strncmp(a.name, "slc", 3), 0);
	assert_string_equal(a.name, again.name);
	assert_string_equal(a.alias, again.alias);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_string_not_equal(a.name, others[i].name);
		assert_string_not_equal(a.alias, others[i].alias);
	}
}

static void test_owns(void **state)
{
	const struct attachment a = attachment_make("net", "p", "eth0");
	const struct attachment b = attachment_make("net", "q", "eth0");
	struct link_info link = link_of(&a);

	(void)state;
	assert_true(attachment_owns(&a, &link));
	assert_false(attachment_owns(&b, &link));
	/* Made, but not marked yet. */
	link.alias[0] = '\0';
	assert_true(attachment_owns(&a, &link));
	assert_false(attachment_owns(&b, &link));
	/* Somebody else's under our name. */
	strcpy(link.alias, "mine");
	assert_false(attachment_owns(&a, &link));
}

static void test_network(void **state)
{
	const struct attachment a = attachment_make("net", "p", "eth0");
	struct link_info link = link_of(&a);

	(void)state;
	assert_true(attachment_of_network("net", &link));
	assert_false(attachment_of_network("net2", &link));
	link.alias[0] = '\0';
	assert_false(attachment_of_network("net", &link));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_and_different),
		cmocka_unit_test(test_owns),
		cmocka_unit_test(test_network),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
