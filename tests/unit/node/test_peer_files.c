/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/peer_files.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define KEY1 "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmg="
#define KEY2 "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08="
#define KEY3 "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg="

#define PEER(name, key, address)                                                                   \
	"- {name: " name ", public_key: " key ", tunnel_addresses: [" address "]}\n"

static struct config *config; /* of node alpha, 10.10.0.1 */
static char folder[] = "/tmp/sealane-test-XXXXXX";
static struct peer_files files;

static void run(const char *command)
{
	if (system(command) != 0)
		fail_msg("failed: %s", command);
}

static void write_file(const char *name, const char *text)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void remove_file(const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(unlink(path), 0);
}

static char *no_environment(const char *name)
{
	(void)name;
	return NULL;
}

static struct config *config_of(const char *text)
{
	struct config_faults faults = {.text = NULL};
	struct config *c = NULL;

	if (config_parse(text, strlen(text), "F", no_environment, &c, &faults))
		fail_msg("%s", faults.text ? faults.text : "no memory");
	return c;
}

/* "beta gamma": names in order, which @changed tells are others than before. */
static void read_again(bool again, bool changed, const char *names)
{
	char is[1000] = "";
	bool is_changed = !changed;

	assert_int_equal(peer_files_read(&files, folder, config, again, &is_changed), 0);
	for (size_t i = 0; i < files.n_members; i++)
		snprintf(is + strlen(is), sizeof(is) - strlen(is), "%s%s", i ? " " : "",
			 files.members[i].name);
	assert_string_equal(is, names);
	assert_int_equal(is_changed, changed);
}

static void expect_faults(size_t n, const char *text)
{
	assert_int_equal(files.faults.n, n);
	if (text && (!files.faults.text || !strstr(files.faults.text, text)))
		fail_msg("no \"%s\" in %s", text, files.faults.text);
}

static int begin(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/sealane-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	config = config_of("node: {name: alpha, tunnel_addresses: [10.10.0.1],"
			   " private_key_file: /nowhere/key}\n"
			   "overlays: [{name: o, vni: 1, addresses: [10.20.0.1/24]}]\n");
	return 0;
}

static int end(void **state)
{
	char command[100];

	(void)state;
	peer_files_done(&files);
	config_free(config);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	run(command);
	return 0;
}

static void test_files(void **state)
{
	uint64_t since;

	(void)state;
	read_again(false, false, "");
	write_file("b.yaml", "peers:\n" PEER("beta", KEY1, "10.10.0.2"));
	write_file("a.yml", "peers:\n" PEER("gamma", KEY2, "10.10.0.3"));
	write_file("readme.txt", "peers: [");
	write_file(".hidden.yaml", "peers: [");
	write_file("yaml", "peers: [");
	read_again(false, true, "gamma beta");
	expect_faults(0, NULL);
	since = files.members[1].since;
	assert_true(since > CONFIG_PEERS_MAX); /* later than what the configuration says */
	read_again(false, false, "gamma beta");

	usleep(20000); /* so that the file's time is another one */
	write_file("b.yaml",
		   "peers:\n" PEER("beta", KEY1, "10.10.0.2") PEER("delta", KEY3, "10.10.0.4"));
	read_again(false, true, "gamma beta delta");
	assert_true(files.members[1].since > since);
	remove_file("a.yml");
	read_again(false, true, "beta delta");
	remove_file("b.yaml");
	read_again(false, true, "");
}

/* What is refused stays as it was, and is told for as long as it is there. */
static void test_bad_file(void **state)
{
	char path[200];

	(void)state;
	write_file("a.yaml", "peers:\n" PEER("beta", KEY1, "10.10.0.2"));
	write_file("b.yaml", "peers: [{name: x}]\n");
	read_again(false, true, "beta");
	snprintf(path, sizeof(path), "%s/b.yaml:1: peers[0].public_key: is missing", folder);
	expect_faults(1, path);
	usleep(20000);
	write_file("a.yaml", "peers:\n" PEER("beta", "nokey", "10.10.0.2"));
	read_again(false, false, "beta");
	expect_faults(2, "a.yaml:2: peers[0].public_key: the value is no key");
	read_again(false, false, "beta");
	expect_faults(2, "a.yaml:2");
	remove_file("b.yaml");
	read_again(false, false, "beta");
	expect_faults(1, "a.yaml:2");
	usleep(20000);
	write_file("a.yaml", "");
	read_again(false, true, "");
	expect_faults(0, NULL);
}

/* A half-written file is a fault, and the other half cures it. */
static void test_half_a_file(void **state)
{
	static const char text[] = "peers:\n" PEER("beta", KEY1, "10.10.0.2");
	char half[sizeof(text)];

	(void)state;
	memcpy(half, text, sizeof(half));
	half[40] = '\0';
	write_file("a.yaml", half);
	read_again(false, false, "");
	assert_true(files.faults.n > 0);
	usleep(20000);
	write_file("a.yaml", text);
	read_again(false, true, "beta");
	expect_faults(0, NULL);
}

/* Files are links into a folder behind a link, which is replaced. */
static void test_config_map(void **state)
{
	char command[1000];

	(void)state;
	snprintf(command, sizeof(command),
		 "cd %s && mkdir ..1 ..2 && ln -s ..1 ..data && ln -s ..data/a.yaml a.yaml && "
		 "ln -s ..data/b.yaml b.yaml",
		 folder);
	run(command);
	write_file("..1/a.yaml", "peers:\n" PEER("beta", KEY1, "10.10.0.2"));
	write_file("..1/b.yaml", "peers:\n" PEER("gamma", KEY2, "10.10.0.3"));
	write_file("..2/a.yaml", "peers:\n" PEER("delta", KEY3, "10.10.0.4"));
	write_file("..2/b.yaml", "peers:\n" PEER("gamma", KEY2, "10.10.0.3"));
	read_again(false, true, "beta gamma");
	snprintf(command, sizeof(command), "cd %s && ln -s ..2 ..tmp && mv -T ..tmp ..data",
		 folder);
	run(command);
	read_again(false, true, "delta gamma");
	expect_faults(0, NULL);
}

static void test_folder_gone(void **state)
{
	bool changed = true;

	(void)state;
	write_file("a.yaml", "peers:\n" PEER("beta", KEY1, "10.10.0.2"));
	read_again(false, true, "beta");
	assert_int_equal(peer_files_read(&files, "/nowhere", config, false, &changed), -ENOENT);
	assert_false(changed);
	assert_int_equal(files.n_members, 1);
	assert_string_equal(files.members[0].name, "beta");
}

/* What peers may be depends on who this node is: one file may serve all. */
static void test_other_config(void **state)
{
	struct config *first = config;

	(void)state;
	write_file("a.yaml",
		   "peers:\n" PEER("alpha", KEY1, "10.10.0.1") PEER("beta", KEY2, "10.10.0.2"));
	read_again(false, true, "beta");
	config = config_of("node: {name: beta, tunnel_addresses: [10.10.0.2],"
			   " private_key_file: /nowhere/key}\n");
	read_again(false, false, "beta");
	read_again(true, true, "alpha");
	config_free(config);
	config = first;
}

/* Only peers. */
static void test_other_keys(void **state)
{
	static const char *const texts[] = {
		"node: {name: x}\n",	 "lane: {mtu: 1400}\n",	 "overlays: [{name: o, vni: 1}]\n",
		"http: {listen: off}\n", "peer_directory: /x\n", "log_level: info\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char want[200];

		usleep(20000);
		write_file("a.yaml", texts[i]);
		read_again(false, false, "");
		snprintf(want, sizeof(want),
			 "%s/a.yaml:1: %.*s: belongs into the configuration; allowed here: peers\n",
			 folder, (int)strcspn(texts[i], ":"), texts[i]);
		assert_string_equal(files.faults.text, want);
	}
}

#define T(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_files),	     T(test_bad_file),	   T(test_half_a_file), T(test_config_map),
		T(test_folder_gone), T(test_other_config), T(test_other_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
