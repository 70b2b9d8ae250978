# SPDX-License-Identifier: MIT
# The prompt: inputs of one line and of several, values, probes that replace each other, all or none, ^C, ^D.
script steps <<'EOS'
> 1 + 2
see ^3$
> =_ * 2, "two"
see ^6$
see ^two$
> for i = 1, 2 do
row ^3>>$
> print("turn", i)
> end
see ^turn +2$
> t = { 1, 2, x = { "a\nb" } } t.self = t
> t
see \{ 1, 2, self = <a table that this stands in>, x = \{ "a\\nb" \} \}
> 2LL^1, ffi.new("int[3]"), kprobe, type
see ^2LL$
see ^cdata<int \[3\]>: 0x
see ^builtin kprobe$
> local a = 1
see a local is gone
> x = = 1
see ^input 8:1: unexpected symbol
> y = 1
> error "hi"
see ^input 10:1: hi$
> local b
never a local is gone
> while true do end
type \x03
see ^(\^C)?interrupted$
> n = count()
> p = kprobe("kpl_t_plain", function() n:add() end)
see ^probe 1: kpl_t_plain, ftrace, armed$
> os.execute "echo plain 5 > /sys/module/kpl_target/parameters/run"
> n
see ^.*5$
> p = kprobe("kpl_t_plain", function() n:add(1 .. "") end)
see ^input 17:1: .*'..' is not available
> os.execute "echo plain 5 > /sys/module/kpl_target/parameters/run"
> n
see 10$
> p
see ^probe 1: kpl_t_plain, ftrace, armed$
> p = kprobe { "kpl_t_plain", pre = function() n:add(100) end, via = "kprobe" }
see ^probe 3: kpl_t_plain, .*armed, replaces probe 1$
> os.execute "echo plain 5 > /sys/module/kpl_target/parameters/run"
> n
see 510$
> q = kprobe("no_such_function", function() end) kprobe("kpl_t_outer", function() end)
see no function 'no_such_function'
> q
see ^nil$
> kretprobe { "kpl_t_outer", ret = function(p, r) print("outer", r) end }
see ^probe 6: kpl_t_outer, return, armed$
> probes
see ^ +target +path +state +hits +handled +stopped +missed +rate$
see ^1 +kpl_t_plain +detached +10 +10 +0 +0$
see ^3 +kpl_t_plain +(int3|optimized|ftrace) +armed +5 +5 +0 +0$
see ^6 +kpl_t_outer +return +armed +0 +0 +0 +0$
> p:cost()
see up to [0-9]+ a hit
> p:asm()
see call map_add|call agg
> p:disable()
> p
see ^probe 3: kpl_t_plain, (int3|optimized|ftrace), disabled$
> probes[3]:enable()
> probes()[1].kind
see ^k(ret)?probe$|^ftrace$
> detach_all()
see ^2 probes detached$
> probes()
see ^\{\}$
row ^[0-9]+>$
type half a line
row half a line$
type \x03
> "after"
see ^after$
leave
end 0
EOS
target > /dev/null
run terminal --size 24x120 steps kprobe-lua -i
status 0
left_nothing
