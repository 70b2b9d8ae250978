# SPDX-License-Identifier: MIT
# limit: 900
# Bad input: the prompt lives, or ends cleanly, without its probes and with its history.
export HOME=$PWD
ends() { # STEPS…: the prompt ends by them
    run terminal "$@" kprobe-lua -i
    status 0
    left_nothing
}
echo "# noise"
script noise <<'EOS'
> p = kprobe("kpl_t_plain", function() end)
see ^probe 1
noise 20000
type \x07\x1b\x03
> "alive"
see ^alive$
leave
end 0
EOS
echo "# a line of a megabyte"
script long <<'EOS'
> 1
flood 1000000
type \x03
> "alive"
see ^alive$
leave
end 0
EOS
echo "# the terminal closes, also while a script never ends"
script hangup <<'EOS'
> p = kprobe("kpl_t_plain", function() end)
see ^probe 1
hangup
end 0
EOS
script stuck <<'EOS'
> p = kprobe("kpl_t_plain", function() end)
see ^probe 1
> io.open("loops", "w"):close() while true do pcall(error) end
sh until [ -e loops ]; do sleep 0.1; done
hangup
end 0
EOS
echo "# ^C while something is pasted: what has come of it is not run"
script paste <<'EOS'
> 1
type \e[200~io.open("pasted", "w"):close()\r1 +
sh for i in 1 2 3 4 5 6 7 8 9 10; do cat /proc/stat > stat; done
type \x03
> "alive"
see ^alive$
sh [ ! -e pasted ]
leave
end 0
EOS
echo "# 20 columns, TERM=dumb"
script narrow <<'EOS'
> p = kprobe("kpl_t_plain", function(p, n) print("this line is longer than twenty", n) end)
see ^probe 1
row ^[0-9]+>$
type x = "abcdefghijklmnopqrstuvwxyz"
run echo plain 2 > /sys/module/kpl_target/parameters/run
see ^this line is longer
type \r
> #x
see ^26$
leave
end 0
EOS
echo "# handlers that stop at each hit; a module that goes while the prompt waits"
script stops <<'EOS'
> p = kprobe("kpl_t_plain", function(p) print(ffi.cast("struct file *", 8).f_inode.i_ino) end)
see ^probe 1
run echo plain 20 > /sys/module/kpl_target/parameters/run
see ^input 1:1: bad address .*hits?\)
run rmmod kpl_target
see the module was unloaded
> p
see ^probe 1: kpl_t_plain, gone$
leave
end 0
EOS
echo "# a mistake takes nothing back but what is its own; names of Lua's functions; values that never end"
script mistakes <<'EOS'
> p = kprobe("kpl_t_plain", function() end)
see ^probe 1
> x = = 3
see unexpected symbol near '='
> p
see ^probe 1: kpl_t_plain
> h = hist() k = h q = kprobe("kpl_t_many", function(p) h:add(1) end)
see ^probe 2
> h = count() kprobe("no_such_function", function() h:add() end)
see no_such_function
> h == k
see ^true$
> next = 5 type = "w" string = nil
> "alive"
see ^alive$
> setmetatable({}, { __tostring = function() while true do pcall(error) end end })
type \x03
see interrupted
> for _, v in next, {} do end printf("read help %d\n", 1)
> save "saved.lua"
see ^[0-9]+ inputs are in saved.lua$
leave
end 0
EOS
target > /dev/null
ends noise
ends mistakes
ends long
ends paste
ends hangup
ends stuck
run terminal --size 10x20 narrow kprobe-lua -i
status 0
run terminal --size 24x80 --term dumb narrow kprobe-lua -i
status 0
ends stops
grep -q '^"alive"$' .local/state/kprobe-lua/history || fail "the history is not kept"
