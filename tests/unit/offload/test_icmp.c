/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/icmp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "naive.h"

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))

enum { PACKET_MAX = 2000 };

static const uint8_t our_v4[4] = {192, 0, 2, 1};
static const uint8_t our_v6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 1};

/* An offending packet of @len bytes with pseudo-random contents. */
static void offender_v4(uint8_t *p, size_t len, const uint8_t src[4], const uint8_t dst[4],
			uint8_t proto, uint16_t frag)
{
	uint64_t seed = len + 1;

	naive_random_bytes(&seed, p, len);
	p[0] = 0x45;
	p[2] = (uint8_t)(len >> 8);
	p[3] = (uint8_t)len;
	p[6] = (uint8_t)(frag >> 8);
	p[7] = (uint8_t)frag;
	p[9] = proto;
	memcpy(p + 12, src, 4);
	memcpy(p + 16, dst, 4);
}

static void offender_v6(uint8_t *p, size_t len, const uint8_t src[16], const uint8_t dst[16],
			uint8_t next)
{
	uint64_t seed = len + 2;

	naive_random_bytes(&seed, p, len);
	p[0] = (uint8_t)(0x60 | (p[0] & 15));
	p[4] = (uint8_t)((len - 40) >> 8);
	p[5] = (uint8_t)(len - 40);
	p[6] = next;
	memcpy(p + 8, src, 16);
	memcpy(p + 24, dst, 16);
}

/* Length of the error about the @len bytes at @p; nothing may be written
 * beyond it, and nothing at all when there is none. */
static size_t error_about(const uint8_t *p, size_t len, enum icmp_reason reason, uint32_t mtu,
			  uint8_t out[ICMP_ERROR_MAX_LEN])
{
	struct ip_view v;
	size_t n, i;

	assert_true(ip_parse(p, len, &v));
	memset(out, 0x5a, ICMP_ERROR_MAX_LEN);
	n = icmp_error(p, &v, reason, v.version == 4 ? our_v4 : our_v6, mtu, out,
		       ICMP_ERROR_MAX_LEN);
	assert_true(n <= ICMP_ERROR_MAX_LEN);
	for (i = n; i < ICMP_ERROR_MAX_LEN; i++)
		assert_int_equal(out[i], 0x5a);
	return n;
}

/* type, code, checksum, then the 32-bit word of the ICMP header. */
struct expected {
	uint8_t type, code;
	uint8_t rest[4];
};

static void check_v4(const uint8_t *offender, size_t len, enum icmp_reason reason, uint32_t mtu,
		     const struct expected *e)
{
	uint8_t out[ICMP_ERROR_MAX_LEN];
	const size_t quoted = len < 548 ? len : 548;
	const uint8_t header[] = {
		0x45, 0xc0, (uint8_t)((28 + quoted) >> 8), (uint8_t)(28 + quoted), 0, 0, 0x40, 0,
		64,   1};
	const uint8_t icmp[] = {e->type, e->code};

	assert_int_equal(error_about(offender, len, reason, mtu, out), 28 + quoted);
	assert_memory_equal(out, header, sizeof(header));
	assert_memory_equal(out + 12, our_v4, 4);
	assert_memory_equal(out + 16, offender + 12, 4);
	assert_int_equal(naive_checksum(out, 20), 0);
	assert_memory_equal(out + 20, icmp, sizeof(icmp));
	assert_memory_equal(out + 24, e->rest, 4);
	assert_int_equal(naive_checksum(out + 20, 8 + quoted), 0);
	assert_memory_equal(out + 28, offender, quoted);
}

static void check_v6(const uint8_t *offender, size_t len, enum icmp_reason reason, uint32_t mtu,
		     const struct expected *e)
{
	uint8_t out[ICMP_ERROR_MAX_LEN];
	const size_t quoted = len < 1232 ? len : 1232, n = 8 + quoted;
	const uint8_t header[] = {0x60, 0, 0, 0, (uint8_t)(n >> 8), (uint8_t)n, 58, 64};
	const uint8_t pseudo_tail[] = {0, 0, (uint8_t)(n >> 8), (uint8_t)n, 0, 0, 0, 58};
	const uint8_t icmp[] = {e->type, e->code};
	uint16_t sum;

	assert_int_equal(error_about(offender, len, reason, mtu, out), 40 + n);
	assert_memory_equal(out, header, sizeof(header));
	assert_memory_equal(out + 8, our_v6, 16);
	assert_memory_equal(out + 24, offender + 8, 16);
	assert_memory_equal(out + 40, icmp, sizeof(icmp));
	assert_memory_equal(out + 44, e->rest, 4);
	/* RFC 8200 8.1: both addresses, the length, the next header. */
	sum = naive_sum(naive_sum(0, out + 8, 32), pseudo_tail, sizeof(pseudo_tail));
	assert_int_equal(naive_sum(sum, out + 40, n), 0xffff);
	assert_memory_equal(out + 48, offender, quoted);
}

static const struct {
	enum icmp_reason reason;
	uint32_t mtu;
	struct expected v4, v6;
} reasons[] = {
	{ICMP_NO_PEER, 1420, {3, 1, {0}}, {1, 3, {0}}},
	{ICMP_NO_ENDPOINT, 1420, {3, 1, {0}}, {1, 3, {0}}},
	{ICMP_PACKET_TOO_BIG, 1420, {3, 4, {0, 0, 0x05, 0x8c}}, {2, 0, {0, 0, 0x05, 0x8c}}},
	{ICMP_PACKET_TOO_BIG, 65535, {3, 4, {0, 0, 0xff, 0xff}}, {2, 0, {0, 0, 0xff, 0xff}}},
	/* The IPv4 field has 16 bits only. */
	{ICMP_PACKET_TOO_BIG, 65536, {3, 4, {0, 0, 0xff, 0xff}}, {2, 0, {0, 1, 0, 0}}},
};

static void test_v4_contents(void **state)
{
	static const size_t lengths[] = {20, 21, 28, 547, 548, 549, 1420, PACKET_MAX};
	static const uint8_t src[4] = {198, 51, 100, 7}, dst[4] = {203, 0, 113, 9};
	uint8_t p[PACKET_MAX];
	size_t i, j;

	(void)state;
	for (i = 0; i < N_ELEMENTS(lengths); i++) {
		offender_v4(p, lengths[i], src, dst, IP_PROTO_UDP, 0x4000);
		for (j = 0; j < N_ELEMENTS(reasons); j++)
			check_v4(p, lengths[i], reasons[j].reason, reasons[j].mtu, &reasons[j].v4);
	}
}

static void test_v6_contents(void **state)
{
	static const size_t lengths[] = {40, 41, 48, 1231, 1232, 1233, 1420, PACKET_MAX};
	static const uint8_t src[16] = {0x20, 0x01, 0x0d, 0xb8, [8] = 7};
	static const uint8_t dst[16] = {0x20, 0x01, 0x0d, 0xb8, [8] = 9};
	uint8_t p[PACKET_MAX];
	size_t i, j;

	(void)state;
	for (i = 0; i < N_ELEMENTS(lengths); i++) {
		offender_v6(p, lengths[i], src, dst, IP_PROTO_TCP);
		for (j = 0; j < N_ELEMENTS(reasons); j++)
			check_v6(p, lengths[i], reasons[j].reason, reasons[j].mtu, &reasons[j].v6);
	}
}

/* Bytes behind the packet are not part of it and are not quoted. */
static void test_quotes_by_header(void **state)
{
	static const uint8_t src[4] = {198, 51, 100, 7}, dst[4] = {203, 0, 113, 9};
	uint8_t p[100], out[ICMP_ERROR_MAX_LEN];

	(void)state;
	offender_v4(p, sizeof(p), src, dst, IP_PROTO_UDP, 0);
	p[3] = 60;
	assert_int_equal(error_about(p, sizeof(p), ICMP_NO_PEER, 0, out), 28 + 60);
}

static const struct {
	const char *what;
	uint8_t src[4], dst[4];
	uint16_t frag;
	bool answered;
} v4_rules[] = {
	{"plain", {198, 51, 100, 7}, {203, 0, 113, 9}, 0, true},
	{"don't fragment", {198, 51, 100, 7}, {203, 0, 113, 9}, 0x4000, true},
	{"first fragment", {198, 51, 100, 7}, {203, 0, 113, 9}, 0x2000, true},
	{"second fragment", {198, 51, 100, 7}, {203, 0, 113, 9}, 0x2001, false},
	{"last fragment", {198, 51, 100, 7}, {203, 0, 113, 9}, 0x0001, false},
	{"far fragment", {198, 51, 100, 7}, {203, 0, 113, 9}, 0x1000, false},
	{"source unspecified", {0, 0, 0, 0}, {203, 0, 113, 9}, 0, false},
	{"source above unspecified", {0, 0, 0, 1}, {203, 0, 113, 9}, 0, true},
	{"source below loopback", {126, 255, 255, 255}, {203, 0, 113, 9}, 0, true},
	{"source first loopback", {127, 0, 0, 0}, {203, 0, 113, 9}, 0, false},
	{"source last loopback", {127, 255, 255, 255}, {203, 0, 113, 9}, 0, false},
	{"source above loopback", {128, 0, 0, 0}, {203, 0, 113, 9}, 0, true},
	{"source below multicast", {223, 255, 255, 255}, {203, 0, 113, 9}, 0, true},
	{"source first multicast", {224, 0, 0, 0}, {203, 0, 113, 9}, 0, false},
	{"source last multicast", {239, 255, 255, 255}, {203, 0, 113, 9}, 0, false},
	{"source class E", {240, 0, 0, 0}, {203, 0, 113, 9}, 0, false},
	{"source broadcast", {255, 255, 255, 255}, {203, 0, 113, 9}, 0, false},
	{"destination below multicast", {198, 51, 100, 7}, {223, 255, 255, 255}, 0, true},
	{"destination first multicast", {198, 51, 100, 7}, {224, 0, 0, 0}, 0, false},
	{"destination last multicast", {198, 51, 100, 7}, {239, 255, 255, 255}, 0, false},
	{"destination above multicast", {198, 51, 100, 7}, {240, 0, 0, 0}, 0, true},
	{"destination below broadcast", {198, 51, 100, 7}, {255, 255, 255, 254}, 0, true},
	{"destination broadcast", {198, 51, 100, 7}, {255, 255, 255, 255}, 0, false},
};

static void test_v4_rules(void **state)
{
	uint8_t p[64], out[ICMP_ERROR_MAX_LEN];
	size_t i, j;

	(void)state;
	for (i = 0; i < N_ELEMENTS(v4_rules); i++) {
		print_message("%s\n", v4_rules[i].what);
		offender_v4(p, sizeof(p), v4_rules[i].src, v4_rules[i].dst, IP_PROTO_UDP,
			    v4_rules[i].frag);
		for (j = 0; j < N_ELEMENTS(reasons); j++)
			assert_int_equal(error_about(p, sizeof(p), reasons[j].reason, 1280, out),
					 v4_rules[i].answered ? 28 + sizeof(p) : 0);
	}
}

static const struct {
	const char *what;
	uint8_t src[16], dst[16];
	bool answered, too_big_answered;
} v6_rules[] = {
	{"plain", {0x20, 1}, {0x20, 2}, true, true},
	{"source unspecified", {0}, {0x20, 2}, false, false},
	{"source one bit from it, low", {[15] = 1}, {0x20, 2}, true, true},
	{"source one bit from it, high", {0x80}, {0x20, 2}, true, true},
	{"source below multicast", {0xfe, 0xff}, {0x20, 2}, true, true},
	{"source multicast", {0xff}, {0x20, 2}, false, false},
	{"source link-local multicast", {0xff, 2, [15] = 1}, {0x20, 2}, false, false},
	{"destination below multicast", {0x20, 1}, {0xfe, 0xff}, true, true},
	{"destination multicast", {0x20, 1}, {0xff}, false, true},
	{"both multicast", {0xff}, {0xff}, false, false},
};

static void test_v6_rules(void **state)
{
	uint8_t p[64], out[ICMP_ERROR_MAX_LEN];
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(v6_rules); i++) {
		const size_t other = v6_rules[i].answered ? 48 + sizeof(p) : 0;
		const size_t too_big = v6_rules[i].too_big_answered ? 48 + sizeof(p) : 0;

		print_message("%s\n", v6_rules[i].what);
		offender_v6(p, sizeof(p), v6_rules[i].src, v6_rules[i].dst, IP_PROTO_UDP);
		assert_int_equal(error_about(p, sizeof(p), ICMP_NO_PEER, 0, out), other);
		assert_int_equal(error_about(p, sizeof(p), ICMP_NO_ENDPOINT, 0, out), other);
		assert_int_equal(error_about(p, sizeof(p), ICMP_PACKET_TOO_BIG, 1280, out),
				 too_big);
	}
}

/* Every type. RFC 1122 3.2.2 names the five error messages. */
static void test_v4_icmp_types(void **state)
{
	static const uint8_t src[4] = {198, 51, 100, 7}, dst[4] = {203, 0, 113, 9};
	static const bool is_error[256] = {
		[3] = true, [4] = true, [5] = true, [11] = true, [12] = true};
	uint8_t p[64], out[ICMP_ERROR_MAX_LEN];
	unsigned type;

	(void)state;
	offender_v4(p, sizeof(p), src, dst, IP_PROTO_ICMP, 0);
	for (type = 0; type < 256; type++) {
		p[20] = (uint8_t)type;
		p[9] = IP_PROTO_ICMP;
		assert_int_equal(error_about(p, sizeof(p), ICMP_PACKET_TOO_BIG, 1280, out),
				 is_error[type] ? 0 : 28 + sizeof(p));
		/* The same byte elsewhere means nothing: ICMPv6 is no ICMP here. */
		p[9] = IP_PROTO_ICMP6;
		assert_int_not_equal(error_about(p, sizeof(p), ICMP_NO_PEER, 0, out), 0);
	}
}

/* RFC 4443 2.1: errors have the high bit clear; 2.4(e.2): nor about redirects. */
static void test_v6_icmp_types(void **state)
{
	static const uint8_t src[16] = {0x20, 1}, dst[16] = {0x20, 2};
	uint8_t p[64], out[ICMP_ERROR_MAX_LEN];
	unsigned type;

	(void)state;
	offender_v6(p, sizeof(p), src, dst, IP_PROTO_ICMP6);
	for (type = 0; type < 256; type++) {
		const bool refused = !(type & 0x80) || type == 137;

		p[40] = (uint8_t)type;
		p[6] = IP_PROTO_ICMP6;
		assert_int_equal(error_about(p, sizeof(p), ICMP_PACKET_TOO_BIG, 1280, out),
				 refused ? 0 : 48 + sizeof(p));
		p[6] = IP_PROTO_ICMP;
		assert_int_not_equal(error_about(p, sizeof(p), ICMP_NO_PEER, 0, out), 0);
	}
}

/* Where the type cannot be read or hides behind other headers. */
static void test_icmp_type_position(void **state)
{
	static const uint8_t src4[4] = {198, 51, 100, 7}, dst4[4] = {203, 0, 113, 9};
	static const uint8_t src6[16] = {0x20, 1}, dst6[16] = {0x20, 2};
	uint8_t p[64], out[ICMP_ERROR_MAX_LEN];

	(void)state;
	offender_v4(p, 20, src4, dst4, IP_PROTO_ICMP, 0);
	assert_int_equal(error_about(p, 20, ICMP_NO_PEER, 0, out), 0);
	offender_v4(p, 21, src4, dst4, IP_PROTO_ICMP, 0);
	p[20] = 8;
	assert_int_equal(error_about(p, 21, ICMP_NO_PEER, 0, out), 28 + 21);
	/* Behind options. */
	offender_v4(p, 32, src4, dst4, IP_PROTO_ICMP, 0);
	p[0] = 0x46;
	p[20] = 8;
	p[24] = 3;
	assert_int_equal(error_about(p, 32, ICMP_NO_PEER, 0, out), 0);
	p[20] = 3;
	p[24] = 8;
	assert_int_equal(error_about(p, 32, ICMP_NO_PEER, 0, out), 28 + 32);

	offender_v6(p, 40, src6, dst6, IP_PROTO_ICMP6);
	assert_int_equal(error_about(p, 40, ICMP_NO_PEER, 0, out), 0);
	offender_v6(p, 41, src6, dst6, IP_PROTO_ICMP6);
	p[40] = 128;
	assert_int_equal(error_about(p, 41, ICMP_NO_PEER, 0, out), 48 + 41);
}

static void test_v6_extensions(void **state)
{
	static const struct {
		const char *what;
		uint8_t next;
		uint8_t payload[17];
		size_t len;
		bool answered;
	} cases[] = {
		{"echo behind destination", 60, {58, 0, [8] = 128}, 16, true},
		{"error behind destination", 60, {58, 0, [8] = 1}, 16, false},
		{"first fragment of an echo", 44, {58, 0, 0, 1, [8] = 128}, 16, true},
		{"first fragment of an error", 44, {58, 0, 0, 1, [8] = 2}, 16, false},
		{"second fragment", 44, {17, 0, 0, 8, [8] = 128}, 16, false},
		{"no next header", 59, {0}, 8, true},
		{"chain cut: may hide an error", 60, {58, 1}, 15, false},
		{"chain whole", 60, {17, 1}, 16, true},
	};
	static const uint8_t src[16] = {0x20, 1}, dst[16] = {0x20, 2};
	uint8_t p[64], out[ICMP_ERROR_MAX_LEN];
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(cases); i++) {
		const size_t len = 40 + cases[i].len;

		print_message("%s\n", cases[i].what);
		offender_v6(p, len, src, dst, cases[i].next);
		memcpy(p + 40, cases[i].payload, cases[i].len);
		assert_int_equal(error_about(p, len, ICMP_PACKET_TOO_BIG, 1280, out),
				 cases[i].answered ? 48 + len : 0);
	}
}

/* No error about an error, our own included. */
static void test_own_errors(void **state)
{
	static const uint8_t src4[4] = {198, 51, 100, 7}, dst4[4] = {203, 0, 113, 9};
	static const uint8_t src6[16] = {0x20, 1}, dst6[16] = {0x20, 2};
	uint8_t p[64], first[ICMP_ERROR_MAX_LEN], second[ICMP_ERROR_MAX_LEN];
	size_t i, n;

	(void)state;
	for (i = 0; i < N_ELEMENTS(reasons); i++) {
		offender_v4(p, sizeof(p), src4, dst4, IP_PROTO_UDP, 0);
		n = error_about(p, sizeof(p), reasons[i].reason, 1280, first);
		assert_int_not_equal(n, 0);
		assert_int_equal(error_about(first, n, reasons[i].reason, 1280, second), 0);

		offender_v6(p, sizeof(p), src6, dst6, IP_PROTO_UDP);
		n = error_about(p, sizeof(p), reasons[i].reason, 1280, first);
		assert_int_not_equal(n, 0);
		assert_int_equal(error_about(first, n, reasons[i].reason, 1280, second), 0);
	}
}

static void test_small_buffer(void **state)
{
	static const uint8_t src[4] = {198, 51, 100, 7}, dst[4] = {203, 0, 113, 9};
	uint8_t p[64], out[ICMP_ERROR_MAX_LEN];
	struct ip_view v;

	(void)state;
	offender_v4(p, sizeof(p), src, dst, IP_PROTO_UDP, 0);
	assert_true(ip_parse(p, sizeof(p), &v));
	assert_int_equal(icmp_error(p, &v, ICMP_NO_PEER, our_v4, 0, out, sizeof(out) - 1), 0);
	assert_int_equal(icmp_error(p, &v, ICMP_NO_PEER, our_v4, 0, out, sizeof(out)), 28 + 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_v4_contents),	 cmocka_unit_test(test_v6_contents),
		cmocka_unit_test(test_quotes_by_header), cmocka_unit_test(test_v4_rules),
		cmocka_unit_test(test_v6_rules),	 cmocka_unit_test(test_v4_icmp_types),
		cmocka_unit_test(test_v6_icmp_types),	 cmocka_unit_test(test_icmp_type_position),
		cmocka_unit_test(test_v6_extensions),	 cmocka_unit_test(test_own_errors),
		cmocka_unit_test(test_small_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
