/* SPDX-License-Identifier: Apache-2.0 */
#include "sync.h"

#include <errno.h>
#include <stdio.h>

#include "overlay/address.h"
#include "overlay/owner.h"
#include "report.h"
#include "sync_ipv6.h"
#include "sync_kernel.h"

/* Struct address in order: those that are wanted, and those that are there. */
struct state {
	struct sync_list want, have;
};

static int read_state(struct nl *nl, const struct desired *d, struct state *s);
static void done_state(struct state *s);
static void add_address(struct nl *nl, const struct state *s, const struct address *want,
			struct report *r);

static int compare_address(const void *a, const void *b)
{
	const struct address *x = a, *y = b;

	if (x->ifindex != y->ifindex)
		return x->ifindex < y->ifindex ? -1 : 1;
	return ip_prefix_compare(&x->prefix, &y->prefix);
}

void sync_addresses_add(struct nl *nl, const struct desired *d, struct report *r)
{
	struct state s;
	int err = read_state(nl, d, &s);

	if (err)
		report_fault(r, err, "the list of addresses");
	for (size_t i = 0; !err && i < s.want.n; i++) {
		const struct address *want = sync_list_at(&s.want, i);

		/* Who gave it to the device does not matter. */
		if (!sync_list_find(&s.have, want, compare_address))
			add_address(nl, &s, want, r);
	}
	done_state(&s);
}

static const char *format(const struct address *address, char *buf, size_t buf_len)
{
	char prefix[IP_PREFIX_TEXT_LEN], name[IFNAMSIZ];

	snprintf(buf, buf_len, "address %s dev %s", ip_prefix_format(&address->prefix, prefix),
		 sync_ifname(address->ifindex, name));
	return buf;
}

static bool remove_address(struct nl *nl, const struct address *address, struct report *r)
{
	char text[128];
	int err = address_delete(nl, address);

	if (err && err != -EADDRNOTAVAIL && err != -ENODEV) {
		report_fault(r, err, "removing %s", format(address, text, sizeof(text)));
		return false;
	}
	if (!err)
		report_did(r, &r->removed, "removed %s", format(address, text, sizeof(text)));
	return !err;
}

/*
 * IPv4: with the first address of a subnet the kernel takes away the others of it that
 * came later, unless promote_secondaries is on. So what is wanted is looked at again.
 */
void sync_addresses_remove(struct nl *nl, const struct desired *d, struct report *r)
{
	bool removed = false;
	struct state s;
	int err = read_state(nl, d, &s);

	if (err)
		report_fault(r, err, "the list of addresses");
	for (size_t i = 0; !err && i < s.have.n; i++) {
		const struct address *have = sync_list_at(&s.have, i);

		if (have->protocol == OWNER_PROTOCOL &&
		    !sync_list_find(&s.want, have, compare_address))
			removed |= remove_address(nl, have, r);
	}
	done_state(&s);
	if (removed)
		sync_addresses_add(nl, d, r);
}

/* A device has an IPv6 address once, with one length: ours with another is in the way. */
static void make_room(struct nl *nl, const struct state *s, const struct address *want)
{
	for (size_t i = 0; i < s->have.n; i++) {
		const struct address *have = sync_list_at(&s->have, i);

		if (have->ifindex == want->ifindex && have->protocol == OWNER_PROTOCOL &&
		    have->prefix.addr.len == 16 &&
		    ip_addr_equal(&have->prefix.addr, &want->prefix.addr))
			(void)address_delete(nl, have);
	}
}

static void add_address(struct nl *nl, const struct state *s, const struct address *want,
			struct report *r)
{
	char text[128], why[SYNC_IPV6_WHY_LEN] = "";
	int err;

	make_room(nl, s, want);
	err = address_add(nl, want);
	format(want, text, sizeof(text));
	if (!err)
		report_did(r, &r->added, "added %s", text);
	else if (want->prefix.addr.len == 16 && sync_ipv6_why(want->ifindex, err, why)[0])
		report_fault(r, 0, "%s: %s", text, why);
	else if (err != -EEXIST || want->prefix.addr.len == 16)
		report_fault(r, err, "%s", text);
}

static int want_address(struct state *s, int ifindex, const struct ip_prefix *prefix)
{
	const struct address address = {
		.ifindex = ifindex, .prefix = *prefix, .protocol = OWNER_PROTOCOL};

	return ifindex && prefix->addr.len ? sync_list_add(&s->want, &address) : 0;
}

static int want_lane(struct nl *nl, const struct desired *d, struct state *s)
{
	int ifindex, err = sync_ifindex(nl, d->config->lane.interface, &ifindex);

	for (size_t i = 0; !err && i < 2; i++) {
		const struct ip_prefix host = ip_prefix_of_host(&d->config->node.tunnel[i]);

		err = want_address(s, ifindex, &host);
	}
	return err;
}

static int want_overlay(struct nl *nl, const struct desired_overlay *overlay, struct state *s)
{
	int ifindex, err = sync_overlay_ifindex(nl, overlay, &ifindex);

	for (size_t i = 0; !err && i < overlay->config->n_addresses; i++)
		err = want_address(s, ifindex, &overlay->config->addresses[i]);
	return err;
}

static int on_address(const struct address *address, void *arg)
{
	return sync_list_add(arg, address);
}

static int read_state(struct nl *nl, const struct desired *d, struct state *s)
{
	int err;

	*s = (struct state){.want = {.item_len = sizeof(struct address)},
			    .have = {.item_len = sizeof(struct address)}};
	err = want_lane(nl, d, s);
	for (size_t i = 0; !err && i < d->n_overlays; i++)
		err = want_overlay(nl, &d->overlays[i], s);
	if (!err)
		err = address_list(nl, 0, on_address, &s->have);
	sync_list_sort(&s->want, compare_address);
	sync_list_sort(&s->have, compare_address);
	return err;
}

static void done_state(struct state *s)
{
	sync_list_done(&s->want);
	sync_list_done(&s->have);
}
