/* SPDX-License-Identifier: Apache-2.0 */
/* Commands as text, against a lane whose ports have no devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/lane/log.h"
#include "port_world.h"

#define CREATE	"port=vx0\ncreate=true\nvtep=10.9.0.1\nvni=7\n"
#define CREATE6 "port=vx6\ncreate=true\nvtep=fd00::1\nvni=7\n"

static struct port_world world;
static char err_text[PORT_ERR_LEN];

static int setup(void **state)
{
	(void)state;
	log_setup(LOG_SILENT);
	port_world_init(&world);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	port_world_done(&world);
	assert_int_equal(world.n_opened, world.n_closed);
	return 0;
}

static int set(const char *lines)
{
	return port_world_set(&world, lines, strlen(lines), err_text);
}

static void expect_set(const char *lines)
{
	if (set(lines))
		fail_msg("refused: %s\n%s", err_text, lines);
	assert_string_equal(err_text, "");
}

static bool has_line(const char *text, const char *line)
{
	char whole[128];

	snprintf(whole, sizeof(whole), "\n%s\n", line);
	return strstr(text, whole);
}

/* @lines are refused so, and nothing is other than before. */
static void expect_refused(const char *lines, int err, const char *words)
{
	char *before = port_world_text(&world), *after;

	if (set(lines) != err || strncmp(err_text, words, strlen(words)) != 0)
		fail_msg("\"%s\" is no answer, to\n%s", err_text, lines);
	after = port_world_text(&world);
	assert_string_equal(before, after);
	free(before);
	free(after);
}

static void test_whole_command(void **state)
{
	static const char command[] = "version=1\nport=vx0\ncreate=true\nkind=tap\nmtu=1400\n"
				      "mac=02:00:00:AB:cd:01\ngso_max_size=131072\nvtep=10.9.0.1\n"
				      "udp_port=8472\nvni=16777215\nttl=255\ndscp=63\n"
				      "checksum=true\nanswer_neighbours=true\nlearning=false\n"
				      "age_s=4294967295\nfdb_limit=1048576\nlearned_limit=0\n"
				      "fdb=02:00:00:00:00:01 10.9.0.2\nflood=10.9.0.3\n"
				      "neighbour=10.1.0.1 02:00:00:00:00:02\n";
	static const char reply[] =
		"ports=1\nport=vx0\nkind=tap\nmtu=1400\nmac=02:00:00:ab:cd:01\n"
		"gso_max_size=131072\nvtep=10.9.0.1\nudp_port=8472\nvni=16777215\nttl=255\n"
		"dscp=63\nchecksum=true\nanswer_neighbours=true\nlearning=false\n"
		"age_s=4294967295\nfdb_limit=1048576\nlearned_limit=0\nport_kind=veth\n"
		"port_reason=a test\nport_fdb_static=1\nport_fdb_learned=0\nport_flood=1\n"
		"port_neighbours=1\nport_stat=reads 0\n";
	struct textbuf b = {0};

	(void)state;
	expect_set(command);
	control_ports_put(&world.lane, &b);
	assert_memory_equal(b.data, reply, strlen(reply));
	textbuf_done(&b);
}

static void test_good_lines(void **state)
{
	static const struct {
		const char *lines, *reply;
	} rows[] = {
		{"udp_port=1\n", "udp_port=1"},
		{"udp_port=65535\n", "udp_port=65535"},
		{"vni=0\n", "vni=0"},
		{"ttl=1\n", "ttl=1"},
		{"dscp=0\n", "dscp=0"},
		{"dscp=inherit\n", "dscp=inherit"},
		{"dscp=46\n", "dscp=46"},
		{"checksum=true\n", "checksum=true"},
		{"checksum=false\n", "checksum=false"},
		{"answer_neighbours=true\n", "answer_neighbours=true"},
		{"learning=false\nage_s=0\n", "age_s=0"},
		{"learning=true\nage_s=60\n", "learning=true"},
		{"age_s=60\n", "age_s=60"},
		{"fdb_limit=10\n", "learned_limit=10"},
		{"fdb_limit=1048576\nlearned_limit=20\n", "fdb_limit=1048576"},
		{"learned_limit=7\n", "learned_limit=7"},
		{"vtep=10.9.0.77\n", "vtep=10.9.0.77"},
		{"fdb=02:00:00:00:00:0a 10.9.0.9\n", "fdb=02:00:00:00:00:0a 10.9.0.9 static"},
		{"fdb=  02:00:00:00:00:0B \t 10.9.0.9  static \n",
		 "fdb=02:00:00:00:00:0b 10.9.0.9 static"},
		{"fdb_remove=02:00:00:00:00:0a\n", "port_fdb_static=1"},
		{"replace_fdb=true\n", "port_fdb_static=0"},
		{"flood=10.9.0.9\n", "flood=10.9.0.9"},
		{"flood=10.9.0.8\n", "port_flood=2"},
		{"flood_remove=10.9.0.9\n", "port_flood=1"},
		{"replace_flood=true\n", "port_flood=0"},
		{"neighbour=10.1.0.1 02:00:00:00:00:01\n", "neighbour=10.1.0.1 02:00:00:00:00:01"},
		{"neighbour=10.1.0.1 02:00:00:00:00:02\n", "neighbour=10.1.0.1 02:00:00:00:00:02"},
		{"neighbour=fd01::1 02:00:00:00:00:02\n", "neighbour=fd01::1 02:00:00:00:00:02"},
		{"neighbour_remove=fd01::1\n", "port_neighbours=1"},
		{"replace_neighbours=true\n", "port_neighbours=0"},
		{"vtep=fd00::9\nflood=fd00::2\nfdb=02:00:00:00:00:01 fd00::2\n",
		 "fdb=02:00:00:00:00:01 fd00::2 static"},
		{"", "flood=fd00::2"},
	};

	(void)state;
	expect_set(CREATE);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char lines[256], *text;

		snprintf(lines, sizeof(lines), "port=vx0\n%s", rows[i].lines);
		expect_set(lines);
		text = port_world_text(&world);
		if (!has_line(text, rows[i].reply))
			fail_msg("no %s after %s in\n%s", rows[i].reply, lines, text);
		free(text);
	}
}

static void test_checksum_by_family(void **state)
{
	(void)state;
	expect_set(CREATE6);
	assert_true(port_find(&world.lane, "vx6")->config.checksum);
	expect_set(CREATE);
	assert_false(port_find(&world.lane, "vx0")->config.checksum);
}

/* Refused by the line alone. */
static void test_bad_lines(void **state)
{
	static const struct {
		const char *line, *words;
	} rows[] = {
		{"vtepp=10.9.0.2", "\"vtepp\" is no key"},
		{"Vtep=10.9.0.2", "\"Vtep\" is no key"},
		{"=10.9.0.2", "\"\" is no key"},
		{"vtep", "\"vtep\" is not of the form key=value"},
		{"vt\aep", "\"vt?ep\" is not of the form key=value"},
		{"port_kind=veth", "\"port_kind\" is no key"},
		{"private_key=1", "\"private_key\" is no key"},
		{"port=vx1", "port: given twice"},
		{"version=1", "version: must be the first line"},
		{"create=false", "create: must be true, not \"false\""},
		{"remove=yes", "remove: must be true"},
		{"kind=tun", "kind: must be auto, veth or tap"},
		{"mtu=67", "mtu: must be 68 to 65535, or 0"},
		{"mtu=65536", "mtu: must be 68 to 65535"},
		{"mac=01:00:00:00:00:01", "mac: must be a unicast MAC address"},
		{"mac=00:00:00:00:00:00", "mac: must be a unicast MAC address"},
		{"mac=02:00:00:00:00", "mac: must be a unicast MAC address"},
		{"mac=02:00:00:00:00:0g", "mac: must be a unicast MAC address"},
		{"mac=02-00-00-00-00-01", "mac: must be a unicast MAC address"},
		{"mac=02:00:00:00:00:01:", "mac: must be a unicast MAC address"},
		{"gso_max_size=65535", "gso_max_size: must be 65536 to 196608, or 0"},
		{"gso_max_size=196609", "gso_max_size: must be 65536 to 196608"},
		{"vtep=", "vtep: must be an IPv4 or IPv6 address, not \"\""},
		{"vtep=10.9.0.256", "vtep: must be an IPv4 or IPv6 address"},
		{"vtep=10.9.0.2 ", "vtep: must be an IPv4 or IPv6 address"},
		{"vtep=fe80::1%lo", "vtep: must be an IPv4 or IPv6 address"},
		{"udp_port=0", "udp_port: must be 1 to 65535, not \"0\""},
		{"udp_port=65536", "udp_port: must be 1 to 65535"},
		{"udp_port=-1", "udp_port: must be 1 to 65535"},
		{"vni=16777216", "vni: must be 0 to 16777215"},
		{"vni=0x7", "vni: must be 0 to 16777215"},
		{"ttl=0", "ttl: must be 1 to 255"},
		{"ttl=256", "ttl: must be 1 to 255"},
		{"ttl=inherit", "ttl: must be 1 to 255"},
		{"dscp=64", "dscp: must be 0 to 63, or inherit"},
		{"dscp=ef", "dscp: must be 0 to 63, or inherit"},
		{"checksum=1", "checksum: must be true or false"},
		{"answer_neighbours=TRUE", "answer_neighbours: must be true or false"},
		{"learning=", "learning: must be true or false"},
		{"age_s=4294967296", "age_s: must be 0 to 4294967295"},
		{"fdb_limit=1048577", "fdb_limit: must be 0 to 1048576"},
		{"learned_limit=1048577", "learned_limit: must be 0 to 1048576"},
		{"flush_learned=false", "flush_learned: must be true"},
		{"replace_fdb=1", "replace_fdb: must be true"},
		{"replace_flood=1", "replace_flood: must be true"},
		{"replace_neighbours=1", "replace_neighbours: must be true"},
		{"fdb=02:00:00:00:00:01", "fdb: must be a MAC address and an IPv4 or IPv6 address"},
		{"fdb=10.9.0.2 02:00:00:00:00:01", "fdb: must be a MAC address and an"},
		{"fdb=02:00:00:00:00:01 10.9.0.2 learned", "fdb: must be a MAC address and an"},
		{"fdb=02:00:00:00:00:01 10.9.0.2 learned 5", "fdb: must be a MAC address and an"},
		{"fdb=02:00:00:00:00:01,10.9.0.2", "fdb: must be a MAC address and an"},
		{"fdb_remove=02:00:00:00:00:01 10.9.0.2", "fdb_remove: must be a MAC address"},
		{"flood=host", "flood: must be an IPv4 or IPv6 address, not \"host\""},
		{"flood_remove=", "flood_remove: must be an IPv4 or IPv6 address"},
		{"neighbour=10.1.0.1", "neighbour: must be an IPv4 or IPv6 address and a MAC"},
		{"neighbour=02:00:00:00:00:01 10.1.0.1", "neighbour: must be an IPv4 or IPv6"},
		{"neighbour_remove=10.1", "neighbour_remove: must be an IPv4 or IPv6 address"},
	};

	(void)state;
	expect_set(CREATE "fdb=02:00:00:00:00:0a 10.9.0.9\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char lines[256], words[256];

		snprintf(lines, sizeof(lines), "port=vx0\nanswer_neighbours=true\n%s\n",
			 rows[i].line);
		if (!strncmp(rows[i].line, "answer", 6))
			snprintf(lines, sizeof(lines), "port=vx0\nreplace_fdb=true\n%s\n",
				 rows[i].line);
		snprintf(words, sizeof(words), "line 3: %s", rows[i].words);
		expect_refused(lines, -EINVAL, words);
	}
}

static void test_first_lines(void **state)
{
	static const struct {
		const char *lines, *words;
	} rows[] = {
		{"", "line 1: port=NAME must come before the empty line"},
		{"version=1\n", "line 2: port=NAME must come before the empty line"},
		{"version=2\nport=vx0\n", "line 1: version: must be 1, not \"2\""},
		{"version=1\nversion=1\n", "line 2: version: must be the first line"},
		{"ttl=3\nport=vx0\n", "line 1: ttl: port=NAME must come before it"},
		{"port=\n", "line 1: port: must be 1 to 15 printable"},
		{"port=.\n", "line 1: port: must be 1 to 15 printable"},
		{"port=..\n", "line 1: port: must be 1 to 15 printable"},
		{"port=a/b\n", "line 1: port: must be 1 to 15 printable"},
		{"port=a:b\n", "line 1: port: must be 1 to 15 printable"},
		{"port=vx%d\n", "line 1: port: must be 1 to 15 printable"},
		{"port=vx 0\n", "line 1: port: must be 1 to 15 printable"},
		{"port=vx\x80\n", "line 1: port: must be 1 to 15 printable"},
		{"port=abcdefghijklmnop\n", "line 1: port: must be 1 to 15 printable"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_refused(rows[i].lines, -EINVAL, rows[i].words);
	expect_refused("port=abcdefghijklmno\n", -ENODEV, "port: there is no port abcdef");
	expect_set(CREATE);
	expect_set("version=1\nport=vx0\n");
}

static void test_given_twice(void **state)
{
	static const char *const once[] = {
		"ttl=3",	 "vtep=10.9.0.1", "flush_learned=true", "replace_fdb=true",
		"checksum=true", "dscp=inherit"};

	(void)state;
	expect_set(CREATE);
	for (size_t i = 0; i < sizeof(once) / sizeof(once[0]); i++) {
		char lines[256], words[64];

		snprintf(lines, sizeof(lines), "port=vx0\n%s\n%s\n", once[i], once[i]);
		snprintf(words, sizeof(words), "line 3: %.*s: given twice",
			 (int)strcspn(once[i], "="), once[i]);
		expect_refused(lines, -EINVAL, words);
	}
}

static void test_odd_bytes(void **state)
{
	static const char nul[] = "port=vx0\nvtep=10.9.0.1\0.2\n";
	char lines[1024] = "port=vx0\nvtep=";

	(void)state;
	expect_set(CREATE);
	assert_int_equal(port_world_set(&world, nul, sizeof(nul) - 1, err_text), -EINVAL);
	assert_string_equal(err_text, "line 2: vtep: must be an IPv4 or IPv6 address, not "
				      "\"10.9.0.1?.2\"");
	memset(lines + strlen(lines), '1', 900);
	strcat(lines, "\n");
	expect_refused(lines, -EINVAL, "line 2: vtep: must be an IPv4 or IPv6 address, not \"1111");
	assert_non_null(strstr(err_text, "1...\""));
	memset(lines + 9, 'x', 900);
	expect_refused(lines, -EINVAL, "line 2: \"xxxx");
	assert_non_null(strstr(err_text, "x...\" is not of the form"));
}

/* A port with something in every table, and commands of which all but one line is
 * fine; the last three lines would each do something. */
static void test_all_or_nothing(void **state)
{
	static const struct {
		const char *line;
		int err;
		const char *words;
	} rows[] = {
		{"create=true", -EEXIST, "create: there is a port vx0"},
		{"remove=true", -EINVAL, "remove: "},
		{"kind=tap", -EINVAL, "kind: "},
		{"mtu=1400", -EINVAL, "mtu: "},
		{"mac=02:00:00:00:00:09", -EINVAL, "mac: "},
		{"gso_max_size=65536", -EINVAL, "gso_max_size: "},
		{"vtep=fd00::1", -EINVAL, "vtep: static entries are of the other address family"},
		{"vtep=224.0.0.1", -EINVAL, "vtep: "},
		{"vtep=0.0.0.0", -EINVAL, "vtep: "},
		{"vni=8", -EEXIST, "port other"},
		{"age_s=0", -EINVAL, "age_s: must be 1 to 4294967295 with learning"},
		{"fdb_limit=1", -ENOSPC, "fdb: 3 static entries, fdb_limit is 1"},
		{"learned_limit=5000", -EINVAL, "learned_limit: must be 0 to 100"},
		{"fdb=01:00:00:00:00:01 10.9.0.2", -EINVAL, "line 3: fdb: must be a unicast MAC"},
		{"fdb=02:00:00:00:00:05 fd00::1", -EINVAL, "line 3: fdb: must be an IPv4 address"},
		{"fdb=02:00:00:00:00:05 224.0.0.1", -EINVAL,
		 "line 3: fdb: must be a unicast address"},
		{"fdb=02:00:00:00:00:05 0.0.0.0", -EINVAL,
		 "line 3: fdb: must be a unicast address"},
		{"fdb_remove=02:00:00:00:00:05", -ENOENT,
		 "line 3: fdb_remove: there is no such entry"},
		{"flood=10.9.0.3", -EEXIST, "line 3: flood: is in the list already"},
		{"flood=fd00::3", -EINVAL, "line 3: flood: must be an IPv4 address"},
		{"flood=239.1.1.1", -EINVAL, "line 3: flood: must be a unicast address"},
		{"flood_remove=10.9.0.99", -ENOENT, "line 3: flood_remove: is not in the list"},
		{"neighbour=224.0.0.1 02:00:00:00:00:01", -EINVAL,
		 "line 3: neighbour: must be the address"},
		{"neighbour=10.1.0.1 ff:ff:ff:ff:ff:ff", -EINVAL,
		 "line 3: neighbour: must be a unicast MAC"},
		{"neighbour_remove=10.1.0.99", -ENOENT,
		 "line 3: neighbour_remove: there is no such entry"},
	};
	struct port *port;

	(void)state;
	expect_set("port=other\ncreate=true\nvtep=10.9.0.1\nvni=8\n");
	expect_set(CREATE "fdb_limit=100\n"
			  "fdb=02:00:00:00:00:01 10.9.0.2\n"
			  "fdb=02:00:00:00:00:02 10.9.0.2\n"
			  "flood=10.9.0.4\nflood=10.9.0.3\n"
			  "neighbour=10.1.0.1 02:00:00:00:00:01\n");
	port = port_find(&world.lane, "vx0");
	assert_int_equal(fdb_learn(port->fdb, (uint8_t[]){2, 0, 0, 0, 0, 7}, &port->config.local,
				   world.now_ns),
			 FDB_NEW);
	world.now_ns += NSEC_PER_SEC;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char lines[256];

		snprintf(lines, sizeof(lines),
			 "port=vx0\nttl=9\n%s\nfdb=02:00:00:00:00:03 10.9.0.2\nflush_learned=true\n"
			 "flood_remove=10.9.0.4\nneighbour=10.1.0.2 02:00:00:00:00:02\n",
			 rows[i].line);
		expect_refused(lines, rows[i].err, rows[i].words);
	}
	world.check_err = -EADDRINUSE;
	expect_refused("port=vx0\nudp_port=8472\nreplace_fdb=true\nreplace_neighbours=true\n",
		       -EADDRINUSE, "check says no");
}

static void test_create_refused(void **state)
{
	(void)state;
	expect_refused("port=vx0\nttl=3\n", -ENODEV, "port: there is no port vx0");
	expect_refused("port=vx0\nremove=true\n", -ENODEV, "port: there is no port vx0");
	expect_refused("port=vx0\ncreate=true\nvni=7\n", -EINVAL, "create: needs a vtep");
	expect_refused("port=vx0\ncreate=true\nvtep=10.9.0.1\n", -EINVAL, "create: needs a vni");
	expect_refused(CREATE "fdb_remove=02:00:00:00:00:01\n", -ENOENT, "line 5: fdb_remove: ");
	expect_refused(CREATE "flood_remove=10.9.0.1\n", -ENOENT, "line 5: flood_remove: ");
	expect_refused(CREATE "neighbour_remove=10.9.0.1\n", -ENOENT, "line 5: neighbour_remove: ");
	assert_int_equal(world.n_opened, 0);
	world.open_err = -EEXIST;
	expect_refused(CREATE, -EEXIST, "open says no");
	world.lane.port_env = NULL;
	expect_refused(CREATE, -EOPNOTSUPP, "this lane makes no ports");
}

static void test_too_many_lines(void **state)
{
	struct control_set s;
	int err = 0;

	(void)state;
	control_set_begin(&s, &world.lane);
	assert_int_equal(control_set_line(&s, "port=vx0", 8), 0);
	for (unsigned i = 0; i < PORT_CHANGE_OPS_MAX; i++)
		err |= control_set_line(&s, "flood=10.9.0.1", 14);
	assert_int_equal(err, 0);
	assert_int_equal(control_set_line(&s, "flood=10.9.0.1", 14), -ENOSPC);
	assert_string_equal(control_set_error(&s),
			    "line 200002: at most 200000 operations in one command");
	control_set_end(&s);
}

/* What a get tells of one port, without what is only told. */
static char *settable(const char *name, const char *first)
{
	struct textbuf b = {0};
	char line[32], *text, *save = NULL, *ret = calloc(1, 65536);

	snprintf(line, sizeof(line), "port=%s\n", name);
	control_ports_get(&world.lane, line, &b);
	text = b.data;
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		if (!strncmp(l, "port_", 5) || !strncmp(l, "errno=", 6) || strstr(l, " learned "))
			continue;
		strcat(strcat(ret, l), "\n");
		if (!strncmp(l, "port=", 5))
			strcat(ret, first);
	}
	port_world_sort_neighbours(ret);
	textbuf_done(&b);
	return ret;
}

/* A port made from what was told of another is the same, and the same lines are no
 * change to it. */
static void test_round_trip(void **state)
{
	static const char *const commands[] = {
		CREATE,
		CREATE "dscp=inherit\nkind=veth\nmtu=1300\nfdb_limit=10\nlearning=false\n"
		       "age_s=0\nchecksum=true\nttl=1\nanswer_neighbours=true\nudp_port=8472\n"
		       "gso_max_size=65536\n"
		       "fdb=02:00:00:00:00:05 10.9.0.2\n"
		       "fdb=02:00:00:00:00:04 10.9.0.3\n"
		       "flood=10.9.0.9\nflood=10.9.0.8\nflood=10.9.0.10\n"
		       "neighbour=10.1.0.2 02:00:00:00:00:02\n"
		       "neighbour=fd01::1 02:00:00:00:00:03\n"
		       "neighbour=10.1.0.1 02:00:00:00:00:01\n",
		"port=vx0\ncreate=true\nvtep=fd00::1\nvni=7\nchecksum=false\n"
		"mac=02:00:00:00:00:0c\n"
		"fdb=02:00:00:00:00:01 fd00::2\n"
		"flood=fd00::7\nflood=fd00::2\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		char *first, *second, *again;
		const uint8_t learned[6] = {2, 0, 0, 0, 1, 1};
		const struct port *port;

		expect_set(commands[i]);
		port = port_find(&world.lane, "vx0");
		fdb_learn(port->fdb, learned, &port->config.local, world.now_ns);
		first = settable("vx0", "create=true\n");
		again = settable("vx0", "replace_flood=true\n");
		expect_set(again);
		expect_set("port=vx0\nremove=true\n");
		expect_set(first);
		second = settable("vx0", "create=true\n");
		assert_string_equal(first, second);
		expect_set("port=vx0\nremove=true\n");
		free(first);
		free(second);
		free(again);
	}
}

static void expect_get(const char *lines, const char *reply)
{
	struct textbuf b = {0};

	control_ports_get(&world.lane, lines, &b);
	assert_string_equal(b.data, reply);
	textbuf_done(&b);
}

static void test_get_refused(void **state)
{
	static const char *const rows[] = {"port=\n",
					   "port=vx0\nport=vx0\n",
					   "name=vx0\n",
					   "port=vx0\nx=1\n",
					   "port=abcdefghijklmnop\n",
					   "port\n",
					   "\n"};

	(void)state;
	expect_set(CREATE);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_get(rows[i], "version=1\nerror=a get takes one line, port=NAME, or none\n"
				    "errno=22\n\n");
	expect_get("port=vx\n", "version=1\nerror=port: there is no such port\nerrno=19\n\n");
}

static void test_get_tables(void **state)
{
	const uint8_t learned[6] = {2, 0, 0, 0, 0, 9};
	struct textbuf b = {0};
	const struct port *port;

	(void)state;
	expect_set(CREATE6);
	expect_set(CREATE "flood=10.9.0.9\nflood=10.9.0.2\nfdb=02:00:00:00:00:01 10.9.0.2\n"
			  "neighbour=fd01::1 02:00:00:00:00:02\n");
	port = port_find(&world.lane, "vx0");
	fdb_learn(port->fdb, learned, &port->config.local, world.now_ns);
	world.now_ns += 299 * NSEC_PER_SEC;
	control_ports_get(&world.lane, "port=vx0\n", &b);
	assert_memory_equal(b.data, "version=1\nport=vx0\nkind=auto\n", 29);
	assert_non_null(strstr(b.data, "\nport_fdb_static=1\nport_fdb_learned=1\nport_flood=2\n"
				       "port_neighbours=1\n"));
	assert_string_equal(strstr(b.data, "port_stat=fdb_full"),
			    "port_stat=fdb_full 0\n"
			    "fdb=02:00:00:00:00:01 10.9.0.2 static\n"
			    "fdb=02:00:00:00:00:09 10.9.0.1 learned 299\n"
			    "flood=10.9.0.9\nflood=10.9.0.2\n"
			    "neighbour=fd01::1 02:00:00:00:00:02\nerrno=0\n\n");
	textbuf_done(&b);
	world.now_ns += NSEC_PER_SEC;
	control_ports_get(&world.lane, "port=vx0\n", &b);
	assert_null(strstr(b.data, " learned "));
	textbuf_done(&b);

	/* All ports, oldest first, without tables. */
	control_ports_put(&world.lane, &b);
	assert_memory_equal(b.data, "ports=2\nport=vx6\n", 17);
	assert_non_null(strstr(b.data, "\nport=vx0\n"));
	assert_null(strstr(b.data, "\nfdb="));
	assert_null(strstr(b.data, "\n\n"));
	textbuf_done(&b);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_whole_command),  TEST(test_good_lines),     TEST(test_checksum_by_family),
		TEST(test_bad_lines),	   TEST(test_first_lines),    TEST(test_given_twice),
		TEST(test_odd_bytes),	   TEST(test_all_or_nothing), TEST(test_create_refused),
		TEST(test_too_many_lines), TEST(test_round_trip),     TEST(test_get_refused),
		TEST(test_get_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
