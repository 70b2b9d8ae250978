# SPDX-License-Identifier: MIT
# Tools run in a VM as anything else: by name, from a folder of one's own with a module beside them, as a file.
awk '/^```lua tool$/ { on = 1; next } /^```$/ { on = 0 } on' "$KPL_ROOT/docs/tools.md" > syncslower.lua
run kprobe-lua --vm=6.12 -c 'dd if=/dev/zero of=/tmp/f bs=8 count=1 conv=fsync 2>/dev/null' ./syncslower.lua --comm dd
status 0
lines 1 '^dd +[0-9]+ +[0-9.]+ /tmp/f$'

mkdir own
{ echo 'require "beside"'; cat syncslower.lua; } > own/mine.lua
echo 'return {}' > own/beside.lua
export KPROBE_LUA_TOOLS=$PWD/own
run kprobe-lua --vm=6.1 -c 'kprobe-lua -c "cat /nonexistent 2>/dev/null" opensnoop -x; kprobe-lua -c "dd if=/dev/zero of=/tmp/f bs=8 count=1 conv=fsync 2>/dev/null" mine --comm dd'
status 0
out '^[0-9]+ +cat +-1 +2 /nonexistent$'
lines 1 '^dd +[0-9]+ +[0-9.]+ /tmp/f$'
