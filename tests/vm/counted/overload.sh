# SPDX-License-Identifier: MIT
# limit: 600
# What handlers may take of a CPU, by a clock that counts instructions: 1,000 and 100,000 hits a second from a timer's
# interrupt, and hits in a row, as many as the CPU gives.
target > /dev/null
script load.lua << 'LUA'
local place, a, b = arg[1], tonumber(arg[2]), tonumber(arg[3])
local sum = count()
local function work(n) local x = 0 for i = 1, n do x = x + i end sum:add(x) end
local big = kprobe { place, budget = 1000000, pre = function() work(a) end }
local small = kprobe { place, budget = 1000000, pre = function() work(b) end }
local seen = ""
every(0.1, function()
  local now = big.state .. " " .. small.state
  if now ~= seen then print(now) end
  seen = now
end)
LUA
runs() { # what the target runs, options, steps of the two handlers
    place=kpl_target:kpl_t_${1%% *}
    # shellcheck disable=SC2086
    run kprobe-lua -v -c "echo $1 > /sys/module/kpl_target/parameters/run" $2 load.lua "$place" "$3" "$4"
    # hits = the sum of what they became
    awk '/ hits = / { gsub(/[(),]/, ""); n = 0
        for (i = 1; i < NF; i++) if ($(i + 1) ~ /^(handled|stopped|skipped|missed)$/) n += $i
        if (n != $3) bad = 1
        lines++ } END { exit bad || lines != 2 }' err || fail 'an account does not add up'
    echo "$*: $(grep -Eo 'disabled after .* of CPU .' err)"
}
all_handled() { # hits, by how many probes
    [ "$(grep -c "^kpl_t_.*: $1 hits = $1 handled" err)" = "$2" ] || fail 'hits are missing'
}
disabled='disabled after [0-9]+ hits: its handlers took [0-9]+ % of CPU 0, --cpu-share allows 25 %'

# Together over the bound: the costlier one goes, the other one fits.
runs 'irq 2200' '--cpu-share=25 -f json --strict' 25000 10000
status 1
err "^load.lua:4: .*kpl_t_irq: $disabled"
no_err '^load.lua:5: .*disabled'
out '"printf","data":"overload ftrace'
out '^\{"type":"overload","data":\{"probe":".*kpl_t_irq","hits":[0-9]+,"cpu":0,"percent":2[0-9],"share":25\}\}$'
all_handled 2200 1
runs 'irq 220000 10' --cpu-share=25 250 100
status 0
err "^load.lua:4: .*kpl_t_irq: $disabled"
no_err '^load.lua:5: .*disabled'
all_handled 220000 1

# What fits goes on.
runs 'irq 2200' '--cpu-share=25 --strict' 15000 5000
status 0
all_handled 2200 2
runs 'irq 220000 10' '--cpu-share=25 --strict' 120 50
status 0
all_handled 220000 2

# As many hits as there is time for.
runs 'plain 3000000' --cpu-share=25 100 1
status 0
err "^load.lua:4: .*kpl_t_plain: $disabled"
all_handled 3000000 1

# What is allowed is not in the way, nor at the expense of a session that may take less.
start kprobe-lua --cpu-share=100 load.lua kpl_target:kpl_t_irq 50000 1
armed
mv err others
runs 'irq 1300' --cpu-share=25 15000 10
status 0
kill -INT "$pid"
no_err disabled
all_handled 1300 2
