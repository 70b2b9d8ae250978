# SPDX-License-Identifier: MIT
# Each kind of aggregation under each kind of key: 48 of them in one handler, exact from two CPUs.
script reads.sh <<'SH'
for cpu in 0 1; do taskset -c $cpu dd if=/dev/zero of=/dev/null bs=$((8 + cpu * 8)) count=1000 2>/dev/null & done
wait
SH
{
    adds=
    n=0
    for kind in count sum avg min max stats hist 'lhist(0, 32, 8)'; do
        for key in '' '[size]' '[comm()]' '[p.func]' '[kstack(2)]' '[{ comm(), size, cpu() < 9 }]'; do
            n=$((n + 1))
            case $kind in lhist*) make=$kind ;; *) make="$kind()" ;; esac
            echo "local a$n = $make all[$n] = { a$n, '${kind%(*}', '$key' }"
            case $kind in count) add='add()' ;; *) add='add(size)' ;; esac
            adds="$adds  a$n$key:$add
"
        done
    done
    echo 'kprobe { "read_zero", budget = 1000000, pre = function(p, file, buf, size)'
    printf '%s' "$adds"
    echo 'end }'
} > makes.txt
{
    echo 'local all = {}'
    cat makes.txt
    cat <<'LUA'
local function check(map, kind, key)
  local sum, least, most, rows = 0, math.huge, 0, 0
  for _, v in map:pairs() do
    v = type(v) == "table" and v.count or v
    sum, least, most, rows = sum + v, math.min(least, v), math.max(most, v), rows + 1
  end
  local by_size = key:find "size"
  local want = ({ count = 2000, sum = 24000, stats = 2000, hist = 2000, lhist = 2000 })[kind]
  if want then return sum == want and rows == (by_size and 2 or 1) end
  local one = ({ avg = 12, min = 8, max = 16 })[kind]
  if by_size then return rows == 2 and least == 8 and most == 16 end
  return rows == 1 and sum == one
end
at_exit(function()
  local good = 0
  for _, a in ipairs(all) do
    if check(a[1], a[2], a[3]) then good = good + 1 else print("wrong:", a[2], a[3], a[1]) end
  end
  print("good", good)
end)
LUA
} > keyed.lua
run kprobe-lua --strict -c 'sh reads.sh' keyed.lua
status 0
line 'good	48'
quiet_err
