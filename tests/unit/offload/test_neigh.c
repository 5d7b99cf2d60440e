/* SPDX-License-Identifier: Apache-2.0 */
/* Questions and answers as bytes; questions with one fault each. The checksums were
 * computed by a script and found good by Wireshark. */
#include "offload/neigh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "naive.h"

#define N_ELEMENTS(a) (sizeof(a) / sizeof(*(a)))

enum { FRAME_MAX = 256, CHECKSUM = 56 };

#define MAC_A	    "02000000000a"
#define MAC_B	    "02000000000b"
#define MAC_E	    "02000000000e"
#define VLAN	    "81006005"
#define QINQ	    "88a8e00781002005"
#define IP_A	    "20010db800000000000000000000000a"
#define IP_B	    "20010db800000000000000000000000b"
#define LL_A	    "fe80000000000000000000000000000a"
#define LL_B	    "fe80000000000000000000000000000b"
#define GROUP_B	    "ff0200000000000000000001ff00000b"
#define ARP_REQUEST "08060001080006040001" MAC_A "0a00000a"
#define ARP_REPLY   "08060001080006040002" MAC_B "0a00000b" MAC_A "0a00000a"
#define IPV6	    "86dd60000000"
#define ADVERTISEMENT(target, to, sum)                                                             \
	IPV6 "00203aff" target to "8800" sum "40000000" target "0201" MAC_B

enum { ARP, ARP_VLAN, ARP_QINQ, NS, NS_VLAN, NS_QINQ };

/* B has the address that A asks for. In two of them E, a bridge of a kind, passes on
 * what A asks. */
static const struct pair {
	uint8_t l2_len, addr_len;
	const char *target, *question, *answer;
} pairs[] = {
	[ARP] = {14, 4, "0a00000b", "ffffffffffff" MAC_A ARP_REQUEST "0000000000000a00000b",
		 MAC_A MAC_B ARP_REPLY},
	[ARP_VLAN] = {18, 4, "0a00000b",
		      "ffffffffffff" MAC_A VLAN ARP_REQUEST "eeeeeeeeeeee0a00000b",
		      MAC_A MAC_B VLAN ARP_REPLY},
	[ARP_QINQ] = {22, 4, "0a00000b", MAC_B MAC_E QINQ ARP_REQUEST "0000000000000a00000b",
		      MAC_A MAC_B QINQ ARP_REPLY},
	[NS] = {14, 16, IP_B,
		"3333ff00000b" MAC_A IPV6 "00203aff" IP_A GROUP_B "87001c0300000000" IP_B
		"0101" MAC_A,
		MAC_A MAC_B ADVERTISEMENT(IP_B, IP_A, "aa4d")},
	[NS_VLAN] = {18, 16, IP_B,
		     MAC_B MAC_A VLAN IPV6 "00183aff" IP_A IP_B "8700ef6100000000" IP_B,
		     MAC_A MAC_B VLAN ADVERTISEMENT(IP_B, IP_A, "aa4d")},
	/* Options: nonce, one of 16 bytes that nobody knows, source twice. */
	[NS_QINQ] = {22, 16, LL_B,
		     "3333ff00000b" MAC_E QINQ IPV6 "00403aff" LL_A GROUP_B "8700663700000000" LL_B
		     "0e01000102030405fd0200000000000000000000000000000101" MAC_A "0101" MAC_E,
		     MAC_A MAC_B QINQ ADVERTISEMENT(LL_B, LL_A, "37f6")},
};

static size_t unhex(const char *hex, uint8_t *out)
{
	size_t n;

	for (n = 0; hex[2 * n]; n++)
		out[n] = (uint8_t)strtoul((const char[]){hex[2 * n], hex[2 * n + 1], 0}, NULL, 16);
	return n;
}

/* neigh_parse() of @bytes in memory of exactly their size. Refused: *ret untouched. */
static bool parse(const uint8_t *bytes, size_t len, struct neigh_question *ret)
{
	struct neigh_question untouched;
	uint8_t *frame = malloc(len ? len : 1);
	bool accepted;

	assert_non_null(frame);
	memcpy(frame, bytes, len);
	memset(&untouched, 0x5a, sizeof(untouched));
	*ret = untouched;
	accepted = neigh_parse(frame, len, ret);
	assert_memory_equal(frame, bytes, len);
	if (!accepted)
		assert_memory_equal(ret, &untouched, sizeof(untouched));
	free(frame);
	return accepted;
}

static bool accepts(const uint8_t *bytes, size_t len)
{
	struct neigh_question q;

	return parse(bytes, len, &q);
}

/* neigh_answer(), which writes no byte more than it says. */
static size_t answer(const uint8_t *frame, size_t len, const struct neigh_question *q,
		     const uint8_t mac[6], uint8_t out[FRAME_MAX])
{
	size_t n, i;

	memset(out, 0x5a, FRAME_MAX);
	n = neigh_answer(frame, len, q, mac, out);
	assert_true(n <= NEIGH_ANSWER_MAX_LEN);
	for (i = n; i < FRAME_MAX; i++)
		assert_int_equal(out[i], 0x5a);
	assert_false(accepts(out, n));
	return n;
}

/* What the checksum of the IPv6 packet at @ip has to be, @len bytes of ICMPv6. */
static uint16_t right_checksum(const uint8_t *ip, size_t len)
{
	const uint8_t rest[] = {(uint8_t)(len >> 8), (uint8_t)len, 0, 58};
	uint16_t sum = naive_sum(naive_sum(0, ip + 8, 32), rest, sizeof(rest));

	sum = naive_sum(naive_sum(sum, ip + 40, 2), ip + 44, len - 4);
	return (uint16_t)(0xffff - sum);
}

/* For as many bytes as the header says, if they are there. */
static void put_checksum(uint8_t *ip, size_t left)
{
	const size_t len = (size_t)ip[4] << 8 | ip[5];

	if (len < 24 || 40 + len > left)
		return;
	ip[42] = (uint8_t)(right_checksum(ip, len) >> 8);
	ip[43] = (uint8_t)right_checksum(ip, len);
}

static void check_answer(const struct pair *p, const uint8_t *frame, size_t len)
{
	uint8_t expected[FRAME_MAX], out[FRAME_MAX], target[16] = {0}, a[6], b[6];
	struct neigh_question q;
	size_t n;

	unhex(MAC_A, a);
	unhex(MAC_B, b);
	unhex(p->target, target);
	assert_true(parse(frame, len, &q));
	assert_int_equal(q.addr_len, p->addr_len);
	assert_int_equal(q.l2_len, p->l2_len);
	assert_memory_equal(q.target, target, 16);
	assert_memory_equal(q.asker, a, 6);

	n = unhex(p->answer, expected);
	assert_int_equal(answer(frame, len, &q, b, out), n);
	assert_memory_equal(out, expected, n);
	if (p->addr_len == 16) {
		const uint8_t *ip = out + p->l2_len;

		assert_int_equal(ip[42] << 8 | ip[43], right_checksum(ip, 32));
	}
}

/* Each whole, with padding of any length behind it, and cut anywhere. */
static void test_answers(void **state)
{
	uint8_t frame[FRAME_MAX];
	size_t i, n, len;

	(void)state;
	for (i = 0; i < N_ELEMENTS(pairs); i++) {
		memset(frame, 0xee, sizeof(frame));
		len = unhex(pairs[i].question, frame);
		for (n = 0; n < len; n++)
			assert_false(accepts(frame, n));
		for (; n <= len + 60; n++)
			check_answer(&pairs[i], frame, n);
	}
}

/* One change to a question of the table. Then the frame ends where the packet does, and
 * the checksum is put right, unless it is what was changed. */
struct change {
	const char *what;
	uint8_t pair, at;
	const char *bytes;
};

static bool accepts_changed(const struct change *c)
{
	const struct pair *p = &pairs[c->pair];
	uint8_t frame[FRAME_MAX], *const ip = frame + p->l2_len;
	size_t len = unhex(p->question, frame), packet_len;

	assert_true(accepts(frame, len));
	assert_true(c->at + unhex(c->bytes, frame + c->at) <= len);
	if (p->addr_len == 4)
		return accepts(frame, len);
	packet_len = 40u + (ip[4] << 8 | ip[5]);
	if (packet_len < len - p->l2_len)
		len = p->l2_len + packet_len;
	if (c->at != CHECKSUM)
		put_checksum(ip, len - p->l2_len);
	return accepts(frame, len);
}

static const struct change refused[] = {
	{"group as source", ARP, 6, "03"},
	{"no source", ARP, 6, "000000000000"},
	{"broadcast as source", ARP, 6, "ffffffffffff"},
	{"group as source", NS, 6, "333300000001"},
	{"no source", NS, 6, "000000000000"},
	{"group as source behind tags", NS_QINQ, 6, "010000000000"},
	{"IPv4", ARP, 12, "0800"},
	{"RARP", ARP, 12, "8035"},
	{"another tag", ARP_VLAN, 12, "9100"},
	{"another tag behind one", ARP_QINQ, 16, "9100"},
	{"something else behind a tag", ARP_VLAN, 16, "0800"},
	{"IPv6 in an ARP frame", NS, 12, "0806"},
	{"ARP in an IPv6 frame", ARP, 12, "86dd"},

	{"hardware IEEE 802", ARP, 14, "0006"},
	{"hardware, upper byte", ARP, 14, "0101"},
	{"protocol", ARP, 16, "86dd"},
	{"longer MAC", ARP, 18, "08"},
	{"longer address", ARP, 19, "10"},
	{"reply", ARP, 20, "0002"},
	{"reverse request", ARP, 20, "0003"},
	{"no operation", ARP, 20, "0000"},
	{"operation, upper byte", ARP, 20, "0101"},
	{"sender in a group", ARP, 22, "01"},
	{"sender broadcast", ARP, 22, "ffffffffffff"},
	{"sender without MAC", ARP, 22, "000000000000"},
	{"probe", ARP, 28, "00000000"},
	{"sender loopback", ARP, 28, "7f000001"},
	{"sender multicast", ARP, 28, "e0000001"},
	{"sender last multicast", ARP, 28, "efffffff"},
	{"sender broadcast", ARP, 28, "ffffffff"},
	{"gratuitous", ARP, 28, "0a00000b"},
	{"gratuitous behind tags", ARP_QINQ, 46, "0a00000a"},
	{"target unspecified", ARP, 38, "00000000"},
	{"target loopback", ARP, 38, "7fffffff"},
	{"target multicast", ARP, 38, "e0000016"},
	{"target broadcast", ARP, 38, "ffffffff"},

	{"version", NS, 14, "50"},
	{"version 4", NS, 14, "45"},
	{"no payload", NS, 18, "0000"},
	{"one byte too few", NS_VLAN, 22, "0017"},
	{"one byte too many", NS, 18, "0021"},
	{"length, upper byte", NS, 18, "01"},
	{"UDP", NS, 20, "11"},
	{"hop-by-hop", NS, 20, "00"},
	{"nothing follows", NS, 20, "3b"},
	{"ICMP of IPv4", NS, 20, "01"},
	{"hop limit 254", NS, 21, "fe"},
	{"hop limit 0", NS, 21, "00"},
	{"duplicate address detection", NS_VLAN, 26, "00000000000000000000000000000000"},
	{"from loopback", NS, 22, "00000000000000000000000000000001"},
	{"from a group", NS, 22, "ff020000000000000000000000000001"},
	{"asks for itself", NS, 22, IP_B},
	{"advertisement", NS, 54, "88"},
	{"router advertisement", NS, 54, "86"},
	{"code", NS, 55, "01"},
	{"checksum + 1", NS, CHECKSUM, "1c04"},
	{"checksum, upper byte", NS, CHECKSUM, "1d03"},
	{"no checksum", NS, CHECKSUM, "0000"},
	{"all ones for a checksum", NS, CHECKSUM, "ffff"},
	{"target unspecified", NS, 62, "00000000000000000000000000000000"},
	{"target loopback", NS, 62, "00000000000000000000000000000001"},
	{"target multicast", NS, 62, GROUP_B},
	{"option without length", NS, 79, "00"},
	{"option too long", NS, 79, "02"},
	{"half an option", NS, 18, "001c"},
	{"option but for its last byte", NS, 18, "001f"},
	{"one byte of an option", NS, 18, "0019"},
	{"other option without length", NS_QINQ, 87, "00"},
	{"other option too long", NS_QINQ, 87, "09"},
	{"last option too long", NS_QINQ, 119, "02"},
	{"last option without length", NS_QINQ, 119, "00"},
	{"source in 16 bytes", NS_QINQ, 94, "0102" MAC_E},
	{"source is a group", NS, 80, "03"},
	{"source is zero", NS, 80, "000000000000"},
	{"source is broadcast", NS_QINQ, 112, "ffffffffffff"},
};

static const struct change accepted[] = {
	{"to one station", ARP, 0, MAC_B},
	{"tag of the provider's", ARP_VLAN, 12, "88a8"},
	{"two tags of one kind", NS_QINQ, 12, "8100"},
	{"sender passed on by another", ARP, 6, MAC_E},
	{"target MAC", ARP, 32, "ffffffffffff"},
	{"sender in net 0", ARP, 28, "00000001"},
	{"sender before loopback", ARP, 28, "7effffff"},
	{"sender behind loopback", ARP, 28, "80000000"},
	{"sender before multicast", ARP, 28, "dfffffff"},
	{"sender behind multicast", ARP, 28, "f0000000"},
	{"sender before broadcast", ARP, 28, "fffffffe"},
	{"target before multicast", ARP, 38, "dfffffff"},
	{"class and label", NS, 14, "6fffffff"},
	{"reserved bits", NS, 58, "ffffffff"},
	{"to itself", NS, 38, IP_B},
	{"from ::2", NS, 22, "00000000000000000000000000000002"},
	{"from 0:...:100", NS, 22, "00000000000000000000000000000100"},
	{"target below multicast", NS, 62, "feffffffffffffffffffffffffffffff"},
	{"options left out", NS, 18, "0018"},
	{"option unknown", NS, 78, "ff"},
	{"second source is a group", NS_QINQ, 120, "ff"},
};

static void test_changes(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(refused); i++)
		if (accepts_changed(&refused[i]))
			fail_msg("accepted: %s", refused[i].what);
	for (i = 0; i < N_ELEMENTS(accepted); i++)
		if (!accepts_changed(&accepted[i]))
			fail_msg("refused: %s", accepted[i].what);
}

/* Up to two tags are looked behind, whatever is in them. */
static void test_tags(void **state)
{
	static const char *const tags[] = {"8100ffff", "88a80000", "81000001"};
	uint8_t frame[FRAME_MAX], untagged[FRAME_MAX];
	unsigned i, n;
	size_t len;

	(void)state;
	for (i = 0; i <= NS; i += NS) {
		len = unhex(pairs[i].question, untagged);
		for (n = 0; n <= N_ELEMENTS(tags); n++) {
			memcpy(frame, untagged, 12);
			memcpy(frame + 12 + 4 * n, untagged + 12, len - 12);
			for (unsigned tag = 0; tag < n; tag++)
				unhex(tags[tag], frame + 12 + 4 * tag);
			assert_int_equal(accepts(frame, len + 4 * n), n <= 2);
		}
	}
}

/* A header of 8 bytes before the solicitation: destination options, an atomic
 * fragment, routing without segments. */
static void test_extensions(void **state)
{
	static const char *const headers[] = {"3a00010400000000", "3a00000012345678",
					      "3a00000000000000"};
	static const uint8_t protos[] = {60, 44, 43};
	uint8_t frame[FRAME_MAX];
	size_t len, i;

	(void)state;
	for (i = 0; i < N_ELEMENTS(protos); i++) {
		len = unhex(pairs[NS].question, frame);
		memmove(frame + 62, frame + 54, len - 54);
		unhex(headers[i], frame + 54);
		frame[20] = protos[i];
		frame[19] = (uint8_t)(frame[19] + 8);
		assert_false(accepts(frame, len + 8));
	}
}

static void random_host(uint64_t *seed, uint8_t addr[16])
{
	naive_random_bytes(seed, addr, 16);
	addr[0] = (uint8_t)(0x20 | (addr[0] & 0x1f));
}

/* Any addresses: what differs from the answers above is what ought to. */
static void test_any_addresses(void **state)
{
	uint8_t frame[FRAME_MAX], expected[FRAME_MAX], out[FRAME_MAX];
	uint8_t asker[16], target[16], mac[6];
	struct neigh_question q;
	uint64_t seed = 0x4e1;
	size_t len, n;
	unsigned i;

	(void)state;
	for (i = 0; i < 2000; i++) {
		random_host(&seed, asker);
		random_host(&seed, target);
		naive_random_bytes(&seed, mac, 6);
		len = unhex(pairs[NS].question, frame);
		memcpy(frame + 22, asker, 16);
		memcpy(frame + 62, target, 16);
		put_checksum(frame + 14, len - 14);
		n = unhex(pairs[NS].answer, expected);
		memcpy(expected + 6, mac, 6);
		memcpy(expected + 22, target, 16);
		memcpy(expected + 38, asker, 16);
		memcpy(expected + 62, target, 16);
		memcpy(expected + 80, mac, 6);
		put_checksum(expected + 14, n - 14);

		assert_true(parse(frame, len, &q));
		assert_int_equal(answer(frame, len, &q, mac, out), n);
		assert_memory_equal(out, expected, n);
	}
}

static void test_hosts_and_stations(void **state)
{
	static const uint8_t v4[16] = {192, 0, 2, 1}, v6[16] = {0x20, 1, [15] = 1};
	static const struct {
		uint8_t mac[6];
		bool is_station;
	} macs[] = {
		{{0, 0, 0, 0, 0, 0}, false},
		{{0, 0, 0, 0, 0, 1}, true},
		{{1, 0, 0, 0, 0, 0}, false},
		{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, false},
		{{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff}, true},
	};
	size_t i;

	(void)state;
	for (i = 0; i <= 17; i++) {
		assert_int_equal(neigh_is_host(v4, i), i == 4 || i == 16);
		assert_int_equal(neigh_is_host(v6, i), i == 4 || i == 16);
	}
	for (i = 0; i < N_ELEMENTS(macs); i++)
		assert_int_equal(neigh_is_station(macs[i].mac), macs[i].is_station);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),	      cmocka_unit_test(test_changes),
		cmocka_unit_test(test_tags),	      cmocka_unit_test(test_extensions),
		cmocka_unit_test(test_any_addresses), cmocka_unit_test(test_hosts_and_stations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
