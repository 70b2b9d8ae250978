# SPDX-License-Identifier: MIT
# The kernel kills the tool for want of memory while probes of eight kinds are armed and hit: nothing is left.
mkdir groups
mount -t cgroup2 none groups && echo +memory > groups/cgroup.subtree_control || lacks 'no cgroups'
mkdir groups/small
script all.lua <<'LUA'
local n, seen = count(), event()
kprobe { "vfs_read", pre = function() n:add() end }
kprobe { "vfs_write", via = "kprobe", pre = function() n:add() end }
kretprobe { "vfs_open", entry = function(p) p.data.t = now() end, ret = function(p) seen { ns = now() - p.data.t } end }
kretprobe { "vfs_statx", via = "kretprobe", ret = function() n:add() end }
tracepoint("sched:sched_switch", function() n:add() end)
profile(99, function() n:add() end)
watch { "jiffies_64", function() n:add() end }
uprobe("uprobed:add", function() n:add() end)
LUA
cat > busy.sh << 'SH'
while :; do cat /etc/passwd > /dev/null; ls -l > /dev/null; uprobed add 5 > /dev/null; done
SH
sh busy.sh &
for round in 1 2 3; do
    start sh -c 'echo 0 > groups/small/cgroup.procs && exec kprobe-lua all.lua'
    armed
    echo 1M > groups/small/memory.max
    finish
    status 137
    left_nothing
    echo max > groups/small/memory.max
    rmmod kprobe_lua || fail "the module can't be unloaded in round $round"
    insmod "$KPL_MODULE" || fail "the module can't be loaded again"
done
grep -q '^oom_kill 3$' groups/small/memory.events || fail "not for want of memory: $(cat groups/small/memory.events)"
umount -l groups
