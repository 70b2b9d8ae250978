# SPDX-License-Identifier: MIT
# exit(n), in a handler and in user space.
run kprobe-lua -e 'kprobe("vfs_read", function() exit(7) end)' -c 'cat /etc/passwd; sleep 1000'
status 7
run kprobe-lua -e 'kprobe("vfs_read", function() end) exit(5)'
status 5
# each error at the end is told; a shell that found nothing last has worked before; SIGCHLD may come ignored
run kprobe-lua -e 'at_exit(function() error "one" end) at_exit(function() error "two" end) kprobe("vfs_read", function() end) exit(0)'
status 1
err '-e:1: one'
err '-e:1: two'
grep -E '1: (one|two)' err | head -n 1 | grep -q one || fail 'not in their order'
run kprobe-lua -e 'kprobe("vfs_read", function() end) at_exit(function() error "second" end) every(0.05, function() error "first" end)'
status 1
grep -E '1: (first|second)' err | head -n 1 | grep -q first || fail 'the first error is not told first'
err '-e:1: second'
run kprobe-lua -c nosuch -e 'at_exit(function() error "at the end" end) kprobe("vfs_read", function() end)'
status 1
err 'nosuch: not found, or it can.t be run'
err 'at the end'
run kprobe-lua -e 'local e = event() kprobe("vfs_read", function() e {} end) e:each(function() print "read" end)' \
    -c 'cat /etc/passwd > /dev/null; nosuch'
status 1
line read
err 'nosuch: not found, or it can.t be run'
run sh -c 'trap "" CHLD; exec kprobe-lua --timeout=60 -c true -e "kprobe(\"vfs_llseek\", function() end)"'
status 0
left_nothing
