/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of an agent and a lane as these would give them. Keys are Alice's and Bob's of
 * RFC 7748, section 6.1. */
#ifndef SEALANE_TESTS_CLI_CANNED_H
#define SEALANE_TESTS_CLI_CANNED_H

#define ALICE_HEX  "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
#define ALICE_TEXT "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="
#define BOB_HEX	   "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
#define BOB_TEXT   "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08="

/* When the commands run. */
#define NOW_S INT64_C(1700000185)

#define CANNED_AGENT                                                                               \
	"{\"version\": \"0.1.0\", \"node\": \"alpha\", \"pid\": 812, \"started\": 1699996585,"     \
	" \"config_file\": \"/etc/sealane/sealane.yaml\", \"config_error\": null,"                 \
	" \"lane\": {\"interface\": \"sl0\", \"there\": true}, \"synced\": true,"                  \
	" \"passes\": 17, \"failed_passes\": 2, \"faults\": [], \"conflicts\": [],"                \
	" \"overlays\": [{\"name\": \"ov0\", \"type\": \"port\", \"vni\": 42, \"udp_port\": 4789," \
	"   \"mtu\": 1370, \"mac\": \"02:00:00:00:00:01\", \"vtep\": \"10.9.0.1\","                \
	"   \"stations\": [{\"name\": \"beta\"}, {\"name\": \"gamma\"}]}],"                        \
	" \"peers\": [{\"name\": \"beta\", \"public_key\": \"" BOB_TEXT "\"}]}"

#define CANNED_CONTROL                                                                             \
	"version=1\nsealane=0.1.0\nifname=sl0\ndevice_kind=tap\nmtu=1420\nup=1\n"                  \
	"listen_port=51820\npeers=2\n"                                                             \
	"capability=tun_gso on nothing known against it\n"                                         \
	"capability=simd off switched off by SEALANE_DISABLE_SIMD\n"                               \
	"stat=device_reads 5\ndrop=no_peer 12\ndrop=replay 0\ndrop=port_fragment 3\n"              \
	"ports=1\nport=ov0\nkind=veth\nmtu=1370\nmac=02:00:00:00:00:01\nvtep=10.9.0.1\n"           \
	"udp_port=4789\nvni=42\nport_kind=veth\nport_reason=a packet socket is permitted\n"

#define CANNED_WG                                                                                  \
	"listen_port=51820\n"                                                                      \
	"public_key=" BOB_HEX "\nendpoint=192.0.2.2:51820\nlast_handshake_time_sec=1700000000\n"   \
	"rx_bytes=2048\ntx_bytes=1536\npersistent_keepalive_interval=25\n"                         \
	"allowed_ip=10.9.0.2/32\nallowed_ip=fd00::2/128\n"                                         \
	"public_key=" ALICE_HEX "\nendpoint=[2001:db8::3]:51820\n"                                 \
	"last_handshake_time_sec=1700000100\nrx_bytes=0\ntx_bytes=5\n"

#endif
