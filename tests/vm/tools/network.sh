# SPDX-License-Identifier: MIT
# Tools on TCP: three connections over the loopback device, and one to where nobody listens.
. "$KPL_ROOT/tests/vm/tools/jobs/kit.sh"
local='127\.0\.0\.1'
on_tcp() { # TOOL ARGS…
    run kprobe-lua -c "luajit $jobs/tcp.lua" "$@"
    status 0
    has_header "$1"
}
on_tcp tcpconnect
line 'PID    COMM         IP SADDR            DADDR            DPORT'
lines 3 "^[0-9]+ +luajit +4 +$local +$local +5555\$"
lines 1 '^[0-9]+ +luajit +6 +::1 +::1 +5558$'
on_tcp tcpaccept
lines 3 "^[0-9]+ +luajit +4 +$local +[0-9]+ +$local +5555\$"
on_tcp tcplife -D 5555
lines 3 "^[0-9]+ +luajit +$local +[0-9]+ +$local +5555 +8 +0 [0-9.]+\$"
on_tcp tcpstates -D 5555
lines 3 "luajit +$local +[0-9]+ +$local +5555 +SYN_SENT +-> +ESTABLISHED +[0-9.]+\$"
lines 3 ' +ESTABLISHED +-> +FIN_WAIT1 '
on_tcp tcpstates -L 5555
lines 3 "^[0-9a-f]+ +[0-9]+ +[^ ]+ +$local +5555 +$local +[0-9]+ +LAST_ACK +-> +CLOSE +[0-9.]+\$"
on_tcp tcpdrop
out "^[0-9:]{8} [0-9]+ +4 +$local:[0-9]+ +> $local:5556 +SYN +NO_SOCKET\$"
out '^    tcp_v4_rcv'
run kprobe-lua -c "luajit $jobs/tcp.lua retry" tcpretrans
status 0
has_header tcpretrans
out "^[0-9:]{8} [0-9]+ +4 +$local:[0-9]+ +R $local:5557 +SYN_SENT\$"
