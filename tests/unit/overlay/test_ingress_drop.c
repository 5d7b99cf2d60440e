/* SPDX-License-Identifier: Apache-2.0 */
#include "overlay/ingress_drop.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <net/if.h>
#include <netinet/in.h>

#include "overlay/link.h"
#include "overlay/nl.h"
#include "overlay/packet.h"
#include "overlay/veth.h"

static const char *skip_reason;

/* We send on va; vb is the lane end. */
struct pair {
	struct nl *nl;
	int a, b;
	struct packet from, tap;
	int udp; /* a socket of the host that takes broadcasts from anywhere */
};

static void begin(struct pair *p)
{
	const struct veth_args args = {.end = {.name = "va"}, .peer = {.name = "vb"}};
	const struct link_change up = {.set_up = true, .up = true, .set_addr_gen_none = true};
	const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(4001)};

	if (skip_reason) {
		print_message("skipped: %s\n", skip_reason);
		skip();
	}
	assert_int_equal(nl_open(&p->nl), 0);
	assert_int_equal(veth_create(p->nl, &args, &p->a, &p->b), 0);
	assert_int_equal(link_set(p->nl, p->a, &up), 0);
	assert_int_equal(link_set(p->nl, p->b, &up), 0);
	assert_int_equal(system("sysctl -qw net.ipv4.conf.all.rp_filter=0 "
				"net.ipv4.conf.vb.rp_filter=0"),
			 0);
	assert_int_equal(packet_open(p->a, &p->from), 0);
	assert_int_equal(packet_open(p->b, &p->tap), 0);
	p->udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(p->udp, (const struct sockaddr *)&any, sizeof(any)), 0);
}

static void end(struct pair *p)
{
	close(p->from.fd);
	close(p->tap.fd);
	close(p->udp);
	(void)link_delete(p->nl, p->a);
	nl_close(p->nl);
}

/* A vnet header and UDP from 10.9.0.1 to everybody, port 4001; the checksum of
 * the IPv4 header was computed by hand. */
static const uint8_t frame[10 + 60] = {
	0,    0,    0,	  0,	0,    0,    0,	  0,	0,    0,    0xff, 0xff, 0xff,
	0xff, 0xff, 0xff, 2,	0,    0,    0,	  0,	0xbb, 0x08, 0x00, 0x45, 0x00,
	0x00, 0x2e, 0x00, 0x00, 0x00, 0x00, 0x40, 0x11, 0x70, 0xb6, 10,	  9,	0,
	1,    255,  255,  255,	255,  0x0f, 0xa0, 0x0f, 0xa1, 0x00, 0x1a, 0x00, 0x00,
};

/* What must come, comes; how soon is up to a machine that others use, too. */
enum { WAIT_MS = 30000, TYPE_AT = 10 + 12 };

/* How many of our frames came up to @last, which is not counted. */
static unsigned count_tap(int fd, const uint8_t *last)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	uint8_t buf[200];
	unsigned n = 0;

	while (poll(&ready, 1, WAIT_MS) == 1) {
		ssize_t len = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

		if (len != sizeof(frame))
			continue;
		if (!memcmp(buf + TYPE_AT, last + TYPE_AT, sizeof(frame) - TYPE_AT))
			return n;
		n += !memcmp(buf + TYPE_AT, frame + TYPE_AT, sizeof(frame) - TYPE_AT);
	}
	fail_msg("the last frame does not come");
	return 0;
}

static unsigned count_host(int fd)
{
	uint8_t buf[200];
	unsigned n = 0;

	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) >= 0)
		n++;
	return n;
}

/* And one of a type that the host takes no notice of: when that has come, the host
 * is through with the other. */
static void send_one(struct pair *p, unsigned *ret_tap, unsigned *ret_host)
{
	uint8_t last[sizeof(frame)];

	memcpy(last, frame, sizeof(frame));
	last[TYPE_AT] = 0x88;
	last[TYPE_AT + 1] = 0xb5;
	assert_int_equal(send(p->from.fd, frame, sizeof(frame), 0), sizeof(frame));
	assert_int_equal(send(p->from.fd, last, sizeof(last), 0), sizeof(last));
	*ret_tap = count_tap(p->tap.fd, last);
	*ret_host = count_host(p->udp);
}

/* What a veth is given waits on the CPU it was given on: only there do frames stay
 * in order. */
static void stay_on_this_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)sched_getcpu(), &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

static void test_drop(void **state)
{
	static const enum ingress_drop_kind kinds[] = {INGRESS_DROP_TC, INGRESS_DROP_NFT};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct ingress_drop *drop;
		unsigned tap, host;
		struct pair p;
		int err;

		begin(&p);
		send_one(&p, &tap, &host);
		assert_int_equal(tap, 1);
		assert_int_equal(host, 1); /* or the rest would show nothing */

		err = ingress_drop_install(p.nl, p.b, "vb", kinds[i], &drop);
		if (err)
			fail_msg("kind %zu: %d %s", i, err, nl_errmsg(p.nl));
		assert_int_equal(ingress_drop_kind_of(drop), kinds[i]);
		send_one(&p, &tap, &host);
		assert_int_equal(tap, 1);
		assert_int_equal(host, 0);
		if (kinds[i] == INGRESS_DROP_NFT && !system("command -v nft >/dev/null")) {
			assert_int_not_equal(system("nft flush ruleset 2>/dev/null"), -1);
			send_one(&p, &tap, &host);
			assert_int_equal(host, 0);
		}

		ingress_drop_remove(p.nl, drop);
		send_one(&p, &tap, &host);
		assert_int_equal(tap, 1);
		assert_int_equal(host, 1);
		end(&p);
	}
}

static void test_refused(void **state)
{
	struct ingress_drop *drop = (void *)&skip_reason;
	struct ingress_drop *first;
	unsigned tap, host;
	struct pair p;

	(void)state;
	begin(&p);
	assert_int_equal(ingress_drop_install(p.nl, 99999, "nosuch", INGRESS_DROP_TC, &drop),
			 -ENODEV);
	assert_int_equal(ingress_drop_install(p.nl, 99999, "nosuch", INGRESS_DROP_NFT, &drop),
			 -ENODEV);
	assert_int_equal(ingress_drop_install(p.nl, p.b, "va", INGRESS_DROP_NFT, &drop), -ENODEV);
	assert_int_equal(system("tc qdisc add dev vb clsact"), 0);
	assert_int_equal(ingress_drop_install(p.nl, p.b, "vb", INGRESS_DROP_TC, &drop), -EEXIST);
	/* Somebody's qdisc stays, and the other way still works. */
	assert_int_equal(system("tc qdisc show dev vb | grep -q clsact"), 0);
	assert_int_equal(ingress_drop_install(p.nl, p.b, "vb", INGRESS_DROP_NFT, &first), 0);
	assert_int_equal(ingress_drop_install(p.nl, p.b, "vb", INGRESS_DROP_NFT, &drop), -EPERM);
	assert_ptr_equal(drop, &skip_reason);
	send_one(&p, &tap, &host);
	assert_int_equal(host, 0);
	ingress_drop_remove(p.nl, first);
	ingress_drop_remove(p.nl, NULL);
	end(&p);
}

static void test_device_gone(void **state)
{
	static const enum ingress_drop_kind kinds[] = {INGRESS_DROP_TC, INGRESS_DROP_NFT};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct ingress_drop *drop;
		struct pair p;

		begin(&p);
		assert_int_equal(ingress_drop_install(p.nl, p.b, "vb", kinds[i], &drop), 0);
		assert_int_equal(link_delete(p.nl, p.b), 0);
		ingress_drop_remove(NULL, drop);
		assert_int_not_equal(system("nft list ruleset 2>/dev/null | grep -q sealane"), 0);
		end(&p);
	}
}

/* udev or a person may do that. (The other kind goes by the name since Linux 6.16.) */
static void test_renamed(void **state)
{
	struct ingress_drop *drop;
	unsigned tap, host;
	struct pair p;

	(void)state;
	begin(&p);
	assert_int_equal(ingress_drop_install(p.nl, p.b, "vb", INGRESS_DROP_TC, &drop), 0);
	assert_int_equal(system("ip link set vb down && ip link set vb name vc && "
				"ip link set vc up"),
			 0);
	/* The socket tells that the device was down. */
	(void)recv(p.tap.fd, NULL, 0, MSG_DONTWAIT);
	send_one(&p, &tap, &host);
	assert_int_equal(tap, 1);
	assert_int_equal(host, 0);
	ingress_drop_remove(p.nl, drop);
	end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drop),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_device_gone),
		cmocka_unit_test(test_renamed),
	};

	stay_on_this_cpu();
	if (unshare(CLONE_NEWNET) < 0)
		skip_reason = "no network namespace of our own: run as root";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
