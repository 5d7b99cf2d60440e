#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The matrix of overlays (matrix_lib.sh) on this machine's kernel: a result for every line,
# also of the types that it lacks.
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=agent_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/agent_lib.sh"
# shellcheck source-path=SCRIPTDIR source=matrix_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/matrix_lib.sh"

underlay_new
overlay_change port ipv4 default
check 'a port, to begin with' overlay_works
lane_learn
for type in port vxlan geneve bareudp; do
	type_matrix "$type"
done
finish
