/* SPDX-License-Identifier: Apache-2.0 */
#include "features.h"

#include <errno.h>
#include <net/if.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/sockios.h>

/* More than any kernel has; a request is bounded by it. */
enum { FEATURES_MAX = 256, BLOCKS_MAX = FEATURES_MAX / 32 };

struct feature_names {
	uint32_t n;
	char (*name)[ETH_GSTRING_LEN];
};

union get_request {
	struct ethtool_gfeatures cmd;
	uint8_t room[sizeof(struct ethtool_gfeatures) +
		     BLOCKS_MAX * sizeof(struct ethtool_get_features_block)];
};

union set_request {
	struct ethtool_sfeatures cmd;
	uint8_t room[sizeof(struct ethtool_sfeatures) +
		     BLOCKS_MAX * sizeof(struct ethtool_set_features_block)];
};

/* An ioctl that needs any socket; positive results are kept. */
static int call(const char *ifname, void *cmd)
{
	struct ifreq ifr = {.ifr_data = cmd};
	int fd, ret;

	if (strlen(ifname) >= sizeof(ifr.ifr_name))
		return -ENODEV;
	memcpy(ifr.ifr_name, ifname, strlen(ifname));
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	ret = ioctl(fd, SIOCETHTOOL, &ifr);
	if (ret < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static int count_names(const char *ifname, uint32_t *ret)
{
	union {
		struct ethtool_sset_info info;
		uint8_t room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	} request = {.info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1U << ETH_SS_FEATURES}};
	int err = call(ifname, &request);
	uint32_t n;

	if (err < 0)
		return err;
	memcpy(&n, request.room + sizeof(request.info), sizeof(n));
	if (!request.info.sset_mask || n > FEATURES_MAX)
		return -EOPNOTSUPP;
	*ret = n;
	return 0;
}

/* The caller frees ret->name. */
static int read_names(const char *ifname, struct feature_names *ret)
{
	struct ethtool_gstrings *strings;
	uint32_t n = 0;
	int err = count_names(ifname, &n);

	if (err)
		return err;
	strings = calloc(1, sizeof(*strings) + (size_t)n * ETH_GSTRING_LEN);
	if (!strings)
		return -ENOMEM;
	strings->cmd = ETHTOOL_GSTRINGS;
	strings->string_set = ETH_SS_FEATURES;
	strings->len = n;
	err = call(ifname, strings);
	ret->name = err < 0 ? NULL : calloc(n, ETH_GSTRING_LEN);
	if (ret->name) {
		memcpy(ret->name, strings->data, (size_t)n * ETH_GSTRING_LEN);
		ret->n = n;
	}
	free(strings);
	if (err < 0)
		return err;
	return ret->name ? 0 : -ENOMEM;
}

/* Its number, or -1. */
static int find(const struct feature_names *names, const char *name)
{
	for (uint32_t i = 0; i < names->n; i++) {
		if (!strncmp(names->name[i], name, ETH_GSTRING_LEN))
			return (int)i;
	}
	return -1;
}

static int read_features(const char *ifname, uint32_t n, union get_request *ret)
{
	int err;

	memset(ret, 0, sizeof(*ret));
	ret->cmd.cmd = ETHTOOL_GFEATURES;
	ret->cmd.size = (n + 31) / 32;
	err = call(ifname, ret);
	return err < 0 ? err : 0;
}

static bool any_on(const union get_request *now, const union set_request *off, uint32_t n_blocks)
{
	for (uint32_t i = 0; i < n_blocks; i++) {
		if (now->cmd.features[i].active & off->cmd.features[i].valid)
			return true;
	}
	return false;
}

/* What the device never had may not be asked for by some kernels. */
static void choose(const struct feature_names *known, const char *const *names,
		   const union get_request *now, union set_request *ret)
{
	*ret = (union set_request){.cmd = {.cmd = ETHTOOL_SFEATURES, .size = (known->n + 31) / 32}};
	for (; *names; names++) {
		int i = find(known, *names);

		if (i >= 0)
			ret->cmd.features[i / 32].valid |= 1U << (i % 32);
	}
	for (uint32_t i = 0; i < ret->cmd.size; i++)
		ret->cmd.features[i].valid &= now->cmd.features[i].available &
					      ~now->cmd.features[i].never_changed;
}

static int switch_off(const char *ifname, const struct feature_names *known,
		      const char *const *names)
{
	union set_request off;
	union get_request now;
	int err = read_features(ifname, known->n, &now);

	if (err)
		return err;
	choose(known, names, &now, &off);
	err = call(ifname, &off);
	if (err < 0)
		return err;
	err = read_features(ifname, known->n, &now);
	if (!err && any_on(&now, &off, off.cmd.size))
		err = -EBUSY;
	return err;
}

int features_off(const char *ifname, const char *const *names)
{
	struct feature_names known = {0};
	int err = read_names(ifname, &known);

	if (!err)
		err = switch_off(ifname, &known, names);
	free(known.name);
	return err;
}

int features_on(const char *ifname, const char *const *names)
{
	struct feature_names known = {0};
	union get_request now;
	union set_request on;
	int err = read_names(ifname, &known);

	if (!err)
		err = read_features(ifname, known.n, &now);
	if (!err) {
		choose(&known, names, &now, &on);
		for (uint32_t i = 0; i < on.cmd.size; i++)
			on.cmd.features[i].requested = on.cmd.features[i].valid;
		err = call(ifname, &on);
	}
	free(known.name);
	return err < 0 ? err : 0;
}

int features_any_on(const char *ifname, const char *const *names, bool *ret_on)
{
	struct feature_names known = {0};
	union get_request now;
	union set_request off;
	int err = read_names(ifname, &known);

	if (!err)
		err = read_features(ifname, known.n, &now);
	if (!err) {
		choose(&known, names, &now, &off);
		*ret_on = any_on(&now, &off, off.cmd.size);
	}
	free(known.name);
	return err;
}

int features_get(const char *ifname, const char *name, bool *ret_on)
{
	struct feature_names known = {0};
	union get_request now;
	int err = read_names(ifname, &known), i;

	if (err)
		return err;
	i = find(&known, name);
	err = read_features(ifname, known.n, &now);
	if (!err)
		*ret_on = i >= 0 && now.cmd.features[i / 32].active & (1U << (i % 32));
	free(known.name);
	return err;
}
