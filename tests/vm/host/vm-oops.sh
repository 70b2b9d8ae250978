# SPDX-License-Identifier: MIT
# At an oops, and at a panic that none came before, the kernel's log names the handler that ran on each CPU.
cat > long.lua <<'LUA'
local total = count()
kprobe("kpl_t_plain", function(p)
  local x = 0
  for i = 1, 20000 do x = x ~= i and x + i or x end
  if x == 3 then total:add() end
end)
LUA
build=$(dirname "$(command -v kprobe-lua)")
for version in 6.1 6.12; do
    module=$(ls "$build"/tests/vm/target/$version.*/kpl_target.ko)
    run kprobe-lua --vm=$version --vm-add "$module" --cpu-share=100 \
        -c "echo bug 1000000 > /sys/module/kpl_target/parameters/run" long.lua
    status 1
    err 'BUG: kernel NULL pointer dereference'
    err 'kprobe_lua: CPU [0-9]+ runs the handler at kpl_t_plain\+0x.*, line 2 of long\.lua, process [0-9]+'
    run kprobe-lua --vm=$version --vm-add "$module" --cpu-share=100 \
        -c "echo plain 1000000 > /sys/module/kpl_target/parameters/run & sleep 1; echo c > /proc/sysrq-trigger" long.lua
    status 1
    no_err 'Oops: '
    err 'Kernel panic - not syncing: sysrq triggered crash'
    err 'kprobe_lua: CPU [0-9]+ runs the handler at kpl_t_plain\+0x.*, line 2 of long\.lua, process [0-9]+'
done
