# SPDX-License-Identifier: MIT
# What a session may not hold is refused with whose limit it was and what to do.
percent=/sys/module/kprobe_lua/parameters/memory_percent
[ "$(cat $percent)" = 25 ] || fail "memory_percent is $(cat $percent), not 25"
echo 1 > $percent
run kprobe-lua -e 'm = map{max = 1000000} kprobe("vfs_read", function() m[tid()] = now() end)'
echo 25 > $percent
status 1
one_error
err 'map: all sessions of kprobe-lua together may hold [0-9]+ MB and hold [0-9]+ MB: end another one, or allow more \(echo PERCENT > /sys/module/kprobe_lua/parameters/memory_percent\): it has room for 1000000 entries; a smaller max= takes less memory'
left_nothing
