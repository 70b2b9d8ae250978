# SPDX-License-Identifier: MIT
# When detach() has returned, no handler runs any more, though the functions are called all the time.
script ends.lua <<'LUA'
local kinds = { "ftrace", "kprobe", "direct", "kretprobe" }
local hits, probes, after = count(), {}, {}
for _, via in ipairs(kinds) do
  local function handler() hits[via]:add() end
  if via == "ftrace" or via == "kprobe" then probes[via] = kprobe { "vfs_read", via = via, pre = handler }
  else probes[via] = kretprobe { "vfs_read", via = via, entry = handler, ret = handler } end
end
local step = 0
every(0.2, function()
  if step < #kinds and hits:value(kinds[step + 1]) == 0 then return end
  step = step + 1
  if step <= #kinds then
    local via = kinds[step]
    probes[via]:detach()
    after[via] = hits:value(via)
  elseif step == #kinds + 5 then
    for _, via in ipairs(kinds) do print(via, hits:value(via) - after[via]) end
    exit()
  end
end)
LUA
cat > busy.sh << 'SH'
while :; do read -r line < /etc/passwd; done
SH
for _ in 1 2 3; do sh busy.sh & done
run kprobe-lua --cpu-share 100 ends.lua
status 0
for via in ftrace kprobe direct kretprobe; do line "$via	0"; done
