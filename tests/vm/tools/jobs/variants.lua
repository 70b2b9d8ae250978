-- SPDX-License-Identifier: MIT
-- usage: kprobe-lua --check variants.lua DIR: every tool, with the options that change its handlers, in one session.
local dir = arg[1]
local calls = [[
  opensnoop -T -U -x --tid 1
  opensnoop --cgroup /
  execsnoop -x -T
  exitsnoop -x --per-thread -T
  statsnoop -x -T
  syncsnoop
  killsnoop -x -s 9
  mountsnoop --comm x
  setuids
  threadsnoop
  syscount -L -x --top 3
  syscount -P -e 2
  profile -U
  profile -K -I
  profile --frames 126 -F 999
  hardirqs -d
  hardirqs
  bashreadline --comm x
  capable -v -K --unique
  biolatency -Q -m -D
  biolatency -D -F
  biolatency -Q -F
  biolatency
  biosnoop -Q
  bitesize
  dcsnoop -a
  dcstat
  fileslower -a 0
  ext4slower 0 --comm x
  ext4dist -m
  cachestat -T
  filelife
  vfscount
  vfsstat 1 5
  funccount vfs_read vfs_w* --top 3 -d 4
  funclatency -F -u vfs_read vfs_write
  funclatency -m vfs_read
  funcslower -u 5 -a 6 -K vfs_read
  funcslower vfs_read
  argdist vfs_read comm() -F p.args.count>5
  argdist vfs_read(file,buf,n) {comm(),n}
  argdist -H vfs_read(file,buf,n) n
  argdist vfs_read
  argdist c:read
  trace r:c:read ret
  trace u:libc:malloc(n) n
  trace vfs_read -K -T -M 5
  trace r:vfs_w* ret
  trace do_nanosleep(t,mode) mode comm() p.func
  stackcount -P --frames 5 vfs_read
  stackcount vfs_w*
  tcpconnect -P 80 -T
  tcpaccept -P 80 -T
  tcplife -L 5 -D 6 -T
  tcpretrans -l
  tcpdrop -s
  tcpdrop
  tcpstates -L 5 -T
  memleak -z 5 -Z 6 -i 1
  memleak -O libc
  oomkill
  offcputime -K --tid 4 -m 5
  offcputime --comm x -U
  cpudist -O -P
  cpudist -m
  cpudist -P
  runqlat -P -m
  runqlat
  softirqs -d
  softirqs
  mutexslower -s 0
  slabratetop -i 1 -n 2
  shmsnoop -T
  naptime --comm x
  pidpersec
  swapin --top 3
  drsnoop -p 1 5
  drsnoop
  ttysnoop /dev/null
  writeback
]]
for call in calls:gmatch "[^\n]+" do
  local words = {}
  for word in call:gmatch "%S+" do words[#words + 1] = word end
  local path = dir .. "/" .. table.remove(words, 1) .. ".lua"
  words[0] = path
  arg = words -- luacheck: globals arg
  assert(loadfile(path))()
end
