/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/node/keyfile.h"

/* RFC 7748 section 6.1, the same in hexadecimal (as printed there) and in base64. */
static const struct vector {
	const char *private_hex, *private_text, *public_hex, *public_text;
} vectors[] = {
	{"77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
	 "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=",
	 "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
	 "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="},
	{"5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
	 "XasIfmJKikt54X+Lg4AO5m87sSkmGLb9HC+LJ/+I4Os=",
	 "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
	 "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08="},
};

static void from_hex(const char *hex, uint8_t ret[KEY_LEN])
{
	for (int i = 0; i < KEY_LEN; i++) {
		unsigned byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		ret[i] = (uint8_t)byte;
	}
}

static void test_vectors(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
		const struct vector *v = &vectors[i];
		uint8_t private_key[KEY_LEN], public_key[KEY_LEN], key[KEY_LEN] = {0};
		char text[KEY_TEXT_LEN];

		from_hex(v->private_hex, private_key);
		from_hex(v->public_hex, public_key);
		assert_true(key_parse(v->private_text, key));
		assert_memory_equal(key, private_key, KEY_LEN);
		assert_ptr_equal(key_format(private_key, text), text);
		assert_string_equal(text, v->private_text);
		key_public(private_key, key);
		assert_memory_equal(key, public_key, KEY_LEN);
		assert_string_equal(key_format(key, text), v->public_text);
	}
}

/* Lines of @command's output, as many as @n; false if it does not run. */
static bool run(const char *command, char (*lines)[64], int n)
{
	FILE *f = popen(command, "r");
	bool ok = f;

	for (int i = 0; ok && i < n; i++)
		ok = fgets(lines[i], sizeof(*lines), f);
	return f && !pclose(f) && ok;
}

static void test_wg_agrees(void **state)
{
	uint8_t private_key[KEY_LEN], public_key[KEY_LEN];
	char lines[2][64], text[KEY_TEXT_LEN];

	(void)state;
	if (system("command -v wg >/dev/null"))
		skip();
	for (int i = 0; i < 8; i++) {
		assert_true(run("k=$(wg genkey) && echo $k && echo $k | wg pubkey", lines, 2));
		assert_true(key_parse(lines[0], private_key));
		key_public(private_key, public_key);
		assert_memory_equal(key_format(public_key, text), lines[1], KEY_TEXT_LEN - 1);
	}
}

#define GOOD "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="

static const struct {
	const char *what, *text;
	bool ok;
} texts[] = {
	{"as it is", GOOD, true},
	{"a newline", GOOD "\n", true},
	{"white space around", " \t\r\n" GOOD " \r\n\n\t", true},
	{"all zero", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", true},
	{"nothing", "", false},
	{"white space alone", " \n", false},
	{"one too few", "SDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=", false},
	{"one too many", "A" GOOD, false},
	{"no padding", "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo", false},
	{"33 bytes", "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmoA", false},
	{"31 bytes", "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTg==", false},
	{"two words", GOOD " " GOOD, false},
	{"a word behind", GOOD " x", false},
	{"white space within", "hSDwCYkwp1R0i33ctD73Wg2/ g0mOBr066SpjqqbTmo=", false},
	{"URL's alphabet", "hSDwCYkwp1R0i33ctD73Wg2_Og0mOBr066SpjqqbTmo=", false},
	{"bits behind the last byte", "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmp=", false},
	{"hexadecimal", "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a", false},
	{"a letter above ASCII", "hSDwCYkwp1R0i33ctD73Wg2\xc3Og0mOBr066SpjqqbTmo=", false},
};

static void test_parse(void **state)
{
	uint8_t before[KEY_LEN];

	(void)state;
	memset(before, 0x5a, sizeof(before));
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		uint8_t key[KEY_LEN];

		memcpy(key, before, sizeof(key));
		if (key_parse(texts[i].text, key) != texts[i].ok)
			fail_msg("%s", texts[i].what);
		if (!memcmp(key, before, sizeof(key)) == texts[i].ok)
			fail_msg("%s: *ret", texts[i].what);
	}
}

/* Every byte in every place but the last letter's, which has bits to spare. */
static void test_parse_alphabet(void **state)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				       "0123456789+/";
	uint8_t key[KEY_LEN];
	char text[] = GOOD;

	(void)state;
	for (int place = 0; place < 42; place++) {
		char was = text[place];

		for (int byte = 1; byte < 256; byte++) {
			text[place] = (char)byte;
			if (key_parse(text, key) != !!strchr(alphabet, byte))
				fail_msg("byte %d at %d", byte, place);
		}
		text[place] = was;
	}
}

static void test_generate(void **state)
{
	uint8_t keys[64][KEY_LEN] = {{0}};

	(void)state;
	for (int i = 0; i < 64; i++) {
		key_generate(keys[i]);
		assert_int_equal(keys[i][0] & 7, 0);
		assert_int_equal(keys[i][31] & 0xc0, 0x40);
		for (int j = 0; j < i; j++)
			assert_memory_not_equal(keys[i], keys[j], KEY_LEN);
	}
}

/* A folder of its own for each test. */
struct world {
	char folder[32], path[64], nested[64];
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	strcpy(w->folder, "/tmp/keyfile-XXXXXX");
	assert_non_null(mkdtemp(w->folder));
	snprintf(w->path, sizeof(w->path), "%s/key", w->folder);
	snprintf(w->nested, sizeof(w->nested), "%s/state/key", w->folder);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", w->folder);
	assert_int_equal(system(command), 0);
	free(w);
	return 0;
}

static void write_file(const char *path, const char *text, size_t len, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void expect_file(const char *path, const char *text)
{
	char buf[256] = {0};
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_int_equal(fread(buf, 1, sizeof(buf) - 1, f), strlen(text));
	assert_string_equal(buf, text);
	fclose(f);
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

static int n_files(const char *folder)
{
	DIR *dir = opendir(folder);
	int n = 0;

	assert_non_null(dir);
	for (struct dirent *e; (e = readdir(dir));)
		n += e->d_name[0] != '.';
	closedir(dir);
	return n;
}

static const char long_text[200] = GOOD;

static const struct {
	const char *what, *text;
	size_t len; /* 0: that of the text */
	unsigned mode;
	int result;
} files[] = {
	{"a key", GOOD "\n", 0, 0600, 0},
	{"read-only", GOOD, 0, 0400, 0},
	{"the group may read", GOOD "\n", 0, 0640, -EPERM},
	{"others may read", GOOD "\n", 0, 0604, -EPERM},
	{"the group may write", GOOD "\n", 0, 0620, -EPERM},
	{"others may execute", GOOD "\n", 0, 0601, -EPERM},
	{"empty", "", 0, 0600, -EINVAL},
	{"no key", "secret\n", 0, 0600, -EINVAL},
	{"a NUL behind the key", GOOD "\0", sizeof(GOOD), 0600, -EINVAL},
	{"a NUL and more", GOOD "\0x", sizeof(GOOD) + 1, 0600, -EINVAL},
	{"long", long_text, sizeof(long_text), 0600, -EINVAL},
};

static void test_load(void **state)
{
	struct world *w = *state;
	uint8_t expected[KEY_LEN], before[KEY_LEN], key[KEY_LEN];

	from_hex(vectors[0].public_hex, expected);
	memset(before, 0x5a, sizeof(before));
	memcpy(key, before, sizeof(key));
	assert_int_equal(keyfile_load(w->path, key), -ENOENT);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		size_t len = files[i].len ? files[i].len : strlen(files[i].text);

		unlink(w->path);
		write_file(w->path, files[i].text, len, files[i].mode);
		memcpy(key, before, sizeof(key));
		if (keyfile_load(w->path, key) != files[i].result)
			fail_msg("%s", files[i].what);
		assert_memory_equal(key, files[i].result ? before : expected, KEY_LEN);
	}
}

/* White space up to the most that a file may have. */
static void test_load_padded(void **state)
{
	struct world *w = *state;
	uint8_t key[KEY_LEN];
	char text[300];

	for (size_t len = 44; len < sizeof(text); len++) {
		memset(text, '\n', sizeof(text));
		memcpy(text + (len - 44) / 2, GOOD, 44);
		write_file(w->path, text, len, 0600);
		assert_int_equal(keyfile_load(w->path, key), len < 127 ? 0 : -EINVAL);
	}
}

static void test_load_no_file(void **state)
{
	struct world *w = *state;
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	uint8_t key[KEY_LEN];
	int fd;

	assert_int_equal(chmod(w->folder, 0700), 0);
	assert_int_equal(keyfile_load(w->folder, key), -EPERM);
	assert_int_equal(mkfifo(w->path, 0600), 0);
	assert_int_equal(keyfile_load(w->path, key), -EPERM);
	unlink(w->path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	memcpy(addr.sun_path, w->path, sizeof(w->path));
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(chmod(w->path, 0600), 0);
	assert_int_equal(keyfile_load(w->path, key), -EPERM);
	close(fd);
	unlink(w->path);
	/* A link leads to the file, whose mode counts. */
	write_file(w->path, GOOD, 44, 0600);
	snprintf(w->nested, sizeof(w->nested), "%s/link", w->folder);
	assert_int_equal(symlink("key", w->nested), 0);
	assert_int_equal(keyfile_load(w->nested, key), 0);
	assert_int_equal(chmod(w->path, 0644), 0);
	assert_int_equal(keyfile_load(w->nested, key), -EPERM);
	snprintf(w->nested, sizeof(w->nested), "%s/key/key", w->folder);
	assert_int_equal(keyfile_load(w->nested, key), -ENOTDIR);
}

static void test_create(void **state)
{
	struct world *w = *state;
	uint8_t key[KEY_LEN], other[KEY_LEN] = {1}, back[KEY_LEN];
	mode_t mask = umask(0);

	from_hex(vectors[0].private_hex, key);
	assert_int_equal(keyfile_create(w->nested, key), 0);
	umask(mask);
	expect_file(w->nested, "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=\n");
	assert_int_equal(mode_of(w->nested), 0600);
	assert_int_equal(keyfile_load(w->nested, back), 0);
	assert_memory_equal(back, key, KEY_LEN);
	*strrchr(w->nested, '/') = '\0';
	assert_int_equal(mode_of(w->nested), 0700);
	assert_int_equal(n_files(w->nested), 1);
	strcat(w->nested, "/key");
	assert_int_equal(keyfile_create(w->nested, other), -EEXIST);
	expect_file(w->nested, "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=\n");
	/* A folder that is there keeps its mode, whatever the umask. */
	assert_int_equal(chmod(w->folder, 0750), 0);
	umask(0777);
	assert_int_equal(keyfile_create(w->path, other), 0);
	umask(mask);
	assert_int_equal(mode_of(w->path), 0600);
	assert_int_equal(mode_of(w->folder), 0750);
	assert_int_equal(n_files(w->folder), 2);
}

static void test_create_refused(void **state)
{
	struct world *w = *state;
	uint8_t key[KEY_LEN] = {1};
	char path[5000];

	snprintf(path, sizeof(path), "%s/a/b/key", w->folder);
	assert_int_equal(keyfile_create(path, key), -ENOENT);
	/* Not through a link either, even one that leads nowhere. */
	assert_int_equal(symlink("nowhere", w->path), 0);
	assert_int_equal(keyfile_create(w->path, key), -EEXIST);
	assert_int_equal(n_files(w->folder), 1);
	unlink(w->path);
	assert_int_equal(mkdir(w->path, 0700), 0);
	assert_int_equal(keyfile_create(w->path, key), -EEXIST);
	/* A name for which there is room, but not for that of the temporary file. */
	snprintf(path, sizeof(path), "%s/%0253d", w->folder, 0);
	assert_int_equal(keyfile_create(path, key), -ENAMETOOLONG);
	snprintf(path, sizeof(path), "%s/%04500d", w->folder, 0);
	assert_int_equal(keyfile_create(path, key), -ENAMETOOLONG);
	assert_int_equal(n_files(w->folder), 1);
}

static void test_create_relative(void **state)
{
	struct world *w = *state;
	uint8_t key[KEY_LEN] = {1};
	char before[1024];

	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(w->folder), 0);
	assert_int_equal(keyfile_create("key", key), 0);
	assert_int_equal(keyfile_create("state/key", key), 0);
	assert_int_equal(chdir(before), 0);
	assert_int_equal(keyfile_load(w->path, key), 0);
	assert_int_equal(keyfile_load(w->nested, key), 0);
	assert_int_equal(n_files(w->folder), 2);
}

static void test_ensure(void **state)
{
	struct world *w = *state;
	uint8_t first[KEY_LEN] = {0}, second[KEY_LEN] = {0}, file[KEY_LEN];
	bool is_new = false;

	assert_int_equal(keyfile_ensure(w->nested, first, &is_new), 0);
	assert_true(is_new);
	assert_int_equal(first[31] & 0xc0, 0x40);
	assert_int_equal(keyfile_load(w->nested, file), 0);
	assert_memory_equal(first, file, KEY_LEN);
	assert_int_equal(keyfile_ensure(w->nested, second, &is_new), 0);
	assert_false(is_new);
	assert_memory_equal(first, second, KEY_LEN);
	/* Another file, another key. */
	assert_int_equal(keyfile_ensure(w->path, second, &is_new), 0);
	assert_memory_not_equal(first, second, KEY_LEN);
	memcpy(second, first, KEY_LEN);
	/* What is there and cannot be used is not replaced. */
	write_file(w->path, "secret\n", 7, 0600);
	is_new = true;
	assert_int_equal(keyfile_ensure(w->path, second, &is_new), -EINVAL);
	assert_false(is_new);
	assert_int_equal(chmod(w->path, 0644), 0);
	assert_int_equal(keyfile_ensure(w->path, second, &is_new), -EPERM);
	expect_file(w->path, "secret\n");
	unlink(w->path);
	assert_int_equal(symlink("nowhere", w->path), 0);
	assert_int_equal(keyfile_ensure(w->path, second, &is_new), -ENOENT);
	assert_memory_equal(first, second, KEY_LEN);
}

struct answer {
	int err;
	bool is_new;
	uint8_t key[KEY_LEN];
};

/* Waits for the end of @start, then does it. */
static void ensure_in_child(const char *path, int start, int answers)
{
	struct answer a = {0};
	char byte;

	if (read(start, &byte, 1) == 0)
		a.err = keyfile_ensure(path, a.key, &a.is_new);
	_exit(write(answers, &a, sizeof(a)) != sizeof(a));
}

/* Of many at once one creates it, and all have the same. */
static void test_ensure_at_once(void **state)
{
	enum { CHILDREN = 6, ROUNDS = 20 };
	struct world *w = *state;

	for (int round = 0; round < ROUNDS; round++) {
		struct answer first = {0}, a;
		int start[2], answers[2], n_new = 0;

		assert_int_equal(pipe(start), 0);
		assert_int_equal(pipe(answers), 0);
		for (int i = 0; i < CHILDREN; i++) {
			pid_t pid = fork();

			assert_true(pid >= 0);
			if (!pid) {
				close(start[1]);
				ensure_in_child(w->path, start[0], answers[1]);
			}
		}
		close(start[0]);
		close(start[1]);
		close(answers[1]);
		for (int i = 0; i < CHILDREN; i++) {
			assert_int_equal(read(answers[0], &a, sizeof(a)), sizeof(a));
			if (!i)
				first = a;
			assert_int_equal(a.err, 0);
			assert_memory_equal(a.key, first.key, KEY_LEN);
			n_new += a.is_new;
		}
		for (int i = 0; i < CHILDREN; i++)
			assert_true(wait(NULL) > 0);
		assert_int_equal(n_new, 1);
		assert_int_equal(n_files(w->folder), 1);
		assert_int_equal(unlink(w->path), 0);
		close(answers[0]);
	}
}

/* A key that somebody else made need not be clamped; RFC 7748 section 5 says how. */
static void test_ensure_clamps(void **state)
{
	struct world *w = *state;
	uint8_t key[KEY_LEN], expected[KEY_LEN];
	bool is_new;

	from_hex(vectors[1].private_hex, expected);
	expected[0] = 0x58;
	expected[31] = 0x6b;
	write_file(w->path, vectors[1].private_text, 44, 0600);
	assert_int_equal(keyfile_ensure(w->path, key, &is_new), 0);
	assert_memory_equal(key, expected, KEY_LEN);
	expect_file(w->path, vectors[1].private_text);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),	 cmocka_unit_test(test_wg_agrees),
		cmocka_unit_test(test_parse),	 cmocka_unit_test(test_parse_alphabet),
		cmocka_unit_test(test_generate), IN_FOLDER(test_load),
		IN_FOLDER(test_load_padded),	 IN_FOLDER(test_load_no_file),
		IN_FOLDER(test_create),		 IN_FOLDER(test_create_refused),
		IN_FOLDER(test_create_relative), IN_FOLDER(test_ensure),
		IN_FOLDER(test_ensure_at_once),	 IN_FOLDER(test_ensure_clamps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
