/* SPDX-License-Identifier: Apache-2.0 */
/* sealane genkey and pubkey, as wg(8) has them. The key never is in a stdio buffer,
 * which would keep a copy. */
#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/node/keyfile.h"
#include "cli.h"

enum { DOCUMENT_LEN = KEY_TEXT_LEN + 40, INPUT_LEN = 128 };

static bool world_may_read(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & S_IRWXO;
}

static bool write_all(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		const ssize_t n = write(fd, text, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		text += n;
		left -= (size_t)n;
	}
	return true;
}

/* One line or one document, on the descriptor behind cli->out. */
static int tell_key(const struct cli *cli, const char *name, const uint8_t key[KEY_LEN])
{
	char text[KEY_TEXT_LEN], document[DOCUMENT_LEN];
	bool ok;

	key_format(key, text);
	if (cli->options.given & OPTION_JSON)
		snprintf(document, sizeof(document), "{\"%s\": \"%s\"}\n", name, text);
	else
		snprintf(document, sizeof(document), "%s\n", text);
	ok = fflush(cli->out) == 0 && write_all(fileno(cli->out), document);
	if (!ok)
		fprintf(cli->err, "sealane: cannot write the key: %s\n", strerror(errno));
	sodium_memzero(text, sizeof(text));
	sodium_memzero(document, sizeof(document));
	return ok ? CLI_FINE : CLI_WRONG;
}

int cmd_genkey(const struct cli *cli)
{
	uint8_t key[KEY_LEN];
	int status;

	if (sodium_init() < 0) {
		cli_refuse(cli, "genkey", "libsodium cannot start");
		return CLI_WRONG;
	}
	if (world_may_read(fileno(cli->out)))
		fputs("sealane genkey: warning: everybody may read or write this file; umask 077 "
		      "before helps\n",
		      cli->err);
	key_generate(key);
	status = tell_key(cli, "private_key", key);
	sodium_memzero(key, sizeof(key));
	return status;
}

/* All of standard input; false: more than a key and some white space can be. */
static bool read_input(char text[INPUT_LEN])
{
	size_t len = 0;

	for (;;) {
		const ssize_t n = read(STDIN_FILENO, text + len, INPUT_LEN - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		if (!n)
			break;
		len += (size_t)n;
		if (len == INPUT_LEN)
			return false;
	}
	text[len] = '\0';
	return strlen(text) == len;
}

int cmd_pubkey(const struct cli *cli)
{
	uint8_t private_key[KEY_LEN], public_key[KEY_LEN];
	char text[INPUT_LEN];
	int status = CLI_WRONG;

	if (read_input(text) && key_parse(text, private_key)) {
		key_public(private_key, public_key);
		status = tell_key(cli, "public_key", public_key);
	} else {
		cli_refuse(cli, "pubkey", "standard input is no key: 44 characters of base64");
	}
	sodium_memzero(text, sizeof(text));
	sodium_memzero(private_key, sizeof(private_key));
	return status;
}
