# SPDX-License-Identifier: MIT
# limit: 900
# At an oops, and at a panic that none came before, the kernel's log names the handler that ran on each CPU: also two.
cat > long.lua <<'LUA'
local total = count()
kprobe { "kpl_t_plain", budget = 1000000, pre = function(p)
  local x = 0
  for i = 1, 20000 do x = x ~= i and x + i or x end
  if x == 3 then total:add() end
end }
kprobe { "read_zero", budget = 1000000, pre = function(p)
  local x = 0
  for i = 1, 20000 do x = x ~= i and x + i or x end
  if x == 3 then total:add() end
end }
LUA
told() {
    [ "$(grep -Ec "kprobe_lua: CPU [0-9]+ runs the handler at $1\+0x.*, line $2 of long\.lua, process [0-9]+" err)" -ge "$3" ]
}
plain() { told kpl_t_plain 2 1; }
# Twice: at the oops, and when the panic that follows has stopped the other CPU.
both() { told kpl_t_plain 2 2 && told read_zero 7 2; }
# dies COMMAND CHECK: a CPU is in its handler nearly all the time, not always.
dies() {
    for try in 1 2 3 4 5 6; do
        run kprobe-lua --vm=$version --vm-add "$module" --cpu-share=100 -c "$1" long.lua
        status 1
        ! "$2" || return 0
    done
    fail "in $try panics, never the handlers: $2"
}
run=/sys/module/kpl_target/parameters/run
build=$(dirname "$(command -v kprobe-lua)")
for version in 6.1 6.12; do
    module=$(ls "$build"/tests/vm/target/$version.*/kpl_target.ko)
    dies "dd if=/dev/zero of=/dev/null bs=1 & sleep 1; echo bug 1000000 > $run" both
    err 'BUG: kernel NULL pointer dereference'
    dies "echo plain 1000000 > $run & sleep 1; echo c > /proc/sysrq-trigger" plain
    no_err 'Oops: '
    err 'Kernel panic - not syncing: sysrq triggered crash'
done
