# SPDX-License-Identifier: MIT
# The script's own status, and the bytes of both streams, unchanged and apart. The script comes from stdin.
cat > script.lua <<'LUA'
io.stdout:write("a\r\nb\0c\255\n\n")
io.stderr:write("to stderr\n")
exit(9)
LUA
kprobe-lua --vm=6.12 - < script.lua > out 2> err
status=$?
status 9
printf 'a\r\nb\0c\377\n\n' | cmp - out || fail "stdout is not the same bytes"
echo 'to stderr' | cmp - err || fail "stderr is not the same bytes"
