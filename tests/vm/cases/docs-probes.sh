# SPDX-License-Identifier: MIT
# Every example of docs/probes.md runs; what globs leave out is said as it shows.
doc=$KPL_ROOT/docs/probes.md
awk '/^```lua$/ { n++; on = 1; next } /^```$/ { on = 0 } on { print > ("example" n ".lua") }' "$doc"
[ -f example10.lua ] || fail 'too few examples'
offset=
for file in example?.lua example1?.lua; do
    if grep -q OFFSET "$file"; then
        for offset in 9 5 6 7 8 10 11; do
            sed "s/OFFSET/$offset/" "$file" > placed.lua
            kprobe-lua -c true placed.lua > /dev/null 2>&1 && break
        done
        mv placed.lua "$file"
    fi
    run kprobe-lua -c 'cat /proc/uptime > /dev/null' "$file"
    [ "$status" = 0 ] || fail "$file: exit status $status: $(cat "$file")"
    no_err 'refused'
    if grep -q '"vfs_\*"' "$file"; then
        sed -i 's/, 1 parts of functions$//' err # on 6.1
        sed -n "s/^    script\.lua\(:.* probed; left out: \)/$file\1/p" "$doc" > shown
        like err < shown
    fi
done
[ -s shown ] || fail 'no example with a glob'
