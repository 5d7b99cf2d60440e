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

mapfile -t files < <(text_files)
c_files=() code_files=() other_files=()
for file in "${files[@]}"; do
	case $file in
	*.[ch]) c_files+=("$file") ;;
	*.cmake | CMakeLists.txt | */CMakeLists.txt) code_files+=("$file") ;;
	*) other_files+=("$file") ;;
	esac
done
mapfile -t scripts < <(printf '%s\0' "${other_files[@]}" | xargs -0r awk 'FNR == 1 && /^#!/ { print FILENAME }')
code_files+=("${c_files[@]}" "${scripts[@]}")

# A command per check, not per file: there are a thousand of those.
of_files() { # COMMAND... with the names from standard input behind it
	xargs -0r "$@" || true
}

named() { printf '%s\0' "$@"; }

check_licences() {
	local file
	for file in "${code_files[@]}"; do
		[ -s "$file" ] || echo "$file:1: no SPDX-License-Identifier line among the first three"
	done
	named "${code_files[@]}" | of_files awk '
		function judge() { if (name && !ok) print name ":1: no SPDX-License-Identifier line among the first three" }
		FNR == 1 { judge(); name = FILENAME; ok = 0 }
		FNR <= 3 && /SPDX-License-Identifier: Apache-2[.]0/ { ok = 1 }
		END { judge() }'
}

check_blanks() {
	local file
	named "${files[@]}" | of_files grep -nHE '[[:blank:]]+$' |
		sed 's/:\([0-9]*\):.*/:\1: blanks at the end of the line/'
	[ -n "$(named "${files[@]}" | of_files tail -qc 1 | tr -d '\n')" ] || return 0
	for file in "${files[@]}"; do
		[ -z "$(tail -c 1 "$file")" ] || echo "$file: no newline at the end"
	done
}

check_machine() {
	named "${files[@]}" | of_files grep -nHE "(^|[^[:alnum:]_.}/-])/(home|work|Users)/[[:alnum:]]" |
		sed 's/$/  <- a path of one machine/'
	named "${files[@]}" | of_files grep -nHE '(deb|ftp|security|snapshot)[.]debian[.]org' |
		sed "s/\$/  <- a host that is the machine's own configuration's business/"
}

check_lengths() {
	named "${code_files[@]}" | of_files awk -v m="$max_file_lines" '
		function judge() { if (n > m) print name ": " n " lines, at most " m }
		FNR == 1 { judge(); name = FILENAME }
		{ n = FNR }
		END { judge() }'
	# shellcheck disable=SC2016 # awk's own
	named "${c_files[@]}" | of_files awk -v m="$max_columns" '
		{
			columns = 0
			n = split($0, part, "\t")
			for (i = 1; i <= n; i++) {
				columns += length(part[i])
				if (i < n)
					columns += 8 - columns % 8
			}
		}
		columns > m { print FILENAME ":" FNR ": " columns " columns, at most " m }'
}

# A flat table or switch may be longer if a NOLINT comment above it says why.
check_functions() {
	local name file start end
	printf '%s\n' "${c_files[@]}" |
		ctags --languages=C --kinds-C=f --fields=ne --sort=no -f - -L - |
		sed -n 's/^\([^\t]*\)\t\([^\t]*\)\t.*\tline:\([0-9]*\)\tend:\([0-9]*\).*/\1\t\2\t\3\t\4/p' |
		while IFS=$'\t' read -r name file start end; do
			[ $((end - start + 1)) -gt "$max_function_lines" ] || continue
			sed -n "$((start > 3 ? start - 3 : 1)),${start}p" "$file" |
				grep -qE 'NOLINT[A-Z]*\(readability-function-size\)' ||
				echo "$file:$start: $name() has $((end - start + 1)) lines, at most $max_function_lines"
		done
}

command -v ctags >/dev/null || { echo 'ctags is missing'; exit 1; }
{
	check_licences
	check_blanks
	check_machine
	check_lengths
	check_functions
} | tee "$errors"
[ ! -s "$errors" ]
