# SPDX-License-Identifier: MIT
# The probed function's own parameters, and a chain of fields through pointers.
script write.lua <<'LUA'
kprobe("vfs_write", function(p, file, buf, count)
  if comm() == "dd" then
    printf("name=%s count=%d\n", str(file.f_path.dentry.d_name.name), count)
  end
end)
LUA
run kprobe-lua -c 'dd if=/dev/zero of=some-file bs=77 count=2 2>/dev/null' write.lua
status 0
lines 2 '^name=some-file count=77$'
