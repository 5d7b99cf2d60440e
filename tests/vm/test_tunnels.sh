#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every UDP tunnel of the kernel over two lanes, in a virtual machine whose kernel
# passes tunnel superpackets through a TAP. The checks are in guest_tunnels.sh.
set -euo pipefail
# shellcheck source=tests/vm/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

kernel=${SEALANE_KERNEL:-$SEALANE_CACHE/kernels/unstable}
modules='tun veth vxlan geneve fou fou6 ipip sit ip_gre ip6_gre ip6_tunnel mpls_router mpls_iptunnel
	mpls_gso sch_ingress cls_bpf'

[ -d "$kernel" ] || skip 'needs a kernel: packaging/deps kernel=unstable'
need_programs
for program in tc clang gcc; do
	command -v "$program" >/dev/null || skip "needs $program"
done

# Debian's kernels have no bareudp: a BPF program does its work.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clang -O2 -target bpf -Wall -Werror -isystem "/usr/include/$(gcc -print-multiarch)" \
	-c "$repo/tests/vm/bareudp.bpf.c" -o "$work/bareudp.o"
guest_programs+=(tc "$work/bareudp.o" "BAREUDP=$work/bareudp.o")
run_guest tunnels "$kernel" "$modules" 540
