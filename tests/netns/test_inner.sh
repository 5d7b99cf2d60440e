#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Inner traffic of every kind between two lanes, plain and through a VXLAN: what
# arrives is what was sent, to the last byte, and no checksum is wrong.
#
#   +------------ a -------------+               +------------- b ------------+
#   | vx1 10.11.0.1 (in vx0)     |               |     (in vx0) 10.11.0.2 vx1 |
#   | vx0 10.10.0.1 fd00:10::1   |               |   10.10.0.2 fd00:10::2 vx0 |
#   | $A  10.9.0.1  fd00:9::1    | u0         u0 |   10.9.0.2  fd00:9::2  $B  |
#   |     :51001                 |---------------|                 :51002     |
#   +----------------------------+ 192.0.2.1  .2 +----------------------------+
# shellcheck disable=SC2317 # checks call functions by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

exchanged=2000000 # bytes each way
numbers=$(dirname "${BASH_SOURCE[0]}")/numbered_udp.py

topology() {
	ns_new a b
	link_new a u0 b u0
	address_add a u0 192.0.2.1/24
	address_add b u0 192.0.2.2/24
	at b sysctl -qw net.ipv4.icmp_echo_ignore_broadcasts=0
	key_new a b
}

tunnel_up() { # KIND-A KIND-B
	daemon_start "$1" a "$A"
	daemon_start "$2" b "$B"
	lane_up a "$A" a 51001 10.9.0.1/24 fd00:9::1/64
	lane_up b "$B" b 51002 10.9.0.2/24 fd00:9::2/64
	wg set "$A" peer "$(pub b)" allowed-ips 10.9.0.2/32,fd00:9::2/128,224.0.0.0/4 endpoint 192.0.2.2:51002
	wg set "$B" peer "$(pub a)" allowed-ips 10.9.0.1/32,fd00:9::1/128,224.0.0.0/4 endpoint 192.0.2.1:51001
}

# A VXLAN between the addresses PREFIX.1 and PREFIX.2.
vxlan_up() { # DEVICE MTU VNI PREFIX NEW-PREFIX UDPCSUM
	local ns self far
	for ns in a b; do
		if [ "$ns" = a ]; then self=1 far=2; else self=2 far=1; fi
		ip -n "$id-$ns" link add "$1" mtu "$2" type vxlan id "$3" dstport 4789 \
			local "$4.$self" remote "$4.$far" "$6"
		address_add "$ns" "$1" "$5.$self/24"
		ip -n "$id-$ns" link set "$1" up
	done
}

vxlans_up() { # UDPCSUM
	vxlan_up vx0 1370 42 10.9.0 10.10.0 "$1"
	address_add a vx0 fd00:10::1/64
	address_add b vx0 fd00:10::2/64
}

vxlans_down() {
	ip -n "$id-a" link delete vx0
	ip -n "$id-b" link delete vx0
}

# ---- numbered datagrams

udp() { # ADDRESS SIZE PER-SEND
	local server n=$(($3 > 1 ? 2000 : 200))
	at b python3 "$numbers" receive 5002 "$n" >"$work/numbers" &
	server=$!
	eventually 5 is_listening b udp 5002 || return 1
	at a python3 "$numbers" send "$1" 5002 "$n" "$2" "$3" || return 1
	wait "$server"
	is_equal 'lost=0 doubled=0 reordered=0 changed=0' cat "$work/numbers"
}

# Empty ones between full ones.
empty_udp() { # ADDRESS
	local server
	at b timeout 10 python3 - >"$work/lengths" <<-'PYTHON' &
		import socket
		s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
		s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
		s.bind(("::", 5002))
		print(*[len(s.recv(2000)) for _ in range(40)])
	PYTHON
	server=$!
	eventually 5 is_listening b udp 5002 || return 1
	at a python3 - "$1" <<-'PYTHON'
		import socket, sys
		s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
		for i in range(40):
		    s.sendto(b"x" * (0, 1000, 0, 0, 1)[i % 5], (sys.argv[1], 5002))
	PYTHON
	wait "$server"
	is_equal "$(printf '0 1000 0 0 1 %.0s' {1..8} | sed 's/ $//')" cat "$work/lengths"
}

# ---- frames and packets made by hand

# Sends IPv4 UDP packets with IP options (a timestamp and no-operations), 100 of
# them in a row, and the same with a bad checksum of its own, which no lane may
# mend: b is to drop just those.
options_sent() { # DEVICE SOURCE DESTINATION
	at a python3 - "$@" <<-'PYTHON'
		import socket, struct, sys
		_, device, source, destination = sys.argv
		def csum(data):
		    data += b"\0" * (len(data) % 2)
		    total = sum(struct.unpack(">%dH" % (len(data) // 2), data))
		    while total >> 16:
		        total = (total & 0xffff) + (total >> 16)
		    return ~total & 0xffff
		def packet(number, wrong):
		    src, dst = socket.inet_aton(source), socket.inet_aton(destination)
		    text = struct.pack(">I", number) + bytes(200)
		    udp = struct.pack(">HHHH", 5003, 5003, 8 + len(text), 0) + text
		    sum_ = csum(src + dst + struct.pack(">HH", 17, len(udp)) + udp) ^ wrong
		    udp = udp[:6] + struct.pack(">H", sum_) + udp[8:]
		    options = b"\x44\x08\x05\x00" + bytes(4) + b"\1\1\1\1"
		    return struct.pack(">BBHHHBBH4s4s", 0x48, 0, 32 + len(udp), number, 0, 64, 17, 0, src, dst) + options + udp
		s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
		s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
		for i in range(110):
		    s.sendto(packet(i, 0x5555 if i % 11 == 5 else 0), (destination, 0))
	PYTHON
}

options() { # DEVICE SOURCE DESTINATION
	local server
	at b timeout 10 python3 - >"$work/options" <<-'PYTHON' &
		import socket, struct
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		s.setsockopt(socket.IPPROTO_IP, 6, 1)  # IP_RECVOPTS
		s.bind(("", 5003))
		s.settimeout(3)
		right = n = 0
		while n < 100:
		    data, control, *_ = s.recvmsg(2000, 2000)
		    number = struct.unpack(">I", data[:4])[0]
		    kept = [c for _, kind, c in control if kind == 6]
		    right += data[4:] == bytes(200) and number == n + (n + 5) // 10 and kept[0][0] == 0x44
		    n += 1
		print(right)
	PYTHON
	server=$!
	eventually 5 is_listening b udp 5003 || return 1
	options_sent "$@" || return 1
	wait "$server" || return 1
	is_equal 100 cat "$work/options"
}

# Frames with a VLAN tag, straight into the vxlan device and out of it: this may
# be a kernel without vlan devices.
vlan() { # DEVICE
	at b timeout 10 python3 - "$1" >"$work/vlan" <<-'PYTHON' &
		import socket, struct, sys
		s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
		s.bind((sys.argv[1], 0))
		s.setsockopt(263, 8, 1)  # SOL_PACKET, PACKET_AUXDATA
		print("ready", flush=True)
		right = 0
		while right < 60:
		    frame, control, *_ = s.recvmsg(4000, 200)
		    tci = struct.unpack("=IIIHHHH", control[0][2][:20])[5] if control else 0
		    if frame[12:14] == b"\x81\x00":
		        tci, frame = struct.unpack(">H", frame[14:16])[0], frame[:12] + frame[16:]
		    if tci != 0x2007 or frame[12:14] != b"\x08\x00":
		        continue
		    number = struct.unpack(">I", frame[42:46])[0]
		    if number != right or frame[46:] != bytes([number]) * 900:
		        sys.exit("frame %d is %d, %r" % (right, number, frame[:60]))
		    right += 1
		print(right)
	PYTHON
	local server=$!
	eventually 5 grep -q ready "$work/vlan" >/dev/null || return 1
	at a python3 - "$1" "$(at b cat "/sys/class/net/$1/address")" <<-'PYTHON'
		import socket, struct, sys
		s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
		s.bind((sys.argv[1], 0))
		to = bytes.fromhex(sys.argv[2].replace(":", ""))
		for i in range(60):
		    udp = struct.pack(">HHHH", 9, 9, 8 + 904, 0) + struct.pack(">I", i) + bytes([i]) * 900
		    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), i, 0, 64, 17, 0, b"\x0a\x0c\0\1", b"\x0a\x0c\0\2")
		    total = sum(struct.unpack(">10H", ip))
		    total = (total & 0xffff) + (total >> 16)
		    ip = ip[:10] + struct.pack(">H", ~total & 0xffff) + ip[12:]
		    s.send(to + s.getsockname()[4] + struct.pack(">HHH", 0x8100, 0x2007, 0x0800) + ip + udp)
	PYTHON
	wait "$server" || { cat "$work/vlan"; return 1; }
	grep -x 60 "$work/vlan"
}

# ---- IPv6

# The label of a connection's packets is on each of them when they arrive.
flow_labels() { # DEVICE ADDRESS
	local labels
	at a sysctl -qw net.ipv6.auto_flowlabels=1
	capture_start labels b "$1" 'ip6 and dst port 5001 and src host '"${2%2}1"
	tcp_exchange a b "$2" 300000 || return 1
	capture_stop
	labels=$(tcpdump -n -v -r "$work/labels.pcap" 2>/dev/null | grep -o 'flowlabel 0x[0-9a-f]*' | sort -u)
	is_equal 1 wc -l <<<"$labels" || { echo "$labels"; return 1; }
	[ "$(captured labels 'ip6[0:4] & 0xfffff != 0')" -gt 0 ]
}

# Neighbours are asked for and found.
neighbours() { # DEVICE ADDRESS ADDRESS6
	ip -n "$id-a" neigh flush dev "$1"
	pings a 2 "$2" && pings a 2 "$3" &&
		ip -n "$id-a" neigh show dev "$1" | grep -F "$2 lladdr" &&
		ip -n "$id-a" neigh show dev "$1" | grep -F "$3 lladdr"
}

multicast() { # DEVICE
	at a ping -n -c 3 -i 0.05 -W 2 -I "$1" 224.0.0.1 | grep -F 'bytes from' &&
		at a ping -n -c 3 -i 0.05 -W 2 -I "$1" "ff02::1%$1" | grep -F 'bytes from'
}

# ---- all of it

suite() { # NAME DEVICE-A DEVICE-B PREFIX PREFIX6
	local name=$1 size
	check "$name: TCP, IPv4" tcp_exchange a b "$4.2" "$exchanged"
	check "$name: TCP, IPv6" tcp_exchange a b "$5::2" "$exchanged"
	check "$name: UDP one by one, IPv4" udp "$4.2" 1200 1
	for size in 8 1200; do
		check "$name: $size-byte UDP in GSO sends, IPv4" udp "$4.2" "$size" 40
		check "$name: $size-byte UDP in GSO sends, IPv6" udp "$5::2" "$size" 40
	done
	check "$name: UDP in fragments, IPv4" udp "$4.2" 5000 1
	check "$name: UDP in fragments, IPv6" udp "$5::2" 5000 1
	check "$name: empty UDP, IPv4" empty_udp "$4.2"
	check "$name: empty UDP, IPv6" empty_udp "$5::2"
	check "$name: ICMP in fragments, IPv4" pings a 3 "$4.2" -s 8000
	check "$name: ICMP in fragments, IPv6" pings a 3 "$5::2" -s 8000
	check "$name: ICMP of the largest size" pings a 2 "$4.2" -s 65507
	check "$name: IP options in ICMP" pings a 3 "$4.2" -T tsonly
	check "$name: IP options in UDP" options "$2" "$4.1" "$4.2"
	check "$name: IPv6 flow labels" flow_labels "$3" "$5::2"
}

all() { # KIND-A KIND-B UDPCSUM
	local name="$1 and $2"
	tunnel_up "$1" "$2"
	suite "$name, plain" "$A" "$B" 10.9.0 fd00:9
	name+=", VXLAN $3"
	vxlans_up "$3"
	suite "$name" vx0 vx0 10.10.0 fd00:10
	check "$name: neighbours" neighbours vx0 10.10.0.2 fd00:10::2
	check "$name: multicast" multicast vx0
	check "$name: VLAN tags inside" vlan vx0
	vxlan_up vx1 1320 43 10.10.0 10.11.0 "$3"
	check "$name, VXLAN in it: TCP" tcp_exchange a b 10.11.0.2 "$exchanged"
	check "$name, VXLAN in it: UDP" udp 10.11.0.2 1200 40
	check "$name, VXLAN in it: ICMP in fragments" pings a 3 10.11.0.2 -s 8000
	ip -n "$id-a" link delete vx1
	ip -n "$id-b" link delete vx1
	geneve "$name"
	vxlans_down
	check_equal "$name: $1 dropped nothing" 0 "$(n_drops "$A")"
	check_equal "$name: $2 dropped nothing" 0 "$(n_drops "$B")"
	check_equal "$name: $1, every merged packet was taken" 0 "$(counter "$A" stat=merges_refused)"
	check_equal "$name: $2, every merged packet was taken" 0 "$(counter "$B" stat=merges_refused)"
	daemon_stop "$A" "$B"
}

geneve() { # NAME
	local ns self far
	for ns in a b; do
		if [ "$ns" = a ]; then self=1 far=2; else self=2 far=1; fi
		if ! ip -n "$id-$ns" link add gn0 mtu 1360 type geneve id 7 remote "10.9.0.$far" 2>/dev/null; then
			pass "$1: GENEVE left out, this kernel has none"
			return 0
		fi
		address_add "$ns" gn0 "10.12.0.$self/24"
		ip -n "$id-$ns" link set gn0 up
	done
	check "$1: GENEVE, TCP" tcp_exchange a b 10.12.0.2 "$exchanged"
	check "$1: GENEVE, UDP" udp 10.12.0.2 1200 40
	check "$1: GENEVE, ICMP in fragments" pings a 3 10.12.0.2 -s 8000
	ip -n "$id-a" link delete gn0
	ip -n "$id-b" link delete gn0
}

# Those of `options` are wrong on purpose: ten each time.
no_bad_checksums() { # WANTED-IN-B
	check_equal 'no bad checksum was received in a' 0 "$(bad_checksums a)"
	check_equal 'none in b but those made wrong' "$1" "$(bad_checksums b)"
}

topology
all tap tap noudpcsum
all tun tun udpcsum
no_bad_checksums 40
finish
