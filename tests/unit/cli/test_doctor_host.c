/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cli/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/node/config.h"
#include "agent/node/keyfile.h"
#include "cli_world.h"

/* ---- A root folder with a few files ---- */

struct root {
	char path[40];
};

static void root_begin(struct root *r)
{
	*r = (struct root){"/tmp/sealane-XXXXXX"};
	assert_non_null(mkdtemp(r->path));
}

static void root_write(const struct root *r, const char *path, const char *text)
{
	char full[300], command[400];
	FILE *file;

	snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s%s')\"", r->path, path);
	assert_int_equal(system(command), 0);
	snprintf(full, sizeof(full), "%s%s", r->path, path);
	file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void root_end(const struct root *r)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf '%s'", r->path);
	assert_int_equal(system(command), 0);
}

static void assert_one(struct findings *f, enum finding_level level, const char *text)
{
	assert_int_equal(f->n, 1);
	assert_int_equal(f->list[0].level, level);
	if (!strstr(f->list[0].text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, f->list[0].text);
	findings_free(f);
}

/* ---- Kernel ---- */

static void test_release(void **state)
{
	static const struct {
		const char *release;
		unsigned major, minor;
		enum finding_level want;
	} cases[] = {
		{"6.18.44-fc", 6, 18, FINDING_RIGHT},
		{"6.1.0-49-amd64", 6, 1, FINDING_RIGHT},
		{"7.3", 7, 3, FINDING_RIGHT},
		{"6.0.9", 6, 0, FINDING_NOTE},
		{"5.15.0", 5, 15, FINDING_NOTE},
		{"rolling", 0, 0, FINDING_NOTE},
		{"6", 0, 0, FINDING_NOTE},
		{"", 0, 0, FINDING_NOTE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct doctor_kernel kernel = {.release = cases[i].release};
		struct findings f = {0};

		doctor_parse_release(cases[i].release, &kernel.major, &kernel.minor);
		assert_int_equal(kernel.major, cases[i].major);
		assert_int_equal(kernel.minor, cases[i].minor);
		doctor_kernel(&kernel, &f);
		assert_one(&f, cases[i].want, cases[i].release);
	}
}

static void test_sysctl(void **state)
{
	struct root r;

	(void)state;
	root_begin(&r);
	root_write(&r, "/proc/sys/net/a", "1\n");
	root_write(&r, "/proc/sys/net/b", "none\n");
	assert_int_equal(doctor_sysctl(r.path, "/proc/sys/net/a", 7), 1);
	assert_int_equal(doctor_sysctl(r.path, "/proc/sys/net/b", 7), 7);
	assert_int_equal(doctor_sysctl(r.path, "/proc/sys/net/c", 7), 7);
	root_end(&r);
}

static void test_rp_filter(void **state)
{
	static const struct {
		const char *all, *own;
		size_t n;
		bool wrong;
	} cases[] = {
		{"0\n", "0\n", 1, false}, {"1\n", "0\n", 1, true},  {"0\n", "1\n", 1, true},
		{"1\n", "2\n", 1, false}, {"2\n", "1\n", 1, false}, {"1\n", "1\n", 0, false},
		{"1\n", "1\n", 3, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct findings f = {0};
		struct root r;

		root_begin(&r);
		root_write(&r, "/proc/sys/net/ipv4/conf/all/rp_filter", cases[i].all);
		root_write(&r, "/proc/sys/net/ipv4/conf/sl0/rp_filter", cases[i].own);
		doctor_rp_filter(r.path, "sl0", cases[i].n, cases[i].n ? "10.7.0.0/16" : NULL, &f);
		assert_int_equal(f.n, cases[i].wrong);
		if (cases[i].wrong) {
			assert_string_equal(f.list[0].cure,
					    "ip route add 10.7.0.0/16 dev sl0\n"
					    "or: sysctl net.ipv4.conf.sl0.rp_filter=2");
			assert_one(&f, FINDING_WRONG,
				   cases[i].n > 1 ? "to 10.7.0.0/16 and others does not"
						  : "to 10.7.0.0/16 does not");
		}
		root_end(&r);
	}
}

/* ---- Modules ---- */

#define LISTS "/lib/modules/6.18.0/modules."

static void modules_of(const struct root *r, const char *type, struct findings *f)
{
	char agent[100];
	struct canned c;

	snprintf(agent, sizeof(agent), "{\"overlays\": [{\"type\": \"%s\"}]}", type);
	canned_begin(&c, agent, NULL, NULL);
	doctor_modules(r->path, "6.18.0", NULL, &c.view, f);
	canned_end(&c);
}

static void test_modules(void **state)
{
	struct findings f = {0};
	struct root r;

	(void)state;
	root_begin(&r);
	modules_of(&r, "port", &f);
	assert_int_equal(f.n, 0);
	modules_of(&r, "vxlan", &f);
	assert_one(&f, FINDING_NOTE, "cannot be told");
	root_write(&r, LISTS "dep",
		   "kernel/drivers/net/vxlan/vxlan.ko.xz: kernel/net/ipv4/udp_tunnel.ko.xz\n"
		   "kernel/drivers/net/mygeneve.ko:\n"
		   "kernel/drivers/net/other.ko: kernel/drivers/net/bareudp.ko\n");
	modules_of(&r, "vxlan", &f);
	assert_one(&f, FINDING_RIGHT, "is there");
	/* What another one needs is no line of its own, and another name no match. */
	modules_of(&r, "bareudp", &f);
	assert_one(&f, FINDING_WRONG, "this kernel has none");
	modules_of(&r, "geneve", &f);
	assert_one(&f, FINDING_WRONG, "this kernel has none");
	root_write(&r, LISTS "builtin", "kernel/drivers/net/geneve.ko\n");
	modules_of(&r, "geneve", &f);
	assert_one(&f, FINDING_RIGHT, "is there");
	root_write(&r, "/sys/module/bareudp/refcnt", "0\n");
	modules_of(&r, "bareudp", &f);
	assert_one(&f, FINDING_RIGHT, "is there");
	root_end(&r);
}

static void test_modules_of_config(void **state)
{
	struct config_overlay overlays[] = {{.type = CONFIG_PORT}, {.type = CONFIG_GENEVE}};
	const struct config config = {.overlays = overlays, .n_overlays = 2};
	struct findings f = {0};
	struct canned c;
	struct root r;

	(void)state;
	root_begin(&r);
	root_write(&r, LISTS "builtin", "\n");
	canned_begin(&c, NULL, NULL, NULL);
	doctor_modules(r.path, "6.18.0", &config, &c.view, &f);
	canned_end(&c);
	assert_string_equal(f.list[0].what, "module geneve");
	assert_one(&f, FINDING_WRONG, "this kernel has none");
	root_end(&r);
}

/* ---- The key ---- */

static void test_key(void **state)
{
	char folder[60], path[80], chmod_cure[100];
	const uint8_t key[KEY_LEN] = {8, [31] = 64};
	struct findings f = {0};
	struct root r;

	(void)state;
	root_begin(&r);
	snprintf(folder, sizeof(folder), "%s/state", r.path);
	snprintf(path, sizeof(path), "%s/key", folder);
	doctor_key(path, &f);
	assert_one(&f, FINDING_NOTE, "first start makes it");
	assert_int_equal(keyfile_create(path, key), 0);
	doctor_key(path, &f);
	assert_one(&f, FINDING_RIGHT, "is for its owner alone");

	assert_int_equal(chmod(path, 0640), 0);
	doctor_key(path, &f);
	snprintf(chmod_cure, sizeof(chmod_cure), "chmod 600 %s", path);
	assert_string_equal(f.list[0].cure, chmod_cure);
	assert_one(&f, FINDING_WRONG, "others than the owner may read");
	assert_int_equal(chmod(path, 0600), 0);

	assert_int_equal(chmod(folder, 0770), 0);
	doctor_key(path, &f);
	assert_int_equal(findings_count(&f, FINDING_WRONG), 1);
	assert_non_null(strstr(f.list[1].text, "may write to"));
	findings_free(&f);
	assert_int_equal(chmod(folder, 0700), 0);

	root_write(&r, "/state/key", "no key\n");
	doctor_key(path, &f);
	assert_one(&f, FINDING_WRONG, "holds no key");
	root_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_release),		  cmocka_unit_test(test_sysctl),
		cmocka_unit_test(test_rp_filter),	  cmocka_unit_test(test_modules),
		cmocka_unit_test(test_modules_of_config), cmocka_unit_test(test_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
