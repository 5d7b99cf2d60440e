/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder of files with peers, read as a whole: those whose names end in ".yaml" or ".yml" and
 * do not begin with a dot, which also suits a ConfigMap mounted there (its entries are symbolic
 * links into a folder that is replaced as a whole). Control thread.
 */
#ifndef SEALANE_NODE_PEER_FILES_H
#define SEALANE_NODE_PEER_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "config.h"
#include "member.h"

enum { PEER_FILES_MAX = 20000 };

struct peer_file;

struct peer_files {
	struct peer_file *files; /* sorted by name */
	size_t n;
	struct member *members; /* of all files, shallow */
	size_t n_members;
	struct config_faults faults; /* of the last reading: of files, or of the folder */
};

/*
 * Reads what is new or changed in @folder, by file, size and times; forgets what is not there any
 * more. A file that cannot be read or is refused keeps what it last said. *ret_changed: members
 * are others now. @again: every file is read, for @config, which says what peers may claim, is
 * another one. 0; -errno of the folder, then all stays as it was; -ENOMEM likewise.
 */
int peer_files_read(struct peer_files *p, const char *folder, const struct config *config,
		    bool again, bool *ret_changed);
void peer_files_done(struct peer_files *p); /* and zeroes */

#endif
