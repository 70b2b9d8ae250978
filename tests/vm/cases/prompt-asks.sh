# SPDX-License-Identifier: MIT
# Help, completion, hints, history and what is saved.
export HOME=$PWD
mkdir -p .local/state/kprobe-lua
echo '"of another day"' > .local/state/kprobe-lua/history
script steps <<'EOS'
> ?
see ^Each input is Lua
> ?kstack
see the kernel's stack: up to n frames
see kstack\(
> ?vfs_read
see ^ssize_t vfs_read\(struct file \*file, char \*buf, size_t count, loff_t \*pos\)$
see can be probed: at its entry by ftrace
> ?struct path
see ^struct path, 16 bytes$
see ^ +8 +struct dentry \*dentry$
> ?enum pid_type
see ^ +PIDTYPE_TGID = 1$
> ?no_such_thing
see is no builtin, variable, kernel function or type
> n = count()
> ?n
see ^n is an aggregation$
> help "kretprobe"
see kretprobe \{
row ^[0-9]+>$
type kret\t
row kretprobe$
type  { "vfs_rea\t
row "vfs_read
type ", ent\tfunction(p, f
row entry = function
see ^ssize_t vfs_read\(struct file
type ile) file.f_pa\t.den\tx\x08.d_na\t.na\t
row file\.f_path\.dentry\.d_name\.name$
type \x03
see \^C
row ^[0-9]+>$
type ffi.sizeo\t("int")\r
see ^4$
row ^[0-9]+>$
type task().real_cr\t
row task\(\)\.real_cred$
type \x03
row ^[0-9]+>$
type \x12another
row of another day
type \r
see ^of another day$
> b = kprobe("vfs_read", function() n:add() end)
see ^probe 1:
> b = kprobe("vfs_write", function() n:add() end)
see replaces probe 1$
> c = kprobe("vfs_open", function() n:add() end)
see ^probe 3:
> c:disable()
> probes
see ^3 +vfs_open +ftrace +disabled
> save "saved.lua"
see inputs are in saved.lua$
leave
end 0
EOS
run terminal --size 50x120 steps kprobe-lua -i
cat out
status 0
[ "$(stat -c %a .local/state/kprobe-lua/history)" = 600 ] || fail "the history can be read by others"
grep -q '^save "saved.lua"$' .local/state/kprobe-lua/history || fail "the history lacks an input"
run kprobe-lua -v -e 'dofile "saved.lua" every(0.1, exit)'
status 0
err '^vfs_write .*hits'
err '^vfs_open .*: 0 hits'
no_err '^vfs_read .*hits'
# Two prompts at once keep what either was given.
script one <<'EOS'
> "first of one"
sh touch one-began; while [ ! -e two-ended ]; do sleep 0.1; done
> "second of one"
leave
end 0
EOS
script two <<'EOS'
sh while [ ! -e one-began ]; do sleep 0.1; done
> "of two"
leave
end 0
EOS
terminal one kprobe-lua -i > one.out &
run terminal two kprobe-lua -i
status 0
touch two-ended
wait $!
for input in '"first of one"' '"of two"' '"second of one"'; do
    grep -Fxq "$input" .local/state/kprobe-lua/history || fail "the history lacks $input"
done
left_nothing
echo "# the same without a prompt"
run kprobe-lua help kstack
status 0
out "^kstack\(\[n\]\): the kernel's stack"
run kprobe-lua help vfs_read
status 0
out '^ssize_t vfs_read\(struct file'
out 'can be probed: at its entry by ftrace'
run kprobe-lua help "struct iovec"
status 0
out '^struct iovec, 16 bytes$'
run kprobe-lua help no_such_name
status 1
one_error
err "'no_such_name' is no builtin, variable, kernel function or type"
