#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The matrix of overlays (tests/netns/matrix_lib.sh) for the types that a machine's own kernel may
# lack, each kernel in a virtual machine: Geneve on those of Debian, bare UDP, which none
# of them has, on those of tests/vm/build-kernel. The lines are in guest_agent_matrix.sh.
set -euo pipefail
# shellcheck source=tests/vm/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

bin=$(dirname "$SEALANED")
guest_programs+=(jq curl ethtool "$bin/sealane-agent" "$bin/sealane")
need_programs
guest_programs+=("$repo/tests/netns/agent_lib.sh" "$repo/tests/netns/matrix_lib.sh")

suites=(bookworm trixie unstable)
for kernel in "$SEALANE_CACHE"/kernels/small-*; do
	[ ! -d "$kernel" ] || suites+=("${kernel##*/}")
done
[[ ${suites[*]} == *small-* ]] ||
	printf '%s\n' 'small: not in the cache, so no bareudp (tests/vm/build-kernel makes one)'
run_on_kernels agent_matrix 'tun veth vxlan geneve nf_tables sch_ingress cls_bpf' 300 "${suites[@]}"
