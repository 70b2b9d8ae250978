# SPDX-License-Identifier: MIT
# Every example of docs/data.md runs as it stands; accounts and JSON look as it shows them.
doc=$KPL_ROOT/docs/data.md
awk '/^```lua$/ { n++; on = 1; next } /^```$/ { on = 0 } on { print > sprintf("example-%02d.lua", n) }' "$doc"
set -- example-*.lua
[ $# -ge 8 ] || fail "$# examples"
for example in "$@"; do
    rm -f ran
    if grep -q every "$example"; then # the file is there when the timer has run
        echo 'local own = every; every = function(s, f) own(s, function() f() io.open("ran", "w"):close() end) end' > timed
        cat "$example" >> timed
        mv timed "$example"
    else
        touch ran
    fi
    run kprobe-lua -c "until [ -e ran ]; do sleep 0.1; done; cat /etc/passwd /nonexistent 2>/dev/null; dd if=/dev/zero of=f bs=8 count=20 conv=fsync 2>/dev/null" "$example"
    [ "$status" = 0 ] && [ ! -s err ] || fail "$example: $(cat "$example")"
    case $example in *07.lua) [ -s out ] || fail "$example prints nothing" ;; esac
done

# One run that loses in each of the ways that the page shows.
script trace.lua << 'LUA'
local sent = event()
sent:each(function() os.execute "until [ -e read ]; do sleep 0.1; done" end)
local sizes = map { max = 1 }
kprobe("vfs_read", function(p, file, buf, size)
  if comm() ~= "dd" then return end
  sizes[size] = true
  sent { size = size }
  if size == 1 then print(ffi.cast("struct task_struct *", p.arg[2]).pid) end
end)
LUA
run kprobe-lua -v --buffer 4K -c 'for size in 1 2 3; do dd if=/dev/zero of=/dev/null bs=$size count=300 2> /dev/null; done; touch read' trace.lua
status 0
grep -E '^(vfs_read|events:|trace.lua:3:)' "$doc" > shown
[ "$(wc -l < shown)" = 3 ] || fail 'not three lines of an account'
like err < shown

printf '%s\n' '#!/bin/sh' 'read -r _ < /proc/uptime' > sshd # what a process runs names it
cp sshd cat
chmod +x sshd cat
script json.lua << 'LUA'
local reads, sizes = count(), hist()
kprobe("vfs_read", function(p, file, buf, size)
  if comm() == "dd" then sizes:add(size) elseif comm() == "sshd" or comm() == "cat" then reads[comm()]:add() end
end)
LUA
run kprobe-lua -f json -c './sshd; ./sshd; ./sshd; ./cat; dd if=/dev/zero bs=16 count=2 | dd of=/dev/null bs=32 count=7; dd if=/dev/zero of=/dev/null bs=32 count=7' json.lua
status 0
grep -E '^\{"type":"(map|hist)"' "$doc" > shown
[ "$(wc -l < shown)" = 2 ] || fail 'not two lines of JSON'
like out < shown
