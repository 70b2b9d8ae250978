# SPDX-License-Identifier: MIT
# bash completion for kprobe-lua: source it, or put it into /usr/share/bash-completion/completions/kprobe-lua.
_kprobe_lua_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current"); }
_kprobe_lua_files() { mapfile -t COMPREPLY < <(compgen "${1:--f}" -- "$current"); compopt -o filenames 2> /dev/null; }

# Functions that begin so: the kernel shows their names to everybody.
_kprobe_lua_functions() {
    [ -n "$current" ] || return
    mapfile -t COMPREPLY < <(awk -v start="$current" \
        '$2 ~ /^[tTwW]$/ && index($3, start) == 1 && $3 !~ /^__pfx_|[.]cold/ && !seen[$3]++ { print $3 }' /proc/kallsyms)
}

_kprobe_lua() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command="" i
    COMPREPLY=()
    case $before in
@VALUES@    esac
    # The script or command: what stands first and is no option, nor an option's value.
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            disasm | list | -l | -lv) command=${COMP_WORDS[i]} ;;
            *.lua) _kprobe_lua_files; return ;; # its own arguments
        esac
    done
    case $command in
        disasm) _kprobe_lua_functions; return ;;
        list) _kprobe_lua_words "probes blacklist functions"; return ;;
    esac
    if [[ $current == -* ]]; then
        _kprobe_lua_words "@OPTIONS@"
        return
    fi
    [ -z "$command" ] || _kprobe_lua_functions
    local functions=("${COMPREPLY[@]}")
    mapfile -t COMPREPLY < <(compgen -d -- "$current"; compgen -f -X '!*.lua' -- "$current"; [ -n "$command" ] || compgen -W "@COMMANDS@" -- "$current")
    COMPREPLY+=("${functions[@]}")
    compopt -o filenames 2> /dev/null
}
complete -F _kprobe_lua kprobe-lua
