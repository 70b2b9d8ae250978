# SPDX-License-Identifier: MIT
# The system's view: all probes with state and owner, ours and others'; the blacklist; what can be probed.
tracing=/sys/kernel/tracing
echo 'p:other vfs_fsync' > $tracing/kprobe_events
echo 1 > $tracing/events/kprobes/other/enable
# The first will be optimized, as the probe at the second is off.
# shellcheck disable=SC2046
set -- $(overlapping vfs_write)
[ $# = 2 ] || fail 'no two places'
script four.lua << EOF
kprobe("vfs_read", function() end)
kprobe("vfs_write$1", function() end)
kprobe{"vfs_write$2", post = function() end, enabled = false}
kretprobe{"vfs_mkdir", via = "kretprobe", ret = function() end}
kprobe{"vfs_open", post = function() end}
EOF
start kprobe-lua four.lua
armed
until_true "the optimizer" grep -q "OPTIMIZED" /sys/kernel/debug/kprobes/list
mine="kprobe_lua \($pid kprobe-lua\)"
kprobe-lua list > listed 2> err || fail "list"
mv listed out
quiet_err
out '^ADDRESS +KIND +STATE +MISSED +PLACE +OWNER$'
out "^ffffffff[0-9a-f]{8}  (kprobe|ftrace) +ftrace +(0|-)  vfs_read(\+0x4)? +$mine$"
out "^ffffffff[0-9a-f]{8}  kprobe +optimized +0  vfs_write\\$1 +$mine$"
out "^ffffffff[0-9a-f]{8}  kprobe +disabled +0  vfs_write\\$2 +$mine$"
out "^ffffffff[0-9a-f]{8}  kretprobe +ftrace +0  vfs_mkdir(\+0x4)? +$mine$"
out "^ffffffff[0-9a-f]{8}  ftrace +ftrace +-  vfs_open(\+0x4)? +$mine$"
out '^ffffffff[0-9a-f]{8}  kprobe +ftrace +0  vfs_fsync(\+0x4)? +kprobe_events$'
lines 7 .
kprobe-lua -f json list > out
lines 6 '^\{"type":"probe","data":\{"address":"0xffffffff'
lines 1 "\"state\":\"optimized\",\"owner\":\"kprobe_lua\",\"pids\":\[$pid\],\"missed\":0\}\}$"

# The same for scripts.
script look.lua << 'EOF'
local ours, states = 0, {}
for _, p in ipairs(probes()) do
  if p.owner == "kprobe_lua" then
    ours = ours + 1
    states[#states + 1] = p.kind .. " " .. p.state
    assert(#p.pids == 1 and p.pids[1] == tonumber(arg[1]))
  end
end
print(ours)
table.sort(states)
print(table.concat(states, ", "))
local names = functions "vfs_*"
print(#names > 50, names[1])
local refused = blacklist "exc_divide_error"
print(#refused, refused[1].name, refused[1].size > 0, refused[1].address > 0)
local seen = {}
for _, i in ipairs(instructions "vfs_mkdir") do
  if i.ftrace then seen.ftrace = true end
  if i.optimize then seen.optimize = true end
  if not i.boost and i.boost_why == "relative jump or call" then seen.why = true end
end
print(seen.ftrace, seen.optimize, seen.why)
print(pcall(instructions, "no_such_function"))
EOF
kprobe-lua look.lua "$pid" > looked 2> err
mv looked out
quiet_err
line 5
out '^ftrace ftrace, ftrace ftrace, kprobe disabled, kprobe optimized, kretprobe ftrace$'
out "^true	vfs_"
line '1	exc_divide_error	true	true'
line 'true	true	true'
out "^false	look.lua:23: no function 'no_such_function' in this kernel"
kill "$pid"
finish
echo 0 > $tracing/events/kprobes/other/enable
echo > $tracing/kprobe_events
run kprobe-lua list
status 0
lines 1 .

# The blacklist, and what can be probed.
run kprobe-lua list blacklist 'exc_*'
status 0
out '^ffffffff[0-9a-f]{8} +[0-9]+  exc_divide_error$'
no_out '  asm_'
run kprobe-lua list blacklist 'no_such_*'
status 1
run kprobe-lua -l 'vfs_re*'
status 0
line vfs_read
line vfs_readlink
no_out '^__pfx_|vfs_write'
run kprobe-lua -l exc_divide_error # forbidden
status 1
run kprobe-lua -lv vfs_read
status 0
line vfs_read
out '^    ssize_t vfs_read\(struct file \*file, char \*buf, size_t count, loff_t \*pos\)$'
run kprobe-lua -l 'no_such_*'
status 1
run kprobe-lua -l four.lua # what a script would attach
status 0
line 'kprobe vfs_read'
line "kprobe vfs_write$1"
line 'kretprobe vfs_mkdir'
lines 5 .
run kprobe-lua -lv -e 'kprobe("vfs_rea[d]", function() end)'
status 0
line 'kprobe vfs_read'
lines 1 '^    ssize_t vfs_read\(struct file \*file, '
run kprobe-lua -l -e 'print(arg[0])'
status 1
run kprobe-lua list nonsense
status 2
err "^kprobe-lua: there is no list of 'nonsense'"
