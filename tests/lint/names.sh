#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that whoever looks a name up finds it: every drop reason, counter,
# capability and environment variable of the code is in the manual, every switch
# in packaging/sealaned.env or sealane-agent.env, every command and option of sealane
# in its manual and completion, and none tells of one that the code does not have.
# usage: names.sh [ROOT]
set -euo pipefail

root=$(cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}" && pwd)
manual=$root/packaging/man/sealaned.8
env_file=$root/packaging/sealaned.env
status=0

complain() { printf '%s\n' "$*"; status=1; }

# The lines X(...) of one list of a header.
list_rows() { # FILE LIST
	sed -n "/^#define $2(X)/,/[^\\\\]\$/p" "$root/$1" | grep -E '^[[:blank:]]*X\('
}

# Field N (from 1) of the rows; fields in quotes lose them.
list_field() { # FILE LIST N
	list_rows "$1" "$2" | sed 's/^[[:blank:]]*X(//' | awk -F', *' -v n="$3" '{ print $n }' |
		sed 's/").*//; s/"//g'
}

variables() {
	list_field offload/policy.h OFFLOAD_LIST 3 | tr ' ' '\n'
	grep -ohE 'getenv\("[A-Z_]+"\)|env_fd\("[A-Z_]+"' "$root"/agent/*.c "$root"/agent/lane/*.c |
		grep -oE '[A-Z_]{3,}'
}

# Names as an item or a table row of the manual has them.
manual_has() { grep -qE "^\.(It|Ta|Ev|Li).*[ \"]$1( |\"|\$)" "$manual"; }

check_manual() { # KIND NAME...
	local kind=$1 name
	shift
	[ $# -gt 0 ] || complain "no $kind was found in the code: has a list been renamed?"
	for name in "$@"; do
		manual_has "$name" || complain "packaging/man/sealaned.8: no $kind $name"
	done
}

# Of the manual's items below a heading, those that the code does not know.
check_unknown() { # KIND HEADING NAME...
	local kind=$1 heading=$2 item
	shift 2
	while read -r item; do
		grep -qxF "$item" <(printf '%s\n' "$@") ||
			complain "packaging/man/sealaned.8: the code has no $kind $item"
	done < <(sed -n "/^\.S[hs] $heading\$/,/^\.S[hs] /p" "$manual" | sed -nE 's/^\.It (Cm|Li|Ev) ([A-Za-z0-9_]+).*/\2/p')
}

check_env_file() {
	local name known
	known=$(variables | sort -u)
	while read -r name; do
		case $name in
		SEALANE_* | TS_*) ;;
		*) continue ;;
		esac
		grep -qE "^#?$name=" "$env_file" || [[ $name == TS_* ]] && continue
		complain "packaging/sealaned.env: no $name"
	done <<<"$known"
	while read -r name; do
		grep -qxF "$name" <<<"$known" || complain "packaging/sealaned.env: the code does not read $name"
	done < <(sed -nE 's/^#?([A-Z_]+)=.*/\1/p' "$env_file")
}

# The agent's side: SEALANE_ variables as its sources and the command's have them, whole in
# quotes; they are in one of the env files and in one of the manuals.
agent_variables() {
	grep -ohE '"(SEALANE_[A-Z_]+|LOG_LEVEL)"' "$root"/agent/*.c "$root"/agent/node/*.c "$root"/agent/cli/*.c |
		tr -d '"' | sort -u
}

check_agent() {
	local name agent_env=$root/packaging/sealane-agent.env known
	known=$(agent_variables)
	while read -r name; do
		grep -qsE "^#?$name=" "$agent_env" "$env_file" || complain "packaging/sealane-agent.env: no $name"
		grep -qsE "^\.(It )?Ev (.* )?$name( |\$)" "$root"/packaging/man/*.[58] ||
			complain "packaging/man: no environment variable $name"
	done <<<"$known"
	while read -r name; do
		grep -qxF "$name" <<<"$known" || complain "packaging/sealane-agent.env: the code does not read $name"
	done < <(sed -nE 's/^#?([A-Z_]+)=.*/\1/p' "$agent_env")
}

# Words of a list of quoted strings that end in the first field of a row.
check_words() { # KIND PREFIX PATTERN WORD...
	local kind=$1 prefix=$2 pattern=$3 word item page=$root/packaging/man/sealane.8
	local completion=$root/packaging/completion/sealane.bash
	shift 3
	[ $# -gt 0 ] || complain "no $kind was found in the code: has its table been renamed?"
	for word in "$@"; do
		grep -qE "^\.It $pattern$word( |\$)" "$page" || complain "packaging/man/sealane.8: no $kind $word"
		grep -qE "[' |]${prefix}${word}[' |)]" "$completion" || complain "packaging/completion/sealane.bash: no $kind $word"
	done
	while read -r item; do
		grep -qxF -e "$item" <(printf '%s\n' "$@") || complain "packaging/man/sealane.8: the code has no $kind $item"
	done < <(sed -n '/^\.Sh DESCRIPTION$/,/^\.Sh WHAT/p' "$page" | sed -nE "s/^\.It $pattern([a-z-]+)( .*)?\$/\2/p")
}

check_command() {
	local commands options
	mapfile -t commands < <(sed -nE 's/^[[:blank:]]*\{"([a-z]+)", cmd_.*/\1/p' "$root/agent/cli/cli.c")
	mapfile -t options < <(sed -nE 's/^[[:blank:]]*\{"([a-z-]+)", .*OPTION_.*/\1/p' "$root/agent/cli/options.c")
	check_words command '' '(Cm )' "${commands[@]}"
	check_words option -- '(Fl -|Fl . , Fl -)' "${options[@]}"
}

mapfile -t drops < <(list_field agent/lane/drop.h DROP_LIST 2)
mapfile -t stats < <(list_field agent/lane/stats.h STATS_LIST 1)
mapfile -t offloads < <(list_field offload/policy.h OFFLOAD_LIST 2)
mapfile -t others < <(grep -ohE '[a-z_]*note[a-z_]*\(([^,"]+, )+"[a-z0-9_]+"' "$root"/agent/lane/*.c |
	sed 's/.*"\(.*\)"/\1/')
mapfile -t environment < <(variables | sort -u)

check_manual 'drop reason' "${drops[@]}"
check_manual counter "${stats[@]}"
check_manual capability "${offloads[@]}" "${others[@]}"
check_manual 'environment variable' "${environment[@]}"
check_unknown 'drop reason' 'Drop reasons' "${drops[@]}"
check_unknown counter Counters "${stats[@]}"
check_unknown capability Capabilities "${offloads[@]}" "${others[@]}"
check_unknown 'environment variable' ENVIRONMENT "${environment[@]}"
check_env_file
check_agent
check_command
exit "$status"
