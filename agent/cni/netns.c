/* SPDX-License-Identifier: Apache-2.0 */
#include "netns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/nsfs.h>

#include "env.h"
#include "error.h"
#include "overlay/nl.h"

static int check(const struct cni_env *env, int fd, int own, struct cni_error *e)
{
	struct stat theirs, ours;

	if (ioctl(fd, NS_GET_NSTYPE) != CLONE_NEWNET)
		return cni_error_set(e, CNI_INVALID_ENVIRONMENT,
				     "CNI_NETNS %.100s is no network namespace", env->netns);
	if (fstat(fd, &theirs) || fstat(own, &ours))
		return cni_error_kernel(e, -errno, NULL, "look at the network namespaces");
	if (!env->netns_override && theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino)
		return cni_error_set(e, CNI_INVALID_ENVIRONMENT,
				     "CNI_NETNS %.100s is the plugin's own namespace", env->netns);
	return 0;
}

/* A socket stays in the namespace in which it was made. */
static int open_socket(int fd, int own, struct netns *ret, struct cni_error *e)
{
	int err;

	if (setns(fd, CLONE_NEWNET))
		return cni_error_kernel(e, -errno, NULL, "enter the container's namespace");
	err = nl_open(&ret->nl);
	if (setns(own, CLONE_NEWNET))
		return cni_error_kernel(e, -errno, NULL,
					"come back from the container's namespace");
	return err ? cni_error_kernel(e, err, NULL, "open a socket in the container's namespace")
		   : 0;
}

int netns_open(const struct cni_env *env, struct netns *ret, struct cni_error *e)
{
	int own, err;

	*ret = (struct netns){.fd = open(env->netns, O_RDONLY | O_CLOEXEC)};
	if (ret->fd < 0)
		return cni_error_set(e, CNI_UNKNOWN_CONTAINER, "cannot open CNI_NETNS %.100s: %s",
				     env->netns, strerror(errno));
	own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (own < 0)
		return cni_error_kernel(e, -errno, NULL, "open /proc/self/ns/net");
	err = check(env, ret->fd, own, e);
	if (!err)
		err = open_socket(ret->fd, own, ret, e);
	close(own);
	return err;
}

void netns_close(struct netns *n)
{
	nl_close(n->nl);
	if (n->fd >= 0)
		close(n->fd);
	*n = (struct netns){.fd = -1};
}
