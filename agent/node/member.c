/* SPDX-License-Identifier: Apache-2.0 */
#include "member.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

void member_clear(struct member *m)
{
	for (size_t i = 0; i < m->n_overlays; i++) {
		free(m->overlays[i].addresses);
		free(m->overlays[i].routes);
	}
	free(m->overlays);
	free(m->allowed_ips);
	sodium_memzero(m, sizeof(*m));
}

/* Replaces a borrowed array by a copy of it, an empty one by none. */
static bool own(void *array, size_t n, size_t size)
{
	void *copy = NULL, *borrowed;

	memcpy(&borrowed, array, sizeof(borrowed));
	if (n) {
		copy = reallocarray(NULL, n, size);
		if (copy)
			memcpy(copy, borrowed, n * size);
	}
	memcpy(array, &copy, sizeof(copy));
	return copy || !n;
}

static bool own_overlays(struct member *m)
{
	bool ok = own(&m->overlays, m->n_overlays, sizeof(*m->overlays));

	if (!ok)
		m->n_overlays = 0;
	/* All of them even after a failure: what is not owned must not be freed. */
	for (size_t i = 0; i < m->n_overlays; i++) {
		struct member_overlay *o = &m->overlays[i];

		ok &= own(&o->addresses, o->n_addresses, sizeof(*o->addresses));
		ok &= own(&o->routes, o->n_routes, sizeof(*o->routes));
	}
	return ok;
}

int member_copy(const struct member *m, struct member *ret)
{
	struct member copy = *m;
	bool ok = own(&copy.allowed_ips, copy.n_allowed_ips, sizeof(*copy.allowed_ips));

	ok &= own_overlays(&copy);
	if (ok)
		*ret = copy;
	else
		member_clear(&copy);
	sodium_memzero(&copy, sizeof(copy));
	return ok ? 0 : -ENOMEM;
}
