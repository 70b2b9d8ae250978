# SPDX-License-Identifier: MIT
# limit: 600
# At a panic the kernel's log says which handlers are running, of which script and line.
cat > spin.lua <<'LUA'
local n = count()

kprobe { "__x64_sys_getpriority", budget = 1000000, pre = function()
  for i = 1, 90000 do n:add(i) end
end }
LUA
cat > spin.sh <<'SH'
taskset 2 sh -c 'while :; do nice true; done' &
until grep -qs nice /proc/[0-9]*/comm; do :; done
echo c > /proc/sysrq-trigger
SH
for version in 6.1 6.12; do
    run kprobe-lua --vm=$version --vm-add "$PWD/spin.sh" --cpu-share=100 -c "sh $PWD/spin.sh" "$PWD/spin.lua"
    status 1
    err 'kprobe_lua: CPU 1 is in a handler: __x64_sys_getpriority\+0x[0-9a-f]+/0x[0-9a-f]+, line 3 of spin\.lua, process [0-9]+'
done
