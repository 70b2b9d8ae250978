# SPDX-License-Identifier: MIT
# limit: 600
# By ftrace, 1,000 functions in about 0.2 s, 10,000 in not much more than ten times that. The bounds are wide, for the
# machine that emulates may have other work; one by one, as kprobes, 1,000 take 6 s and 10,000 a minute on an idle one.
. "$KPL_ROOT/tests/functions.lib"
probeable_functions > names
probes_of() { # N: a script that probes the first N
    echo 'kprobe {'
    head -n "$1" names | lua_names
    echo ', via = "ftrace", pre = function() end }'
}
ms() { sed -nE "s/.*$1 ([0-9]+)\.([0-9]{3}) s.*/\1\2/p" err | sed 's/^0*\(.\)/\1/'; }

probes_of 1000 > 1000.lua
run kprobe-lua -v -c true 1000.lua
status 0
err '^armed in .*: 1000 by ftrace$'
on=$(ms 'armed in') off=$(ms 'gone in')
echo "1,000: on $on ms, off $off ms"
[ "$on" -lt 4000 ] && [ "$off" -lt 4000 ] || fail 'too slow'
probes_of 1001 > 1001.lua
run kprobe-lua -c true 1001.lua
status 1
err "^1001.lua:1: this declaration stands for 1001 places: more than 1000 probes: .*--max-probes=1001$"
probes_of 10000 > 10000.lua
run kprobe-lua -v --max-probes=10000 -c true 10000.lua
status 0
err '^armed in .*: 10000 by ftrace$'
on=$(ms 'armed in') off=$(ms 'gone in')
echo "10,000: on $on ms, off $off ms"
[ "$on" -lt 30000 ] && [ "$off" -lt 30000 ] || fail 'too slow'
