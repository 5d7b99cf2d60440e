/* SPDX-License-Identifier: Apache-2.0 */
/* What this lane can do, and why: told on the control socket. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon_internal.h"
#include "offload/checksum.h"
#include "udp.h"

void capability_note(struct control_info *info, const char *name, bool on, const char *fmt, ...)
{
	struct capability *c = NULL;
	va_list ap;

	for (unsigned i = 0; i < info->n_capabilities; i++) {
		if (!strcmp(info->capability[i].name, name))
			c = &info->capability[i];
	}
	if (!c) {
		if (info->n_capabilities == CAPABILITY_MAX)
			return;
		c = &info->capability[info->n_capabilities++];
	}
	c->name = name;
	c->on = on;
	va_start(ap, fmt);
	vsnprintf(c->reason, sizeof(c->reason), fmt, ap);
	va_end(ap);
}

void daemon_note_device(struct daemon *d)
{
	bool tap = device_kind(d->device) == TUN_KIND_TAP;

	d->info.ifname = d->ifname;
	d->info.device_kind = tap ? "tap" : "tun";
	capability_note(&d->info, "tap_device", tap, "%s", device_reason(d->device));
}

static void note_closed(struct daemon *d, const char *name)
{
	capability_note(&d->info, name, false,
			"no socket: the device is down or its port could not be had");
}

void daemon_note_sockets(struct daemon *d)
{
	int granted = udp_buffer_len(d->udp) / 2, fd4 = udp_fd(d->udp, 0, AF_INET),
	    fd6 = udp_fd(d->udp, 0, AF_INET6);

	if (fd4 < 0 && fd6 < 0) {
		note_closed(d, "ipv4");
		note_closed(d, "ipv6");
		return;
	}
	capability_note(&d->info, "ipv4", fd4 >= 0,
			fd4 >= 0 ? "socket open" : "this host has no IPv4");
	capability_note(&d->info, "ipv6", fd6 >= 0,
			fd6 >= 0 ? "socket open" : "this host has no IPv6");
	capability_note(&d->info, "large_buffers", granted >= UDP_BUFFER_LEN,
			"%d bytes granted of %d asked", granted, UDP_BUFFER_LEN);
}

void daemon_note_simd(struct daemon *d, const char *train_reason)
{
	bool checksums = strcmp(checksum_name(), "portable") != 0;

	capability_note(&d->info, "simd", d->lane.self.train || checksums, "%s, %s checksums",
			train_reason, checksum_name());
}
