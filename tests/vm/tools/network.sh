# SPDX-License-Identifier: MIT
# Tools on TCP: three connections over the loopback device, and one to where nobody listens.
jobs=$KPL_ROOT/tests/vm/tools/jobs
kprobe-lua tools --headers > headers
has_header() { grep -Fxq "$1: $(head -n 1 out)" headers || fail "$1: not its header: $(head -n 1 out)"; }
export LUA_PATH="$jobs/?.lua;;"
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
on_tcp tcpconnect -P 5556
no_out 5555
on_tcp tcpaccept
lines 3 "^[0-9]+ +luajit +4 +$local +[0-9]+ +$local +5555\$"
on_tcp tcplife -D 5555
lines 3 "^[0-9]+ +luajit +$local +[0-9]+ +$local +5555 +8 +0 [0-9.]+\$"
run kprobe-lua -f json -c "luajit $jobs/tcp.lua" tcplife -D 5555
lines 3 '^\{"type":"row","data":\{"pid":[0-9]+,"comm":"luajit","laddr":"127.0.0.1","lport":[0-9]+,"raddr":"127.0.0.1","rport":5555,"tx_kb":8,"rx_kb":0,"ms":[0-9.]+\}\}$'
on_tcp tcpstates -D 5555
lines 3 "luajit +$local +[0-9]+ +$local +5555 +SYN_SENT +-> +ESTABLISHED +[0-9.]+\$"
lines 3 ' +ESTABLISHED +-> +FIN_WAIT1 '
on_tcp tcpdrop
out "^[0-9:]{8} [0-9]+ +4 +$local:[0-9]+ +> $local:5556 +SYN +NO_SOCKET\$"
out '^    tcp_v4_rcv'
run kprobe-lua -c "luajit $jobs/tcp.lua retry" tcpretrans
status 0
has_header tcpretrans
out "^[0-9:]{8} [0-9]+ +4 +$local:[0-9]+ +R $local:5557 +SYN_SENT\$"
