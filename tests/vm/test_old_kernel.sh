#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sealaned with itself on the older kernels that it supports, each in a virtual
# machine. The checks are in guest_old_kernel.sh.
set -euo pipefail
# shellcheck source=tests/vm/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_programs
run_on_kernels old_kernel 'tun veth vxlan nf_tables' 100 bookworm trixie
