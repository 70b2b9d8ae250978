# SPDX-License-Identifier: MIT
# Each version boots a kernel of that version, and the run inside sees what it would see here.
for version in 6.1 6.12; do
    echo 'at_exit(function() print(arg[1], arg[2]) end) kprobe("vfs_read", function() end)' > here.lua
    run kprobe-lua --vm=$version -c 'uname -r; pwd; cat /nonexistent' here.lua one 'two words'
    status 0
    out "^$version\\."
    line "$PWD"
    line "$(printf 'one\ttwo words')"
    err "^cat: can't open '/nonexistent'"
done
