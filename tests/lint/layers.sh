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

# A name in quotes is relative to the file's folder, else to the root.
resolve() { # FOLDER NAME
	if [ -e "$root/$1/$2" ]; then
		realpath -m --relative-to="$root" "$root/$1/$2"
	elif [ -e "$root/$2" ]; then
		printf '%s\n' "$2"
	fi
}

check_quoted() { # FILE FOLDER LINE NAME
	local target allowed
	target=$(resolve "$2" "$4")
	[ -n "$target" ] || { complain "$1" "$3" "\"$4\" is no file of this repository (use <> for others)"; return 0; }
	for allowed in $(allowed_folders "$2"); do
		[ "$(dirname "$target")" != "$allowed" ] || return 0
	done
	complain "$1" "$3" "$2 must not include $target"
}

check_system() { # FILE FOLDER LINE NAME
	[ ! -e "$root/$4" ] || complain "$1" "$3" "<$4> is a file of this repository (use quotes)"
	[[ ! $4 =~ $(forbidden_headers "$2") ]] || complain "$1" "$3" "$2 must not know <$4>"
}

check_file() { # FILE
	local folder line name
	folder=$(dirname "$1")
	while IFS=: read -r line name; do
		case $name in
		\"*) name=${name#\"}; check_quoted "$1" "$folder" "$line" "${name%%\"*}" ;;
		\<*) name=${name#<}; check_system "$1" "$folder" "$line" "${name%%>*}" ;;
		*) complain "$1" "$line" 'an include that is neither "..." nor <...>' ;;
		esac
	done < <(sed -n 's/^[ \t]*#[ \t]*include[ \t]*\(.*\)/\1/;T;=;p' "$root/$1" | paste -d: - -)
}

cd "$root"
while read -r file; do
	check_file "$file"
done < <(find crypto offload overlay agent tests -name '*.[ch]' -type f 2>/dev/null | sort)
[ ! -s "$errors" ]
