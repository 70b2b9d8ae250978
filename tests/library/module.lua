-- SPDX-License-Identifier: MIT
-- require "kprobe" in plain LuaJIT. usage: luajit module.lua host|all, with kprobe.so in package.cpath.
local ffi = require "ffi"
local bit = require "bit"
local kprobe = require "kprobe"
local tests = {}

local function fails(text, fn, ...)
  local ok, message = pcall(fn, ...)
  assert(not ok, "no error; expected: " .. text)
  assert(tostring(message):find(text, 1, true), tostring(message) .. "\nexpected: " .. text)
end

function tests.names()
  assert(type(kprobe.version) == "string" and kprobe.api_version == 1)
  assert(kprobe.session {}.api_version == kprobe.api_version)
  fails("belong to a session", function() return kprobe.kretprobe end)
  assert(_G.kretprobe == nil and _G.comm == nil, "globals of the program are its own")
  fails("no option 'bufer'", kprobe.session, { bufer = "4M" })
  fails("'wake-fill'", kprobe.session, { wake_fill = 99 })
  fails("require them yourself", kprobe.session, { require = "x" })
  fails("'text' must be a function, not a number", kprobe.session, { text = 5 })
  fails("kprobe.session takes a table of options, not a number", kprobe.session, 5)
  fails("poll takes seconds, not a string", kprobe.session {}.poll, "x")
  fails("poll takes seconds", kprobe.session {}.poll, 0 / 0)
  for _, name in ipairs { "emit_row", "medium", "has" } do assert(kprobe.session {}[name] == nil, name .. " is for tools") end
end

-- Handlers capture the program's own locals, tables and functions, and the session's vocabulary by both ways.
function tests.check()
  local text = ""
  local s = kprobe.session { max_probes = 10, text = function(t) text = text .. t end }
  local count, limit = s.count, 100
  local config = { least = 5 }
  local function large(n) return n > limit + config.least end
  local sizes, n = s.hist(), count()
  s.kprobe("vfs_read", function(p)
    if large(p.arg[3]) then sizes[s.comm()]:add(p.arg[3]) end
    n:add()
  end)
  local handlers = s.check()
  assert(#handlers == 1 and handlers[1].cost > 10 and handlers[1].name:find "module.lua:%d+ pre of vfs_read")
  s.kprobe("vfs_write", function() x = 1 end) -- luacheck: ignore
  fails("assigns to the global 'x'", s.check)
  assert(#s.check() == 0, "what fails is forgotten")
  assert(text == "", "what is given is not printed: " .. text)
  s.close()
  fails("the session is closed", s.check)
  fails("the session is closed", s.count)
  s.close()
  local other
  other = kprobe.session { text = function() other.close() end }
  fails("callback", other.print, "x")
  other.close()
end

-- Several sessions in one state, and their text.
function tests.several()
  local text = {}
  local a = kprobe.session { text = function(t) text[#text + 1] = "a" .. t end }
  local b = kprobe.session { text = function(t) text[#text + 1] = "b" .. t end }
  a.print(1)
  b.print(2)
  a.every(0.01, function() a.print "tick" a.exit(3) end)
  a.arm()
  while not a.ended() do a.poll(1) end
  assert(a.ended() == 3 and b.ended() == nil)
  assert(table.concat(text) == "a1\nb2\natick\n", table.concat(text))
  local na, nb = a.count(), b.count()
  a.kprobe("vfs_read", function() na:add() end)
  b.kprobe("vfs_read", function() nb:add() end)
  assert(#a.check() == 1 and #b.check() == 1)
  a.close()
  b.close()
end

-- In a loop of coroutines: the session is polled by one of them, and made in another.
function tests.coroutines()
  local s, ticks
  local made = coroutine.create(function()
    s = kprobe.session {}
    ticks = 0
    s.every(0.005, function() ticks = ticks + 1 end)
    coroutine.yield()
  end)
  coroutine.resume(made)
  made = nil -- luacheck: ignore
  collectgarbage()
  s.arm()
  local polls = coroutine.wrap(function() while ticks < 3 do s.poll(0.01) coroutine.yield() end end)
  for _ = 1, 1000 do if ticks < 3 then polls() end end
  assert(ticks >= 3)
  assert(s.fd() > 2)
  fails("callback", function()
    s.every(0.001, function() s.close() end)
    s.arm()
    for _ = 1, 1000 do s.poll(1) end
  end)
  s.close()
end

function tests.errors_in_callbacks()
  local s = kprobe.session {}
  s.every(0.005, function() error "mine" end)
  s.arm()
  fails("mine", function() for _ = 1, 100 do s.poll(0.1) end end)
  s.close()
  local t = kprobe.session { text = function(text) error("no room for " .. text) end }
  t.every(0.001, function() t.print "this" end)
  t.arm()
  fails("no room for this", function() for _ = 1, 1000 do t.poll(0.1) end end)
  assert(t.ended() == 0, "nobody takes its text")
  t.close()
end

-- An error in `text` is the error of the call that led to it: s.print, no later one.
function tests.errors_of_text()
  local calls = 0
  local s = kprobe.session { text = function(t) calls = calls + 1 error("no room for " .. t) end }
  fails("no room for x", s.print, "x")
  s.arm()
  s.print "y"
  s.printf("%d", 1)
  assert(calls == 1 and s.ended() == 0, "it wants no more")
  s.close()
end

-- What was declared waits for s.arm(): a poll neither arms it nor says that it can't be.
function tests.pending()
  local notes = {}
  local s = kprobe.session { note = function(line) notes[#notes + 1] = line end }
  local n = s.count()
  local probe = s.kprobe("vfs_read", function() n:add() end)
  s.poll(0)
  assert(probe.state == "disabled" and #notes == 0, probe.state .. " " .. tostring(notes[1]))
  assert(#s.check() == 1)
  s.close()
end

-- A session that nobody has is collected, whatever it refers to.
function tests.collected()
  local seen = setmetatable({}, { __mode = "v" })
  local function make(i)
    local s = kprobe.session { text = function() end }
    local n, e = s.count(), s.event()
    s.kprobe("vfs_read", function() n:add() e { cpu = s.cpu() } end)
    e:each(function() s.print(n) end)
    s.every(60, function() s.print(i) end)
    assert(#s.check() == 1)
    seen[i] = s
  end
  for i = 1, 20 do coroutine.wrap(make)(i) end -- on stacks of their own, which keep nothing
  collectgarbage()
  collectgarbage()
  for i = 1, 20 do assert(not seen[i], "session " .. i .. " is still there") end
end

local armed = {}
ffi.cdef "int getpriority(int which, unsigned who);"

-- The process's own functions as callbacks of events that the kernel sends.
function armed.events()
  local s = kprobe.session {}
  local seen, n = s.event(), s.count()
  s.kprobe("__x64_sys_getpriority", function(p)
    local regs = ffi.cast("struct pt_regs *", p.arg[1])
    n:add()
    seen { who = regs.si, comm = s.comm() }
  end)
  local sum, got = 0, 0
  seen:each(function(e) sum, got = sum + e.who, got + 1 end)
  s.arm()
  for i = 1, 20 do ffi.C.getpriority(0, i) end
  for _ = 1, 100 do if got < 20 then s.poll(0.2) end end
  assert(got == 20 and sum == 210, got .. " " .. sum)
  assert(n:value() == 20)
  s.kprobe("no_such_function", function() end)
  fails("no function 'no_such_function'", s.arm)
  ffi.C.getpriority(0, 1)
  assert(n:value() == 21, "what runs goes on")
  s.stop()
  ffi.C.getpriority(0, 1)
  assert(n:value() == 21)
  s.close()
end

-- In a loop of coroutines: one polls, others call what is probed, each record wakes its reader.
function armed.coroutines()
  local s = kprobe.session {}
  local seen = s.event()
  s.kprobe("__x64_sys_getpriority", function(p)
    seen { who = ffi.cast("struct pt_regs *", p.arg[1]).si }
  end)
  local queue, got, done = {}, {}, 0
  seen:each(function(e) queue[#queue + 1] = e.who end)
  local tasks = {
    coroutine.wrap(function() s.arm() while true do s.poll(0.01) coroutine.yield() end end),
    coroutine.wrap(function() while true do
      for _, who in ipairs(queue) do got[#got + 1] = who end
      queue = {}
      coroutine.yield()
    end end),
  }
  for caller = 1, 3 do
    tasks[#tasks + 1] = coroutine.wrap(function()
      for i = 1, 10 do ffi.C.getpriority(0, caller * 100 + i) coroutine.yield() end
      done = done + 1
      while true do coroutine.yield() end
    end)
  end
  for _ = 1, 500 do
    for _, task in ipairs(tasks) do task() end
    if done == 3 and #got == 30 then break end
  end
  local sum = 0
  for _, who in ipairs(got) do sum = sum + who end
  assert(#got == 30 and sum == 6000 + 3 * 55, #got .. " records, sum " .. sum)
  s.close()
end

-- lua-luv watches the descriptor.
function armed.luv()
  local uv = require "luv"
  local s = kprobe.session {}
  local seen, got = s.event(), 0
  s.kprobe("__x64_sys_getpriority", function() seen { comm = s.comm() } end)
  seen:each(function() got = got + 1 end)
  s.arm()
  local watch, calls, limit = uv.new_poll(s.fd()), uv.new_timer(), uv.new_timer()
  local sent = 0
  watch:start("r", function()
    s.poll(0)
    if got == 20 then uv.stop() end
  end)
  calls:start(1, 5, function()
    if sent < 20 then sent = sent + 1 ffi.C.getpriority(0, sent) end
  end)
  limit:start(60000, 0, function() uv.stop() end)
  uv.run()
  assert(got == 20, got)
  watch:stop()
  s.close()
  for _, handle in ipairs { watch, calls, limit } do handle:close() end
  uv.run()
end

-- A session that nobody closes is closed when it is collected: its probes count no more.
function armed.collected()
  local probed = io.open("/sys/kernel/debug/kprobes/list")
  if not probed then return end
  probed:close()
  local function count()
    local n = 0
    for line in io.lines("/sys/kernel/debug/kprobes/list") do
      if line:find("vfs_fsync_range", 1, true) then n = n + 1 end
    end
    return n
  end
  local function make()
    local s = kprobe.session {}
    local n = s.count()
    s.kprobe { "vfs_fsync_range", via = "kprobe", pre = function() n:add() end }
    s.arm()
    assert(count() == 1)
  end
  coroutine.wrap(make)()
  collectgarbage()
  collectgarbage()
  assert(count() == 0, "its probe is still there")
end

local names, ran = {}, 0
for _, group in ipairs(arg[1] == "all" and { tests, armed } or { tests }) do
  for name, test in pairs(group) do names[#names + 1] = { name, test } end
end
table.sort(names, function(a, b) return a[1] < b[1] end)
assert(bit)
for _, one in ipairs(names) do
  local ok, message = xpcall(one[2], debug.traceback)
  if not ok then
    io.stderr:write(one[1], ": ", message, "\n")
    os.exit(1)
  end
  ran = ran + 1
end
print(ran .. " tests passed")
