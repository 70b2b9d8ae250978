# SPDX-License-Identifier: MIT
# Post handlers at a function's entry, where others have kprobes, which come before ours and go before or after them: the
# kernel must know no post handler of ours there, or it fails to disarm the others. A splat fails this case.
target_lua
events=/sys/kernel/tracing/kprobe_events
script entry.lua <<'LUA'
local target, last = require "target", arg[1]
local shown = event()
local function pre(p) shown { side = "pre", at = p.ip - p.addr, flags = p.regs.flags } end
local function post(p) shown { side = "post", at = p.ip - p.addr, flags = p.regs.flags } end
local function none() end
local probes = {
  kprobe { "kpl_t_plain", pre = pre, post = post },
  kprobe { "kpl_t_plain", pre = pre, post = post, via = "kprobe" },
  kprobe { "kpl_t_plain", post = none, via = "ftrace" },
  kprobe { "kpl_t_plain", post = none, via = "kprobe", when = { comm = "kprobe-lua" } },
  kprobe { "kpl_t_plain", pre = none, post = none, when = { comm = "nobody" } },
  kprobe { "kpl_t_plain", pre = none, via = "kprobe" },
}
local at = {}
shown:each(function(e)
  at[#at + 1] = e
  local first = at[#at - 1]
  if e.side == "post" and not (first.side == "pre" and e.at == first.at + 4 and e.flags == first.flags) then
    print("wrong", e.side, e.at, first.side, first.at)
  end
end)
local function others_go()
  os.execute "echo 0 > /sys/kernel/tracing/events/kprobes/kpl/enable"
  target.call "foreign 0"
  print("foreign", target.value())
end
target.steps {
  function() target.call "plain 5" end,
  last == "ours" and others_go or function() end,
  function() target.call "plain 5" end,
  function()
    for i, probe in ipairs(probes) do
      local s = probe:stats()
      print(i, s.hits, s.skipped, s.post and s.post.hits, s.post and s.post.skipped, probe.state)
    end
    print(#at)
  end,
}
LUA
# First tracefs alone; then one with a post handler of its own, which comes before any other is armed: the kernel can't
# have it come later.
echo 'p:kpl kpl_t_plain' > $events
for foreign in 0 1; do
    for last in ours others; do
        [ $foreign = 0 ] || target foreign 1 > /dev/null
        echo 1 > /sys/kernel/tracing/events/kprobes/kpl/enable
        run kprobe-lua entry.lua $last
        status 0
        no_out wrong
        line '1	10	0	10	0	ftrace'
        line '2	10	0	10	0	ftrace'
        line '3	0	0	10	0	ftrace'
        line '4	0	0	10	0	ftrace'
        line '5	10	10	10	10	ftrace'
        line '6	10	0	nil	nil	ftrace'
        line 40
        echo 0 > /sys/kernel/tracing/events/kprobes/kpl/enable
        [ "$last" = ours ] || target plain 5 > /dev/null
        [ $foreign$last != 1others ] || [ "$(target foreign 0)" = '15 15' ] || fail 'the foreign kprobe missed some'
    done
done
echo > $events
