# SPDX-License-Identifier: MIT
# What can't be probed in programs, and what is listed of them.
refuses "no program or library 'uprobbed'; near to it: uprobed" 'uprobe("uprobbed:add", function() end)'
refuses "/no/such: No such file or directory" 'uprobe("/no/such:main", function() end)'
refuses "/dev/null is not a file that can be run" 'uprobe("/dev/null:main", function() end)'
refuses "/proc/version is not a file that can be run" 'uprobe("/proc/version:main", function() end)'
refuses ".*/uprobed has no function 'fatc'; near to it: fact" 'uprobe("uprobed:fatc", function() end)'
refuses ".*/uprobed_stripped has no function 'fact'; .*it is stripped" 'uprobe("uprobed_stripped:fact", function() end)'
refuses "'uprobed' names no place in a program: write it as" 'uprobe("uprobed", function() end)'
refuses "'uprobed:add\+0x1000' is behind the function" 'uprobe("uprobed:add+0x1000", function() end)'
refuses "'uprobed:add\+2': no instruction begins there" 'uprobe("uprobed:add+2", function() end)'
refuses "'uprobed:0x1': .*has no code there" 'uprobe("uprobed:0x1", function() end)'
refuses "no function of .*/uprobed matches 'x_\*'" 'uprobe("uprobed:x_*", function() end)'
refuses "'libc:strlen' is chosen when a program starts \(IFUNC\)" 'uprobe("libc:strlen", function() end)'
refuses "uretprobe stands at a function's first instruction, not at add\+0x1: use uprobe there" 'uretprobe("uprobed:add+1", function() end)'
refuses "p.data exists only where a call is followed to its return" 'uprobe("uprobed:fact", function(p) p.data.x = 1 end)'

run kprobe-lua -l 'uprobe:uprobed:f*'
status 0
line 'uprobed:fact'
line 'uprobed:forks'
run kprobe-lua -lv 'uprobe:uprobed:fact'
status 0
out '^    /.*uprobed 0x[0-9a-f]+$'
run kprobe-lua list uprobes 'libc:mallo*'
status 0
line 'libc:malloc'

# a function without a name, by its address: where unwinders are told that it begins
run kprobe-lua -e 'uprobe("libc:malloc", function() end) uprobe("libc:mallo?", function() end) exit()'
status 0
# the program is replaced: who runs the old one is still probed, and it is said
cp "$(command -v uprobed)" here
start kprobe-lua -e 'uprobe("'"$PWD"'/here:add", function(p, a) print("add", a) end)'
armed
./here add 1
wait_for '^add	1$'
cp "$(command -v uprobed)" new && mv new here
wait_for 'here:add: the file was replaced or removed' err
kill -INT $pid
finish
status 0
left_nothing
