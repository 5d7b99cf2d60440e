/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An nftables transaction by hand: the kernel takes a batch of messages between a
 * begin and an end, all or nothing, and acknowledges each of them. The table is
 * owned by the socket that made it (NFT_TABLE_F_OWNER, Linux 5.12).
 */
#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include "ingress_internal.h"

enum {
	BATCH_LEN = 1024,
	ANSWER_LEN = 8192,
	TIMEOUT_S = 5,
	/* Sequence numbers; the two in the middle are acknowledged. */
	SEQ_BEGIN = 1,
	SEQ_TABLE,
	SEQ_CHAIN,
	SEQ_END,
	TABLE_OWNER = 2,	  /* NFT_TABLE_F_OWNER, newer than the headers we may have */
	CHAIN_PRIORITY = INT_MIN, /* before any other chain */
};

struct batch {
	union {
		struct nlmsghdr nlh;
		char bytes[BATCH_LEN];
	};
	size_t len;
};

static struct nlmsghdr *put(struct batch *b, uint16_t type, uint16_t flags, uint32_t seq)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(b->bytes + b->len);
	struct nfgenmsg *nfg;
	bool control = type == NFNL_MSG_BATCH_BEGIN || type == NFNL_MSG_BATCH_END;

	nlh->nlmsg_type = control ? type : (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type);
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = seq;
	nfg = mnl_nlmsg_put_extra_header(nlh, sizeof(*nfg));
	nfg->nfgen_family = control ? AF_UNSPEC : NFPROTO_NETDEV;
	nfg->version = NFNETLINK_V0;
	nfg->res_id = control ? htons(NFNL_SUBSYS_NFTABLES) : 0;
	return nlh;
}

static void finish(struct batch *b, const struct nlmsghdr *nlh)
{
	b->len += nlh->nlmsg_len;
}

static void put_table(struct batch *b, const char *table)
{
	struct nlmsghdr *nlh = put(b, NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK,
				   SEQ_TABLE);

	mnl_attr_put_strz(nlh, NFTA_TABLE_NAME, table);
	mnl_attr_put_u32(nlh, NFTA_TABLE_FLAGS, htonl(TABLE_OWNER));
	finish(b, nlh);
}

static void put_chain(struct batch *b, const char *table, const char *ifname)
{
	struct nlmsghdr *nlh = put(b, NFT_MSG_NEWCHAIN, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK,
				   SEQ_CHAIN);
	struct nlattr *hook;

	mnl_attr_put_strz(nlh, NFTA_CHAIN_TABLE, table);
	mnl_attr_put_strz(nlh, NFTA_CHAIN_NAME, "drop");
	mnl_attr_put_strz(nlh, NFTA_CHAIN_TYPE, "filter");
	hook = mnl_attr_nest_start(nlh, NFTA_CHAIN_HOOK);
	mnl_attr_put_u32(nlh, NFTA_HOOK_HOOKNUM, htonl(NF_NETDEV_INGRESS));
	mnl_attr_put_u32(nlh, NFTA_HOOK_PRIORITY, htonl((uint32_t)CHAIN_PRIORITY));
	mnl_attr_put_strz(nlh, NFTA_HOOK_DEV, ifname);
	mnl_attr_nest_end(nlh, hook);
	mnl_attr_put_u32(nlh, NFTA_CHAIN_POLICY, htonl(NF_DROP));
	finish(b, nlh);
}

static int open_socket(void)
{
	const struct timeval timeout = {.tv_sec = TIMEOUT_S};
	struct sockaddr_nl self = {.nl_family = AF_NETLINK};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);

	if (fd < 0)
		return errno == EPROTONOSUPPORT ? -EOPNOTSUPP : -errno;
	if (bind(fd, (struct sockaddr *)&self, sizeof(self)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

/* Takes the answers in @buf: an error, or counts the acknowledgements. A batch
 * that is refused as a whole answers to the begin message. */
static int take_answers(char *buf, size_t len, unsigned *n_acks)
{
	int left = (int)len;

	for (const struct nlmsghdr *nlh = (const struct nlmsghdr *)buf; mnl_nlmsg_ok(nlh, left);
	     nlh = mnl_nlmsg_next(nlh, &left)) {
		const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);

		if (nlh->nlmsg_type != NLMSG_ERROR ||
		    nlh->nlmsg_len < MNL_NLMSG_HDRLEN + sizeof(*err))
			continue;
		if (err->error)
			return err->error;
		(*n_acks)++;
	}
	return 0;
}

static int await(int fd)
{
	unsigned n_acks = 0;
	int err = 0;

	while (!err && n_acks < SEQ_END - SEQ_TABLE) {
		_Alignas(struct nlmsghdr) char buf[ANSWER_LEN];
		ssize_t len = recv(fd, buf, sizeof(buf), 0);

		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		err = take_answers(buf, (size_t)len, &n_acks);
	}
	return err;
}

int ingress_nft_open(int ifindex, const char *ifname)
{
	struct batch b = {.len = 0};
	char table[32];
	int fd, err = 0;

	/* Since Linux 6.16 a chain may wait for a device that is yet to come. */
	if ((int)if_nametoindex(ifname) != ifindex)
		return -ENODEV;
	fd = open_socket();
	if (fd < 0)
		return fd;
	snprintf(table, sizeof(table), "sealane-%d", ifindex);
	finish(&b, put(&b, NFNL_MSG_BATCH_BEGIN, 0, SEQ_BEGIN));
	put_table(&b, table);
	put_chain(&b, table, ifname);
	finish(&b, put(&b, NFNL_MSG_BATCH_END, 0, SEQ_END));
	if (send(fd, b.bytes, b.len, 0) < 0)
		err = -errno;
	if (!err)
		err = await(fd);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}
