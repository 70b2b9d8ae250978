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

# Tools: their names and options, from their tables.
_kprobe_lua_tools() { "${_kprobe_lua_command:-kprobe-lua}" tools "$@" 2> /dev/null; }
_kprobe_lua_of_tool() {
    if [[ $current == -* ]]; then _kprobe_lua_words "$(_kprobe_lua_tools --options "$1")"; else _kprobe_lua_functions; fi
}

_kprobe_lua() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command="" i
    COMPREPLY=()
    local tools
    tools=$(_kprobe_lua_tools --names)
    case $before in
@VALUES@    esac
    # The script or command: what stands first and is no option, nor an option's value.
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            disasm | list | -l | -lv) command=${COMP_WORDS[i]} ;;
            *.lua) _kprobe_lua_files; return ;; # its own arguments
            -* | "" | */*) ;;
            *)
                [[ " $tools " == *" ${COMP_WORDS[i]} "* && ${COMP_WORDS[i - 1]} != -[a-zA-Z] ]] || continue
                _kprobe_lua_of_tool "${COMP_WORDS[i]}"
                return
                ;;
        esac
    done
    case $command in
        disasm) _kprobe_lua_functions; return ;;
        list) _kprobe_lua_words "probes blacklist functions tracepoints syscalls uprobes usdts --lua"; return ;;
    esac
    if [[ $current == -* ]]; then
        _kprobe_lua_words "@OPTIONS@"
        return
    fi
    [ -z "$command" ] || _kprobe_lua_functions
    local functions=("${COMPREPLY[@]}")
    mapfile -t COMPREPLY < <(compgen -d -- "$current"; compgen -f -X '!*.lua' -- "$current"; [ -n "$command" ] || compgen -W "@COMMANDS@tools $tools" -- "$current")
    COMPREPLY+=("${functions[@]}")
    compopt -o filenames 2> /dev/null
}
complete -F _kprobe_lua kprobe-lua

# opensnoop-kpl and its like.
_kprobe_lua_kpl() {
    local current=${COMP_WORDS[COMP_CWORD]} name=${1##*/}
    COMPREPLY=()
    _kprobe_lua_of_tool "${name%-kpl}"
}
for _kprobe_lua_name in $(_kprobe_lua_tools --names); do complete -F _kprobe_lua_kpl "$_kprobe_lua_name-kpl"; done
unset _kprobe_lua_name
