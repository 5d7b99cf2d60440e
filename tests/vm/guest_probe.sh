#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a virtual machine: the functional probe, and what a lane says of its
# release. Debian's kernels since 6.1.85 and 6.9 do not lose superpackets; before 6.2
# no TUN could give them any.
set -euo pipefail

# lib.sh asks for these; nothing here uses them, and they are large.
export WIREGUARD_GO_DEBIAN=true
python3() { false; }

# shellcheck source=tests/netns/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../netns/lib.sh"

file=/var/lib/sealane/kernel-probe

probe() {
	status=0
	said=$("$SEALANED" --probe) || status=$?
	printf '%s\n' "$said"
}

capability() { control_get "$A" | sed -n "s/^capability=$1 //p"; } # NAME

has_no_superpackets() {
	check_equal 'the probe is not possible' 1 "$status"
	check 'and says why' grep -q ': not possible: .* no UDP superpackets' <<<"$said"
	check_equal 'nothing is kept' '' "$(ls /var/lib/sealane 2>/dev/null || true)"
	check 'a lane merges none, for the same reason' grep -q '^off .*6[.]2' <<<"$(capability encap_udp_gro)"
}

is_fixed() {
	check_equal 'the probe passes' 0 "$status"
	check 'and says so' grep -q ': passed: 4 of the 4 ' <<<"$said"
	check_equal 'it is kept' "passed	$(uname -r)	$(uname -v)" "$(tail -n 1 "$file")"
	check 'the number says the same' grep -q '^on fixed in ' <<<"$(capability encap_udp_gro)"
}

uname -rv
mkdir -p /var/lib
ns_new a
probe
daemon_start tun a "$A"
printf 'encap_udp_gro %s\n' "$(capability encap_udp_gro)"
case $(uname -r) in
[1-5].* | 6.[01].*) has_no_superpackets ;;
*) is_fixed ;;
esac
daemon_stop "$A"
finish
