# SPDX-License-Identifier: MIT
# limit: 900
# --vm -i is the same prompt inside the VM: keys, ^C, the window's size and colours pass through, and its end is the VM's.
script steps <<'EOS'
> 6 * 7
see ^42$
> p = kprobe("vfs_read", function(p) end)
see ^probe 1: vfs_read, ftrace, armed$
> while true do end
type \x03
see ^(\^C)?interrupted$
size 30 50
> io.popen("stty size < /dev/tty"):read()
see ^30 50$
> "\27[31mred"
see ^red$
> save "investigation.lua"
see inputs are in investigation.lua$
leave
end 0
EOS
script boot <<'EOS'
see ^vm: booting
type \x03
end 130
EOS
# History and saved scripts outlive the VM; a file that is there is left as it is.
export XDG_STATE_HOME="$PWD/state"
mkdir -p state/kprobe-lua
echo 'of_another_day = 1' > state/kprobe-lua/history
for version in 6.1 6.12; do
    run terminal steps kprobe-lua --vm=$version -i
    status 0
done
[ "$(head -1 state/kprobe-lua/history)" = 'of_another_day = 1' ] || fail "the history has lost its begin"
[ "$(grep -c '^6 \* 7$' state/kprobe-lua/history)" = 2 ] || fail "the history: $(cat state/kprobe-lua/history)"
grep -q '^p = kprobe("vfs_read"' investigation.lua || fail "what was saved: $(cat investigation.lua)"
cmp investigation.lua investigation.lua.1 || fail "the second one that was saved"
run terminal boot kprobe-lua -v --vm -i
status 0
