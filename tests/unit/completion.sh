#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: completion.sh KPROBE_LUA_BASH KPROBE_LUA_1 KPROBE_LUA
# Bash's completion and the manual page have what the command takes.
set -u
_kprobe_lua_command=$3
# shellcheck source=/dev/null
source "$1"
failed=0
# `complete_to WORDS… -- EXPECTED…`: the last word is completed, and all that is expected is offered.
complete_to() {
    COMP_WORDS=(kprobe-lua)
    while [ "$1" != -- ]; do COMP_WORDS+=("$1"); shift; done
    shift
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _kprobe_lua
    for word; do
        printf '%s\n' "${COMPREPLY[@]}" | grep -Fxq -- "$word" && continue
        echo "${COMP_WORDS[*]}: no '$word' in: ${COMPREPLY[*]}"
        failed=1
    done
}
cd "$(mktemp -d)" && touch own.lua other.txt && mkdir sub
complete_to --ti -- --timeout
complete_to "" -- bench disasm list doctor help knobs own.lua sub
complete_to -f "" -- text json folded
complete_to --color n -- never
complete_to -o oth -- other.txt
complete_to list b -- blacklist
complete_to list --l -- --lua
complete_to "" -- tools opensnoop funccount
complete_to openb -- && [ "${#COMPREPLY[@]}" = 0 ] || { echo "openb: ${COMPREPLY[*]}"; failed=1; }
complete_to -f json opensnoop --fa -- --failed
[ "$(complete -p opensnoop-kpl)" = 'complete -F _kprobe_lua_kpl opensnoop-kpl' ] || { echo "no completion of opensnoop-kpl"; failed=1; }
COMP_WORDS=(opensnoop-kpl --fa) COMP_CWORD=1
_kprobe_lua_kpl opensnoop-kpl
[ "${COMPREPLY[*]}" = --failed ] || { echo "opensnoop-kpl --fa: ${COMPREPLY[*]}"; failed=1; }
function=$(awk '$2 == "T" && $3 ~ /^vfs_/ { print $3; exit }' /proc/kallsyms)
if [ -n "$function" ]; then
    complete_to disasm "${function%?}" -- "$function"
    complete_to -l "${function%?}" -- "$function"
fi
# All that --help names is in both.
"$3" --help | sed -n 's/^  \(-.*\)/\1/p' | sed 's/   .*//' | grep -oE -- '(^| |,)--?[a-zA-Z][a-z-]*' | tr -d ' ,' | sort -u > options
[ "$(wc -l < options)" -gt 25 ] || { echo "few options: $(cat options)"; failed=1; }
sed 's/\\//g' "$2" > page # troff writes \- for -
while read -r option; do
    COMP_WORDS=(kprobe-lua "$option") COMP_CWORD=1
    _kprobe_lua
    printf '%s\n' "${COMPREPLY[@]}" | grep -Fxq -- "$option" || { echo "completion lacks $option"; failed=1; }
    grep -Fq -- "$option" page || { echo "the manual page lacks $option"; failed=1; }
done < options
exit $failed
