/* SPDX-License-Identifier: Apache-2.0 */
#include "tunnel.h"

#include <stddef.h>

#include "features.h"

/* Over IPv4 the kernel cuts IPv4's TCP right; all UDP is one feature. The kinds of TCP that
 * have features of their own (ECN, mangled IDs) need those of their family as well. */
static const char *const wrong_over_ipv4[] = {"tx-tcp6-segmentation", "tx-udp-segmentation",
					      "tx-sctp-segmentation", "tx-gso-list", NULL};
static const char *const wrong_over_ipv6[] = {"tx-tcp-segmentation", "tx-tcp6-segmentation",
					      "tx-udp-segmentation", "tx-sctp-segmentation",
					      "tx-gso-list",	     NULL};
static const char *const right_over_ipv4[] = {"tx-tcp-segmentation", NULL};

static int any_on(const char *ifname, const char *const *names, bool *ret)
{
	bool on = false;
	int err = 0;

	for (; !err && !on && *names; names++)
		err = features_get(ifname, *names, &on);
	*ret = on;
	return err;
}

/* A device that was for IPv6 before has it off. */
static int keep_right(const char *ifname, bool *changed)
{
	bool on;
	int err = features_get(ifname, right_over_ipv4[0], &on);

	if (err || on)
		return err;
	err = features_on(ifname, right_over_ipv4);
	if (!err)
		err = features_get(ifname, right_over_ipv4[0], &on);
	*changed |= !err && on;
	return err;
}

int tunnel_cut_before(const char *ifname, bool outer6, bool *ret_changed)
{
	const char *const *names = outer6 ? wrong_over_ipv6 : wrong_over_ipv4;
	bool on;
	int err = any_on(ifname, names, &on);

	*ret_changed = false;
	if (!err && on) {
		err = features_off(ifname, names);
		*ret_changed = !err;
	}
	return err || outer6 ? err : keep_right(ifname, ret_changed);
}

bool tunnel_cuts_right(enum tunnel_type type, unsigned major, unsigned minor, unsigned patch)
{
	if (type != TUNNEL_BAREUDP)
		return true;
	if (major != 7)
		return major > 7;
	return minor > 2 || (minor == 2 && patch >= 11);
}
