# SPDX-License-Identifier: MIT
# What can't be probed of programs' marks, and what is listed of them.
refuses "no program or library 'usdtted'; near to it: usdted" 'usdt("usdtted:usdted:value", function() end)'
refuses ".*/usdted has no mark 'usdted:vlaue'; near to it: usdted:value" 'usdt("usdted:usdted:vlaue", function() end)'
refuses ".*/usdted has no mark 'x:\*'" 'usdt("usdted:x:*", function() end)'
refuses ".*/uprobed has no marks \(USDT\) at all" 'usdt("uprobed:usdted:value", function() end)'
refuses "'usdted:value' names no mark: write it as" 'usdt("usdted:value", function() end)'
refuses "'usdted::value' names no mark: write it as" 'usdt("usdted::value", function() end)'
refuses "'0x1000' names no mark: write it as" 'usdt(0x1000, function() end)'
refuses "the handler has 4 parameters for the mark's 3: it is usdted:usdted:value\(int32_t arg1, uint64_t arg2, uint64_t arg3\)" 'usdt("usdted:usdted:value", function(p, a, b, c, d) print(d) end)'
refuses "the probed mark has no parameter 'p.arg\[4\]': it is usdted:usdted:value" 'usdt("usdted:usdted:value", function(p) print(p.arg[4]) end)'
refuses "the probed mark has no parameter 'arg0' .did you mean arg1" 'usdt("usdted:usdted:value", function(p) print(p.args.arg0) end)'
refuses "the handler names 2 parameters; these have fewer: usdted:usdted:guarded \(1\), usdted:usdted:nothing \(0\): narrow the glob" 'usdt("usdted:usdted:*", function(p, a, b) end)'
refuses "p.data exists only where a call is followed to its return" 'usdt("usdted:usdted:value", function(p) p.data.x = 1 end)'

run kprobe-lua -l 'usdt:usdted:*:*'
status 0
for name in guarded nothing operands value; do lines 1 "^usdted:usdted:$name$"; done
lines 4 .
run kprobe-lua -lv 'usdt:usdted:usdted:value'
status 0
lines 1 '^    usdted:usdted:value\(int32_t arg1, uint64_t arg2, uint64_t arg3\)$'
run kprobe-lua list usdts 'usdted:usdted:g*'
status 0
line 'usdted:usdted:guarded'
run kprobe-lua -l 'usdt:usdted:usdted:nothere'
status 1
err 'has no mark'

# of a glob's marks, all are armed, and one that is named twice once
run kprobe-lua -q -c 'usdted nothing 7' -e 'local n = count() usdt({ "usdted:usdted:*", "usdted:usdted:nothing" }, function() n:add() end) at_exit(function() print(n:value()) end)'
status 0
line '7'
left_nothing
