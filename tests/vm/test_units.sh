#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The systemd units, as they are installed, in a virtual machine whose first process
# is systemd. The checks are in guest_units.sh.
set -euo pipefail
# shellcheck source=tests/vm/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

build=$(dirname "$SEALANED")/..
guest_programs+=(find jq sort systemctl systemd-analyze)
need_programs
[ -x /lib/systemd/systemd ] || skip 'needs /lib/systemd/systemd'
[ -x /bin/kill ] || skip 'needs /bin/kill'

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
DESTDIR=$tree cmake --install "$build" >/dev/null

# One processor: the kernel patches itself whenever a packet socket comes or goes, which is
# often here, and an emulated second one may slip on that.
boot_options=(--systemd --tree "$tree" --cpus 1)
# What the agent's unit reloads it by.
guest_programs+=(/bin/kill)
run_on_kernels units 'tun veth vxlan sch_ingress cls_bpf' 300 trixie
