# SPDX-License-Identifier: MIT
# Jumps that the kernel does not look for when it optimizes a kprobe: from a part of a function that the compiler moved away,
# and by static keys. A probe there stays a breakpoint, and what jumps finds the instruction.
calls=200
# Where nothing else is in the way. When another one that was armed after them is optimized, the kernel has optimized what it
# will.
script alone.lua <<'LUA'
local f, why, probes, last = arg[1], arg[2], {}, -20
local high, low = f:match "^0x(%x+)(%x%x%x%x%x%x%x)$" -- an address is no number
for _, i in ipairs(instructions(f)) do
  local at = high and ("0x%s%07x"):format(high, tonumber(low, 16) + i.offset) or ("%s+%d"):format(f, i.offset)
  if (i.optimize_why or ""):find(why, 1, true) and i.offset >= last + 20 then
    probes[#probes + 1] = kprobe { at, via = "kprobe", pre = function() end }
    last = i.offset
  end
end
local free
for _, i in ipairs(instructions "vfs_read") do
  if i.optimize and i.offset > 8 then free = free or kprobe { "vfs_read+" .. i.offset, via = "kprobe", pre = function() end } end
end
local ticks = 0
every(0.2, function()
  if assert(free, "no instruction of vfs_read becomes a jump").state ~= "optimized" then return end
  ticks = ticks + 1
  if ticks < 5 then return end -- it need not be the last one
  local file = assert(io.open("states", "w"))
  for _, p in ipairs(probes) do file:write(p.state, "\n") end
  file:close()
  os.rename("states", "ready")
end)
LUA
probed() { # FUNCTION REASON
    script why.lua <<'LUA'
for _, i in ipairs(instructions(arg[1])) do print(i.optimize_why or "") end
exit()
LUA
    run kprobe-lua why.lua "$1"
    grep -q "$2" out || lacks "no instruction of $1 stands for: $2"
    start kprobe-lua -q alone.lua "$1" "$2"
    until_true 'the probes to be optimized' [ -e ready ]
    [ -s ready ] || fail "nothing was probed in $1"
    ! grep -v int3 ready || fail "not breakpoints, in $1"
}
ended() {
    kill -INT "$pid"
    finish
    status 0
    left_nothing
}

case $(uname -r) in
    6.1.*)
        # its error path is elsewhere, and comes back to between two instructions of three bytes
        store=0x$(awk '$3 == "uevent_store" { print $1; exit }' /proc/kallsyms)
        probed "$store" 'such a part may jump into it'
        i=0
        while [ $i -lt $calls ]; do
            echo garbage > /sys/devices/virtual/mem/null/uevent 2> /dev/null && fail 'garbage is an event'
            i=$((i + 1))
        done
        ended
        # it moves backwards: what a jump leads to would run so, too
        rm -f ready
        probed __memmove 'sets the direction flag'
        ended
        ;;
    *)
        features=/sys/kernel/debug/sched/features
        probed place_entity 'static key that may lead into the region'
        i=0
        while [ $i -lt $calls ]; do
            echo NO_PLACE_DEADLINE_INITIAL > $features && echo PLACE_DEADLINE_INITIAL > $features || fail 'no switch'
            i=$((i + 1))
        done
        ended
        ;;
esac
