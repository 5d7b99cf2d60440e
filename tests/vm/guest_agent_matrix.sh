#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a virtual machine: the lines of the matrix of overlays (matrix_lib.sh) that are
# about the types that a machine's own kernel may lack. A kernel with bareudp is there for that.
# shellcheck disable=SC2034,SC2317 # the libraries use variables, and call functions by name
set -euo pipefail

# lib.sh asks for these; nothing here uses them, and they are large.
export WIREGUARD_GO_DEBIAN=true
python3() { false; }

# shellcheck source=tests/netns/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../netns/lib.sh"
# shellcheck source=tests/netns/agent_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../netns/agent_lib.sh"
# shellcheck source=tests/netns/matrix_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../netns/matrix_lib.sh"

matrix_stream=(-n 2M)
matrix_has_python=no
agents_up=60

# Where a kernel's release says nothing, a lane goes by this.
mkdir -p /var/lib/sealane
"$SEALANED" --probe || true # before 6.2 there is nothing to try

underlay_new
# However slow the machine is, TCP makes superpackets as long as it may.
for ns in a b; do
	at "$ns" sysctl -qw net.ipv4.tcp_tso_rtt_log=31 net.ipv4.tcp_min_tso_segs=32 \
		net.ipv4.tcp_early_retrans=0 net.ipv4.tcp_slow_start_after_idle=0
done
overlay_change port ipv4 default
check 'a port, to begin with' overlay_works
lane_learn
if kernel_has bareudp; then
	overlay_change geneve ipv4 default
	check 'geneve, in whose place bareudp comes' overlay_works
else
	type_matrix geneve
fi
type_matrix bareudp
finish
