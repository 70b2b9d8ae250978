# SPDX-License-Identifier: MIT
# Names of processes' addresses: a known chain of calls, of programs with their names in several places, at fixed addresses,
# that have ended, forked, made code of their own, live in a root of their own, or ended before they were seen.
echo 2 > /proc/sys/kernel/randomize_va_space # a program lies elsewhere each time
named() { # PROGRAM: the chain, once, with 10 hits
    grep -Fxq "    inner [$1]" out || fail "no inner of $1"
    for frame in middle outer; do out "^    $frame\+0x[0-9a-f]+ \[$1\]$"; done
    out "^    main\+0x[0-9a-f]+ \[$1\]\]: 10$"
    lines 1 "^    inner \[$1\]$"
}
by_stack() { # PROGRAM COMMAND…
    program=$1
    shift
    run kprobe-lua -c "$*" -e "s = count() uprobe('$program:inner', function() s[ustack(4)]:add() end)"
    status 0
    quiet_err
}
# all processes here have ended when the stacks are printed
by_stack ustacked ustacked calls 10
named ustacked
by_stack ustacked_fixed ustacked_fixed calls 10
named ustacked_fixed
by_stack ustacked_exports ustacked_exports calls 10
named ustacked_exports
by_stack ustacked ustacked fork 10
named ustacked
by_stack ustacked sh -c "'ustacked calls 4; exec ustacked calls 6'"
lines 2 '^    inner \[ustacked\]$'

# names in files of their own: by build id, by the name that the program has for it; and without these
made=${KPL_MODULES%/kmod}/tests/vm
for program in id link; do gunzip -c "$made/ustacked_$program.debug.gz" > $program.debug || fail "no names of ustacked_$program"; done
mkdir -p /usr/lib/debug/.build-id/ab
cp id.debug /usr/lib/debug/.build-id/ab/cdef0123456789abcdef0123456789abcdef01.debug
by_stack ustacked_id ustacked_id calls 10
named ustacked_id
mkdir linked linked/.debug
cp "$(command -v ustacked_link)" linked
run kprobe-lua -e "uprobe('$PWD/linked/ustacked_link:inner', function() end)"
status 1
err 'it is stripped'
cp link.debug linked/.debug/ustacked_link.debug
by_stack "$PWD/linked/ustacked_link" linked/ustacked_link calls 10
named ustacked_link
cp id.debug linked/.debug/ustacked_link.debug # of another build
run kprobe-lua -e "uprobe('$PWD/linked/ustacked_link:inner', function() end)"
status 1
err 'it is stripped'

# a file that goes away before anybody asks
cp "$(command -v ustacked)" gone
run kprobe-lua -c "sh -c './gone calls 10; rm gone; cp /bin/busybox gone'" \
    -e "s = count() uprobe('$PWD/gone:inner', function() s[ustack(4)]:add() end)"
status 0
err '/gone:inner: the file was replaced or removed'
out '^    0x[0-9a-f]+ \[gone\]$'
no_out 'inner|busybox'

# code that a process makes
by_stack ustacked ustacked jit 10
out '^    made\+0x[0-9a-f]+ \[jit\]$'
out '^    middle\+0x[0-9a-f]+ \[ustacked\]$'

# a root of its own: its files are not where they seem to be
mkdir -p root/opt root/lib root/lib64 root/usr
for folder in lib lib64 usr; do mount --bind "/$folder" "root/$folder" || fail "no mount of /$folder"; done
cp "$(command -v ustacked)" root/opt/contained
start kprobe-lua -e "hits = event() uprobe('$PWD/root/opt/contained:inner', function() hits { s = ustack(4) } end) hits:each(function(e) print(e.s) exit() end)"
armed
chroot "$PWD/root" /opt/contained wait 1 > waits &
contained=$!
finish
kill $contained
wait $contained
for folder in lib lib64 usr; do umount "root/$folder"; done
status 0
for frame in inner middle+ outer+ main+; do grep -Fq "    $frame" out || fail "no $frame"; done
lines 4 ' \[contained\]$'

# as they come, in text, in lists for Lua, in JSON; and single addresses
script forms.lua <<'LUA'
local hits = event()
uprobe("ustacked:inner", function(p) hits { stack = ustack(3), at = usym(p.ip), depth = #ustack(9), none = usym(16) } end)
hits:each(function(e) print(e.at, e.none, e.depth > 3, #e.stack, e.stack[1], (e.stack[2]:gsub("+0x%x+", ""))) exit() end)
LUA
run kprobe-lua -c 'ustacked wait 1' forms.lua
line 'inner [ustacked]	0x10	true	3	inner [ustacked]	middle [ustacked]'
run kprobe-lua -c 'ustacked calls 1' -e 'uprobe("ustacked:inner", function(p) printf("%s %s\n", usym(p.ip), ustack(1)) end)'
line 'inner [ustacked] '
line '    inner [ustacked]'
run kprobe-lua -f json -c 'ustacked calls 10' -e 's = count() uprobe("ustacked:inner", function(p) s[{ usym(p.ip), ustack(2) }]:add() end)'
out '"@s":\{"inner \[ustacked\],\\n    inner \[ustacked\]\\n    middle\+0x[0-9a-f]+ \[ustacked\]":10\}'
run kprobe-lua -f folded -c 'ustacked calls 10' -e 's = count() uprobe("ustacked:inner", function(p) s[ustack(4)]:add() end)'
line 'main;outer;middle;inner 10'

# a process that runs already has its names; one that ended before it was looked at has none, which is said
ustacked wait 1 > waits &
waiting=$!
until_true "the program waits" grep -q waits waits
script signalled.lua <<'LUA'
local at = count()
kprobe { "get_signal", when = { pid = tonumber(arg[1]) }, pre = function() at[ustack(4)]:add() exit() end }
LUA
start kprobe-lua signalled.lua $waiting
armed
kill -STOP $waiting
finish
status 0
out '^    main\+0x[0-9a-f]+ \[ustacked\]'
no_err 'ended before'
kill -CONT $waiting
start kprobe-lua -e "local at = count() kprobe { 'do_exit', when = { pid = $waiting }, pre = function() at[ustack(4)]:add() exit() end }"
armed
kill $waiting
finish
status 0
out '^    0x[0-9a-f]+$'
no_out 'ustacked'
err '^1 process had ended before its memory was known: its addresses have no names$'

# a kernel thread that works for a process has its registers of some time or other: it is nowhere in the program
run kprobe-lua -c 'client32 uring uring-open' \
    -e 's = count() kprobe("do_filp_open", function() if starts(comm(), "iou-wrk") then s[#ustack()]:add() end end)'
status 0
line '@s[0]: 1'
left_nothing
