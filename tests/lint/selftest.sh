#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that the lints can fail: each is given a small tree with one fault.
set -euo pipefail

lint=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
spdx='/* SPDX-License-Identifier: Apache-2.0 */'
status=0

fresh_tree() {
	rm -rf "${tree:?}"/*
	mkdir -p "$tree"/{crypto,offload,overlay,agent/lane,tests}
	local folder
	for folder in crypto offload overlay agent/lane; do
		printf '%s\nint f(void);\n' "$spdx" >"$tree/$folder/${folder##*/}.h"
	done
}

# FILE gets the given lines below its licence line.
plant() { # FILE LINE...
	local file=$tree/$1
	shift
	printf '%s\n' "$spdx" "$@" >"$file"
}

expect() { # pass|fail WHAT COMMAND...
	local wanted=$1 what=$2 got=pass
	shift 2
	"$@" >"$tree/../selftest.$$" 2>&1 || got=fail
	rm -f "$tree/../selftest.$$"
	[ "$got" = "$wanted" ] || { echo "$what: expected $wanted, got $got"; status=1; }
	fresh_tree
}

layers_cases() {
	plant agent/lane/a.c '#include "lane.h"' '#include "crypto/crypto.h"' '#include <stdio.h>'
	expect pass 'lane includes crypto' "$lint/layers.sh" "$tree"
	plant crypto/a.c '#include "offload/offload.h"'
	expect fail 'crypto includes offload' "$lint/layers.sh" "$tree"
	plant overlay/a.c '#include "agent/lane/lane.h"'
	expect fail 'overlay includes upward' "$lint/layers.sh" "$tree"
	plant overlay/a.c '#include "../crypto/crypto.h"'
	expect fail 'overlay includes crypto through ..' "$lint/layers.sh" "$tree"
	plant offload/a.c '#include <stdlib.h>'
	expect fail 'offload allocates' "$lint/layers.sh" "$tree"
	plant crypto/a.c '#include <crypto/crypto.h>'
	expect fail 'own header in angle brackets' "$lint/layers.sh" "$tree"
	plant crypto/a.c '#include "nowhere.h"'
	expect fail 'unknown header in quotes' "$lint/layers.sh" "$tree"
}

style_cases() {
	expect pass 'clean tree' "$lint/style.sh" "$tree"
	echo 'int x;' >"$tree/crypto/a.c"
	expect fail 'no licence line' "$lint/style.sh" "$tree"
	plant crypto/a.c 'int x; '
	expect fail 'blank at the end' "$lint/style.sh" "$tree"
	plant crypto/a.c "/* $(printf '%0100d' 0) */"
	expect fail 'long line' "$lint/style.sh" "$tree"
	plant crypto/a.c "/* /$(printf home)/somebody/file */"
	expect fail 'a path of one machine' "$lint/style.sh" "$tree"
	plant crypto/a.c 'int f(void)' '{' "$(yes ';' | head -n 80)" '}'
	expect fail 'long function' "$lint/style.sh" "$tree"
	plant crypto/a.c "$(yes 'int x;' | head -n 700)"
	expect fail 'long file' "$lint/style.sh" "$tree"
}

compile_library() { # NAME LINE...
	local name=$1
	shift
	printf '%s\n' "$@" | cc -x c -c -o "$tree/a.o" -
	ar rcs "$tree/libsealane_$name.a" "$tree/a.o"
}

symbols_cases() {
	local clean='void *memcpy(void *, const void *, unsigned long); void *g(void *a, void *b, unsigned long n) { return memcpy(a, b, n); }'
	compile_library offload "$clean"
	compile_library crypto "$clean"
	expect pass 'memcpy' "$lint/symbols.sh" "$tree"
	compile_library crypto "$clean"
	compile_library offload '#include <stdlib.h>' 'void *g(void) { return malloc(3); }'
	expect fail 'malloc' "$lint/symbols.sh" "$tree"
	compile_library offload "$clean"
	compile_library crypto 'void crypto_box_keypair(void); void g(void) { crypto_box_keypair(); }'
	expect fail 'randomness' "$lint/symbols.sh" "$tree"
	expect fail 'no archive' "$lint/symbols.sh" "$tree"
}

# The files that names.sh compares, as they are, with one line more or less.
names_case() { # pass|fail WHAT FILE SED-SCRIPT
	local folder file
	for folder in agent/{lane,node,cli} offload packaging/{man,completion}; do
		mkdir -p "$tree/$folder"
	done
	for file in agent/{sealaned,sealane}.c agent/lane/{drop,stats}.h agent/lane/{capability,offloads}.c \
		agent/node/{agent,config_table}.c agent/cli/{cli,options,agent_doc}.c offload/policy.h \
		packaging/{sealaned.env,sealane-agent.env,completion/sealane.bash} \
		packaging/man/{sealaned.8,sealane.8,sealane.yaml.5}; do
		cp "$lint/../../$file" "$tree/$file"
	done
	sed -i "$4" "$tree/$3"
	expect "$1" "$2" "$lint/names.sh" "$tree"
}

names_cases() {
	names_case pass 'the names as they are' agent/lane/drop.h ''
	names_case fail 'a drop reason that is not told of' agent/lane/drop.h 's/X(REPLAY, "replay"/X(REPLAY, "replayed"/'
	names_case fail 'a counter that is not told of' agent/lane/stats.h 's/X(udp_reads/X(udp_receives/'
	names_case fail 'a variable that is not told of' offload/policy.h 's/SEALANE_DISABLE_ECN/SEALANE_DISABLE_MARKS/'
	names_case fail 'a capability that is not told of' agent/lane/capability.c 's/"large_buffers"/"buffers"/'
	names_case fail 'a counter that does not exist' packaging/man/sealaned.8 's/^[.]It Li udp_reads/&\n.It Li udp_rides/'
	names_case fail 'a variable that does not exist' packaging/sealaned.env '1i #SEALANE_DISABLE_ALL=1'
	names_case fail 'a switch missing from the file' packaging/sealaned.env '/SEALANE_DISABLE_SIMD/d'
	names_case fail 'a key without its variable in the file' packaging/sealane-agent.env '/SEALANE_LANE_MTU/d'
	names_case fail 'a variable of the agent that is not told of' agent/node/config_table.c 's/SEALANE_LANE_MTU/SEALANE_LANE_SIZE/'
	names_case fail 'a variable missing from the manual' packaging/man/sealane.yaml.5 '/SEALANE_LANE_MTU/d'
	names_case fail 'a variable that the agent does not read' packaging/sealane-agent.env '1i #SEALANE_LANE_NAME=x'
	names_case fail 'a command that is not told of' agent/cli/cli.c 's/{"drops", cmd/{"losses", cmd/'
	names_case fail 'a command missing from the completion' packaging/completion/sealane.bash 's/ drops / /; s/drops)/losses)/'
	names_case fail 'a command that does not exist' packaging/man/sealane.8 's/^[.]It Cm drops/&\n.It Cm top/'
	names_case fail 'an option that is not told of' agent/cli/options.c 's/{"force",/{"anyway",/'
	names_case fail 'an option that does not exist' packaging/man/sealane.8 's/^[.]It Fl -all/&\n.It Fl -none/'
}

fresh_tree
layers_cases
style_cases
symbols_cases
names_cases
exit "$status"
