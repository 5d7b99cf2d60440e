/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of this node as files and as text. Control thread. */
#ifndef SEALANE_NODE_KEYFILE_H
#define SEALANE_NODE_KEYFILE_H

#include <stdbool.h>
#include <stdint.h>

enum { KEY_LEN = 32, KEY_TEXT_LEN = 45 }; /* base64 with its NUL */

/* Exactly the 44 characters wg(8) writes; white space around them is allowed.
 * False: *ret untouched. In constant time. */
bool key_parse(const char *text, uint8_t ret[KEY_LEN]);
const char *key_format(const uint8_t key[KEY_LEN], char buf[KEY_TEXT_LEN]); /* returns @buf */
void key_generate(uint8_t ret_private[KEY_LEN]);			    /* clamped */
void key_public(const uint8_t private_key[KEY_LEN], uint8_t ret[KEY_LEN]);

/*
 * Reads the key at @path. -ENOENT; -EINVAL: not a key; -EPERM: others than the owner
 * may read it (mode & 077) or it is not a regular file; or -errno.
 */
int keyfile_load(const char *path, uint8_t ret[KEY_LEN]);
/* Makes the folder (0700) if need be, writes a new key 0600 under a temporary name,
 * syncs file and folder, renames. Never over an existing file: -EEXIST. */
int keyfile_create(const char *path, const uint8_t key[KEY_LEN]);
/* The node's private key: loads it, or creates one where there is none; *ret_new tells
 * which. Clamped, also where the file's is not. */
int keyfile_ensure(const char *path, uint8_t ret[KEY_LEN], bool *ret_new);

#endif
