# SPDX-License-Identifier: MIT
run kprobe-lua --no-such-option
status 2
run kprobe-lua
status 2
run kprobe-lua -B lines -e ''
status 2
err '^kprobe-lua: -B: lines not in \{none,line,full\}$'
# Whatever the environment says, --color decides; without a terminal there is no colour.
run kprobe-lua --check --color always -e 'x('
status 1
err "$(printf '^\033\\[31m-e:1: ')"
run env NO_COLOR=1 KPROBE_LUA_COLOR=always kprobe-lua --color never --check -e 'x('
err '^-e:1: '
run kprobe-lua --check -e 'x('
err '^-e:1: '
run kprobe-lua --cost -e 'kprobe("vfs_read", function() end) kprobe("vfs_write", function(p) printf("%d", pid()) end)'
status 0
out '^ +COST +BUDGET +INSTRUCTIONS +HANDLER$'
out '^ +[0-9]+ +30000 +[0-9]+  -e:1 pre of vfs_write$'
lines 3 .
run env KPROBE_LUA_DRY_RUN=1 kprobe-lua -v -e 'kprobe("vfs_read", function() end) at_exit(function() print("the end") end)'
status 0
line 'the end'
err '^armed in '
left_nothing
run kprobe-lua --check -e 'kprobe("vfs_read", function() end)'
status 0
