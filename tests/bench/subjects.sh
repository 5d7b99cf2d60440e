# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # names for and of bench/run and lib.sh
# What bench/run compares: ways from one namespace to another. Several ways may be of
# one pair of namespaces and its two daemons.

subjects=()
declare -A pair_of address_of baseline_of meaning_of
declare -A program_of environment_of # by pair; no program: no tunnel
declare -A absent=()                 # by subject: why

subject() { # NAME PAIR ADDRESS BASELINE MEANING
	subjects+=("$1")
	pair_of[$1]=$2 address_of[$1]=$3 baseline_of[$1]=$4 meaning_of[$1]=$5
}

tunnel_pair() { # PAIR PROGRAM [NAME=VALUE...]
	program_of[$1]=$2
	environment_of[$1]="${*:3}"
}

no_superpackets='SEALANE_DISABLE_VNET_HDR=1 SEALANE_DISABLE_UDP_GSO=1 SEALANE_DISABLE_UDP_GRO=1'

# shellcheck disable=SC2086 # words of an environment
define_subjects() {
	tunnel_pair g "$WIREGUARD_GO"
	tunnel_pair h "$WIREGUARD_GO"
	tunnel_pair s "$SEALANED"
	tunnel_pair t "$SEALANED" SEALANE_DEVICE=tun
	tunnel_pair o "$SEALANED" SEALANE_DISABLE_TUNNEL_GSO=1
	tunnel_pair f "$SEALANED" $no_superpackets
	tunnel_pair p1 "$SEALANED"
	tunnel_pair p6 "$SEALANED" SEALANE_DISABLE_BIG_TCP=1
	tunnel_pair pc "$SEALANED"
	tunnel_pair pt "$SEALANED" SEALANE_PORT=tap
	tunnel_pair pn "$SEALANED" SEALANE_DISABLE_TUNNEL_GSO=1
	tunnel_pair pf "$SEALANED" $no_superpackets
	tunnel_pair p0 "$SEALANED_NULL"

	subject wireguard-go g 10.9.0.2 wireguard-go 'wireguard-go, plain'
	subject sealane s 10.9.0.2 wireguard-go 'sealaned, plain'
	subject sealane-tun t 10.9.0.2 wireguard-go 'sealaned with a TUN, plain'
	subject bare v 192.0.2.2 wireguard-go 'the veth itself'
	subject wireguard-go-vxlan g 10.10.0.2 wireguard-go-vxlan "the kernel's VXLAN over wireguard-go"
	subject sealane-vxlan s 10.10.0.2 wireguard-go-vxlan "the kernel's VXLAN over sealaned's TAP"
	subject sealane-old o 10.10.0.2 wireguard-go-vxlan \
		'the same without tunnel superpackets, as on a kernel before 6.17'
	subject port-64k p6 "$port_address" wireguard-go-vxlan 'a VXLAN port of sealaned, superpackets up to 64 KB'
	subject port-192k p1 "$port_address" wireguard-go-vxlan 'a VXLAN port of sealaned, up to 192 KB'
	subject bare-vxlan v 10.8.0.2 wireguard-go-vxlan "the kernel's VXLAN over the veth"

	subject port-null p0 "$port_address" wireguard-go-vxlan 'port-192k without the cipher'
	subject port-tap pt "$port_address" wireguard-go-vxlan 'a VXLAN port that is a TAP'
	subject port-no-tunnel pn "$port_address" wireguard-go-vxlan 'port-192k without tunnel superpackets'
	subject port-csum pc "$port_address" wireguard-go-vxlan 'port-192k with outer UDP checksums'
	subject port-nooffload pf "$port_address" wireguard-go-vxlan 'a VXLAN port without superpackets'
	subject sealane-vxlan-csum s 10.12.0.2 wireguard-go-vxlan 'sealane-vxlan with outer UDP checksums'
	subject sealane-nooffload f 10.9.0.2 wireguard-go 'sealaned without superpackets, plain'
	subject sealane-vxlan-nooffload f 10.10.0.2 wireguard-go-vxlan 'sealane-vxlan without superpackets'
	subject wireguard-go-vxlan-csum g 10.12.0.2 wireguard-go-vxlan \
		'wireguard-go-vxlan with outer UDP checksums'
	subject wireguard-go-vxlan-nooffload h 10.10.0.2 wireguard-go-vxlan \
		'wireguard-go-vxlan, its TUN without superpackets'
	subject bare-vxlan-csum v 10.13.0.2 wireguard-go-vxlan 'bare-vxlan with outer UDP checksums'
	subject bare-vxlan-nooffload w 10.8.0.2 wireguard-go-vxlan 'bare-vxlan, veth and VXLAN without superpackets'
}

paths=(wireguard-go sealane sealane-tun bare
	wireguard-go-vxlan sealane-vxlan sealane-old port-64k port-192k bare-vxlan)
variants=(wireguard-go-vxlan wireguard-go-vxlan-csum wireguard-go-vxlan-nooffload
	sealane-vxlan sealane-vxlan-csum sealane-vxlan-nooffload sealane-nooffload
	port-192k port-csum port-null port-tap port-no-tunnel port-nooffload
	bare-vxlan bare-vxlan-csum bare-vxlan-nooffload)
tunnels=(wireguard-go sealane wireguard-go-vxlan sealane-vxlan sealane-old port-64k port-192k)
programs=(wireguard-go sealane)

# A port at each end, beside the kernel's VXLAN, under a VNI of its own.
ports_new() { # PAIR
	local side n checksum=false
	[ "$1" != pc ] || checksum=true
	for side in a b; do
		n=1
		[ "$side" = a ] || n=2
		at "$1$side" "$repo/packaging/sealane-port" "$(tunnel_device "$1$side")" add ov0 vtep "10.9.0.$n" \
			udp_port 4790 vni 77 checksum "$checksum" flood "10.9.0.$((3 - n))"
		end_up "$1$side" ov0 "10.11.0.$n" "$((tunnel_mtu - vxlan_overhead))"
		ip -n "$id-$1$side" address add "fd11::$n/64" dev ov0 nodad
	done
}

superpackets_off() { # PAIR DEVICE-A DEVICE-B
	at "$1a" ethtool -K "$2" tso off gso off gro off >/dev/null
	at "$1b" ethtool -K "$3" tso off gso off gro off >/dev/null
}

bare_new() { # PAIR
	pair_new "$1"
	vxlan_new "$1" vx0 u0 u0 192.0.2 10.8.0 $((underlay_mtu - vxlan_overhead))
	vxlan_new "$1" vx3 u0 u0 192.0.2 10.13.0 $((underlay_mtu - vxlan_overhead)) udpcsum
	[ "$1" != w ] || { superpackets_off w u0 u0; superpackets_off w vx0 vx0; }
}

declare -A pair_made=()

pair_make() { # PAIR
	[ -z "${pair_made[$1]:-}" ] || return 0
	pair_made[$1]=yes
	case $1 in
	v | w) bare_new "$1"; return ;;
	esac
	pair_new "$1"
	# shellcheck disable=SC2086 # words of an environment
	tunnel_new "$1" "${program_of[$1]}" ${environment_of[$1]}
	case $1 in
	p*) ports_new "$1" ;;
	h) superpackets_off h "$(tunnel_device ha)" "$(tunnel_device hb)" ;;
	esac
}

# Makes what a subject needs, or notes why it is not there.
subject_make() { # NAME
	local pair=${pair_of[$1]} program
	program=${program_of[$pair]:-}
	if [ -n "$program" ] && ! command -v "$program" >/dev/null; then
		absent[$1]="no program $program"
		return
	fi
	pair_make "$pair"
	eventually 15 is_reached "$pair" "${address_of[$1]}" || absent[$1]="no way to ${address_of[$1]}"
}

# What a port counted so far: bytes and frames read at the sender's, bytes and frames
# written at the receiver's. Nothing where there is no port.
port_counts() { # PAIR
	local way=in side
	[[ $1 == p* ]] || return 0
	for side in a b; do
		control_get "$(tunnel_device "$1$side")" | awk -v way="$way" '
			/^port_stat=/ { sub("^port_stat=", ""); n[$1] = $2 }
			END { printf "%.0f %.0f ", n["bytes_" way], n["frames_" way] }'
		way=out
	done
}
