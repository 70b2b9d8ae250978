# SPDX-License-Identifier: MIT
# Return probes by direct calls: exact counts and values that stay as they are, for functions of each signature; what can't
# go that way becomes a kretprobe, and -v says why.
[ -d /sys/module/kprobe_lua_stubs ] || lacks 'a kernel without direct calls'
target_lua
script signatures.lua <<'LUA'
local target = require "target"
local names = { "six", "many", "args14", "by_value", "pair", "triple", "wide", "plain", "args15", "varargs" }
local probes = {}
for i, name in ipairs(names) do
  probes[i] = kretprobe { "kpl_t_" .. name, entry = function(p) p.data.at = now() end,
    ret = function(p) if p.data.at > now() then exit(1) end end }
end
local values = kretprobe { "kpl_t_outer", entry = function(p, n) p.data.n = n end, ret = function(p, v) printf("%d %d\n", p.data.n, v) end }
target.steps {
  function() target.call "values 1000" end,
  function() print("wrong", target.value()) target.call "plain 7" target.call "outer 2" end,
  function()
    for i, name in ipairs(names) do
      local s = probes[i]:stats()
      print(name, probes[i].state == "direct" and "direct" or "kretprobe", s.handled, s.returns.hits, s.missed, s.returns.outstanding)
    end
  end,
}
LUA
run kprobe-lua -v signatures.lua
status 0
line 'wrong	0'
for name in six many args14 by_value pair triple wide; do line "$name	direct	1000	1000	0	0"; done
line 'plain	direct	7	7	0	0'
line 'args15	kretprobe	1000	1000	0	0'
line 'varargs	kretprobe	1000	1000	0	0'
line '1 2'
line '2 3'
err 'armed in .*: 9 by direct calls, 2 by kretprobe$'
err '^kretprobe, not direct: kpl_target:kpl_t_args15: too many of its arguments lie on the stack$'
err '^kretprobe, not direct: kpl_target:kpl_t_varargs: it takes a variable number of arguments$'

# the registers, stacks and addresses that handlers see are those of a kretprobe
script same.lua <<'LUA'
local target = require "target"
for _, via in ipairs { "direct", "kretprobe" } do
  kretprobe { "kpl_t_many", via = via,
    entry = function(p)
      printf("%s entry %d %d %d %d %d %s %d\n", via, p.arg[1], p.arg[6], p.arg[7], p.arg[9], p.ip - p.func, sym(p.ret_addr), #kstack(4))
      p.data.sp = p.sp
    end,
    ret = function(p, v)
      printf("%s ret %d %d %s %s\n", via, v, p.sp - p.data.sp, sym(p.ret_addr), p.ip == p.ret_addr and "there" or "elsewhere")
    end }
end
target.steps { function() target.call "many" end }
LUA
run kprobe-lua same.lua
[ "$status" = 0 ] || fail "same.lua: $status"
sed -n 's/^direct //p' out > direct
sed -n 's/^kretprobe //p' out > kretprobe
[ -s direct ] && cmp direct kretprobe || fail "what handlers see differs"

# Of functions that share a name, the kernel's types may be another one's: where its arguments lie isn't known.
twin=$(grep '^[a-z0-9_]*$' /sys/kernel/tracing/available_filter_functions | grep -v invalid_address | sort | uniq -d | head -n 1)
at=$(awk -v twin="$twin" '$3 == twin { print "0x" $1; exit }' /proc/kallsyms)
[ -n "$twin" ] && [ -n "$at" ] || fail 'no two functions of this kernel share a name'
for target in "${twin%?}[${twin#"${twin%?}"}]" "$at"; do
    run kprobe-lua -v -c true -e "kretprobe { '$target', ret = function() end }"
    status 0
    err "^kretprobe, not direct: $twin.*: its parameters are not known: .* share its name"
    no_err 'by direct calls'
done

# asked for by name
script asked.lua <<'LUA'
local target = require "target"
local a = kretprobe { "kpl_t_plain", via = "kretprobe", ret = function() end }
local b = kretprobe { "kpl_t_outer", via = "direct", ret = function() end }
target.steps { function() print(a.state ~= "direct", b.state) end }
LUA
run kprobe-lua -v asked.lua
status 0
line 'true	direct'
no_err 'not direct'
refuses() { # REGEX; the declaration
    echo "$2" > wrong.lua
    run kprobe-lua wrong.lua
    status 1
    err "^wrong.lua:1: $1"
}
refuses "can't probe kpl_target:kpl_t_varargs: via = \"direct\": it takes a variable number of arguments; leave via out" \
    'kretprobe { "kpl_t_varargs", via = "direct", ret = function() end }'
refuses "can't probe schedule: via = \"direct\": it does not return" 'kretprobe { "schedule", via = "direct", ret = function() end }'
# a function, once
refuses "can't probe kpl_target:kpl_t_plain: via = \"direct\": somebody else calls the function directly" \
    'kretprobe { "kpl_t_plain", via = "direct", ret = function() end } kretprobe { "kpl_t_plain", via = "direct", ret = function() end }'

# for the whole machine
echo N > /sys/module/kprobe_lua/parameters/direct
sed 's/, via = "direct"//' asked.lua > off.lua
run kprobe-lua -v off.lua
echo Y > /sys/module/kprobe_lua/parameters/direct
status 0
err '^kretprobe, not direct: kpl_target:kpl_t_outer: direct calls are switched off'

# no more than the kernel bears; what has gone counts no more
most=$(cat /sys/module/kprobe_lua/parameters/direct_max)
echo 4 > /sys/module/kprobe_lua/parameters/direct_max
for time in first second; do
    run kprobe-lua -v signatures.lua
    status 0
    line 'wrong	0'
    err 'armed in .*: 4 by direct calls, 7 by kretprobe$'
    err '^kretprobe, not direct: kpl_target:kpl_t_.* and 4 more: this kernel loses memory for each direct call beyond 8,192'
done
echo "$most" > /sys/module/kprobe_lua/parameters/direct_max
