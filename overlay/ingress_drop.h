/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drops everything that arrives at a device, at netdev ingress: packet sockets
 * have had their copy by then, and neither the host's stack nor a bridge, nor
 * forwarding, sees it. Two ways:
 *
 *  tc   a clsact qdisc with one classic-BPF filter that says "drop" itself. Needs
 *       sch_ingress and cls_bpf (no capability for BPF, no action module).
 *  nft  a base chain of the netdev family with policy drop, in a table that
 *       belongs to our socket: no other program's "flush ruleset" removes it, and
 *       it goes when the socket does. Needs nf_tables (Linux 5.12). The second
 *       choice: since Linux 6.16 such a chain goes by the device's name, and who
 *       renames the device takes it off.
 *
 * Control thread.
 */
#ifndef SEALANE_OVERLAY_INGRESS_DROP_H
#define SEALANE_OVERLAY_INGRESS_DROP_H

struct nl;
struct ingress_drop;

enum ingress_drop_kind { INGRESS_DROP_TC, INGRESS_DROP_NFT };

/*
 * Puts it on the device, whose current name is @ifname, by @kind. 0, or -errno:
 * -ENOENT or -EOPNOTSUPP: this kernel has no such thing, -EEXIST: the device has
 * somebody else's clsact or ingress qdisc already, -ENODEV, -EPERM; nothing stays on
 * the device then. One by tc that a killed process left there is taken over. @nl, for
 * both kinds, belongs to the calling thread's network namespace.
 */
int ingress_drop_install(struct nl *nl, int ifindex, const char *ifname,
			 enum ingress_drop_kind kind, struct ingress_drop **ret);

/* Puts it back where somebody took qdisc or filter away (MONITOR_QDISC tells when to
 * ask). 1: it was put back; 0: it was there, or is of the nft kind, which nobody else
 * can take away; or -errno: it is not there. */
int ingress_drop_hold(struct nl *nl, struct ingress_drop *drop);

/* Is one by tc on the device? 1, 0 or -errno. */
int ingress_drop_find(struct nl *nl, int ifindex);

/* Lets it stay for the next process: tc. One of nft goes all the same. */
void ingress_drop_leave(struct ingress_drop *drop);

/* Takes it away. @nl NULL: the device is gone. @drop NULL is fine. */
void ingress_drop_remove(struct nl *nl, struct ingress_drop *drop);

enum ingress_drop_kind ingress_drop_kind_of(const struct ingress_drop *drop);

#endif
