/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "members_text.h"

static const struct claims_case {
	const char *what;
	const char *members[WORLD_MEMBERS_MAX];
	const char *desired;
} cases[] = {
	{"nobody", {NULL}, ""},
	{"two that want nothing of each other",
	 {"beta 2 5 tunnel=10.10.0.2,fd10::2 allowed=10.1.0.0/24 ov0=10.244.0.2,10.20.2.0/24",
	  "gamma 3 6 tunnel=10.10.0.3 ov0=10.244.0.3,10.20.3.0/24"},
	 "beta: 10.1.0.0/24 10.10.0.2/32 fd10::2/128\n"
	 "gamma: 10.10.0.3/32\n"
	 "ov0 beta: 10.244.0.2 10.20.2.0/24\n"
	 "ov0 gamma: 10.244.0.3 10.20.3.0/24\n"},
	{"ourselves",
	 {"alpha 1 9 tunnel=10.10.0.1 allowed=10.1.0.0/24 ov0=10.244.0.1",
	  "beta 2 5 tunnel=10.10.0.2 allowed=10.1.0.0/24"},
	 "beta: 10.1.0.0/24 10.10.0.2/32\n"},
	{"one key twice: the newest as a whole",
	 {"beta 2 5 tunnel=10.10.0.2 allowed=10.1.0.0/24 ov0=10.244.0.2",
	  "gamma 2 6 tunnel=10.10.0.3 ov0=10.244.0.3"},
	 "gamma: 10.10.0.3/32\n"
	 "ov0 gamma: 10.244.0.3\n"
	 "! beta: public key AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI= is gamma's, "
	 "which came later\n"},
	{"one key twice since the same time: the larger name",
	 {"gamma 2 5 tunnel=10.10.0.3", "beta 2 5 tunnel=10.10.0.2"},
	 "gamma: 10.10.0.3/32\n"
	 "! beta: public key AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI= is gamma's\n"},
	{"one key and name twice: the larger tunnel address",
	 {"beta 2 5 tunnel=10.10.0.2", "beta 2 5 tunnel=10.10.0.3"},
	 "beta: 10.10.0.3/32\n"
	 "! beta: public key AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI= is beta's\n"},
	{"a tunnel address twice: still a peer for the rest, no station",
	 {"beta 2 5 tunnel=10.10.0.9,fd10::2 allowed=10.1.0.0/24 "
	  "ov0=10.244.0.2,10.20.2.0/24,mac:7 ov6=10.246.0.2",
	  "gamma 3 6 tunnel=10.10.0.9", "delta 4 1 tunnel=10.10.0.4 ov0=10.20.2.0/24,mac:7"},
	 "beta: 10.1.0.0/24 fd10::2/128\n"
	 "gamma: 10.10.0.9/32\n"
	 "delta: 10.10.0.4/32\n"
	 "ov0 delta: 10.20.2.0/24\n"
	 "ov6 beta: 10.246.0.2\n"
	 "! beta has no IPv4 tunnel address for ov0\n"
	 "! beta: 10.10.0.9/32 is gamma's, which came later\n"},
	{"the last tunnel address",
	 {"beta 2 5 tunnel=10.10.0.9", "gamma 3 6 tunnel=10.10.0.9"},
	 "beta:\n"
	 "gamma: 10.10.0.9/32\n"
	 "! beta: 10.10.0.9/32 is gamma's, which came later\n"},
	{"our tunnel addresses",
	 {"beta 2 5 tunnel=10.10.0.1,fd10::2 allowed=fd10::1/128,10.10.0.0/24",
	  "gamma 3 5 tunnel=10.10.0.3 ov0=10.10.0.1/32"},
	 "beta: 10.10.0.0/24 fd10::2/128\n"
	 "gamma: 10.10.0.3/32\n"
	 "ov0 gamma:\n"
	 "! beta: 10.10.0.1/32 is ours\n"
	 "! beta: fd10::1/128 is ours\n"
	 "! gamma: 10.10.0.1/32 on ov0 is ours\n"},
	{"the same moment: the larger key",
	 {"beta 2 5 tunnel=10.10.0.2 allowed=10.1.0.0/24",
	  "gamma 3 5 tunnel=10.10.0.3 allowed=10.1.0.0/24"},
	 "beta: 10.10.0.2/32\n"
	 "gamma: 10.1.0.0/24 10.10.0.3/32\n"
	 "! beta: 10.1.0.0/24 is gamma's\n"},
	{"the larger key that came earlier",
	 {"beta 2 6 tunnel=10.10.0.2 allowed=10.1.0.0/24",
	  "gamma 3 5 tunnel=10.10.0.3 allowed=10.1.0.0/24"},
	 "beta: 10.1.0.0/24 10.10.0.2/32\n"
	 "gamma: 10.10.0.3/32\n"
	 "! gamma: 10.1.0.0/24 is beta's, which came later\n"},
	{"64 bits of time",
	 {"beta 2 4294967296 tunnel=10.10.0.2 allowed=10.1.0.0/24",
	  "gamma 3 5 tunnel=10.10.0.3 allowed=10.1.0.0/24"},
	 "beta: 10.1.0.0/24 10.10.0.2/32\n"
	 "gamma: 10.10.0.3/32\n"
	 "! gamma: 10.1.0.0/24 is beta's, which came later\n"},
	{"prefixes are one if they are one after masking",
	 {"beta 2 5 tunnel=10.10.0.2 allowed=10.1.0.7/24,fd01::7/64,10.1.0.0/25",
	  "gamma 3 6 tunnel=10.10.0.3 allowed=10.1.0.0/24,fd01::/64"},
	 "beta: 10.1.0.0/25 10.10.0.2/32\n"
	 "gamma: 10.1.0.0/24 10.10.0.3/32 fd01::/64\n"
	 "! beta: 10.1.0.0/24 is gamma's, which came later\n"
	 "! beta: fd01::/64 is gamma's, which came later\n"},
	{"families do not meet",
	 {"beta 2 5 tunnel=10.10.0.2 allowed=0.0.0.0/0", "gamma 3 6 tunnel=10.10.0.3 allowed=::/0"},
	 "beta: 0.0.0.0/0 10.10.0.2/32\n"
	 "gamma: 10.10.0.3/32 ::/0\n"},
	{"what one member says twice",
	 {"beta 2 5 tunnel=10.10.0.2 allowed=10.10.0.2/32,10.1.0.0/24,10.1.0.9/24 "
	  "ov0=10.244.0.2,10.244.0.2,10.20.2.0/24,10.20.2.1/24"},
	 "beta: 10.1.0.0/24 10.10.0.2/32\n"
	 "ov0 beta: 10.244.0.2 10.20.2.0/24\n"},
	{"an allowed-ip that is a tunnel address",
	 {"beta 2 5 tunnel=10.10.0.2", "gamma 3 6 tunnel=10.10.0.3 allowed=10.10.0.2/32"},
	 "beta:\n"
	 "gamma: 10.10.0.2/32 10.10.0.3/32\n"
	 "! beta: 10.10.0.2/32 is gamma's, which came later\n"},
	{"three of them",
	 {"beta 2 5 tunnel=10.10.0.2 allowed=10.1.0.0/24,10.2.0.0/24",
	  "gamma 3 7 tunnel=10.10.0.3 allowed=10.1.0.0/24",
	  "delta 4 6 tunnel=10.10.0.4 allowed=10.1.0.0/24,10.2.0.0/24"},
	 "beta: 10.10.0.2/32\n"
	 "gamma: 10.1.0.0/24 10.10.0.3/32\n"
	 "delta: 10.2.0.0/24 10.10.0.4/32\n"
	 "! beta: 10.1.0.0/24 is gamma's, which came later\n"
	 "! beta: 10.2.0.0/24 is delta's, which came later\n"
	 "! delta: 10.1.0.0/24 is gamma's, which came later\n"},
	{"no tunnel address of the family",
	 {"beta 2 5 tunnel=10.10.0.2 ov6=10.246.0.2,10.20.2.0/24",
	  "gamma 3 4 tunnel=fd10::3 ov0=10.244.0.3 ov6=10.246.0.2,10.20.2.0/24"},
	 "beta: 10.10.0.2/32\n"
	 "gamma: fd10::3/128\n"
	 "ov6 gamma: 10.246.0.2 10.20.2.0/24\n"
	 "! beta has no IPv6 tunnel address for ov6\n"
	 "! gamma has no IPv4 tunnel address for ov0\n"},
	{"an overlay that is not ours",
	 {"beta 2 5 tunnel=10.10.0.2 ov9=10.249.0.2,10.20.2.0/24",
	  "gamma 3 4 tunnel=10.10.0.3 ov1=10.245.0.3,10.20.2.0/24"},
	 "beta: 10.10.0.2/32\n"
	 "gamma: 10.10.0.3/32\n"
	 "ov1 gamma: 10.245.0.3 10.20.2.0/24\n"},
	{"an overlay twice: the first",
	 {"beta 2 5 tunnel=10.10.0.2 ov0=10.244.0.2 ov0=10.244.0.3"},
	 "beta: 10.10.0.2/32\n"
	 "ov0 beta: 10.244.0.2\n"},
	{"a MAC twice: the loser is left out, and claims nothing there",
	 {"beta 2 5 tunnel=10.10.0.2 ov0=mac:7,10.244.0.2,10.20.2.0/24 ov1=mac:7,10.245.0.2",
	  "gamma 3 6 tunnel=10.10.0.3 ov0=mac:7,10.244.0.3",
	  "delta 4 4 tunnel=10.10.0.4 ov0=mac:8,10.244.0.2,10.20.2.0/24"},
	 "beta: 10.10.0.2/32\n"
	 "gamma: 10.10.0.3/32\n"
	 "delta: 10.10.0.4/32\n"
	 "ov0 gamma: 10.244.0.3\n"
	 "ov0 delta: 10.244.0.2 10.20.2.0/24\n"
	 "ov1 beta: 10.245.0.2\n"
	 "! beta: MAC address 02:00:00:00:00:07 on ov0 is gamma's, which came later\n"},
	{"our MAC",
	 {"beta 2 9 tunnel=10.10.0.2 ov0=mac:1,10.244.0.2 ov1=mac:1"},
	 "beta: 10.10.0.2/32\n"
	 "ov1 beta:\n"
	 "! beta: MAC address 02:00:00:00:00:01 on ov0 is ours\n"},
	{"bareudp has no MACs",
	 {"beta 2 5 tunnel=10.10.0.2 bare=mac:7,10.20.2.0/24",
	  "gamma 3 6 tunnel=10.10.0.3 bare=mac:7,10.20.3.0/24"},
	 "beta: 10.10.0.2/32\n"
	 "gamma: 10.10.0.3/32\n"
	 "bare beta: 10.20.2.0/24\n"
	 "bare gamma: 10.20.3.0/24\n"},
	{"overlay addresses, on one overlay only",
	 {"beta 2 5 tunnel=10.10.0.2 ov0=10.244.0.2,10.244.0.9 ov1=10.244.0.3,fd45::2",
	  "gamma 3 6 tunnel=10.10.0.3 ov0=10.244.0.3,10.244.0.9 ov1=fd45::2"},
	 "beta: 10.10.0.2/32\n"
	 "gamma: 10.10.0.3/32\n"
	 "ov0 beta: 10.244.0.2\n"
	 "ov0 gamma: 10.244.0.3 10.244.0.9\n"
	 "ov1 beta: 10.244.0.3\n"
	 "ov1 gamma: fd45::2\n"
	 "! beta: 10.244.0.9 on ov0 is gamma's, which came later\n"
	 "! beta: fd45::2 on ov1 is gamma's, which came later\n"},
	{"our overlay addresses and networks",
	 {"beta 2 9 tunnel=10.10.0.2 allowed=fd45::/64 "
	  "ov0=10.244.0.1,10.245.0.1,10.244.0.0/16,10.244.0.0/24 ov1=10.244.0.0/16,fd45::1"},
	 "beta: 10.10.0.2/32\n"
	 "ov0 beta: 10.245.0.1 10.244.0.0/24\n"
	 "ov1 beta:\n"
	 "! beta: 10.244.0.0/16 on ov0 is ours\n"
	 "! beta: 10.244.0.0/16 on ov1 is ours\n"
	 "! beta: 10.244.0.1 on ov0 is ours\n"
	 "! beta: fd45::/64 is ours\n"
	 "! beta: fd45::1 on ov1 is ours\n"},
	{"routes on one overlay, across overlays, and with allowed-ips",
	 {"beta 2 5 tunnel=10.10.0.2 allowed=10.23.0.0/24 ov0=10.21.0.0/24,10.22.0.0/24",
	  "gamma 3 6 tunnel=10.10.0.3 allowed=10.24.0.0/24 ov0=10.21.0.0/24 ov1=10.22.0.0/24",
	  "delta 4 7 tunnel=10.10.0.4 ov1=10.23.0.0/24",
	  "epsilon 5 1 tunnel=10.10.0.5 ov0=10.24.0.0/24"},
	 "beta: 10.10.0.2/32\n"
	 "gamma: 10.10.0.3/32 10.24.0.0/24\n"
	 "delta: 10.10.0.4/32\n"
	 "epsilon: 10.10.0.5/32\n"
	 "ov0 beta:\n"
	 "ov0 gamma: 10.21.0.0/24\n"
	 "ov0 epsilon:\n"
	 "ov1 gamma: 10.22.0.0/24\n"
	 "ov1 delta: 10.23.0.0/24\n"
	 "! beta: 10.21.0.0/24 on ov0 is gamma's, which came later\n"
	 "! beta: 10.22.0.0/24 on ov0 is gamma's, which came later\n"
	 "! beta: 10.23.0.0/24 is delta's, which came later\n"
	 "! epsilon: 10.24.0.0/24 on ov0 is gamma's, which came later\n"},
	{"one member's route in two places",
	 {"beta 2 5 tunnel=10.10.0.2 allowed=10.21.0.0/24 "
	  "ov1=10.22.0.0/24 ov0=10.21.0.0/24,10.22.0.0/24"},
	 "beta: 10.10.0.2/32 10.21.0.0/24\n"
	 "ov0 beta: 10.22.0.0/24\n"
	 "ov1 beta:\n"
	 "! beta: 10.21.0.0/24 on ov0 is its own on the lane\n"
	 "! beta: 10.22.0.0/24 on ov1 is its own on ov0\n"},
	{"a route that takes a tunnel address takes the station with it",
	 {"beta 2 5 tunnel=10.10.0.2 ov0=10.244.0.2,10.20.2.0/24",
	  "gamma 3 6 tunnel=10.10.0.3 ov1=10.10.0.2/32",
	  "delta 4 4 tunnel=10.10.0.4 ov0=10.244.0.2"},
	 "beta:\n"
	 "gamma: 10.10.0.3/32\n"
	 "delta: 10.10.0.4/32\n"
	 "ov0 delta: 10.244.0.2\n"
	 "ov1 gamma: 10.10.0.2/32\n"
	 "! beta has no IPv4 tunnel address for ov0\n"
	 "! beta: 10.10.0.2/32 is gamma's, which came later\n"},
};

static void swap(struct member *a, struct member *b)
{
	struct member m = *a;

	*a = *b;
	*b = m;
}

/* All orders of the first @n members. */
static void check_orders(struct world *w, size_t n, const struct claims_case *c)
{
	struct desired *d;
	char *text;

	for (size_t i = 0; i < n && n > 1; i++) {
		swap(&w->members[i], &w->members[n - 1]);
		check_orders(w, n - 1, c);
		swap(&w->members[i], &w->members[n - 1]);
	}
	if (n > 1)
		return;
	assert_int_equal(desired_build(&w->config, w->members, w->n_members, &w->facts, &d), 0);
	text = world_text(d);
	if (strcmp(text, c->desired))
		fail_msg("%s:\n%s--- expected:\n%s", c->what, text, c->desired);
	free(text);
	desired_free(d);
}

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct world w;

		world_init(&w);
		for (size_t j = 0; j < WORLD_MEMBERS_MAX && cases[i].members[j]; j++)
			world_add(&w, cases[i].members[j]);
		check_orders(&w, w.n_members, &cases[i]);
		world_done(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
