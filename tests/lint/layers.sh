#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the direction of sight: which folder includes which, and which
# libraries' headers each folder may know.
# usage: layers.sh [ROOT]
set -euo pipefail

root=$(cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}" && pwd)
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT

complain() { printf '%s:%s: %s\n' "$1" "$2" "$3" | tee -a "$errors"; }

# The folders that files of FOLDER may include from.
allowed_folders() {
	case $1 in
	crypto | offload | overlay) echo "$1" ;;
	agent) echo 'agent agent/lane agent/node agent/cli agent/cni crypto offload overlay' ;;
	agent/lane) echo 'agent/lane crypto offload overlay' ;;
	agent/node) echo 'agent/node overlay offload' ;;
	agent/cli) echo 'agent/cli agent/node overlay' ;;
	agent/cni) echo 'agent/cni overlay' ;;
	tests/fuzz/lane) echo "$1 tests/unit/lane agent/lane crypto offload overlay" ;;
	tests/fuzz/node) echo "$1 agent/node overlay" ;;
	tests/fuzz/cni) echo "$1 agent/cni overlay" ;;
	tests/unit/node) echo "$1 agent/node overlay offload" ;;
	tests/unit/cli) echo "$1 agent/cli agent/node overlay" ;;
	tests/unit/cni) echo "$1 agent/cni overlay" ;;
	tests/unit/lane | tests/sim) echo "$1 agent/lane crypto offload overlay" ;;
	tests/unit/* | tests/fuzz/*) echo "$1 ${1##*/}" ;;
	tests/bench) echo "$1 agent/lane crypto offload" ;;
	tests/platform) echo "$1 tests/unit/offload offload overlay" ;;
	*) echo "$1" ;;
	esac
}

# System headers that files of FOLDER must not know: what its layer has no use
# for (I/O, clocks, allocation in the pure folders) and other layers' libraries.
forbidden_headers() {
	local impure='^(stdio|stdlib|time|unistd|fcntl|signal|pthread|poll)\.h$|^(sys|net|netinet|arpa)/'
	case $1 in
	crypto) echo "$impure|^linux/|^(uv|cmocka)\.h$|^libmnl/" ;;
	offload) echo "$impure|^(sodium|uv|cmocka)\.h$|^libmnl/" ;;
	overlay) echo '^(sodium|uv|cmocka)\.h$' ;;
	agent*) echo '^cmocka\.h$|^libmnl/' ;;
	*) echo '^$' ;;
	esac
}

# Both are asked for once a folder: there are thousands of includes.
declare -A allowed=() forbidden=()
look_up() { # FOLDER
	[ -z "${allowed[$1]:-}" ] || return 0
	allowed[$1]=" $(allowed_folders "$1") "
	forbidden[$1]=$(forbidden_headers "$1")
}

# Sets $target. A name in quotes is relative to the file's folder, else to the root.
resolve() { # FOLDER NAME
	target=
	if [ -e "$1/$2" ]; then
		target=$1/$2
		[[ $target != *./* ]] || target=$(realpath -m --relative-to=. "$target")
	elif [ -e "$2" ]; then
		target=$2
	fi
}

check_quoted() { # FILE FOLDER LINE NAME
	local target
	resolve "$2" "$4"
	[ -n "$target" ] || { complain "$1" "$3" "\"$4\" is no file of this repository (use <> for others)"; return 0; }
	[[ ${allowed[$2]} == *" ${target%/*} "* ]] || complain "$1" "$3" "$2 must not include $target"
}

check_system() { # FILE FOLDER LINE NAME
	[ ! -e "$4" ] || complain "$1" "$3" "<$4> is a file of this repository (use quotes)"
	[[ ! $4 =~ ${forbidden[$2]} ]] || complain "$1" "$3" "$2 must not know <$4>"
}

check_include() { # FILE LINE NAME, with what is around that
	local folder=${1%/*} name=$3
	look_up "$folder"
	case $name in
	\"*) name=${name#\"}; check_quoted "$1" "$folder" "$2" "${name%%\"*}" ;;
	\<*) name=${name#<}; check_system "$1" "$folder" "$2" "${name%%>*}" ;;
	*) complain "$1" "$2" 'an include that is neither "..." nor <...>' ;;
	esac
}

cd "$root"
while IFS=: read -r file line name; do
	check_include "$file" "$line" "$name"
done < <(find crypto offload overlay agent tests -name '*.[ch]' -type f -print0 2>/dev/null | sort -z |
	xargs -0r grep -nHE '^[[:blank:]]*#[[:blank:]]*include' |
	sed 's/^\([^:]*:[0-9]*:\)[[:blank:]]*#[[:blank:]]*include[[:blank:]]*/\1/')
[ ! -s "$errors" ]
