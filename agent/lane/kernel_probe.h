/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functional probe of the zero-checksum rule (offload/policy.h): does a local
 * tunnel on this kernel receive every datagram of a plain UDP superpacket? Kernels
 * without 3d010c8031e3 lose all but the first, in silence, and a vendor's number
 * does not tell who has that fix. The probe takes rights that a lane may lack, so
 * it is run beforehand (sealaned --probe), and lanes read the file it left. Control
 * thread.
 */
#ifndef SEALANE_LANE_KERNEL_PROBE_H
#define SEALANE_LANE_KERNEL_PROBE_H

#include "offload/policy.h"

struct utsname;

#define KERNEL_PROBE_PATH "/var/lib/sealane/kernel-probe"

enum { KERNEL_PROBE_REASON_LEN = 160, KERNEL_PROBE_DATAGRAMS = 4 };

struct kernel_probe {
	/* ZERO_CSUM_UNPROBED: it was not possible. Never a word against the kernel. */
	enum zero_csum_probe result;
	char reason[KERNEL_PROBE_REASON_LEN]; /* for a person, of all three */
};

enum kernel_probe_write {
	KERNEL_PROBE_SUPERPACKET,
	/* For the tests: without a vnet header's GSO part, so that this kernel takes
	 * the write for one datagram, as an unfixed one takes the superpacket. */
	KERNEL_PROBE_UNCUT,
};

/*
 * Writes one superpacket of VXLAN datagrams through a TUN into a VXLAN device and
 * counts what arrives inside; in a network namespace of its own, which is gone
 * afterwards. Takes CAP_SYS_ADMIN and CAP_NET_ADMIN, and at most two seconds.
 */
void kernel_probe_run(enum kernel_probe_write how, struct kernel_probe *ret);

/*
 * The file: a header line, then one line per kernel, the newest first,
 *   passed|failed TAB uname -r TAB uname -v
 */

/* What the file at @path says of @kernel. ZERO_CSUM_UNPROBED also where it is
 * missing, unreadable, or not to the letter what kernel_probe_store() writes;
 * @ret_reason tells which, and is "" otherwise. *ret_err (may be NULL): 0, or
 * -errno of reading; -EBADMSG when malformed. */
enum zero_csum_probe kernel_probe_load(const char *path, const struct utsname *kernel,
				       char ret_reason[KERNEL_PROBE_REASON_LEN], int *ret_err);

/* Enters @result for @kernel, keeping what a well-formed file says of others (the 15
 * newest). Makes the folder, not its parents. The file is replaced as a whole: a
 * reader sees the old one or the new one. 0, -EINVAL for a result or a kernel's name
 * that cannot be stored, or -errno. */
int kernel_probe_store(const char *path, const struct utsname *kernel, enum zero_csum_probe result);

#endif
