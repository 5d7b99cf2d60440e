#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks what formatters and compilers do not: licence lines, blanks, line, file
# and function lengths, and that nothing names one particular machine.
# usage: style.sh [ROOT]
set -euo pipefail

root=$(cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}" && pwd)
max_columns=100
max_function_lines=80
max_file_lines=700
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
cd "$root"

# Text files of the project, in a git checkout or an unpacked copy of it.
text_files() {
	{
		git -c safe.directory='*' ls-files --cached --others --exclude-standard 2>/dev/null ||
			find . -type f ! -path './.git/*' ! -path './build*' ! -path './.cache/*' -printf '%P\n'
	} | grep -Ev '^LICENSE$|/corpus/' | sort | while read -r file; do
		[ ! -f "$file" ] || printf '%s\n' "$file"
	done
}

is_c() { [[ $1 == *.[ch] ]]; }
is_code() {
	is_c "$1" || [[ $1 == *.cmake || ${1##*/} == CMakeLists.txt ]] || [ "$(head -c 2 "$1")" = '#!' ]
}

check_licence() {
	! is_code "$1" || head -n 3 "$1" | grep -q 'SPDX-License-Identifier: Apache-2.0' ||
		echo "$1:1: no SPDX-License-Identifier line among the first three"
}

check_blanks() {
	grep -nHE '[[:blank:]]+$' "$1" | sed 's/:\([0-9]*\):.*/:\1: blanks at the end of the line/' || true
	[ ! -s "$1" ] || [ -z "$(tail -c 1 "$1")" ] || echo "$1: no newline at the end"
}

check_machine() {
	grep -nHE "(^|[^[:alnum:]_.}/-])/(home|work|Users)/[[:alnum:]]" "$1" |
		sed 's/$/  <- a path of one machine/' || true
	grep -nHE '(deb|ftp|security|snapshot)[.]debian[.]org' "$1" |
		sed "s/\$/  <- a host that is the machine's own configuration's business/" || true
}

check_lengths() {
	is_code "$1" || return 0
	local lines
	lines=$(wc -l <"$1")
	[ "$lines" -le "$max_file_lines" ] || echo "$1: $lines lines, at most $max_file_lines"
	is_c "$1" || return 0
	expand -t 8 "$1" | awk -v f="$1" -v m="$max_columns" \
		'length($0) > m { print f ":" NR ": " length($0) " columns, at most " m }'
}

# A flat table or switch may be longer if a NOLINT comment above it says why.
check_functions() {
	is_c "$1" || return 0
	local name start end
	ctags --languages=C --kinds-C=f --fields=ne --sort=no -f - "$1" |
		sed -n 's/^\([^\t]*\)\t.*\tline:\([0-9]*\)\tend:\([0-9]*\).*/\1 \2 \3/p' |
		while read -r name start end; do
			[ $((end - start + 1)) -gt "$max_function_lines" ] || continue
			sed -n "$((start > 3 ? start - 3 : 1)),${start}p" "$1" |
				grep -qE 'NOLINT[A-Z]*\(readability-function-size\)' ||
				echo "$1:$start: $name() has $((end - start + 1)) lines, at most $max_function_lines"
		done
}

command -v ctags >/dev/null || { echo 'ctags is missing'; exit 1; }
while read -r file; do
	check_licence "$file"
	check_blanks "$file"
	check_machine "$file"
	check_lengths "$file"
	check_functions "$file"
done < <(text_files) | tee "$errors"
[ ! -s "$errors" ]
