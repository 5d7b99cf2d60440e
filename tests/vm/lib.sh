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
boot_options=() # of tests/vm/boot, besides those that all have

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

boot_guest() { # CONSOLE NAME KERNEL_TREE MODULES SECONDS
	"$repo/tests/vm/boot" "${boot_options[@]}" --console "$1" --modules "$4" --timeout "$5" \
		"$3" "$repo/tests/vm/guest_$2.sh" "$repo/tests/netns/lib.sh" \
		"$SEALANED" "${guest_programs[@]}" "SEALANED=$SEALANED"
}

# A kernel patches its own code while it runs; where qemu emulates, the other CPU may see half of
# that, and the kernel ends with an int3 that nobody set.
emulation_slipped() { grep -q 'Oops: int3' "$1"; }

# Ends this script with the guest's status. A skip in there is a failure: what
# the guest needs was looked for here.
run_guest() { # NAME KERNEL_TREE MODULES SECONDS
	local status=0 console _
	console=$(mktemp)
	for _ in 1 2 3; do
		status=0
		boot_guest "$console" "$@" || status=$?
		emulation_slipped "$console" || break
		printf '%s\n' "the emulation of the machine slipped (int3)"
	done
	if kernel_complaints "$console"; then
		printf 'FAIL the kernel complains\n'
		status=1
	fi
	[ "$status" = 0 ] || keep_console "$console" "$1.${2##*/}"
	rm -f "$console"
	return "$((status ? 1 : 0))"
}

# The guest on the kernel of each suite. Ends this script with a failure if it failed
# on one, and skips if there is none of them.
run_on_kernels() { # NAME MODULES SECONDS SUITE...
	local name=$1 modules=$2 seconds=$3 suite kernel n_ran=0 n_failed=0 missing=()
	shift 3
	for suite in "$@"; do
		kernel=$SEALANE_CACHE/kernels/$suite
		[ "$suite" != unstable ] || kernel=${SEALANE_KERNEL:-$kernel}
		if [ ! -d "$kernel" ]; then
			printf '%s: not in the cache\n' "$suite"
			missing+=("kernel=$suite")
			continue
		fi
		printf '%s\n' "---- $suite"
		n_ran=$((n_ran + 1))
		run_guest "$name" "$kernel" "$modules" "$seconds" || n_failed=$((n_failed + 1))
	done
	[ "$n_failed" = 0 ] || exit 1
	[ "$n_ran" -gt 0 ] || skip "needs a kernel: packaging/deps ${missing[*]}"
}

kernel_complaints() { # CONSOLE
	grep -E 'BUG:|Oops|WARNING:|Kernel panic|general protection|Out of memory' "$1"
}

keep_console() { # CONSOLE NAME
	mkdir -p "$SEALANE_LOGS"
	cp "$1" "$SEALANE_LOGS/vm.$2.console"
	printf "the kernel's messages: %s\n" "$SEALANE_LOGS/vm.$2.console"
}
