# SPDX-License-Identifier: MIT
# Every example of docs/data.md runs as it stands.
awk '/^```lua$/ { n++; on = 1; next } /^```$/ { on = 0 } on { print > sprintf("example-%02d.lua", n) }' "$KPL_ROOT/docs/data.md"
set -- example-*.lua
[ $# -ge 8 ] || fail "$# examples"
for example in "$@"; do
    wait=0
    grep -q every "$example" && wait=1.1
    run kprobe-lua -c "sleep $wait; cat /etc/passwd /nonexistent 2>/dev/null; dd if=/dev/zero of=f bs=8 count=20 conv=fsync 2>/dev/null" "$example"
    [ "$status" = 0 ] && [ ! -s err ] || fail "$example: $(cat "$example")"
    case $example in *07.lua) [ -s out ] || fail "$example prints nothing" ;; esac
done
