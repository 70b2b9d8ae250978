# SPDX-License-Identifier: MIT
# path() against what /proc/PID/fd says: directories, mounts, bind mounts, deleted files, chroots, deep paths, pseudo files.
mkdir -p paths/tree/sub paths/fs paths/bind
mount -t tmpfs tmpfs paths/fs
mkdir paths/fs/inner
mount --bind paths/fs/inner paths/bind
deep=paths/fs
for n in $(seq 1 50); do deep=$deep/d$n; done
mkdir -p "$deep"
deeper=$deep
for n in $(seq 51 70); do deeper=$deeper/d$n; done
mkdir -p "$deeper"

script paths.lua <<'LUA'
-- What is written as five bytes tells its path.
kprobe { "vfs_write", budget = 100000, pre = function(p, file, text, n)
  if n == 5 then print(path(file, 1000)) end
end }
LUA
cat > truth.sh <<'SH'
tell() { readlink /proc/$$/fd/9 >> truth; echo abcd >&9; exec 9>&-; }
: > truth
exec 9> paths/tree/sub/plain; tell
exec 9> paths/fs/on-a-mount; tell
exec 9> paths/bind/bound; tell
exec 9> "$1/deep"; tell
exec 9> paths/tree/gone; rm paths/tree/gone; tell
exec 9> /dev/null; tell
SH
run kprobe-lua -c "sh truth.sh $deep" paths.lua
status 0
[ "$(wc -l < truth)" = 6 ] || fail 'no truth'
cat truth
while read -r path; do line "$path"; done < truth
out '/gone \(deleted\)$'
out '/d50/deep$'

# Deeper than the bound: its beginning is cut, and counted.
run kprobe-lua -c "echo abcd > $deeper/x" paths.lua
status 0
out '^/d[0-9]+(/d[0-9]+){60,62}/x$'
err '^vfs_write \(paths.lua:2\): 1 .* cut '

# Longer than the limit likewise.
run kprobe-lua -c "echo abcd > $deep/x" -e 'kprobe("vfs_write", function(p, file, text, n) if n == 5 then print(path(file, 7)) end end)'
status 0
line '9/d50/x'

# From the root of the process.
mkdir -p paths/root/tmp paths/root/bin
cp /bin/busybox paths/root/bin/sh
run kprobe-lua -c "chroot paths/root /bin/sh -c 'echo abcd > /tmp/within'" paths.lua
status 0
line '/tmp/within'

script pseudo.lua <<'LUA'
kprobe("pipe_write", function(p, iocb) print(path(iocb.ki_filp)) end)
kprobe("pipe_read", function(p, iocb) print(path(iocb.ki_filp)) end)
LUA
run kprobe-lua -c 'echo abcd | { readlink /proc/self/fd/0; cat; } > pipe-truth' pseudo.lua
status 0
line "$(head -n 1 pipe-truth)"
umount paths/bind paths/fs
