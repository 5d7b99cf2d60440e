#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# VXLAN ports of the lane on other kernels than this machine's: the oldest that is
# supported, the one in between, and the newest, each in a virtual machine. The
# checks are in guest_ports.sh.
set -euo pipefail
# shellcheck source=tests/vm/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

guest_programs+=(comm)
need_programs
guest_programs+=("$repo/tests/netns/port_lib.sh" "$repo/packaging/sealane-port")
run_on_kernels ports 'tun veth vxlan af_packet nf_tables sch_ingress cls_bpf' 280 bookworm trixie unstable
