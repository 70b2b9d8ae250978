# SPDX-License-Identifier: MIT
# disasm: a function of the kernel, one of a module, with probes in them; and what it says of wrong names.
run kprobe-lua disasm vfs_read
status 0
quiet_err
out '^vfs_read at 0xffffffff[0-9a-f]{8}, [0-9]+ bytes$'
out '^ +\+0x0 .*(ftrace site: probed without a breakpoint|a probe here stands at \+0x4)$'
out '^ +\+0x[0-9a-f]+  yes    yes    yes '
out '^ +\+0x[0-9a-f]+  yes    no     no .*callq rw_verify_area +not boosted: relative jump or call'
out 'not optimized: relative jump or call in the region, at \+0x'
out '^Of [0-9]+ instructions [0-9]+ can be probed, [0-9]+ boosted, [0-9]+ optimized\.$'
preemptible=$(grep -c ' T preempt_schedule$' /proc/kallsyms)
lines "$preemptible" 'This kernel boosts none of them: it is preemptible'
code() { kprobe-lua -f json disasm vfs_read | grep -o '"offset":[0-9]*,"bytes":"[^"]*"' | sed 1,2d; } # without the ftrace site
code > before

# Probes leave no trace in what is shown, wherever they are, such as at two instructions behind each other.
# shellcheck disable=SC2046
set -- $(overlapping vfs_read)
script marks.lua << 'EOF'
kprobe("vfs_read", function() end)
kprobe("vfs_read" .. arg[1], function() end)
kprobe{"vfs_read" .. arg[2], post = function() end}
EOF
start kprobe-lua marks.lua "$1" "$2"
armed
code > with
cmp before with || fail "the marks of probes show"
kprobe-lua disasm vfs_read > with
grep -q "not optimized: another probe in the region, at $2\$" with || { cat with; fail "no word of the probe at $2"; }
kill "$pid"
finish
left_nothing

# A module's function, an address, an offset.
run kprobe-lua disasm kprobe_lua:kpl_hit
status 1
err "^kprobe-lua: no function 'kprobe_lua:kpl_hit' in this kernel"
name=$(awk '$2 ~ /[tT]/ && $4 == "[kprobe_lua]" && $3 !~ /^_/ { print $3; exit }' /proc/kallsyms)
run kprobe-lua disasm "kprobe_lua:$name"
status 0
out "^kprobe_lua:$name at 0xffffffff"
address=$(awk '$3 == "vfs_open" { print $1; exit }' /proc/kallsyms)
run kprobe-lua disasm "0x$address"
status 0
out "^vfs_open at 0x$address"
run kprobe-lua disasm vfs_open+0x9
status 0
lines 1 '^>'
run kprobe-lua -f json disasm vfs_open
status 0
lines 1 '^\{"type":"function","data":\{"name":"vfs_open","module":"","address":"0x'

# Blacklisted: none may be probed.
run kprobe-lua disasm exc_divide_error
status 0
out 'blacklisted: NOKPROBE, noinstr or entry code$'
out 'instructions 0 can be probed'

run kprobe-lua disasm vfs_raed
status 1
one_error
err "^kprobe-lua: no function 'vfs_raed' in this kernel \(did you mean vfs_read"
run kprobe-lua disasm vfs_open+0xfffff
status 1
err "is behind the end of vfs_open"
run kprobe-lua disasm
status 2
