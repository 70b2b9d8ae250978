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
leave
end 0
EOS
script boot <<'EOS'
see ^vm: booting
type \x03
end 130
EOS
for version in 6.1 6.12; do
    run terminal steps kprobe-lua --vm=$version -i
    status 0
done
run terminal boot kprobe-lua -v --vm -i
status 0
