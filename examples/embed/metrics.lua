-- SPDX-License-Identifier: MIT
-- A Prometheus endpoint on 127.0.0.1 for one kernel function: calls by command, and a histogram of their duration.
--
--   sudo luajit metrics.lua vfs_read 9435 [SCRAPES]     (Debian: luajit, lua-luv)
--   curl http://127.0.0.1:9435/metrics
local uv = require "luv"
local kprobe = require "kprobe"

local target, port, scrapes = arg[1], tonumber(arg[2] or 9435), tonumber(arg[3] or math.huge)
if not target then
  io.stderr:write "usage: metrics.lua FUNCTION [PORT [SCRAPES]]\n"
  os.exit(2)
end

local s = kprobe.session { note = function(line) io.stderr:write(line, "\n") end }
local comm, now = s.comm, s.now
local calls, nsecs = s.count(), s.hist()
s.kretprobe { target,
  entry = function(p) p.data.at = now() end,
  ret = function(p)
    calls[comm()]:add()
    nsecs:add(now() - p.data.at)
  end,
}
s.arm()

local function escaped(text) return (text:gsub('[\\"]', "\\%0"):gsub("\n", "\\n")) end

-- hist() counts by powers of two: [1] is below 0, [2] is 0, [i] is from 2^(i-3) to below 2^(i-2).
local function metrics()
  local out = { "# TYPE kernel_calls_total counter\n" }
  for command, n in calls:pairs() do
    out[#out + 1] = ('kernel_calls_total{function="%s",command="%s"} %d\n'):format(target, escaped(command), n)
  end
  out[#out + 1] = "# TYPE kernel_call_duration_ns histogram\n"
  local total, slots = 0, nsecs:value()
  for i = 1, #slots - 1 do
    total = total + slots[i]
    if slots[i] > 0 then
      out[#out + 1] = ('kernel_call_duration_ns_bucket{function="%s",le="%d"} %d\n'):format(target, i < 3 and 0 or 2 ^ (i - 2) - 1, total)
    end
  end
  total = total + slots[#slots]
  out[#out + 1] = ('kernel_call_duration_ns_bucket{function="%s",le="+Inf"} %d\n'):format(target, total)
  out[#out + 1] = ('kernel_call_duration_ns_count{function="%s"} %d\n'):format(target, total)
  return table.concat(out)
end

-- The session's own descriptor in the program's loop.
local watch = uv.new_poll(s.fd())
watch:start("r", function() s.poll(0) end)

local server = uv.new_tcp()
assert(server:bind("127.0.0.1", port))
assert(server:listen(16, function(err)
  assert(not err, err)
  local client = uv.new_tcp()
  server:accept(client)
  client:read_start(function(_, request)
    if not request then return client:close() end
    local body = metrics()
    client:write(("HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: %d\r\n\r\n%s"):format(#body, body),
      function()
        client:close()
        scrapes = scrapes - 1
        if scrapes <= 0 then uv.stop() end
      end)
  end)
end))
io.stderr:write("serving ", target, " on 127.0.0.1:", port, "\n")
uv.run()
s.close()
