# SPDX-License-Identifier: MIT
# Every command and every example of docs/inspect.md.
doc=$KPL_ROOT/docs/inspect.md
awk '/^```lua$/ { n++; on = 1; next } /^```$/ { on = 0 } on { print > ("example" n ".lua") }' "$doc"
[ -f example2.lua ] || fail 'too few examples'
for file in example?.lua; do
    run kprobe-lua -c 'cat /proc/uptime' "$file"
    [ "$status" = 0 ] || fail "$file: exit status $status"
    quiet_err
done
cd "$KPL_ROOT" || exit 1
sed -n 's/^    \$ kprobe-lua //p' "$doc" > "$OLDPWD/commands"
cd - > /dev/null || exit 1
[ "$(wc -l < commands)" -ge 6 ] || fail 'too few commands'
while read -r arguments; do
    arguments=$(echo "$arguments" | sed "s,examples/,$KPL_ROOT/examples/,")
    eval "kprobe-lua $arguments" > out 2> err < /dev/null || fail "kprobe-lua $arguments: exit status $?"
    quiet_err
done < commands
