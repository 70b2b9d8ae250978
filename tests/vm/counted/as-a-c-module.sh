# SPDX-License-Identifier: MIT
# What the kernel itself limits takes at most 1.1 times what a C module's own loop over the same functions takes.
ms() { sed -nE "s/.*$1 ([0-9]+)\.([0-9]{3}) s.*/\1\2/p" err | sed 's/^0*\(.\)/\1/'; }
target kprobes 20 > /dev/null # the first ones of a boot take longer
compare() { # what the module registers; the declaration
    echo "$2" > many.lua
    run kprobe-lua -v -c true many.lua
    status 0
    err "^armed in .*: 100 by ${1%s}$"
    on=$(ms 'armed in') off=$(ms 'gone in')
    # shellcheck disable=SC2046
    set -- "$1" $(target "$1" 100)
    c_on=$(($2 / 1000000)) c_off=$(($3 / 1000000))
    echo "100 $1: on $on ms, off $off ms; C: on $c_on ms, off $c_off ms"
    [ $((on * 100)) -le $((c_on * 110)) ] || fail 'registering takes longer than in C'
    [ $((off * 100)) -le $((c_off * 110)) ] || fail 'unregistering takes longer than in C'
}
compare kprobes 'kprobe { "kpl_target:kpl_t_f0*", via = "kprobe", pre = function() end }'
compare kretprobes 'kretprobe { "kpl_target:kpl_t_f0*", via = "kretprobe", ret = function() end }'
