# SPDX-License-Identifier: MIT
# Probes in a module's start-up code are gone with it: the others of their batch go on as before, and what is loaded there
# later is not probed.
target_lua
rmmod kpl_target
begun=/sys/module/kpl_target/parameters/begun # Y once its code runs
load_held() {
    insmod "$KPL_TARGET" held=1 &
    tries=0
    until grep -qs Y $begun; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || fail 'the module does not start'
        sleep 0.1
    done
}
script init.lua <<'LUA'
local target = require "target"
local function none() end
local fast, slow = kprobe("kpl_t_starting", none), kprobe { "kpl_t_starting", pre = none, via = "kprobe" }
local back, post = kretprobe { "kpl_t_starting", ret = none }, kprobe { "kpl_t_starting", post = none, via = "kprobe" }
local other, kept = kprobe("kpl_t_plain", none), kprobe("kpl_t_plain", none)
local function hits() return fast:stats().hits, slow:stats().hits, back:stats().hits, post:stats().post.hits end
local function states() return fast.state, slow.state, back.state, post.state end
local function write(text)
  local f = assert(io.open("/sys/module/kpl_target/parameters/held", "w"))
  f:write(text)
  f:close()
end
local step, a, b, c, d = 1
local steps = {
  function() a, b, c, d = hits() return a > 2 and b > 2 and c > 2 and d > 2 end,
  function() write "0" return true end,
  function()
    for _, state in ipairs { states() } do
      if state ~= "gone" then return false end
    end
    return true
  end,
  function()
    print(states())
    a, b, c, d = hits()
    target.call "plain 5"
    other:disable()
    target.call "plain 5"
    print(other.state, other:stats().hits, kept.state, kept:stats().hits)
    other:enable()
    target.call "plain 5"
    print(other.state, other:stats().hits, kept.state, kept:stats().hits)
    print(pcall(fast.enable, fast))
    -- Who has loaded it holds it a little longer than its start-up code lives.
    os.execute "until rmmod kpl_target; do sleep 0.1; done; (insmod TARGET held=1; echo up > up) &"
    return true
  end,
  function() return os.execute "grep -qs Y BEGUN" == 0 end,
  function() write "0" return true end,
  function() return io.open "up" ~= nil end,
  function()
    local e, f, g, h = hits()
    print("same", a == e, b == f, c == g, d == h, kept.state)
    return true
  end,
}
every(0.1, function()
  if steps[step]() then step = step + 1 end
  if not steps[step] then exit() end
end)
LUA
sed -i "s|TARGET|$KPL_TARGET|; s|BEGUN|$begun|" init.lua
load_held
run kprobe-lua init.lua
status 0
line 'gone	gone	gone	gone'
line 'disabled	5	ftrace	10'
line 'ftrace	10	ftrace	15'
out "^false	init.lua:[0-9]+: the probe's module was unloaded, or has freed its start-up code"
line 'same	true	true	true	true	gone'
