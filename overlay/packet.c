/* SPDX-License-Identifier: Apache-2.0 */
#include "packet.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>

_Static_assert(CMSG_SPACE(sizeof(struct tpacket_auxdata)) <= PACKET_CONTROL_LEN,
	       "an auxdata must fit");

/* PACKET_FANOUT_FLAG_IGNORE_OUTGOING of Linux 6.2, newer than the headers we may be
 * built with. Before that it is taken for nothing. */
enum { FANOUT_IGNORE_OUTGOING = 0x4000 };

/* Without CAP_NET_ADMIN in the first user namespace the sysctl's limit holds. */
static void set_buffer(int fd, int forced, int plain)
{
	const int len = PACKET_BUFFER_LEN;

	if (setsockopt(fd, SOL_SOCKET, forced, &len, sizeof(len)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, plain, &len, sizeof(len));
}

static int set_options(int fd)
{
	static const int options[] = {PACKET_VNET_HDR, PACKET_QDISC_BYPASS, PACKET_IGNORE_OUTGOING,
				      PACKET_AUXDATA};
	const int on = 1;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (setsockopt(fd, SOL_PACKET, options[i], &on, sizeof(on)) < 0)
			return -errno;
	}
	set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF);
	set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF);
	return 0;
}

/* Protocol 0 until the socket is bound: nothing of other devices gets in. */
int packet_open(int ifindex, struct packet *ret)
{
	const struct sockaddr_ll to = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = ifindex,
	};
	struct packet p = {.fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
	socklen_t len = sizeof(p.receive_buf_len);
	int err;

	if (p.fd < 0)
		return -errno;
	/* Index 0 would mean every device. */
	err = ifindex > 0 ? set_options(p.fd) : -ENODEV;
	if (!err && bind(p.fd, (const struct sockaddr *)&to, sizeof(to)) < 0)
		err = -errno;
	if (!err && getsockopt(p.fd, SOL_SOCKET, SO_RCVBUF, &p.receive_buf_len, &len) < 0)
		err = -errno;
	if (err) {
		close(p.fd);
		return err;
	}
	*ret = p;
	return 0;
}

/*
 * Joiners must give the same flags as the first, without the one that asks for a
 * number. A group has its own hook on the device, for which the sockets' own
 * PACKET_IGNORE_OUTGOING does not count.
 */
int packet_join_fanout(int fd, int group)
{
	int what = (PACKET_FANOUT_HASH | FANOUT_IGNORE_OUTGOING) << 16;
	socklen_t len = sizeof(what);

	if (group != PACKET_FANOUT_NEW && (group < 0 || group > UINT16_MAX))
		return -EINVAL;
	what |= group == PACKET_FANOUT_NEW ? PACKET_FANOUT_FLAG_UNIQUEID << 16 : group;
	if (setsockopt(fd, SOL_PACKET, PACKET_FANOUT, &what, sizeof(what)) < 0 ||
	    getsockopt(fd, SOL_PACKET, PACKET_FANOUT, &what, &len) < 0)
		return -errno;
	return what & UINT16_MAX;
}

bool packet_attached(int fd)
{
	struct sockaddr_ll at = {0};
	socklen_t len = sizeof(at);

	return !getsockname(fd, (struct sockaddr *)&at, &len) && at.sll_ifindex > 0;
}

/* From "down" to "unbound" a deletion holds the lock of all network devices, and
 * this takes it: to leave a group that the socket is not in. */
void packet_settle(int fd)
{
	const struct packet_mreq none = {.mr_type = PACKET_MR_MULTICAST};

	(void)setsockopt(fd, SOL_PACKET, PACKET_DROP_MEMBERSHIP, &none, sizeof(none));
}

/* A line a socket: address, references, type, protocol, interface and more. */
int packet_is_read(int ifindex)
{
	FILE *f = fopen("/proc/thread-self/net/packet", "re");
	char line[160];
	int found = 0, at;

	if (!f)
		return -errno;
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%*s %*s %*s %*s %d", &at) == 1 && at == ifindex;
	fclose(f);
	return found;
}

uint32_t packet_take_drops(int fd)
{
	struct tpacket_stats stats = {0};
	socklen_t len = sizeof(stats);

	/* Reading resets the counters. */
	if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len) < 0)
		return 0;
	return stats.tp_drops;
}

struct packet_vlan packet_vlan_of(struct msghdr *msg)
{
	struct packet_vlan vlan = {0};

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		struct tpacket_auxdata aux;

		if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA ||
		    c->cmsg_len < CMSG_LEN(sizeof(aux)))
			continue;
		memcpy(&aux, CMSG_DATA(c), sizeof(aux));
		vlan.present = aux.tp_status & TP_STATUS_VLAN_VALID;
		vlan.tci = aux.tp_vlan_tci;
		vlan.tpid = aux.tp_status & TP_STATUS_VLAN_TPID_VALID ? aux.tp_vlan_tpid
								      : ETH_P_8021Q;
	}
	return vlan;
}
