/* SPDX-License-Identifier: Apache-2.0 */
#include "uapi.h"

#include <arpa/inet.h>
#include <inttypes.h>

#include "lane.h"
#include "textbuf.h"

static void put_device(const struct lane *lane, struct textbuf *out)
{
	if (lane->local.has_identity)
		textbuf_hex_line(out, "private_key", lane->local.private_key, WG_KEY_LEN);
	if (lane->listen_port)
		textbuf_printf(out, "listen_port=%u\n", lane->listen_port);
	if (lane->fwmark)
		textbuf_printf(out, "fwmark=%" PRIu32 "\n", lane->fwmark);
}

static void put_allowed_ips(const struct peer *peer, struct textbuf *out)
{
	struct allowedips_node *cursor = NULL;
	struct allowedips_prefix prefix;
	char address[INET6_ADDRSTRLEN];

	while (allowedips_next(&peer->allowed, &cursor, &prefix)) {
		inet_ntop(prefix.addr_len == 4 ? AF_INET : AF_INET6, prefix.addr, address,
			  sizeof(address));
		textbuf_printf(out, "allowed_ip=%s/%u\n", address, prefix.cidr);
	}
}

static void put_peer(const struct lane *lane, const struct peer *peer, struct textbuf *out)
{
	const struct endpoint ep = peer_endpoint(peer);
	char endpoint[ENDPOINT_STRLEN];
	struct timespec handshake;

	peer_handshake_time(lane, peer, &handshake);
	textbuf_hex_line(out, "public_key", peer->handshake.remote_static, WG_KEY_LEN);
	textbuf_hex_line(out, "preshared_key", peer->handshake.preshared_key, WG_KEY_LEN);
	textbuf_printf(out, "protocol_version=1\n");
	if (ep.dst.family != AF_UNSPEC)
		textbuf_printf(out, "endpoint=%s\n", endpoint_format(&ep, endpoint));
	textbuf_printf(out,
		       "last_handshake_time_sec=%lld\n"
		       "last_handshake_time_nsec=%ld\n"
		       "tx_bytes=%" PRIu64 "\n"
		       "rx_bytes=%" PRIu64 "\n"
		       "persistent_keepalive_interval=%u\n",
		       (long long)handshake.tv_sec, handshake.tv_nsec,
		       __atomic_load_n(&peer->tx_bytes, __ATOMIC_RELAXED),
		       __atomic_load_n(&peer->rx_bytes, __ATOMIC_RELAXED),
		       peer->timers.persistent_interval_s);
	put_allowed_ips(peer, out);
}

void uapi_get(const struct lane *lane, struct textbuf *out)
{
	const struct peer *peer;

	put_device(lane, out);
	TAILQ_FOREACH (peer, &lane->peers, entry)
		put_peer(lane, peer, out);
	textbuf_printf(out, "errno=0\n\n");
}
