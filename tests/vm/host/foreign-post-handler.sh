# SPDX-License-Identifier: MIT
# limit: 240
# Another module's kprobe with a post handler comes to a function's entry where kprobes of ours are armed, and the kernel
# can't disarm the place any more (it warns). Whoever goes last is left in the kernel: ours does nothing from then on, its
# memory and the module stay, and probes can be placed there again.
cat > foreign.lua <<'LUA'
local dir, first, fn, which = "/sys/module/kpl_target/parameters/", arg[1], arg[2], arg[3]
local function write(text)
  local f = assert(io.open(dir .. "run", "w"))
  f:setvbuf "no"
  assert(f:write(text))
  f:close()
end
local function none() end
local calls = fn == "kpl_t_plain" and "plain 3" or "outer 3"
local kp = kprobe { fn, pre = none, via = "kprobe" }
local rp = kretprobe { fn, via = "kretprobe", ret = none }
local function hits() return kp:stats().hits, kp.state, rp:stats().hits, rp.state end
local steps = {
  function() write(calls) end,
  function() write("foreign " .. which) write(calls) end,
  function() if first == "foreign" then write "foreign 0" end end,
  function() write(calls) print("all", hits()) rp:disable() kp:disable() write(calls) print("off", hits()) end,
  function() kp:enable() rp:enable() write(calls) print("on", hits()) end,
  function() exit() end,
}
local i = 0
every(0.05, function() i = i + 1 steps[i]() end)
LUA
cat > again.lua <<'LUA'
local n = 0
local probe = kprobe { arg[1], pre = function() end, post = function() end, via = "kprobe" }
every(0.05, function()
  n = n + 1
  if n == 1 then os.execute("echo " .. arg[2] .. " 4 > /sys/module/kpl_target/parameters/run") else exit() end
end)
at_exit(function() print("again", probe:stats().hits, probe:stats().post.hits) end)
LUA
cat > steps.sh <<'EOS'
run=/sys/module/kpl_target/parameters/run
kprobe-lua foreign.lua foreign kpl_t_plain 1
echo plain 5 > $run
kprobe-lua again.lua kpl_t_plain plain
kprobe-lua foreign.lua ours kpl_t_outer 2
echo outer 5 > $run
kprobe-lua again.lua kpl_t_outer outer
echo foreign 0 > $run
cat /sys/module/kpl_target/parameters/result
echo outer 5 > $run
kprobe-lua again.lua kpl_t_outer outer
grep -c kpl_t_ /sys/kernel/debug/kprobes/list
dmesg | grep 'kprobe_lua:.*staying'
EOS
build=$(dirname "$(command -v kprobe-lua)")
for version in 6.1 6.12; do
    module=$(ls "$build"/tests/vm/target/$version.*/kpl_target.ko)
    run kprobe-lua --vm=$version --vm-add "$module" --vm-add foreign.lua --vm-add again.lua --vm-add steps.sh \
        -c "sh steps.sh $module" -e 'kprobe("vfs_llseek", function() end)'
    status 1
    err 'WARNING: .*kprobes'
    no_err 'BUG:|Oops|general protection|use-after-free'
    lines 2 '^all	9	ftrace	9	ftrace$'
    lines 2 '^off	9	disabled	9	disabled$'
    lines 2 '^on	12	ftrace	12	ftrace$'
    lines 3 '^again	4	4$'
    out '^[0-9]+ [0-9]+ kept$'
    line 2
    lines 1 "kprobe_lua: the kernel can't disarm the kprobe at kpl_t_plain"
done
