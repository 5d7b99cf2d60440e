/* SPDX-License-Identifier: Apache-2.0 */
#include "mtu.h"

#include <errno.h>

#include "config.h"
#include "error.h"
#include "overlay/link.h"

int mtu_find(const struct cni_config *c, struct nl *nl, uint32_t *ret, struct cni_error *e)
{
	struct link_info link;
	int err;

	*ret = c->mtu;
	if (!c->device)
		return 0;
	err = link_get(nl, c->device, &link);
	if (err == -ENODEV)
		return cni_error_set(e, CNI_TRY_AGAIN_LATER, "there is no device %s yet",
				     c->device);
	if (err)
		return cni_error_kernel(e, err, nl, "look at the device");
	if (!c->mtu)
		*ret = link.mtu;
	return 0;
}
