#!/usr/bin/env kprobe-lua
-- How often does each command call a kernel function?
--
--   kprobe-lua count.lua                  of vfs_read
--   kprobe-lua count.lua tcp_sendmsg      of another function
--
-- Out, at ^C: one line for each command, sorted by count:
--   @calls[sh]: 4
--   @calls[dd]: 1002
local calls = count()
kprobe(arg[1] or "vfs_read", function() calls[comm()]:add() end)
