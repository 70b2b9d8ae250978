# SPDX-License-Identifier: MIT
# limit: 200
# What the kernel itself limits takes at most 1.1 times what a C module's own loop over the same functions takes. The best
# of five runs each, by turns, and 0.15 more: the machine that emulates may have other work.
ms() { sed -nE "s/.*$1 ([0-9]+)\.([0-9]{3}) s.*/\1\2/p" err | sed 's/^0*\(.\)/\1/'; }
least() { [ "$1" -lt "$2" ] && echo "$1" || echo "$2"; }
target > /dev/null
compare() { # what the module registers; the declaration
    echo "$2" > many.lua
    on=999999 off=999999 c_on=999999 c_off=999999
    for _ in 1 2 3 4 5; do
        run kprobe-lua -v -c true many.lua
        status 0
        err "^armed in .*: 60 by ${1%s}$"
        on=$(least "$on" "$(ms 'armed in')") off=$(least "$off" "$(ms 'gone in')")
        # shellcheck disable=SC2046
        set -- "$1" "$2" $(target "$1" 60)
        c_on=$(least "$c_on" $(($3 / 1000000))) c_off=$(least "$c_off" $(($4 / 1000000)))
    done
    echo "60 $1: on $on ms, off $off ms; C: on $c_on ms, off $c_off ms"
    [ $((on * 100)) -le $((c_on * 125)) ] || fail 'registering takes longer than in C'
    [ $((off * 100)) -le $((c_off * 125)) ] || fail 'unregistering takes longer than in C'
}
compare kprobes 'kprobe { "kpl_target:kpl_t_f0[0-5]*", via = "kprobe", pre = function() end }'
compare kretprobes 'kretprobe { "kpl_target:kpl_t_f0[0-5]*", ret = function() end }'
