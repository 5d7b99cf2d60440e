#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that the pure libraries call nothing but what symbols.allow lists: no
# allocation, no clock, no output, no system call can hide behind a helper.
# usage: symbols.sh BUILD_DIRECTORY
set -euo pipefail

build=${1:?usage: symbols.sh BUILD_DIRECTORY}
list=$(dirname "${BASH_SOURCE[0]}")/symbols.allow

# What the archive's members need and none of them defines.
undefined_symbols() { # ARCHIVE
	comm -23 <(nm -u "$1" | awk '$1 == "U" || $1 == "w" { print $2 }' | sort -u) \
		<(nm --defined-only -g "$1" | awk 'NF == 3 { print $3 }' | sort -u)
}

# The last line of the list that matches decides, so that a "-" line can take
# back a part of what a pattern above it gave.
is_allowed() { # LIBRARY SYMBOL
	local library pattern rest verdict=1
	while read -r library pattern rest; do
		[[ $library == "$1" || $library == all ]] || continue
		# shellcheck disable=SC2053 # the list holds patterns
		[[ $2 == ${pattern#-} ]] || continue
		if [[ $pattern == -* ]]; then verdict=1; else verdict=0; fi
	done <"$list"
	return "$verdict"
}

check_library() { # LIBRARY
	local archive=$build/libsealane_$1.a symbol bad=0
	[ -e "$archive" ] || { echo "$archive does not exist"; return 1; }
	while read -r symbol; do
		is_allowed "$1" "$symbol" || { echo "$1 must not use $symbol"; bad=1; }
	done < <(undefined_symbols "$archive")
	return "$bad"
}

status=0
for library in crypto offload; do
	check_library "$library" || status=1
done
exit "$status"
