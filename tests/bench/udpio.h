/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs that send and receive UDP share. All end the program when a
 * call fails: nothing they measure would mean anything then. */
#ifndef SEALANE_TESTS_UDPIO_H
#define SEALANE_TESTS_UDPIO_H

#include <stdint.h>

extern const char *udpio_program; /* its name in messages; set first */

/* Says what failed and why (errno), ends with status 2. */
void udpio_die(const char *what) __attribute__((noreturn));

/* A socket towards @addr (numbers), with a large send buffer. */
int udpio_connect(const char *addr, const char *port);

/* A socket for both IP versions at @port of any address, with a large receive
 * buffer. */
int udpio_listen(uint16_t port);

/* Until @ns of CLOCK_MONOTONIC. */
void udpio_sleep_until(uint64_t ns);

#endif
