#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sealaned against the kernel's WireGuard, in a virtual machine whose kernel has
# it. The checks are in guest_kernel_wireguard.sh.
set -euo pipefail
# shellcheck source=tests/vm/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

kernel=${SEALANE_KERNEL:-$SEALANE_CACHE/kernels/unstable}
[ -d "$kernel" ] || skip 'needs a kernel: packaging/deps kernel=unstable'
need_programs
run_guest kernel_wireguard "$kernel" 'tun veth vxlan wireguard nf_tables' 420
