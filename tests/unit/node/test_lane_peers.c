/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/lane_peers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEX31 "00000000000000000000000000000000000000000000000000000000000000"

static void key_of(uint8_t last, uint8_t ret[KEY_LEN])
{
	memset(ret, 0, KEY_LEN);
	ret[KEY_LEN - 1] = last;
}

static const struct lane_peer *find(const struct lane_peers *p, uint8_t last)
{
	uint8_t key[KEY_LEN];

	key_of(last, key);
	return lane_peers_find(p, key);
}

static void test_values(void **state)
{
	char answer[] = "private_key=" HEX31 "ff\n"
			"endpoint=192.0.2.9:9\n" /* nobody's yet */
			"public_key=" HEX31 "03\n"
			"endpoint=192.0.2.3:51820\n"
			"last_handshake_time_sec=1700000000\n"
			"rx_bytes=18446744073709551615\n"
			"tx_bytes=7\n"
			"new_key=5\n"
			"public_key=" HEX31 "01\n"
			"rx_bytes=-1\n"
			"tx_bytes=9x\n"
			"last_handshake_time_sec=99999999999999999999\n"
			"public_key=nonsense\n"
			"tx_bytes=11\n" /* its */
			"public_key=" HEX31 "02\n"
			"endpoint=[2001:db8::2]:51820\n";
	const struct lane_peer *peer;
	struct lane_peers p;

	(void)state;
	assert_int_equal(lane_peers_parse(answer, &p), 0);
	assert_int_equal(p.n, 3);
	peer = find(&p, 3);
	assert_non_null(peer);
	assert_string_equal(peer->endpoint, "192.0.2.3:51820");
	assert_int_equal(peer->handshake_s, 1700000000);
	assert_true(peer->received_bytes == UINT64_MAX);
	assert_int_equal(peer->transmitted_bytes, 7);
	peer = find(&p, 1);
	assert_non_null(peer);
	assert_string_equal(peer->endpoint, "");
	assert_int_equal(peer->handshake_s, 0);
	assert_int_equal(peer->received_bytes, 0);
	assert_int_equal(peer->transmitted_bytes, 0);
	peer = find(&p, 2);
	assert_non_null(peer);
	assert_string_equal(peer->endpoint, "[2001:db8::2]:51820");
	assert_null(find(&p, 4));
	assert_null(find(&p, 0xff));
	lane_peers_done(&p);
	assert_null(find(&p, 3));
}

static void test_many(void **state)
{
	enum { N = 200 };
	struct lane_peers p;
	char *answer = NULL;
	size_t len;
	FILE *out = open_memstream(&answer, &len);

	(void)state;
	assert_non_null(out);
	for (int i = N; i > 0; i--)
		fprintf(out, "public_key=" HEX31 "%02x\ntx_bytes=%d\n", (unsigned)i, 1000 + i);
	fclose(out);
	assert_int_equal(lane_peers_parse(answer, &p), 0);
	assert_int_equal(p.n, N);
	for (int i = 1; i <= N; i++) {
		const struct lane_peer *peer = find(&p, (uint8_t)i);

		assert_non_null(peer);
		assert_int_equal(peer->transmitted_bytes, 1000 + i);
	}
	lane_peers_done(&p);
	free(answer);
}

static void test_none(void **state)
{
	char answer[] = "";
	struct lane_peers p;

	(void)state;
	assert_int_equal(lane_peers_parse(answer, &p), 0);
	assert_int_equal(p.n, 0);
	lane_peers_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
