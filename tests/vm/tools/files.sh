# SPDX-License-Identifier: MIT
# Tools on files, against workloads whose numbers are known.

# A tool's output begins with the header of its table.
has_header() { [ "$(sed -n 1p out)" = "$(kprobe-lua tools --header "$1")" ] || fail "$1: not its header: $(sed -n 1p out)"; }

run kprobe-lua -c 'cat /etc/passwd /nonexistent' opensnoop
status 0
line 'PID    COMM               FD ERR PATH'
out '^[0-9]+ +cat +3 +0 /etc/passwd$'
out '^[0-9]+ +cat +-1 +2 /nonexistent$'
run kprobe-lua -f json -c 'cat /etc/passwd /nonexistent' opensnoop -x --comm cat
status 0
out '^\{"type":"row","data":\{"pid":[0-9]+,"comm":"cat","fd":-1,"err":2,"path":"/nonexistent"\}\}$'
no_out passwd

run kprobe-lua -c 'dd if=/dev/zero of=f bs=8 count=20 2>/dev/null' funccount vfs_read vfs_write --comm dd
status 0
has_header funccount
out '^vfs_write +21$' # the last is what dd says of it
out '^vfs_read +20$'

run kprobe-lua -c 'dd if=/dev/zero of=f bs=8 count=60 conv=fsync 2>/dev/null' vfsstat --comm dd -i 1000
status 0
has_header vfsstat
out '^[0-9:]{8} +[0-9]+ +[1-9][0-9]* +[0-9]+ +[0-9]+ +[0-9]+$'
