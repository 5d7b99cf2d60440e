#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the tests of this folder share; each sources it first. A test_NAME.sh runs
# on the host, and has guest_NAME.sh run by a virtual machine.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
SEALANED=$(realpath "${SEALANED:-$repo/build/bin/sealaned}")
SEALANE_CACHE=${SEALANE_CACHE:-$repo/.cache}
SEALANE_LOGS=${SEALANE_LOGS:-$repo/build-test/logs}

# What tests/netns/lib.sh runs and busybox has not, or has in another way (its env and timeout
# would prefer its own ip to the real one).
guest_programs=(awk date env grep iperf3 nft nstat ping sed socat ss tcpdump timeout wg)

skip() { # REASON
	printf '%s\n' "$1"
	exit 77
}

need_programs() {
	local program
	for program in "$SEALANED" qemu-system-x86_64 busybox cpio xz zstd ip "${guest_programs[@]}"; do
		command -v "$program" >/dev/null || skip "needs $program"
	done
}

# Ends this script with the guest's status. A skip in there is a failure: what
# the guest needs was looked for here.
run_guest() { # NAME KERNEL_TREE MODULES SECONDS
	local status=0 console
	console=$(mktemp)
	"$repo/tests/vm/boot" --console "$console" --modules "$3" --timeout "$4" \
		"$2" "$repo/tests/vm/guest_$1.sh" "$repo/tests/netns/lib.sh" \
		"$SEALANED" "${guest_programs[@]}" "SEALANED=$SEALANED" || status=$?
	if kernel_complaints "$console"; then
		printf 'FAIL the kernel complains\n'
		status=1
	fi
	[ "$status" = 0 ] || keep_console "$console" "$1.${2##*/}"
	rm -f "$console"
	return "$((status ? 1 : 0))"
}

kernel_complaints() { # CONSOLE
	grep -E 'BUG:|Oops|WARNING:|Kernel panic|general protection|Out of memory' "$1"
}

keep_console() { # CONSOLE NAME
	mkdir -p "$SEALANE_LOGS"
	cp "$1" "$SEALANE_LOGS/vm.$2.console"
	printf "the kernel's messages: %s\n" "$SEALANE_LOGS/vm.$2.console"
}
