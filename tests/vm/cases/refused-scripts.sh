# SPDX-License-Identifier: MIT
# What is wrong with a script is said in one line with its place, exit status 1, and nothing is armed.
refuses() { # REGEX, the script on stdin
    script wrong.lua
    run kprobe-lua wrong.lua
    status 1
    one_error
    err "^wrong.lua:[0-9]+: .*$1"
    left_nothing
}
refuses "'?end'? expected" <<'LUA'
kprobe("vfs_read", function()
LUA
refuses no_such_function <<'LUA'
kprobe("no_such_function", function() end)
LUA
refuses no_such_field <<'LUA'
kprobe("vfs_read", function(p, file) printf("%d\n", file.no_such_field) end)
LUA
refuses '' <<'LUA'
local s = "x"
kprobe("vfs_read", function() printf("%s\n", s .. "y") end)
LUA
refuses no_such_function <<'LUA'
kprobe("vfs_read", function() end)
kprobe("no_such_function", function() end)
LUA
