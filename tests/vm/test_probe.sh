#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The functional probe on other kernels than the host's, each in a virtual machine:
# it must agree with what is known of their releases. The checks are in
# guest_probe.sh.
set -euo pipefail
# shellcheck source=tests/vm/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_programs
n_ran=0 n_failed=0
missing=()
for suite in bookworm trixie unstable; do
	kernel=$SEALANE_CACHE/kernels/$suite
	if [ ! -d "$kernel" ]; then
		printf '%s: not in the cache\n' "$suite"
		missing+=("kernel=$suite")
		continue
	fi
	printf '%s\n' "---- $suite"
	n_ran=$((n_ran + 1))
	run_guest probe "$kernel" 'tun vxlan' 100 || n_failed=$((n_failed + 1))
done
[ "$n_failed" = 0 ] || exit 1
[ "$n_ran" -gt 0 ] || skip "needs a kernel: packaging/deps ${missing[*]}"
