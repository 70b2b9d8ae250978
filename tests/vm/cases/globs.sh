# SPDX-License-Identifier: MIT
# limit: 600
# A glob takes what can be probed and says what it left out, and why; when nothing is left, that is an error.
target_lua
script some.lua <<'LUA'
local target = require "target"
local some = kprobe { { "kpl_target:kpl_t_f00*", "kpl_t_f000", "kpl_t_f01?" }, pre = function() end }
target.steps { function() target.call "functions 400" end, function() print(some:stats().hits, some.state) end }
LUA
run kprobe-lua some.lua
status 0
quiet_err
line '40	ftrace'
script freed.lua <<'LUA'
kprobe("x86_*", function() end)
LUA
run kprobe-lua -c true --max-probes=2000 freed.lua
status 0
err '^freed.lua:1: [0-9]+ probed; left out: .*[0-9]+ freed after boot'
run kprobe-lua -q -c true --max-probes=2000 freed.lua
quiet_err
refuses "no function that matches 'exc_int3\*' can be probed: [0-9]+ blacklisted$" 'kprobe("exc_int3*", function() end)'
refuses "no function matches 'no_such_\*'$" 'kprobe("no_such_*", function() end)'
refuses "can't probe start_kernel: it is start-up code, which the kernel has freed$" 'kprobe("start_kernel", function() end)'
refuses "'no_such:vfs_read': the module no_such is not loaded" 'kprobe("no_such:vfs_read", function() end)'
refuses "'vfs_read\+0x10000' is behind the function, which has 0x[0-9a-f]+ bytes$" 'kprobe("vfs_read+0x10000", function() end)'
run kprobe-lua --max-probes=199 -e 'kprobe("kpl_t_f*", function() end)'
status 1
one_error
err "^-e:1: 'kpl_t_f\*' stands for 200 places: more than 199 probes: narrow it, or allow them with --max-probes=200$"
# all that is wrong is said, and nothing is armed
script wrong.lua <<'LUA'
kprobe("vfs_read", function() end)
kprobe("do_int3", function() end)
kprobe("no_such_function", function() end)
LUA
run kprobe-lua wrong.lua
status 1
err '^wrong.lua:3: no function'
sed -i 3d wrong.lua
echo 'kretprobe { "do_debug*", optional = true, ret = function() end }' >> wrong.lua
echo 'kretprobe { "exc_debug", ret = function() end }' >> wrong.lua
run kprobe-lua wrong.lua
status 1
err "^wrong.lua:2: can't probe do_int3: the kernel's blacklist forbids it"
err "^wrong.lua:4: can't probe exc_debug: the kernel's blacklist forbids it"
left_nothing
# From the kernel's memory it is what /proc/kallsyms has, but for start-up code of modules that 6.1 goes on to list there.
listed() { kprobe-lua -l '*' | grep -v ':kpl_t_starting$'; }
listed > from-memory
touch none
mount --bind none /proc/kcore
listed > from-text
umount /proc/kcore
cmp from-memory from-text || fail "$(diff from-memory from-text | head)"
[ "$(grep -c . from-memory)" -gt 10000 ] && grep -q '^kpl_target:kpl_t_plain$' from-memory || fail 'not all of them'
