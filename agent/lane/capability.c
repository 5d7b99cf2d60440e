/* SPDX-License-Identifier: Apache-2.0 */
/* What this lane can do, and why: told on the control socket. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon_internal.h"
#include "offload/checksum.h"
#include "udp.h"

static void note(struct daemon *d, const char *name, bool on, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void note(struct daemon *d, const char *name, bool on, const char *fmt, ...)
{
	struct control_info *info = &d->info;
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
	note(d, "tap_device", tap, "%s", device_reason(d->device));
	note(d, "udp_batch", true, "recvmmsg and sendmmsg, up to %d datagrams a call", BATCH_MAX);
	note(d, "superpackets", false, "this version moves single packets");
}

void daemon_note_sockets(struct daemon *d)
{
	int granted = udp_buffer_len(d->udp) / 2, fd4 = udp_fd(d->udp, AF_INET),
	    fd6 = udp_fd(d->udp, AF_INET6);

	if (fd4 < 0 && fd6 < 0)
		return;
	note(d, "ipv4", fd4 >= 0, fd4 >= 0 ? "socket open" : "this host has no IPv4");
	note(d, "ipv6", fd6 >= 0, fd6 >= 0 ? "socket open" : "this host has no IPv6");
	note(d, "large_buffers", granted >= UDP_BUFFER_LEN, "%d bytes granted of %d asked", granted,
	     UDP_BUFFER_LEN);
}

void daemon_note_simd(struct daemon *d, const char *train_reason)
{
	bool checksums = strcmp(checksum_name(), "portable") != 0;

	note(d, "simd", d->lane.train || checksums, "%s, %s checksums", train_reason,
	     checksum_name());
}
