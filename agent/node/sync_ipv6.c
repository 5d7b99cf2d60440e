/* SPDX-License-Identifier: Apache-2.0 */
#include "sync_ipv6.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATH_LEN = 64 };

/* Without netlink: its answer may be what is being told of. 0: not known. */
static uint32_t mtu_of(const char *name)
{
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = {0};
	uint32_t mtu = 0;

	if (fd < 0)
		return 0;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (!ioctl(fd, SIOCGIFMTU, &ifr))
		mtu = (uint32_t)ifr.ifr_mtu;
	close(fd);
	return mtu;
}

static bool is_switched_off(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	char value = '0';
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, &value, 1);
	close(fd);
	return n == 1 && value != '0';
}

/* What the kernel says where a device, or itself, has no IPv6. */
static bool may_be_ipv6(int err)
{
	return err == -EINVAL || err == -EACCES || err == -ENODEV || err == -EOPNOTSUPP ||
	       err == -EAFNOSUPPORT;
}

const char *sync_ipv6_why(int ifindex, int err, char buf[SYNC_IPV6_WHY_LEN])
{
	char name[IF_NAMESIZE], path[PATH_LEN];
	uint32_t mtu;

	buf[0] = '\0';
	if (!may_be_ipv6(err) || !if_indextoname((unsigned)ifindex, name))
		return buf;
	mtu = mtu_of(name);
	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/disable_ipv6", name);
	if (err == -EOPNOTSUPP || err == -EAFNOSUPPORT)
		snprintf(buf, SYNC_IPV6_WHY_LEN,
			 "this kernel has IPv6 switched off (ipv6.disable=1) or has none");
	else if (mtu && mtu < SYNC_IPV6_MTU_MIN)
		snprintf(buf, SYNC_IPV6_WHY_LEN,
			 "the MTU of %s is %u and IPv6 needs %d: raise lane.mtu, or the MTU of the "
			 "ways to the peers, by %u",
			 name, mtu, SYNC_IPV6_MTU_MIN, SYNC_IPV6_MTU_MIN - mtu);
	else if (is_switched_off(path))
		snprintf(buf, SYNC_IPV6_WHY_LEN, "IPv6 is off on %s: write 0 to %s", name, path);
	return buf;
}
