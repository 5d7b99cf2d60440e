/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every reason why a packet or message goes no further: one line here is the
 * enum value, the counter, the name on the control socket and the help text.
 * Nothing is logged per packet.
 */
#ifndef SEALANE_LANE_DROP_H
#define SEALANE_LANE_DROP_H

/* X(ENUM, name, help) */
#define DROP_LIST(X)                                                                               \
	/* out: device -> network */                                                               \
	X(NOT_IP, "not_ip", "frame from the TAP that is neither IPv4 nor IPv6")                    \
	X(BAD_IP, "bad_ip", "packet from the device with a malformed IP header")                   \
	X(BAD_VNET, "bad_vnet", "superpacket that is not what its vnet header says")               \
	X(NO_PEER, "no_peer", "no peer's allowed-ips cover the destination")                       \
	X(NO_ENDPOINT, "no_endpoint", "the peer has no endpoint yet")                              \
	X(LOOP, "loop", "our own datagram, routed back into the lane")                             \
	X(TOO_BIG, "too_big", "longer than the path takes, not to be fragmented: answered")        \
	X(STAGE_FULL, "stage_full", "oldest of 128 packets waiting for a session")                 \
	X(STAGE_PURGED, "stage_purged", "waiting packet given up: no answer to handshakes")        \
	X(STAGE_MEMORY, "stage_memory", "no memory to keep a packet waiting for a session")        \
	X(SEND, "send", "the kernel refused to send the datagram")                                 \
	X(SEND_FULL, "send_full",                                                                  \
	  "the socket or device queue stayed full, or a port's end is down")                       \
	/* out, from a VXLAN port */                                                               \
	X(PORT_KERNEL, "port_kernel", "frame the kernel dropped before the lane read it")          \
	X(PORT_FRAME, "port_frame", "frame from a port without a whole Ethernet header")           \
	X(PORT_SEGMENTS, "port_segments", "superpacket of more than 2048 segments from a port")    \
	X(PORT_UNKNOWN, "port_unknown", "no VTEP known for the address, and no flooding list")     \
	X(PORT_HAIRPIN, "port_hairpin", "address at our own VTEP: would come right back")          \
	/* in: network -> device */                                                                \
	X(BAD_MESSAGE, "bad_message", "datagram that is no WireGuard message")                     \
	X(NO_IDENTITY, "no_identity", "handshake message while no private key is set")             \
	X(BAD_MAC1, "bad_mac1", "handshake message with a wrong mac1")                             \
	X(HANDSHAKE_QUEUE, "handshake_queue", "handshake message beyond the queue's limit")        \
	X(NEED_COOKIE, "need_cookie", "under load: answered with a cookie reply")                  \
	X(RATE_LIMIT, "rate_limit", "under load: source above 20 handshakes per second")           \
	X(BAD_HANDSHAKE, "bad_handshake", "handshake message that does not authenticate")          \
	X(UNKNOWN_PEER, "unknown_peer", "initiation from a key that is no peer")                   \
	X(OLD_TIMESTAMP, "old_timestamp", "initiation not newer than the last: replay or clock")   \
	X(FLOOD, "flood", "initiation within 20 ms of the peer's last")                            \
	X(BAD_COOKIE, "bad_cookie", "cookie reply that does not authenticate")                     \
	X(UNKNOWN_INDEX, "unknown_index", "message for an index we do not have")                   \
	X(KEY_EXPIRED, "key_expired", "data under a session older than 180 s or used up")          \
	X(AUTH, "auth", "data that does not authenticate")                                         \
	X(REPLAY, "replay", "data seen before or behind the replay window")                        \
	X(BAD_INNER, "bad_inner", "decrypted packet with a malformed IP header")                   \
	X(SPOOFED, "spoofed", "decrypted packet whose source the peer may not use")                \
	X(PORT_FRAGMENT, "port_fragment", "fragment of VXLAN for a port: not reassembled")         \
	X(PORT_SOURCE, "port_source", "frame for a port whose source address cannot be there")     \
	X(PORT_LOOP, "port_loop", "frame for a port from the port's own address")                  \
	X(PORT_ECN, "port_ecn", "congestion mark on VXLAN around a packet without ECN")            \
	X(DEVICE_WRITE, "device_write", "the kernel refused the packet on the device")             \
	X(DEVICE_DOWN, "device_down", "packet for a device that is down")

enum drop {
	DROP_NONE,
#define X(id, name, help) DROP_##id,
	DROP_LIST(X)
#undef X
		N_DROP_REASONS
};

/* Name and help of a reason; "" for DROP_NONE. */
const char *drop_name(enum drop reason);
const char *drop_help(enum drop reason);

#endif
