/* SPDX-License-Identifier: Apache-2.0 */
/* What portdev.c shares with the two kinds. */
#ifndef SEALANE_LANE_PORTDEV_INTERNAL_H
#define SEALANE_LANE_PORTDEV_INTERNAL_H

#include <net/if.h>

#include "offload/policy.h"
#include "portdev.h"

enum { PORTDEV_TEXT_LEN = 200, PORTDEV_REASON_LEN = PORTDEV_TEXT_LEN + 16 };

/* iovecs for one sendmmsg(): many small frames, or two of the longest */
enum { PORTDEV_IOV_POOL = 2 * (1 + IO_IOV_MAX) };

/* Of the lane end: larger than the overlay end's, which its owner may change, for what does
 * not fit would be dropped without a word. */
enum { PORTDEV_LANE_MTU = 65535, PORTDEV_FEATURES_MAX = 24, PORTDEV_ALIAS_LEN = 64 };

struct ingress_drop;

/* By their ethtool names, NULL behind the last. */
struct feature_list {
	unsigned n;
	const char *name[PORTDEV_FEATURES_MAX + 1];
};

/* A kind of device. `open` finds everything else zero and leaves what it made to
 * `close`, also when it fails. */
struct portdev_ops {
	enum portdev_kind kind;
	int (*open)(struct portdev *d, const struct portdev_args *args,
		    char err_text[PORTDEV_TEXT_LEN]);
	void (*close)(struct portdev *d);
	/* NULL: it goes with its descriptor. */
	void (*leave)(struct portdev *d);
	int (*hold)(struct portdev *d);				     /* NULL: nothing to hold */
	int (*keep)(struct portdev *d, char what[PORTDEV_KEPT_LEN]); /* likewise */
	int (*read)(struct portdev *d, struct portdev_read *r, unsigned max);
	void (*write)(struct portdev *d, struct portdev_write *w, unsigned n);
	/* The overlay end's MAC address, too, into d->mac, where netlink tells it. 0
	 * or -errno: then the last ones hold. */
	int (*read_limits)(struct portdev *d, struct portdev_limits *ret);
	uint64_t (*take_drops)(struct portdev *d);
	/* NULL: there is but one end. @q is a copy without descriptor and memory. */
	int (*open_queue)(struct portdev *first, struct portdev *q);
};

extern const struct portdev_ops portdev_veth_ops, portdev_tap_ops;

struct portdev {
	const struct portdev_ops *ops;
	struct nl *nl;
	struct kernel_release release;
	int fd; /* -1: not open */
	int lane_ifindex;
	int overlay_ifindex; /* veth: where it was last seen; 0: elsewhere */
	unsigned vnet_hdr_len;
	bool gone;
	uint64_t limits_at_ns;
	struct portdev_limits limits;
	uint8_t mac[6]; /* of the overlay end */
	char reason[PORTDEV_REASON_LEN];

	/* veth */
	char lane_name[IFNAMSIZ], alias[PORTDEV_ALIAS_LEN]; /* of the lane end */
	struct feature_list features;			    /* off at the overlay end */
	struct ingress_drop *ingress_drop;
	uint64_t n_refused; /* reads whose error a write saw first */
	struct iovec *iov;  /* for one sendmmsg() */
	bool in_fanout;
	int fanout; /* number of the group */
};

/* portdev_veth_open.c */
int portdev_veth_open(struct portdev *d, const struct portdev_args *args,
		      char err_text[PORTDEV_TEXT_LEN]);
void portdev_veth_close(struct portdev *d);
void portdev_veth_leave(struct portdev *d);
int portdev_veth_hold(struct portdev *d);

/* portdev_veth_keep.c */
int portdev_veth_keep(struct portdev *d, char what[PORTDEV_KEPT_LEN]);
/* Sets the lane end up, with MTU and all that it comes up with. 0 or -errno. */
int portdev_veth_set_up(struct portdev *d);

bool portdev_older_than(const struct kernel_release *r, unsigned major, unsigned minor);

struct veth_limits;
/* What netlink told of the overlay end, which may have no address or not that kind. */
void portdev_take_mac(struct portdev *d, const struct veth_limits *overlay);

/* MAC for the overlay end: the given one, or one of our own, because udev may
 * replace one that the kernel drew. */
void portdev_choose_mac(const struct portdev_args *args, uint8_t mac[6]);

/* Puts the VLAN tag into the frame again, in front of other tags. */
void portdev_put_vlan(struct portdev_read *r, uint16_t tpid, uint16_t tci);
/* Takes the jumbo hop-by-hop header out of an IPv6 superpacket, if it has one. */
void portdev_strip_jumbo(struct portdev_read *r);

#endif
