/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offload features of a device by their ethtool names ("tx-udp-segmentation").
 * Control thread.
 */
#ifndef SEALANE_OVERLAY_FEATURES_H
#define SEALANE_OVERLAY_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Switches the features of @names (a list that ends with NULL) off on the device
 * @ifname of our namespace. Names this kernel does not know are skipped: it has no
 * such feature. 0 or -errno; -EBUSY: the kernel kept one of them on.
 */
int features_off(const char *ifname, const char *const *names);

/* The same, on. What the device cannot or the kernel does not want stays off: 0 all the
 * same. */
int features_on(const char *ifname, const char *const *names);

/* Is one of @names on that could be off? 0 or -errno. */
int features_any_on(const char *ifname, const char *const *names, bool *ret_on);

/* Is it on? False too for a name the kernel does not know. 0 or -errno. */
int features_get(const char *ifname, const char *name, bool *ret_on);

#endif
