# SPDX-License-Identifier: MIT
# limit: 600
# What events print appears above the line that is being typed, which stays with its cursor; a screenful a second, the rest as
# a rate; all of it in the file of -o. Timers run, ^C stops a callback, pause() holds.
cat > more.sh <<'EOS'
while [ ! -e stop ]; do echo plain 2000 > /sys/module/kpl_target/parameters/run; done
EOS
script steps <<'EOS'
> p = kprobe("kpl_t_plain", function(p, n) printf("hit %d\n", n) end)
see ^probe 1: kpl_t_plain, ftrace, armed$
row ^[0-9]+>$
type n = 12 + 30
row ^2> n = 12 [+] 30$
type \x02\x02\x02
column 11
sh echo plain 3 > /sys/module/kpl_target/parameters/run
see ^hit
row ^2> n = 12 [+] 30$
column 11
run sh more.sh
see ^-- [0-9,]+ lines/s, [0-9,]+ left out \(all is in all, pause\(\) holds\)$
row ^2> n = 12 [+] 30$
column 11
type \x05 +\x20
row 30 \+$
keys 40
type 1\r
row ^3>$
> pause()
> =n
see ^43$
> probes
see ^1 .* [1-9][0-9]* +[1-9][0-9]* +0 +[0-9]+$
> probes
see ^1 .* [0-9]+/s$
> resume()
see ^-- [0-9,]+ lines came while paused, [0-9,]+ left out$
sh touch stop
> every(0.01, function() ticks = (ticks or 0) + 1 end)
> function since(t) while os.time() < t + 3 do end io.open("loops", "w"):close() while true do end end
> every(0.2, function() if stuck then stuck = false since(os.time()) end end)
> stuck = true
sh until [ -e loops ]; do sleep 0.1; done
type \x03
see ^input 11:1: interrupted|interrupted$
> ticks > 2
see ^true$
> e = event()
> kprobe("kpl_t_outer", function(p, a) e { a = a } end) e:each(function(e) bad = bad + e.a end)
run while sleep 0.2; do echo outer 2 > /sys/module/kpl_target/parameters/run; done
see ^input 14:1: 'bad' is not defined
> "alive"
see ^alive$
> detach_all()
> every(0.3, function() print "quiet" end)
see ^quiet$
leave
end 0
EOS
target > /dev/null
run terminal --transcript transcript steps kprobe-lua -i -o all
cat out
status 0
[ "$(grep -c '^hit [0-9]*$' all)" = "$(grep -vc '^quiet$' all)" ] || fail "other lines in the file of -o"
[ "$(wc -l < all)" -gt 2000 ] || fail "the file of -o lacks lines"
left_nothing
