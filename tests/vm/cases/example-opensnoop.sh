# SPDX-License-Identifier: MIT
run kprobe-lua -v -c 'cat /etc/passwd /nonexistent > /dev/null' "$KPL_ROOT/examples/opensnoop.lua"
status 0
line 'PID    COMM               FD ERR PATH'
out '^[0-9]+ +cat +3 +0 /etc/passwd$'
out '^[0-9]+ +cat +-1 +2 /nonexistent$'
err '^do_sys_openat2 \([^ ]+:[0-9]+\): [0-9]+ hits = [0-9]+ handled'
err '^events: [0-9]+ sent = [0-9]+ delivered \+ 0 lost$'
