/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/lane/kernel_probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmocka.h>

#define HEADER	  "sealane-kernel-probe 1\n"
#define LINE_OURS "passed\t6.8.0-31-generic\t#31-Ubuntu SMP PREEMPT_DYNAMIC\n"

static const struct utsname ours = {.release = "6.8.0-31-generic",
				    .version = "#31-Ubuntu SMP PREEMPT_DYNAMIC"};

struct fixture {
	char folder[64];
	char path[96]; /* in a folder that does not exist yet */
};

static int setup(void **state)
{
	static struct fixture f;

	strcpy(f.folder, "/tmp/kernel_probe.XXXXXX");
	if (!mkdtemp(f.folder))
		return -1;
	snprintf(f.path, sizeof(f.path), "%s/sealane/kernel-probe", f.folder);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	const struct fixture *f = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", f->folder);
	return system(command);
}

static void write_bytes(const struct fixture *f, const char *bytes, size_t len)
{
	char folder[80];
	FILE *file;

	snprintf(folder, sizeof(folder), "%s/sealane", f->folder);
	mkdir(folder, 0755);
	file = fopen(f->path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static void assert_file(const struct fixture *f, const char *text)
{
	char got[8192];
	FILE *file = fopen(f->path, "r");
	size_t len;

	assert_non_null(file);
	len = fread(got, 1, sizeof(got) - 1, file);
	fclose(file);
	got[len] = '\0';
	assert_string_equal(got, text);
}

/* Nothing but the file itself is in its folder. */
static void assert_alone(const struct fixture *f)
{
	char folder[80];
	unsigned n = 0;
	DIR *dir;

	snprintf(folder, sizeof(folder), "%s/sealane", f->folder);
	dir = opendir(folder);
	assert_non_null(dir);
	for (const struct dirent *e; (e = readdir(dir));)
		n += e->d_name[0] != '.';
	closedir(dir);
	assert_int_equal(n, 1);
}

static void assert_loads(const struct fixture *f, const struct utsname *kernel,
			 enum zero_csum_probe want, int want_err, const char *want_reason)
{
	char reason[KERNEL_PROBE_REASON_LEN] = "untouched";
	int err = 1;

	assert_int_equal(kernel_probe_load(f->path, kernel, reason, &err), want);
	assert_int_equal(err, want_err);
	assert_string_equal(reason, want_reason);
}

#define NEVER_RUN "never run here: sealaned --probe"
#define MALFORMED "its file is malformed"

static void test_load(void **state)
{
	static const struct {
		const char *text;
		enum zero_csum_probe want;
		int err;
		const char *reason;
	} rows[] = {
		{HEADER LINE_OURS, ZERO_CSUM_PROBE_PASSED, 0, ""},
		{HEADER "failed\t6.8.0-31-generic\t#31-Ubuntu SMP PREEMPT_DYNAMIC\n",
		 ZERO_CSUM_PROBE_FAILED, 0, ""},
		{HEADER "failed\t6.5.0-1\t#1 SMP\n" LINE_OURS, ZERO_CSUM_PROBE_PASSED, 0, ""},
		{HEADER LINE_OURS "failed\t6.5.0-1\t#1 SMP\n", ZERO_CSUM_PROBE_PASSED, 0, ""},
		/* Another kernel: by release, by version, by a part of either. */
		{HEADER, ZERO_CSUM_UNPROBED, 0, NEVER_RUN},
		{HEADER "passed\t6.8.0-32-generic\t#31-Ubuntu SMP PREEMPT_DYNAMIC\n",
		 ZERO_CSUM_UNPROBED, 0, NEVER_RUN},
		{HEADER "passed\t6.8.0-31-generic\t#32-Ubuntu SMP PREEMPT_DYNAMIC\n",
		 ZERO_CSUM_UNPROBED, 0, NEVER_RUN},
		{HEADER "passed\t6.8.0-31-generi\t#31-Ubuntu SMP PREEMPT_DYNAMIC\n",
		 ZERO_CSUM_UNPROBED, 0, NEVER_RUN},
		{HEADER "passed\t6.8.0-31-generic\t#31-Ubuntu SMP\n", ZERO_CSUM_UNPROBED, 0,
		 NEVER_RUN},
		/* Not what is ever written. */
		{"", ZERO_CSUM_UNPROBED, -EBADMSG, MALFORMED},
		{"sealane-kernel-probe 1", ZERO_CSUM_UNPROBED, -EBADMSG, MALFORMED},
		{"sealane-kernel-probe 2\n" LINE_OURS, ZERO_CSUM_UNPROBED, -EBADMSG, MALFORMED},
		{LINE_OURS, ZERO_CSUM_UNPROBED, -EBADMSG, MALFORMED},
		{"\n" HEADER LINE_OURS, ZERO_CSUM_UNPROBED, -EBADMSG, MALFORMED},
		{HEADER "\n" LINE_OURS, ZERO_CSUM_UNPROBED, -EBADMSG, MALFORMED},
		{HEADER LINE_OURS "\n", ZERO_CSUM_UNPROBED, -EBADMSG, MALFORMED},
		{HEADER LINE_OURS LINE_OURS, ZERO_CSUM_UNPROBED, -EBADMSG, MALFORMED},
		{HEADER LINE_OURS "failed\t6.8.0-31-generic\t#31-Ubuntu SMP PREEMPT_DYNAMIC\n",
		 ZERO_CSUM_UNPROBED, -EBADMSG, MALFORMED},
		{HEADER LINE_OURS "passed\t6.5.0-1\t#1 SMP", ZERO_CSUM_UNPROBED, -EBADMSG,
		 MALFORMED},
		{HEADER LINE_OURS "passed\t6.5.0-1\n", ZERO_CSUM_UNPROBED, -EBADMSG, MALFORMED},
		{HEADER LINE_OURS "passed\n", ZERO_CSUM_UNPROBED, -EBADMSG, MALFORMED},
		{HEADER LINE_OURS "passed\t\t#1 SMP\n", ZERO_CSUM_UNPROBED, -EBADMSG, MALFORMED},
		{HEADER LINE_OURS "passed\t6.5.0-1\t\n", ZERO_CSUM_UNPROBED, -EBADMSG, MALFORMED},
		{HEADER LINE_OURS "passed\t6.5.0-1\t#1\tSMP\n", ZERO_CSUM_UNPROBED, -EBADMSG,
		 MALFORMED},
		{HEADER LINE_OURS "unprobed\t6.5.0-1\t#1 SMP\n", ZERO_CSUM_UNPROBED, -EBADMSG,
		 MALFORMED},
		{HEADER LINE_OURS "PASSED\t6.5.0-1\t#1 SMP\n", ZERO_CSUM_UNPROBED, -EBADMSG,
		 MALFORMED},
		{HEADER LINE_OURS "pass\t6.5.0-1\t#1 SMP\n", ZERO_CSUM_UNPROBED, -EBADMSG,
		 MALFORMED},
		{HEADER LINE_OURS "\t6.5.0-1\t#1 SMP\n", ZERO_CSUM_UNPROBED, -EBADMSG, MALFORMED},
	};
	const struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		write_bytes(f, rows[i].text, strlen(rows[i].text));
		assert_loads(f, &ours, rows[i].want, rows[i].err, rows[i].reason);
	}
}

static void test_load_odd_bytes(void **state)
{
	static const char zero[] = HEADER LINE_OURS "\0";
	static const char inside[] = HEADER "passed\t6.8.0-31-generic\0\t#1\n";
	char big[5000], line[512], name[80];
	const struct fixture *f = *state;

	write_bytes(f, zero, sizeof(zero) - 1);
	assert_loads(f, &ours, ZERO_CSUM_UNPROBED, -EBADMSG, MALFORMED);
	write_bytes(f, inside, sizeof(inside) - 1);
	assert_loads(f, &ours, ZERO_CSUM_UNPROBED, -EBADMSG, MALFORMED);

	/* 64 characters are the most that uname(2) gives; one more, and none. */
	memset(name, 'r', sizeof(name));
	snprintf(line, sizeof(line), HEADER LINE_OURS "passed\t%.64s\t%.64s\n", name, name);
	write_bytes(f, line, strlen(line));
	assert_loads(f, &ours, ZERO_CSUM_PROBE_PASSED, 0, "");
	snprintf(line, sizeof(line), HEADER LINE_OURS "passed\t%.65s\t#1\n", name);
	write_bytes(f, line, strlen(line));
	assert_loads(f, &ours, ZERO_CSUM_UNPROBED, -EBADMSG, MALFORMED);

	/* Longer than any file of ours, with a good beginning. */
	memset(big, '\n', sizeof(big));
	memcpy(big, HEADER LINE_OURS, sizeof(HEADER LINE_OURS) - 1);
	write_bytes(f, big, sizeof(big));
	assert_loads(f, &ours, ZERO_CSUM_UNPROBED, -EBADMSG, MALFORMED);
}

static void test_load_no_file(void **state)
{
	const struct fixture *f = *state;
	char other[96];

	assert_loads(f, &ours, ZERO_CSUM_UNPROBED, -ENOENT, NEVER_RUN);
	write_bytes(f, HEADER LINE_OURS, strlen(HEADER LINE_OURS));

	/* A link leads elsewhere. */
	snprintf(other, sizeof(other), "%s/elsewhere", f->folder);
	assert_int_equal(rename(f->path, other), 0);
	assert_int_equal(symlink(other, f->path), 0);
	assert_loads(f, &ours, ZERO_CSUM_UNPROBED, -ELOOP,
		     "its file: Too many levels of symbolic links");
	assert_int_equal(unlink(f->path), 0);

	/* Nobody writes to the pipe: opening it must not wait. */
	assert_int_equal(mkfifo(f->path, 0600), 0);
	assert_loads(f, &ours, ZERO_CSUM_UNPROBED, -EBADMSG, MALFORMED);
	assert_int_equal(unlink(f->path), 0);

	assert_int_equal(mkdir(f->path, 0755), 0);
	assert_loads(f, &ours, ZERO_CSUM_UNPROBED, -EBADMSG, MALFORMED);
}

static void test_store(void **state)
{
	static const struct utsname other = {.release = "6.5.0-1", .version = "#1 SMP"};
	const struct fixture *f = *state;
	struct stat before, after;

	assert_int_equal(kernel_probe_store(f->path, &ours, ZERO_CSUM_PROBE_PASSED), 0);
	assert_file(f, HEADER LINE_OURS);
	assert_loads(f, &ours, ZERO_CSUM_PROBE_PASSED, 0, "");
	assert_int_equal(stat(f->path, &before), 0);
	assert_int_equal(before.st_mode, S_IFREG | 0644);

	assert_int_equal(kernel_probe_store(f->path, &other, ZERO_CSUM_PROBE_FAILED), 0);
	assert_file(f, HEADER "failed\t6.5.0-1\t#1 SMP\n" LINE_OURS);
	/* Another file took its place; whoever had the old one open keeps that. */
	assert_int_equal(stat(f->path, &after), 0);
	assert_true(before.st_ino != after.st_ino);

	assert_int_equal(kernel_probe_store(f->path, &ours, ZERO_CSUM_PROBE_FAILED), 0);
	assert_file(f, HEADER "failed\t6.8.0-31-generic\t#31-Ubuntu SMP PREEMPT_DYNAMIC\n"
			      "failed\t6.5.0-1\t#1 SMP\n");
	assert_loads(f, &ours, ZERO_CSUM_PROBE_FAILED, 0, "");
	assert_loads(f, &other, ZERO_CSUM_PROBE_FAILED, 0, "");
	assert_alone(f);
}

static void test_store_over_malformed(void **state)
{
	const struct fixture *f = *state;

	write_bytes(f, HEADER "rubbish\n", strlen(HEADER "rubbish\n"));
	assert_int_equal(kernel_probe_store(f->path, &ours, ZERO_CSUM_PROBE_PASSED), 0);
	assert_file(f, HEADER LINE_OURS);
	assert_alone(f);
}

/* Names of the greatest length: a full file must still be readable. */
static struct utsname kernel_number(unsigned n)
{
	struct utsname k;

	snprintf(k.release, sizeof(k.release), "%064u", n);
	snprintf(k.version, sizeof(k.version), "%064u", n);
	return k;
}

static void test_store_forgets_the_oldest(void **state)
{
	const struct fixture *f = *state;

	for (unsigned i = 0; i < 17; i++) {
		struct utsname k = kernel_number(i);

		assert_int_equal(kernel_probe_store(f->path, &k, ZERO_CSUM_PROBE_PASSED), 0);
	}
	for (unsigned i = 0; i < 17; i++) {
		struct utsname k = kernel_number(i);

		assert_loads(f, &k, i ? ZERO_CSUM_PROBE_PASSED : ZERO_CSUM_UNPROBED, 0,
			     i ? "" : NEVER_RUN);
	}
}

static void test_store_refuses(void **state)
{
	static const struct utsname tab = {.release = "6.5\t0", .version = "#1"};
	static const struct utsname newline = {.release = "6.5.0", .version = "#1\n"};
	static const struct utsname empty = {.release = "6.5.0"};
	const struct fixture *f = *state;
	char deep[128];

	assert_int_equal(kernel_probe_store(f->path, &ours, ZERO_CSUM_UNPROBED), -EINVAL);
	assert_int_equal(kernel_probe_store(f->path, &tab, ZERO_CSUM_PROBE_PASSED), -EINVAL);
	assert_int_equal(kernel_probe_store(f->path, &newline, ZERO_CSUM_PROBE_PASSED), -EINVAL);
	assert_int_equal(kernel_probe_store(f->path, &empty, ZERO_CSUM_PROBE_PASSED), -EINVAL);
	assert_loads(f, &ours, ZERO_CSUM_UNPROBED, -ENOENT, NEVER_RUN);

	snprintf(deep, sizeof(deep), "%s/not/there/kernel-probe", f->folder);
	assert_int_equal(kernel_probe_store(deep, &ours, ZERO_CSUM_PROBE_PASSED), -ENOENT);

	/* What is in the way stays, and no other file is left beside it. */
	write_bytes(f, "", 0);
	assert_int_equal(unlink(f->path), 0);
	assert_int_equal(mkdir(f->path, 0755), 0);
	assert_int_equal(kernel_probe_store(f->path, &ours, ZERO_CSUM_PROBE_PASSED), -EISDIR);
	assert_alone(f);
}

/* An unfixed kernel takes a superpacket for one datagram, and the first of those in
 * it arrives. Made so here, the probe must see it. */
static void test_run(void **state)
{
	struct kernel_probe probe;

	(void)state;
	kernel_probe_run(KERNEL_PROBE_UNCUT, &probe);
	if (probe.result == ZERO_CSUM_UNPROBED) {
		print_message("skipped: %s\n", probe.reason);
		skip();
	}
	assert_int_equal(probe.result, ZERO_CSUM_PROBE_FAILED);
	assert_string_equal(probe.reason, "1 of the 4 datagrams of one superpacket arrived");
}

/* Where the rights are missing nothing is said about the kernel. */
static void test_run_without_rights(void **state)
{
	struct kernel_probe probe;

	(void)state;
	if (!geteuid() && seteuid(65534)) {
		print_message("skipped: cannot give up being root\n");
		skip();
	}
	kernel_probe_run(KERNEL_PROBE_SUPERPACKET, &probe);
	if (!getuid())
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(probe.result, ZERO_CSUM_UNPROBED);
	assert_non_null(strstr(probe.reason, "no network namespace of its own"));
}

int main(void)
{
#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH_FOLDER(test_load),
		WITH_FOLDER(test_load_odd_bytes),
		WITH_FOLDER(test_load_no_file),
		WITH_FOLDER(test_store),
		WITH_FOLDER(test_store_over_malformed),
		WITH_FOLDER(test_store_forgets_the_oldest),
		WITH_FOLDER(test_store_refuses),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_run_without_rights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
