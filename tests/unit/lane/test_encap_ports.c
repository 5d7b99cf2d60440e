/* SPDX-License-Identifier: Apache-2.0 */
/* UDP ports of tunnels: commands about them, and what is in force and told after these. */
#include "agent/lane/encap_ports.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/lane/log.h"
#include "port_world.h"

static struct port_world world;
static char err_text[PORT_ERR_LEN];

static int setup(void **state)
{
	const struct encap_table none = {.n = 0};

	(void)state;
	log_setup(LOG_SILENT);
	port_world_init(&world);
	encap_ports_environment(&world.lane, &none);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	port_world_done(&world);
	return 0;
}

static void expect_set(const char *lines)
{
	if (port_world_set(&world, lines, strlen(lines), err_text))
		fail_msg("refused: %s\n%s", err_text, lines);
	assert_string_equal(err_text, "");
}

#define DEFAULTS                                                                                   \
	"encap=4789 vxlan default\nencap=8472 vxlan default\nencap=6081 geneve default\n"          \
	"encap=6635 mpls default\n"

static void expect_told(const char *lines)
{
	struct textbuf b = {0};

	encap_ports_put(&world.lane, &b);
	assert_false(b.failed);
	assert_string_equal(b.data, lines);
	textbuf_done(&b);
}

static void expect_kind(uint16_t port, enum encap_kind kind)
{
	assert_int_equal(encap_table_find(&world.lane.encap, port), kind);
}

static void expect_refused(const char *lines, int err, const char *words)
{
	const struct encap_table before = world.lane.encap, set = world.lane.encap_set;

	if (port_world_set(&world, lines, strlen(lines), err_text) != err ||
	    strncmp(err_text, words, strlen(words)) != 0)
		fail_msg("\"%s\" is no answer, to\n%s", err_text, lines);
	assert_memory_equal(&world.lane.encap, &before, sizeof(before));
	assert_memory_equal(&world.lane.encap_set, &set, sizeof(set));
}

static void test_set_and_taken_back(void **state)
{
	(void)state;
	expect_told(DEFAULTS);
	expect_set("version=1\nencap=14789 vxlan\nencap=6635 ip\n");
	expect_kind(14789, ENCAP_VXLAN);
	expect_kind(6635, ENCAP_BAREUDP_IP);
	expect_kind(4789, ENCAP_VXLAN);
	expect_told(DEFAULTS "encap=14789 vxlan set\nencap=6635 ip set\n");

	/* What a get says may be said again, and so changes nothing. */
	expect_set("encap=14789 vxlan set\n");
	expect_told(DEFAULTS "encap=14789 vxlan set\nencap=6635 ip set\n");
	expect_set("encap= 14789 \t geneve \n");
	expect_kind(14789, ENCAP_GENEVE);

	/* The known ones are under what was set. */
	expect_set("encap_remove=6635\n");
	expect_kind(6635, ENCAP_BAREUDP_MPLS);
	expect_set("encap_remove=14789\n");
	expect_kind(14789, ENCAP_NONE);
	expect_told(DEFAULTS);
}

static void test_replaced(void **state)
{
	(void)state;
	expect_set("encap=1 vxlan\nencap=2 mpls\nencap=3 geneve\n");
	/* First, wherever in the command it stands. */
	expect_set("encap=2 ip\nreplace_encap=true\n");
	expect_told(DEFAULTS "encap=2 ip set\n");
	expect_kind(1, ENCAP_NONE);
	expect_kind(2, ENCAP_BAREUDP_IP);
	expect_set("replace_encap=true\n");
	expect_told(DEFAULTS);
	expect_kind(2, ENCAP_NONE);
}

/* In their order. */
static void test_order(void **state)
{
	(void)state;
	expect_set("encap=1 vxlan\nencap_remove=1\nencap=1 ip\n");
	expect_kind(1, ENCAP_BAREUDP_IP);
	expect_refused("encap_remove=1\nencap_remove=1\n", -ENOENT,
		       "line 2: encap_remove: nothing was set for port 1");
}

static void test_environment_stays_on_top(void **state)
{
	struct encap_table environment = {.n = 0};

	(void)state;
	assert_true(encap_table_parse(&environment, "14789=geneve,6635=mpls,7000=ip"));
	expect_set("encap=14789 vxlan\n");
	encap_ports_environment(&world.lane, &environment);
	expect_kind(14789, ENCAP_GENEVE);
	expect_set("encap=6635 ip\nencap=7001 ip\n");
	expect_kind(6635, ENCAP_BAREUDP_MPLS);
	expect_kind(7001, ENCAP_BAREUDP_IP);
	expect_kind(7000, ENCAP_BAREUDP_IP);
	expect_told(DEFAULTS "encap=14789 vxlan set\nencap=6635 ip set\nencap=7001 ip set\n"
			     "encap=14789 geneve environment\nencap=6635 mpls environment\n"
			     "encap=7000 ip environment\n");
	expect_set("encap_remove=14789\n");
	expect_kind(14789, ENCAP_GENEVE);
	expect_refused("encap_remove=7000\n", -ENOENT, "line 1: encap_remove: nothing was set");
}

static void test_refused(void **state)
{
	static const struct {
		const char *lines, *words;
	} rows[] = {
		{"encap=14789\n", "line 1: encap: must be 1 to 65535 and vxlan, geneve, ip or"},
		{"encap=14789 VXLAN\n", "line 1: encap: must be"},
		{"encap=14789 vxla\n", "line 1: encap: must be"},
		{"encap=14789 vxlan default\n", "line 1: encap: must be"},
		{"encap=14789 vxlan set 1\n", "line 1: encap: must be"},
		{"encap=0 vxlan\n", "line 1: encap: must be"},
		{"encap=65536 vxlan\n", "line 1: encap: must be"},
		{"encap=vxlan 14789\n", "line 1: encap: must be"},
		{"encap_remove=0\n", "line 1: encap_remove: must be 1 to 65535"},
		{"encap_remove=1 vxlan\n", "line 1: encap_remove: must be 1 to 65535"},
		{"replace_encap=false\n", "line 1: replace_encap: must be true"},
		{"replace_encap=true\nreplace_encap=true\n", "line 2: replace_encap: given twice"},
		{"encap=1 vxlan\nencap=2 gre\n", "line 2: encap: must be"},
		{"encap=1 vxlan\nversion=1\n", "line 2: version: must be the first line"},
		{"encap=1 vxlan\nport=vx0\n", "line 2: port: ports and encap need a command"},
		{"encap=1 vxlan\nvni=7\n", "line 2: vni: ports and encap need a command each"},
		{"port=vx0\nencap=1 vxlan\n", "line 2: encap: ports and encap need a command"},
	};

	(void)state;
	expect_set("encap=7 ip\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_refused(rows[i].lines, -EINVAL, rows[i].words);
}

/* With four known ones and one of the environment there is room for 27. */
static void test_full(void **state)
{
	struct encap_table environment = {.n = 0};
	char line[64];

	(void)state;
	assert_true(encap_table_set(&environment, 1, ENCAP_GENEVE));
	encap_ports_environment(&world.lane, &environment);
	for (int i = 0; i < 27; i++) {
		snprintf(line, sizeof(line), "encap=%d vxlan\n", 100 + i);
		expect_set(line);
	}
	expect_refused("encap=127 vxlan\n", -ENOSPC,
		       "line 1: encap: there may be 32 ports, those of the default and of the "
		       "environment included");
	/* One of the others' takes no room, and a line that goes makes some. */
	expect_set("encap=4789 ip\nencap=1 ip\n");
	expect_set("encap_remove=100\nencap=127 vxlan\n");
	expect_kind(127, ENCAP_VXLAN);
	expect_kind(1, ENCAP_GENEVE);
}

static void test_too_many_lines(void **state)
{
	char lines[2000] = "";

	(void)state;
	for (int i = 0; i < 64; i++)
		strcat(lines, "encap=1 vxlan\n");
	expect_set(lines);
	expect_refused(strcat(lines, "encap=1 ip\n"), -ENOSPC,
		       "line 65: at most 64 ports in one command");
}

static void test_room_for_the_environment(void **state)
{
	struct encap_table environment = {.n = 0};

	(void)state;
	for (uint16_t port = 1; port <= 28; port++)
		assert_true(encap_table_set(&environment, port, ENCAP_VXLAN));
	assert_true(encap_ports_fit(&environment));
	assert_true(encap_table_set(&environment, 4789, ENCAP_BAREUDP_IP));
	assert_true(encap_ports_fit(&environment));
	assert_true(encap_table_set(&environment, 29, ENCAP_VXLAN));
	assert_false(encap_ports_fit(&environment));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_set_and_taken_back),
		TEST(test_replaced),
		TEST(test_order),
		TEST(test_environment_stays_on_top),
		TEST(test_refused),
		TEST(test_full),
		TEST(test_too_many_lines),
		TEST(test_room_for_the_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
