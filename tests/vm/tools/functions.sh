# SPDX-License-Identifier: MIT
# Tools on any function, and what all tools take.
. "$KPL_ROOT/tests/vm/tools/jobs/kit.sh"
dd='dd if=/dev/zero of=f bs=8 count=20 2>/dev/null' # 20 reads; 21 writes: the last is what dd says of it

run kprobe-lua -c "$dd" funclatency vfs_read --comm dd
status 0
out '^     nsecs               : count     distribution$'
out '^avg = [0-9]+ nsecs, total: [0-9]+ nsecs, count: 20$'
run kprobe-lua -c 'sleep 0.25' funcslower hrtimer_nanosleep -m 200 -a 1
status 0
out '^[0-9.]+ +sleep +[0-9]+ +[0-9.]+ +0x0 hrtimer_nanosleep 0xee6b280$' # 250,000,000
run kprobe-lua -c "$dd" argdist 'vfs_read(file, buf, count)' count --comm dd
status 0
out '^20 +count = 8$'
run kprobe-lua -c "$dd" argdist 'c:read(fd, buf, count)' count --comm dd -F 'fd == 0'
out '^20 +count = 8$'
run kprobe-lua -c 'ustacked mallocs 30' argdist 'u:libc:malloc(size)' size --comm ustacked
out '^30 +size = 100$'
run kprobe-lua -c 'uprobed fact 5' trace r:u:uprobed:fact ret
out '^[0-9]+ +[0-9]+ +uprobed +uprobed:fact +120$'
run kprobe-lua -c 'usdted values 3' trace 'U:usdted:usdted:value(a, b, text)' a 'ustr(text)'
for i in 1 2 3; do out "^[0-9]+ +[0-9]+ +usdted +usdted:value +-$i text\$"; done
run kprobe-lua -c "$dd" argdist -H r:vfs_read ret --comm dd
out '^ +8 -> 15 +: 20 '
run kprobe-lua -c "$dd" trace 'vfs_read(file, buf, count)' count 'str(file.f_path.dentry.d_name.name)' -F 'comm() == "dd"'
status 0
lines 20 '^[0-9]+ +[0-9]+ +dd +vfs_read +8 zero$'
run kprobe-lua -c "$dd" trace r:vfs_write ret --comm dd -M 5
status 0
lines 5 '^[0-9]+ +[0-9]+ +dd +vfs_write +8$'
run kprobe-lua -c "$dd" stackcount vfs_read --comm dd
status 0
out '^  ksys_read'
line '    20'

# Blocks, one after the other.
run kprobe-lua -c 'sleep 20' funccount vfs_read -i 0.2 -n 3
status 0
lines 3 '^FUNC +COUNT$'

# What this kernel lacks is said in one line, before anything is armed.
refuses() { # REGEX ARGS…
    why=$1
    shift
    run kprobe-lua "$@"
    status 1
    err "$why"
}
script lacking.lua << 'LUA'
require "kprobe.tool" { subject = "files", description = "Lacks much.", needs = { { "no_such_function", "nor_this" } }, instead = "try opensnoop" }
LUA
refuses '^lacking: it needs no_such_function or nor_this, which this kernel has not; try opensnoop$' ./lacking.lua
script field.lua << 'LUA'
require "kprobe.tool" { subject = "files", description = "Lacks a field.", needs = { "vfs_read", "struct file.f_path", "struct file.f_nothing" } }
LUA
refuses '^field: it needs struct file.f_nothing, which this kernel has not$' ./field.lua

# A process that ends, ends the tool; a reader that goes away, too.
sh -c 'while [ ! -e stop ]; do sleep 0.1; done' &
start kprobe-lua opensnoop -p $!
armed
touch stop
finish
status 0
err '^opensnoop: process [0-9]+ has ended$'
kprobe-lua -c 'while :; do cat /etc/passwd > /dev/null; sleep 0.1; done' opensnoop 2> err | head -n 1 > out
line 'PID    COMM               FD ERR PATH'
quiet_err

# Each tool compiles with each option that changes its handlers.
run kprobe-lua --check "$KPL_ROOT/tests/vm/tools/jobs/variants.lua" "$KPL_ROOT/lua/tools"
status 0
no_err '^(/[^:]*:[0-9]+:|kprobe-lua:) '

# What a tool would attach.
run kprobe-lua -l opensnoop
status 0
out do_sys_openat2
no_out PID

# The tool of docs/tools.md, from a folder of one's own.
mkdir own
awk '/^```lua tool$/ { on = 1; next } /^```$/ { on = 0 } on' "$KPL_ROOT/docs/tools.md" > own/syncslower.lua
[ "$(wc -l < own/syncslower.lua)" = 15 ] || fail "not 15 lines"
export KPROBE_LUA_TOOLS=$PWD/own
run kprobe-lua -c 'dd if=/dev/zero of=f bs=8 count=1 conv=fsync 2>/dev/null' syncslower --comm dd
status 0
line "COMM             PID      LAT(ms) FILE"
lines 1 "^dd +[0-9]+ +[0-9.]+ $PWD/f\$"

# In place on a terminal of 40 columns: names give way, numbers don't; ^C shows all that is there.
script steps << 'STEPS'
see ^FUNC +COUNT$
see ^__x64_sys_[a-z_0-9]+ +[0-9]+$
type \x03
end 0
STEPS
KPL_PATIENCE=120 terminal --size 6x40 --record record --transcript shown steps kprobe-lua -q funccount '__x64_sys_[c-e]*' -i 0.2 > out 2>&1 || fail "on a terminal"
grep -Fq '\u001b[H\u001b[J' record || fail "not in place"

# Rows have their header again on each screen.
echo 'end 0' > steps
terminal --size 6x80 --transcript shown steps kprobe-lua -q -c 'cat /n1 /n2 /n3 /n4 /n5 /n6 /n7 /n8 /n9 2> /dev/null' opensnoop --comm cat -x > out 2>&1 ||
    fail "on a terminal"
[ "$(grep -c '^PID ' shown)" -ge 2 ] || fail "one header only: $(cat shown)"
