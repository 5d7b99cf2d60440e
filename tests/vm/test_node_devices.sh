#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The kernel's devices of a node on every kernel that we know, each in a virtual
# machine: made, read back and compared with what ip(8) shows, by the unit tests
# themselves. No packaged kernel has bare UDP; those of tests/vm/build-kernel do.
set -euo pipefail
# shellcheck source=tests/vm/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

programs=()
for name in tunnel bigtcp veth; do
	programs+=("$(realpath -m "$(dirname "$SEALANED")/../tests/unit_overlay_test_$name")")
done

guest_programs=(grep "${programs[@]}")
need_programs
guest_programs+=("PROGRAMS=${programs[*]}" 'KINDS=vxlan geneve veth bridge')
suites=(bookworm trixie unstable)
for kernel in "$SEALANE_CACHE"/kernels/small-*; do
	[ ! -d "$kernel" ] || suites+=("${kernel##*/}")
done
[[ ${suites[*]} == *small-* ]] ||
	printf '%s\n' 'small: not in the cache, so no bareudp (tests/vm/build-kernel makes one)'
run_on_kernels node_devices 'veth bridge vxlan geneve' 200 "${suites[@]}"
