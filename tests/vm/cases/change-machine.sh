# SPDX-License-Identifier: MIT
# Faults for one command while all else goes on: a file system that can make no files, inodes that can't be had, writes that stop in the
# middle. And the right to change is taken away while handlers are armed.
mkdir disk
mount -t tmpfs tmpfs disk || fail 'no tmpfs'
once() { # what no fault is meant for, in the same file system
    echo kept > disk/other && read -r word < disk/other && [ "$word" = kept ] && mv disk/other disk/again && rm disk/again
}
others() {
    rounds=0
    until [ -e stop ]; do
        once || echo "failed in round $rounds" >> wrong
        rounds=$((rounds + 1))
    done
    echo $rounds > rounds
}
: > wrong
others &
beside=$!
script faults.lua <<'LUA'
local failed, writes = count(), map()
kprobe { "shmem_create", when = { comm = "touch" }, pre = function() failed["create"]:add() override(-28) end }
kprobe { "shmem_alloc_inode", when = { comm = "mkdir" }, pre = function() failed["inode"]:add() override(0) end }
kprobe { "shmem_write_begin", when = { comm = "dd" }, pre = function()
  writes:add(1, 1)
  if (writes[1] or 0) % 4 == 0 then failed["write"]:add() override(-28) end
end }
LUA
run kprobe-lua --unsafe -c 'touch disk/a; mkdir disk/b; dd if=/dev/zero of=disk/c bs=4096 count=10; touch disk/a2' faults.lua
mv out faults_out
mv err faults_err
touch stop
wait "$beside"
mv faults_out out
mv faults_err err
status 0
err 'touch: disk/a: No space left on device'
err "mkdir: .*disk/b'?: (No space left on device|Cannot allocate memory|Out of memory)"
err 'dd: .*No space left on device'
line '@failed[create]: 2'
line '@failed[inode]: 1'
line '@failed[write]: 1'
[ "$(wc -c < disk/c)" = 12288 ] || fail "what dd wrote before: $(wc -c < disk/c) bytes"
[ ! -s wrong ] || fail "others: $(cat wrong)"
[ "$(cat rounds)" -gt 0 ] || fail 'nothing ran beside it'
# as it was
touch disk/a && mkdir disk/b && dd if=/dev/zero of=disk/c bs=4096 count=10 2> /dev/null || fail 'faults that stay'
umount disk
left_nothing

# ---- an administrator takes the right away: what is armed goes on to its end, nothing more is armed
plain() { target plain 5; }
[ "$(plain)" = 605 ] || fail "at first: $(plain)"
start kprobe-lua --unsafe -e 'local n = count() kprobe { "kpl_t_plain", pre = function() n:add() override(7) end }
    local late = kprobe { "kpl_t_inner", enabled = false, pre = function() override(7) end }
    every(0.05, function()
      if os.remove "go" then print("enable", pcall(late.enable, late)) io.stdout:flush() end
    end)'
armed
echo 0 > /sys/module/kprobe_lua/parameters/changes
[ "$(plain)" = 35 ] || fail "after the right was taken away: $(plain)"
touch go
wait_for '^enable.false.*Operation not permitted'
run kprobe-lua --unsafe -e 'kprobe { "kpl_t_inner", pre = function() override(7) end }'
status 1
err "administrator has switched it off \(/sys/module/kprobe_lua/parameters/changes\)"
! echo 1 > /sys/module/kprobe_lua/parameters/changes 2> /dev/null || fail 'the right was taken back'
[ "$(plain)" = 35 ] || fail "after another was refused: $(plain)"
kill -INT "$pid"
wait "$pid"
[ "$(plain)" = 605 ] || fail "at the end: $(plain)"
left_nothing
rmmod kprobe_lua && insmod "$KPL_MODULE" || fail "the module can't be loaded again"
