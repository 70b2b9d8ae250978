# SPDX-License-Identifier: MIT
# Functions that the compiler made of others, as finish_task_switch.isra.0: found by the name in the source when there is
# one alone, by globs and in lists, without the parameters that nobody knows.
# limit: 150
one=finish_task_switch
# Of $one, what it became; and a function that became several and is not there itself.
awk -v one=$one 'toupper($2) == "T" && !/\.cold|__pfx_|\[/ {
    name = $3; whole[name] = 1
    if (sub(/\.(isra|constprop|part)\..*/, "", name)) { count[name]++; if (name == one) print $3 }
} END { for (name in count) if (count[name] > 1 && !whole[name]) { print name; exit } }' /proc/kallsyms > names
{ read -r made && read -r several; } < names || skip "this kernel's compiler kept $one as it is"
case $made in "$one".*) ;; *) skip "this kernel's compiler kept $one as it is" ;; esac

cat > one.lua << EOF
kprobe('$one', function(p) if p.arg[1] ~= 0 then printf('%s\n', p.func) exit() end end)
EOF
run kprobe-lua --timeout 20 one.lua
status 0
out "^$made$"
err "^note: one.lua:1: '$one' is $made in this kernel: the compiler made it from that function, and may have dropped parameters; p.arg\[n\]"

# All that is wrong at once. Of several, none is taken for the user.
cat > wrong.lua << EOF
kprobe('$one', function(p, prev) printf('%d', prev) end)
kprobe('$made', function(p) printf('%p', p.args.prev) end)
jprobe('$one', function(prev) printf('%d', prev) end)
EOF
run kprobe-lua -q --check wrong.lua
status 1
for line in 1 2 3; do
    err "^wrong.lua:$line: the parameters of $made are not known: .*: name none after p; p.arg\[n\] is what the registers hold$"
done
run kprobe-lua -e "kprobe('$several', function() end)"
status 1
one_error
err "^-e:1: no function '$several' in this kernel, but [0-9]+ that the compiler made from it: $several\.[^ ]+, .*; name one of them, or all as '$several\.\*'$"

# Lists and globs have them; a glob leaves them out where the handler names parameters.
run kprobe-lua -lv "$one"
status 0
line "$made"
no_out '\('
run kprobe-lua disasm "$one"
status 0
out "^$made at 0x"
run kprobe-lua -c true -e "kprobe('${one}*', function(p) end) kprobe('finish_*', function(p, a) end)"
status 0
one_error
err '^-e:1: [0-9]+ probed; left out: .*[0-9]+ without known parameters'
left_nothing
