# SPDX-License-Identifier: MIT
# A process runs code of a file whose server answers to nobody: its addresses have no names, and nothing else is lost. The
# tool goes on, ends at once and leaves nothing, though a look at such a file can't even be killed. So it does where a process
# waits for such a server with its memory's lock held, and nobody can read /proc/PID/maps.
module=/lib/modules/$(uname -r)/kernel/fs/fuse/fuse.ko
[ ! -e "$module" ] || insmod "$module"
[ -e /dev/fuse ] || lacks "this kernel has no FUSE"
script names.lua <<'LUA'
local calls = event()
kprobe { "__x64_sys_getpid", when = { comm = "silent" }, pre = function() calls { at = ustack(1) } end }
calls:each(function(e) print(e.at) end)
LUA
ends() {
    kill -INT "$pid"
    until_true "the tool has ended" sh -c "! kill -0 $pid 2> /dev/null"
    finish
    status 0
    err '^1 file of processes did not answer within 3 s: '
}
looks_at() { # WHEN: a server that falls silent then
    mkdir "$1"
    start kprobe-lua names.lua
    armed
    # shellcheck disable=SC2046 # nothing, or a word
    silent "$PWD/$1" 3 $([ "$1" = always ] || echo "$1") > told &
    until_true "the file is mapped" grep -qx silent told
    until_true "its addresses" sh -c '[ "$(grep -c "silent.so" out)" = 3 ]'
    grep -q '0x[0-9a-f]* \[silent.so\]$' out || fail "not as an address"
    # What is left behind is no part of the tool.
    until_true "somebody waits for the server" sh -c 'grep -l "^State:.*D" /proc/[0-9]*/status > waits'
    grep -qx "/proc/$pid/status" waits && fail "the tool itself waits"
    ends
}
looks_at always
looks_at close
mkdir lock
mkfifo go
silent "$PWD/lock" 3 lock < go > told &
server=$!
exec 3> go
until_true "the process waits for its server" grep -qx silent told
start kprobe-lua names.lua
armed
echo >&3
until_true "its addresses" sh -c '[ "$(grep -c "^ *0x[0-9a-f]*$" out)" = 3 ]'
kill -0 "$server" || fail "the server has ended, and who waited for it goes on"
ends
kill -9 "$server"
left_nothing
rmmod kprobe_lua || fail "who was left behind holds the module"
insmod "$KPL_MODULE" || fail "can't load the module again"
