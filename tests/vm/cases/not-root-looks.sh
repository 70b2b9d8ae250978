# SPDX-License-Identifier: MIT
# The commands that show the system, without rights: one line that says what to do.
nobody() { run su -s /bin/sh nobody -c "cd /tmp/not-root && $*"; }
mkdir -m 755 /tmp/not-root
for command in 'disasm vfs_read' 'list' 'list blacklist' "-l 'vfs_*'"; do
    nobody "kprobe-lua $command"
    status 1
    one_error
    err '^kprobe-lua: .*(run as root|sudo kprobe-lua|as root)'
done
nobody 'kprobe-lua doctor'
status 1
line 'no    no right to probe: neither CAP_SYS_ADMIN, nor CAP_PERFMON with CAP_BPF'
line '?     debugfs and tracefs: only root sees them'
line '        sudo kprobe-lua …'
quiet_err
nobody 'kprobe-lua --info'
status 0
quiet_err
rmdir /tmp/not-root
