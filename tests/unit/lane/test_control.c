/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "agent/lane/control.h"
#include "agent/lane/lane.h"
#include "agent/lane/textbuf.h"

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static void test_reply(void **state)
{
	struct control_info info = {
		.ifname = "wg7",
		.device_kind = "tap",
		.capability = {{"vnet_hdr", true, "offloads on"},
			       {"gso", false, "kernel 4.9"},
			       {"bare", true, ""}},
		.n_capabilities = 3,
	};
	static struct lane lane;
	struct textbuf b = {0};
	const char *head;

	(void)state;
	lane.mtu = 1420;
	lane.up = true;
	lane.listen_port = 51820;
	lane.n_peers = 3;
	lane.self.stats.udp_datagrams_in = UINT64_MAX;
	lane.self.stats.drop[DROP_REPLAY] = 12;
	control_get(&lane, &info, &b);

	head = "version=1\nsealane=" SEALANE_VERSION "\nifname=wg7\ndevice_kind=tap\nmtu=1420\n"
	       "up=1\nlisten_port=51820\npeers=3\ncapability=vnet_hdr on offloads on\n"
	       "capability=gso off kernel 4.9\ncapability=bare on\n";
	assert_memory_equal(b.data, head, strlen(head));
	assert_int_equal(count(b.data, "\nstat=udp_datagrams_in 18446744073709551615\n"), 1);
	assert_int_equal(count(b.data, "\nencap=6081 geneve default\n"), 1);
	assert_non_null(strstr(strstr(b.data, "\nencap="), "\nports=0\n"));
	assert_int_equal(count(b.data, "\nstat=icmp_sent 0\n"), 1);
	assert_int_equal(count(b.data, "\ndrop=replay 12\n"), 1);
	assert_int_equal(count(b.data, "\ndrop=not_ip 0\n"), 1);
	assert_int_equal(count(b.data, "\ndrop="), N_DROP_REASONS - 1);
	assert_int_equal(count(b.data, "\ndrop_help=replay data seen before or behind the "
				       "replay window\n"),
			 1);
	assert_int_equal(count(b.data, "\ndrop_help="), N_DROP_REASONS - 1);
	assert_int_equal(count(b.data, "\nstat="), offsetof(struct stats, drop) / sizeof(uint64_t));
	assert_string_equal(b.data + b.len - strlen("\nerrno=0\n\n"), "\nerrno=0\n\n");
	assert_int_equal(count(b.data, "\n\n"), 1);
	textbuf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reply),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
