/* SPDX-License-Identifier: Apache-2.0 */
/* genkey and pubkey, which read and write descriptors. The pair is Alice's of RFC 7748,
 * section 6.1. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/node/keyfile.h"

#include "canned.h"
#include "cli_world.h"

#define ALICE_PRIVATE_TEXT "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo="

struct run {
	FILE *file;
	struct printed err;
	char text[200];
	int status;
};

/* The command with @input as standard input and a file of @mode for output. */
static void run(struct run *r, int (*command)(const struct cli *cli), const char *input,
		mode_t mode, unsigned options)
{
	FILE *in = tmpfile();
	const int kept = dup(STDIN_FILENO);
	struct cli cli;
	size_t len;

	r->file = tmpfile();
	assert_int_equal(fchmod(fileno(r->file), mode), 0);
	fputs(input, in);
	rewind(in);
	assert_int_equal(dup2(fileno(in), STDIN_FILENO), STDIN_FILENO);
	printed_begin(&r->err);
	cli = (struct cli){.options = {.given = options}, .out = r->file, .err = r->err.out};
	r->status = command(&cli);
	printed_text(&r->err);
	dup2(kept, STDIN_FILENO);
	close(kept);
	fclose(in);
	rewind(r->file);
	len = fread(r->text, 1, sizeof(r->text) - 1, r->file);
	r->text[len] = '\0';
}

static void run_end(struct run *r)
{
	fclose(r->file);
	printed_end(&r->err);
}

static void test_genkey(void **state)
{
	uint8_t first[KEY_LEN], second[KEY_LEN];
	struct run r;

	(void)state;
	run(&r, cmd_genkey, "", 0600, 0);
	assert_int_equal(r.status, CLI_FINE);
	assert_int_equal(strlen(r.text), 45);
	assert_int_equal(r.text[44], '\n');
	assert_true(key_parse(r.text, first));
	assert_string_equal(r.err.text, "");
	run_end(&r);
	run(&r, cmd_genkey, "", 0600, 0);
	assert_true(key_parse(r.text, second));
	assert_memory_not_equal(first, second, KEY_LEN);
	run_end(&r);
}

static void test_genkey_warns(void **state)
{
	static const struct {
		mode_t mode;
		bool warns;
	} cases[] = {{0600, false}, {0640, false}, {0604, true}, {0602, true}, {0644, true}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct run r;

		run(&r, cmd_genkey, "", cases[i].mode, 0);
		assert_int_equal(r.status, CLI_FINE);
		assert_int_equal(strstr(r.err.text, "warning: everybody") != NULL, cases[i].warns);
		run_end(&r);
	}
}

static void test_genkey_json(void **state)
{
	struct agent_doc doc;
	uint8_t key[KEY_LEN];
	struct run r;

	(void)state;
	run(&r, cmd_genkey, "", 0600, OPTION_JSON);
	assert_int_equal(agent_doc_parse(r.text, strlen(r.text), &doc), 0);
	assert_true(key_parse(agent_text(doc.root, "private_key"), key));
	agent_doc_done(&doc);
	run_end(&r);
}

static void test_pubkey(void **state)
{
	static const struct {
		const char *input;
		unsigned options;
		const char *want; /* NULL: refused */
	} cases[] = {
		{ALICE_PRIVATE_TEXT, 0, ALICE_TEXT "\n"},
		{ALICE_PRIVATE_TEXT "\n", 0, ALICE_TEXT "\n"},
		{" " ALICE_PRIVATE_TEXT "\r\n\n", 0, ALICE_TEXT "\n"},
		{ALICE_PRIVATE_TEXT "\n", OPTION_JSON, "{\"public_key\": \"" ALICE_TEXT "\"}\n"},
		{"", 0, NULL},
		{"dwdtCnMYpX08", 0, NULL},
		{ALICE_PRIVATE_TEXT "x", 0, NULL},
		{ALICE_PRIVATE_TEXT "\n" ALICE_PRIVATE_TEXT "\n", 0, NULL},
		{ALICE_PRIVATE_TEXT "                                                          "
				    "                                                          ",
		 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct run r;

		run(&r, cmd_pubkey, cases[i].input, 0600, cases[i].options);
		assert_int_equal(r.status, cases[i].want ? CLI_FINE : CLI_WRONG);
		assert_string_equal(r.text, cases[i].want ? cases[i].want : "");
		assert_int_equal(!strstr(r.err.text, "is no key"), cases[i].want != NULL);
		run_end(&r);
	}
}

static void test_refusal_as_document(void **state)
{
	struct run r;

	(void)state;
	run(&r, cmd_pubkey, "no key", 0600, OPTION_JSON);
	assert_int_equal(r.status, CLI_WRONG);
	assert_string_equal(r.text, "{\n  \"error\": \"standard input is no key: 44 characters of "
				    "base64\"\n}\n");
	assert_string_equal(r.err.text, "");
	run_end(&r);
}

static void test_full_disk(void **state)
{
	struct printed err;
	struct cli cli = {.out = fopen("/dev/full", "w")};

	(void)state;
	assert_non_null(cli.out);
	printed_begin(&err);
	cli.err = err.out;
	assert_int_equal(cmd_genkey(&cli), CLI_WRONG);
	assert_printed(&err, "sealane: cannot write the key: No space left on device\n");
	fclose(cli.out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_genkey),
		cmocka_unit_test(test_genkey_warns),
		cmocka_unit_test(test_genkey_json),
		cmocka_unit_test(test_pubkey),
		cmocka_unit_test(test_refusal_as_document),
		cmocka_unit_test(test_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
