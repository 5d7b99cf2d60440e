# SPDX-License-Identifier: Apache-2.0
# Completion of sealane(8) for bash, for the folder of bash-completion or a shell's `source`.

_sealane_lanes() {
	local socket name
	for socket in /run/sealane/*.sock; do
		[ -S "$socket" ] || continue
		name=${socket##*/}
		name=${name%.sock}
		[ "$name" = agent ] || printf '%s\n' "$name"
	done
}

_sealane() {
	local word=${COMP_WORDS[COMP_CWORD]} words=''
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		words='status peers drops doctor genkey pubkey cleanup version --help --version'
	elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == @(--lane|-l) ]]; then
		words=$(_sealane_lanes)
	else
		case ${COMP_WORDS[1]} in
		status | peers) words='--json --lane --help' ;;
		drops) words='--all --json --lane --help' ;;
		doctor) words='--json --lane --verbose --help' ;;
		genkey | pubkey | version) words='--json --help' ;;
		cleanup) words='--dry-run --force --json --verbose --help' ;;
		esac
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -F _sealane sealane
