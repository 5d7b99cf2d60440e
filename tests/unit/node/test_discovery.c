/* SPDX-License-Identifier: Apache-2.0 */
/* Discovery with its one provider so far, over a real folder and loop. */
#include "agent/node/discovery.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define KEY1 "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmg="
#define KEY2 "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08="

enum { GUARD_MS = 60000 };

static struct world {
	char base[100], folder[120];
	uv_loop_t loop;
	uv_timer_t guard;
	struct config *config;
	struct discovery *d;
	unsigned n_changes;
} w;

static void write_file(const char *name, const char *peer, const char *key, const char *address)
{
	char path[200], temporary[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", w.folder, name);
	snprintf(temporary, sizeof(temporary), "%s/.%s", w.folder, name);
	f = fopen(temporary, "we");
	assert_non_null(f);
	fprintf(f, "peers: [{name: %s, public_key: %s, tunnel_addresses: [%s]}]\n", peer, key,
		address);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(rename(temporary, path), 0);
}

static void remove_file(const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", w.folder, name);
	assert_int_equal(unlink(path), 0);
}

static char *no_environment(const char *name)
{
	(void)name;
	return NULL;
}

static struct config *config_with(const char *directory)
{
	struct config_faults faults = {.text = NULL};
	struct config *c = NULL;
	char text[400];

	snprintf(text, sizeof(text),
		 "node: {name: alpha, tunnel_addresses: [10.10.0.1], private_key_file: /no/key}\n"
		 "%s%s\n",
		 *directory ? "peer_directory: " : "", directory);
	if (config_parse(text, strlen(text), "F", no_environment, &c, &faults))
		fail_msg("%s", faults.text ? faults.text : "no memory");
	return c;
}

static void on_changed(void *ctx)
{
	assert_ptr_equal(ctx, &w);
	w.n_changes++;
	uv_stop(&w.loop);
}

static int begin(void **state)
{
	(void)state;
	memset(&w, 0, sizeof(w));
	strcpy(w.base, "/tmp/sealane-test-XXXXXX");
	assert_non_null(mkdtemp(w.base));
	snprintf(w.folder, sizeof(w.folder), "%s/peers", w.base);
	assert_int_equal(uv_loop_init(&w.loop), 0);
	uv_timer_init(&w.loop, &w.guard);
	return 0;
}

static int end(void **state)
{
	char command[200];

	(void)state;
	discovery_stop(w.d);
	uv_close((uv_handle_t *)&w.guard, NULL);
	uv_run(&w.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&w.loop), 0);
	config_free(w.config);
	snprintf(command, sizeof(command), "rm -r %s", w.base);
	return system(command);
}

static void start(const char *directory)
{
	w.config = config_with(directory);
	assert_int_equal(discovery_start(&w.loop, w.config, on_changed, &w, &w.d), 0);
}

static void on_guard(uv_timer_t *timer)
{
	(void)timer;
	fail_msg("nothing was told; changes: %u", w.n_changes);
}

static void run_change(void)
{
	const unsigned before = w.n_changes;

	uv_timer_start(&w.guard, on_guard, GUARD_MS, 0);
	while (w.n_changes == before)
		uv_run(&w.loop, UV_RUN_DEFAULT);
	uv_timer_stop(&w.guard);
}

static void expect(bool synced, const char *names)
{
	struct member *members;
	char is[300] = "";
	size_t n;

	assert_int_equal(discovery_synced(w.d), synced);
	assert_int_equal(discovery_members(w.d, &members, &n), 0);
	for (size_t i = 0; i < n; i++)
		snprintf(is + strlen(is), sizeof(is) - strlen(is), "%s%s", i ? " " : "",
			 members[i].name);
	discovery_members_free(members, n);
	assert_string_equal(is, names);
}

static struct discovery_view first_view(void)
{
	struct discovery_view view;
	size_t cursor = 0;

	assert_true(discovery_next(w.d, &cursor, &view));
	assert_false(discovery_next(w.d, &cursor, &view));
	cursor = 0;
	assert_true(discovery_next(w.d, &cursor, &view));
	return view;
}

static void test_none(void **state)
{
	struct discovery_view view;
	size_t cursor = 0;

	(void)state;
	start("");
	expect(true, "");
	assert_false(discovery_next(w.d, &cursor, &view));
}

static void test_files_come_and_go(void **state)
{
	(void)state;
	assert_int_equal(mkdir(w.folder, 0755), 0);
	write_file("b.yaml", "beta", KEY1, "10.10.0.2");
	start(w.folder);
	expect(true, "beta"); /* at once */
	assert_int_equal(w.n_changes, 0);
	assert_string_equal(first_view().kind, "directory");
	assert_string_equal(first_view().where, w.folder);
	assert_null(first_view().faults);
	assert_true(first_view().synced_s > 1000000000);

	write_file("c.yaml", "gamma", KEY2, "10.10.0.3");
	run_change();
	expect(true, "beta gamma");
	remove_file("b.yaml");
	run_change();
	expect(true, "gamma");
}

/* Before the folder was read once nothing is synced; afterwards it may be away. */
static void test_folder_comes_and_goes(void **state)
{
	char moved[140];

	(void)state;
	start(w.folder);
	expect(false, "");
	assert_non_null(strstr(first_view().faults, "cannot be read: No such file or directory\n"));
	assert_int_equal(first_view().synced_s, 0);
	assert_int_equal(mkdir(w.folder, 0755), 0);
	write_file("b.yaml", "beta", KEY1, "10.10.0.2");
	run_change();
	expect(true, "beta");
	assert_null(first_view().faults);

	snprintf(moved, sizeof(moved), "%s.moved", w.folder);
	assert_int_equal(rename(w.folder, moved), 0);
	run_change();
	expect(true, "beta");
	assert_non_null(first_view().faults);
	assert_int_equal(mkdir(w.folder, 0755), 0);
	write_file("c.yaml", "gamma", KEY2, "10.10.0.3");
	run_change();
	expect(true, "gamma");
	/* The new one is watched, not the one that was moved. */
	write_file("b.yaml", "beta", KEY1, "10.10.0.2");
	run_change();
	expect(true, "beta gamma");
}

static void change_config(const char *directory)
{
	struct config *before = w.config;

	w.config = config_with(directory);
	assert_int_equal(discovery_config(w.d, w.config), 0);
	config_free(before);
}

static void test_configured(void **state)
{
	char other[140];

	(void)state;
	assert_int_equal(mkdir(w.folder, 0755), 0);
	write_file("b.yaml", "beta", KEY1, "10.10.0.2");
	start("");
	change_config(w.folder);
	expect(true, "beta");
	/* Another folder that is not there: what is known stays, but must not be believed. */
	snprintf(other, sizeof(other), "%s/other", w.base);
	change_config(other);
	expect(false, "beta");
	assert_int_equal(mkdir(other, 0755), 0);
	run_change();
	expect(true, "");
	change_config("");
	expect(true, "");
	change_config(w.folder);
	expect(true, "beta");
}

#define T(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_none),
		T(test_files_come_and_go),
		T(test_folder_comes_and_goes),
		T(test_configured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
