#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The wall clock of a node is set forth and back by hours: only a machine of its own has one to
# set. The checks are in guest_clock.sh.
set -euo pipefail
# shellcheck source=tests/vm/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

bin=$(dirname "$SEALANED")
guest_programs+=(jq curl pgrep "$bin/sealane-agent" "$bin/sealane")
need_programs
guest_programs+=("$repo/tests/netns/agent_lib.sh")
run_on_kernels clock 'tun veth nf_tables sch_ingress cls_bpf' 200 trixie
