/* SPDX-License-Identifier: Apache-2.0 */
#include "ingress_drop.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "ingress_internal.h"
#include "nl.h"

enum { TC_REQUEST_LEN = 256, TC_PRIORITY = 1 };

struct ingress_drop {
	enum ingress_drop_kind kind;
	int ifindex;
	int nft_fd;
};

union tc_request {
	struct nlmsghdr nlh;
	char bytes[TC_REQUEST_LEN];
};

static struct tcmsg *begin(union tc_request *req, uint16_t type, int ifindex)
{
	struct tcmsg *tc;

	memset(req, 0, sizeof(*req));
	mnl_nlmsg_put_header(req);
	req->nlh.nlmsg_type = type;
	tc = mnl_nlmsg_put_extra_header(&req->nlh, sizeof(*tc));
	tc->tcm_family = AF_UNSPEC;
	tc->tcm_ifindex = ifindex;
	return tc;
}

static int add_qdisc(struct nl *nl, int ifindex)
{
	union tc_request req;
	struct tcmsg *tc = begin(&req, RTM_NEWQDISC, ifindex);

	req.nlh.nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL;
	tc->tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0);
	tc->tcm_parent = TC_H_CLSACT;
	mnl_attr_put_strz(&req.nlh, TCA_KIND, "clsact");
	return nl_call(nl, &req.nlh, NULL, NULL);
}

static void delete_qdisc(struct nl *nl, int ifindex)
{
	union tc_request req;
	struct tcmsg *tc = begin(&req, RTM_DELQDISC, ifindex);

	tc->tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0);
	tc->tcm_parent = TC_H_CLSACT;
	(void)nl_call(nl, &req.nlh, NULL, NULL);
}

/* With "direct action" what the program returns is the verdict, so no action
 * module is needed. */
static const struct sock_filter drop_all = BPF_STMT(BPF_RET | BPF_K, TC_ACT_SHOT);

static int add_filter(struct nl *nl, int ifindex)
{
	union tc_request req;
	struct tcmsg *tc = begin(&req, RTM_NEWTFILTER, ifindex);
	struct nlattr *options;

	req.nlh.nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL;
	tc->tcm_parent = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS);
	tc->tcm_info = TC_H_MAKE(TC_PRIORITY << 16, htons(ETH_P_ALL));
	mnl_attr_put_strz(&req.nlh, TCA_KIND, "bpf");
	options = mnl_attr_nest_start(&req.nlh, TCA_OPTIONS);
	mnl_attr_put_u16(&req.nlh, TCA_BPF_OPS_LEN, 1);
	mnl_attr_put(&req.nlh, TCA_BPF_OPS, sizeof(drop_all), &drop_all);
	mnl_attr_put_u32(&req.nlh, TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT);
	mnl_attr_nest_end(&req.nlh, options);
	return nl_call(nl, &req.nlh, NULL, NULL);
}

static bool is_drop_all(const struct nlattr *options)
{
	struct nl_attrs attrs = {mnl_attr_get_payload(options), mnl_attr_get_payload_len(options)};
	bool program = false, direct = false;
	const struct nlattr *attr;
	uint32_t flags;

	while ((attr = nl_attrs_next(&attrs))) {
		if (mnl_attr_get_type(attr) == TCA_BPF_OPS)
			program = mnl_attr_get_payload_len(attr) == sizeof(drop_all) &&
				  !memcmp(mnl_attr_get_payload(attr), &drop_all, sizeof(drop_all));
		else if (mnl_attr_get_type(attr) == TCA_BPF_FLAGS && nl_attr_u32(attr, &flags))
			direct = flags & TCA_BPF_FLAG_ACT_DIRECT;
	}
	return program && direct;
}

static int take_filter(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;
	struct nl_attrs attrs;
	bool *found = arg;

	if (nlh->nlmsg_type != RTM_NEWTFILTER || !nl_attrs_begin(nlh, sizeof(*tc), &attrs) ||
	    TC_H_MAJ(tc->tcm_info) >> 16 != TC_PRIORITY)
		return 0;
	while ((attr = nl_attrs_next(&attrs))) {
		if (mnl_attr_get_type(attr) == TCA_OPTIONS && is_drop_all(attr))
			*found = true;
	}
	return 0;
}

/* 1, 0 or -errno. */
static int has_filter(struct nl *nl, int ifindex)
{
	union tc_request req;
	struct tcmsg *tc = begin(&req, RTM_GETTFILTER, ifindex);
	bool found = false;
	int err;

	req.nlh.nlmsg_flags = NLM_F_DUMP;
	tc->tcm_parent = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS);
	err = nl_call(nl, &req.nlh, take_filter, &found);
	return err ? err : found;
}

/* 1: it was put there; 0: it is there; -EEXIST: there is a qdisc without it. */
static int install_tc(struct nl *nl, int ifindex)
{
	int err = add_qdisc(nl, ifindex), found;

	if (err == -EEXIST) {
		found = has_filter(nl, ifindex);
		return found > 0 ? 0 : found < 0 ? found : -EEXIST;
	}
	if (err)
		return err;
	err = add_filter(nl, ifindex);
	if (err)
		delete_qdisc(nl, ifindex);
	return err ? err : 1;
}

int ingress_drop_hold(struct nl *nl, struct ingress_drop *drop)
{
	int err;

	if (drop->kind != INGRESS_DROP_TC)
		return 0;
	err = install_tc(nl, drop->ifindex);
	if (err == -EEXIST)
		err = add_filter(nl, drop->ifindex);
	else
		return err;
	return err ? err : 1;
}

int ingress_drop_install(struct nl *nl, int ifindex, const char *ifname,
			 enum ingress_drop_kind kind, struct ingress_drop **ret)
{
	struct ingress_drop *drop = calloc(1, sizeof(*drop));
	int err;

	if (!drop)
		return -ENOMEM;
	drop->kind = kind;
	drop->ifindex = ifindex;
	drop->nft_fd = -1;
	if (kind == INGRESS_DROP_TC) {
		err = install_tc(nl, ifindex);
		if (err > 0)
			err = 0;
	} else {
		drop->nft_fd = ingress_nft_open(ifindex, ifname);
		err = drop->nft_fd < 0 ? drop->nft_fd : 0;
	}
	if (err) {
		free(drop);
		return err;
	}
	*ret = drop;
	return 0;
}

int ingress_drop_find(struct nl *nl, int ifindex)
{
	return has_filter(nl, ifindex);
}

void ingress_drop_leave(struct ingress_drop *drop)
{
	ingress_drop_remove(NULL, drop);
}

void ingress_drop_remove(struct nl *nl, struct ingress_drop *drop)
{
	if (!drop)
		return;
	if (nl && drop->kind == INGRESS_DROP_TC)
		delete_qdisc(nl, drop->ifindex);
	if (drop->nft_fd >= 0)
		close(drop->nft_fd);
	free(drop);
}

enum ingress_drop_kind ingress_drop_kind_of(const struct ingress_drop *drop)
{
	return drop->kind;
}
