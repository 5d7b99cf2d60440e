/* SPDX-License-Identifier: Apache-2.0 */
#include "tai64n.h"

#include <endian.h>
#include <string.h>

/* TAI64 label of 1970-01-01 00:00:00 UTC as WireGuard reckons: TAI was 10 s ahead
 * then, later leap seconds are left out. */
#define TAI64_EPOCH 0x400000000000000aULL

#define STEP_NSEC (1U << 24)

static void store(uint8_t stamp[WG_TAI64N_LEN], uint64_t sec, uint32_t nsec)
{
	sec = htobe64(sec);
	nsec = htobe32(nsec);
	memcpy(stamp, &sec, sizeof(sec));
	memcpy(stamp + sizeof(sec), &nsec, sizeof(nsec));
}

static void load(const uint8_t stamp[WG_TAI64N_LEN], uint64_t *ret_sec, uint32_t *ret_nsec)
{
	memcpy(ret_sec, stamp, sizeof(*ret_sec));
	memcpy(ret_nsec, stamp + sizeof(*ret_sec), sizeof(*ret_nsec));
	*ret_sec = be64toh(*ret_sec);
	*ret_nsec = be32toh(*ret_nsec);
}

void tai64n_next(struct tai64n_clock *c, uint64_t sec, uint32_t nsec, uint8_t ret[WG_TAI64N_LEN])
{
	uint64_t last_sec;
	uint32_t last_nsec;

	sec += TAI64_EPOCH;
	nsec &= ~(STEP_NSEC - 1);
	load(c->last, &last_sec, &last_nsec);

	if (sec < last_sec || (sec == last_sec && nsec <= last_nsec)) {
		sec = last_sec;
		nsec = last_nsec + STEP_NSEC;
		if (nsec >= NSEC_PER_SEC) {
			sec++;
			nsec = 0;
		}
	}

	store(c->last, sec, nsec);
	memcpy(ret, c->last, WG_TAI64N_LEN);
}
