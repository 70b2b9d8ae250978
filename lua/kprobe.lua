-- SPDX-License-Identifier: MIT
-- The Lua side of the API: declarations are checked here and handed to the session through `core`.
-- Everything that this chunk returns is in a script's environment, and is what `require "kprobe"` gives.

local core, registry = ...
local ffi = require "ffi"
local bit = require "bit"
local pcall = pcall

local kprobe = {}

-- Raises `text` at the place in the script that called the API.
local function fail(text, ...)
  local level = 3
  while true do
    local info = debug.getinfo(level, "S")
    if not info or info.source ~= "=kprobe" and info.what ~= "C" then break end
    level = level + 1
  end
  error(string.format(text, ...), level)
end

-- While a chunk runs, the error of a declaration is kept: all of them are told when it ends. Under the script's own pcall,
-- in callbacks and in a program that embeds this, it is raised.
local protections = 0 -- calls of pcall and xpcall under way
local function counted(call)
  local function leave(...)
    protections = protections - 1
    return ...
  end
  return function(...)
    protections = protections + 1
    return leave(call(...))
  end
end
if not core.embedded then
  _G.pcall, _G.xpcall = counted(_G.pcall), counted(_G.xpcall)
end

-- What a declaration gives whose error was kept: it takes every call.
local refused = setmetatable({}, { __index = function(self) return function() return self end end })

-- `declare`, with its errors kept. `alone`: handlers that are declared with it can be compiled without it.
local function keeping(alone, declare)
  return function(...)
    if core.embedded or protections > 0 or not core.in_chunk() then return declare(...) end
    local ok, result = pcall(declare, ...)
    if ok then return result end
    core.keep(tostring(result), alone)
    return refused
  end
end

-- The place of the script's call: what messages about the declaration name.
local function caller()
  local level = 3
  while true do
    local info = debug.getinfo(level, "Sl")
    if not info then return "?", 0 end
    if info.source ~= "=kprobe" and info.what ~= "C" then
      return info.short_src:match "^%[string" and info.source or info.source:gsub("^[@=]", ""), info.currentline
    end
    level = level + 1
  end
end

local function is_integer(v)
  return type(v) == "number" and v == math.floor(v) and math.abs(v) <= 2 ^ 53
      or ffi.istype("int64_t", v) or ffi.istype("uint64_t", v)
end

-- ---------------------------------------------------------------- options
-- What each option must be: a test and what the message calls it.
local checks = {
  handler = { function(v) return type(v) == "function" end, "a function" },
  budget = { function(v) return is_integer(v) and v >= 0 and v <= 1000000 end, "a whole number up to 1,000,000" },
  data = { function(v) return is_integer(v) and v >= 0 and v <= 4096 end, "a number of bytes up to 4,096" },
  maxactive = { function(v) return is_integer(v) and v >= 0 and v <= 16384 end, "a whole number up to 16,384" },
  max = { function(v) return is_integer(v) and v >= 0 and v <= 2 ^ 20 end, "a number of entries up to 1,048,576" },
  boolean = { function(v) return type(v) == "boolean" end, "true or false" },
  count = { function(v) return is_integer(v) and v >= 0 end, "a whole number, 0 or more" },
  every = { function(v) return is_integer(v) and v > 0 end, "a whole number over 0" },
  len = { function(v) return v == 1 or v == 2 or v == 4 or v == 8 end, "1, 2, 4 or 8" },
  on = { function(v) return v == "w" or v == "rw" end, '"w" or "rw"' },
  cgroup = { function(v) return type(v) == "string" or is_integer(v) and v >= 0 end, "a cgroup's path or number" },
  self = { function(v) return v == false end, "false: no hits of this process itself" },
  string = { function(v) return type(v) == "string" end, "a string" },
  table = { function(v) return type(v) == "table" end, "a table" },
  any = { function() return true end, "" },
  via = { function(v) return v == "auto" or v == "ftrace" or v == "kprobe" end, '"auto", "ftrace" or "kprobe"' },
  via_return = { function(v) return v == "auto" or v == "direct" or v == "kretprobe" end,
    '"auto", "direct" or "kretprobe"' },
}

local common = { when = "table", enabled = "boolean", optional = "boolean", budget = "budget" }
local options = {}
for _, kind in ipairs(core.probe_kinds) do -- runtime/ir/probe_kinds.hpp
  local own = {}
  for name, check in pairs(common) do own[name] = check end
  for _, handler in ipairs(kind.handlers) do own[handler] = "handler" end
  if kind.at_functions then own.via = "via" end
  for name, check in pairs(({ perf = { every = "every" }, watch = { len = "len", on = "on" } })[kind.name] or {}) do own[name] = check end
  if kind.follows_calls then own.maxactive, own.data = "maxactive", "data" end
  if kind.by_direct and kind.at_functions then own.via = "via_return" end
  options[kind.name] = own
end
registry.options = options
local when_options = { pid = "count", tid = "count", comm = "string", cpu = "count", cgroup = "cgroup", self = "self" }

local function names_of(allowed)
  local names = {}
  for name in pairs(allowed) do names[#names + 1] = name end
  table.sort(names)
  return table.concat(names, ", ")
end

local function check_options(what, given, allowed)
  for name, value in pairs(given) do
    if type(name) ~= "number" or allowed.max then -- a probe's first element is its target; maps have none
      local kind = allowed[name]
      if not kind then fail("%s has no option '%s'; it has: %s", what, tostring(name), names_of(allowed)) end
      local check = checks[kind]
      if not check[1](value) then fail("%s: '%s' must be %s", what, name, check[2]) end
    end
  end
end

-- Clocks have a number in the place of a target: of hits in a second, of seconds between them, kept as nanoseconds.
local number_targets = {
  profile = function(n) return is_integer(n) and n >= 1 and n <= 10000 and n end,
  interval = function(n) return n >= 0.0001 and n <= 1e6 and math.floor(n * 1e9 + 0.5) end,
}

local function collect_targets(kind, target, into)
  local number = number_targets[kind.name]
  if number then
    local n = type(target) == "number" and number(target)
    if not n then fail("%s: takes %s, %s", kind.name, kind.target_forms, kind.name == "profile" and "1 to 10,000" or "0.0001 and up") end
    into[1] = n
    return into
  end
  if type(target) == "table" then
    for _, one in ipairs(target) do collect_targets(kind, one, into) end
  elseif type(target) == "string" and target ~= "" or is_integer(target) then
    into[#into + 1] = target
  elseif type(target) == "number" and target >= 2 ^ 53 then
    fail("%s: as a number of Lua, this address has lost digits: write it with ULL at its end, or as a string", kind.name)
  else
    fail("%s: a target is %s, or a list of these", kind.name, kind.target_forms)
  end
  return into
end

-- ---------------------------------------------------------------- probes
local Probe = {}
Probe.__index = function(probe, key)
  if key == "state" then return core.state(probe.id) end
  return Probe[key]
end
-- "kretprobe vfs_read (ftrace)": what was declared, where, and how it is armed.
Probe.__tostring = function(probe)
  local names = {}
  for i, target in ipairs(probe.targets) do
    names[i] = type(target) == "string" and target or string.format("0x%s", bit.tohex(target, 16):gsub("^0+", ""))
  end
  return string.format("%s %s (%s)", probe.what, table.concat(names, ", "), probe.state)
end

function Probe:enable() core.control("enable", { self.id }) end
function Probe:disable() core.control("disable", { self.id }) end
function Probe:detach() core.control("detach", { self.id }) end
function Probe:stats() return core.stats(self.id) end

local function declare(kind, spec)
  local what = kind.name
  check_options(what, spec, options[what])
  local targets = collect_targets(kind, spec[1], {})
  if #targets == 0 then fail("%s needs a target", what) end
  for key in pairs(spec) do
    if type(key) == "number" and key ~= 1 then fail("%s takes one target; write a list as { \"a\", \"b\" }", what) end
  end
  local when = {}
  for name, value in next, spec.when or {} do when[name] = value end  -- as it is, without metamethods
  check_options(what .. ": when", when, when_options)
  local file, line = caller()
  local given = {
    kind = kind.number, targets = targets, file = file, line = line, when = when,
    enabled = spec.enabled ~= false, optional = spec.optional == true,
    every = spec.every, len = spec.len, on = spec.on,
    budget = spec.budget or 0, maxactive = spec.maxactive or 0, data = spec.data, via = spec.via or "auto",
  }
  for _, handler in ipairs(kind.handlers) do given[handler] = spec[handler] end
  local id = core.probe(given)
  local probe = setmetatable({ id = id, what = what, targets = targets }, Probe)
  if registry.objects then registry.objects[id + 1] = probe end -- a prompt lists them
  return probe
end

-- kprobe("symbol", fn) is kprobe{ "symbol", pre = fn }; jprobe likewise.
local function declarator(kind)
  local what, handler = kind.name, kind.plain
  return keeping(true, function(target, fn)
    if type(target) == "table" and fn == nil then
      if #kind.handlers == 1 and not target[handler] and type(target[2]) == "function" then
        target[handler], target[2] = target[2], nil
      end
      if type(target[2]) == "function" then fail("%s{…}: the handler has a name: %s = function(p) … end", what, handler) end
      check_options(what, target, options[what])
      local has_handler = false
      for _, name in ipairs(kind.handlers) do has_handler = has_handler or target[name] ~= nil end
      if not has_handler then fail("%s has no handler: %s = function(p) … end", what, handler) end
      return declare(kind, target)
    end
    if type(fn) ~= "function" then fail("%s(target, fn): fn must be a function", what) end
    return declare(kind, { target, [handler] = fn })
  end)
end

for _, kind in ipairs(core.probe_kinds) do kprobe[kind.name] = declarator(kind) end

local Batch = {}
Batch.__index = Batch
local function batch_control(op)
  return function(batch)
    core.control(op, batch.ids)
    batch.enabled = op == "enable"
  end
end
Batch.enable = batch_control "enable"
Batch.disable = batch_control "disable"
Batch.detach = batch_control "detach"
function Batch:stats()
  local all = {}
  for i, probe in ipairs(self) do all[i] = probe:stats() end
  return all
end

-- batch{ probe, … }: the probes as one object.
function kprobe.batch(probes)
  if type(probes) ~= "table" or #probes == 0 then fail "batch takes a list of probes" end
  local batch = setmetatable({ ids = {}, enabled = true }, Batch)
  for i, probe in ipairs(probes) do
    if probe == refused then return refused end
    if getmetatable(probe) ~= Probe then fail("batch: element %d is not a probe", i) end
    batch[i], batch.ids[i] = probe, probe.id
  end
  return batch
end

-- ---------------------------------------------------------------- text
-- As handlers' print and printf: what others chose, such as a process's name, must not move a terminal's cursor. Lines and
-- tabs stay. A loop, where a pattern would not be compiled.
local function shown(text)
  if type(text) ~= "string" then return text end -- of a __tostring, or printf's
  for i = 1, #text do
    local c = text:byte(i)
    if (c < 32 and c ~= 9 and c ~= 10) or c == 127 or c == 194 then
      return (text:gsub("[%z\1-\8\11-\31\127]", "?"):gsub("\194[\128-\159]", "?"):gsub("\194$", "?"))
    end
  end
  return text
end

-- Whole numbers in full, where tostring() has 1e+14 for times and addresses.
local function text_of(value)
  if type(value) == "number" and value == math.floor(value) and math.abs(value) < 2 ^ 63 then return ("%d"):format(value) end
  return shown(tostring(value))
end

-- Within a line that is made of several values, a string has no lines and tabs, either. A stack, made here, keeps its own.
local function in_line(value)
  local text = text_of(value)
  return type(value) == "string" and text:gsub("[\t\n]", "?") or text
end

-- ---------------------------------------------------------------- maps
local Map = {}
Map.__index = Map
Map.__tostring = function(map) return core.text(map.id) end

local function key_elements(key)
  if type(key) == "table" then return key end
  if key == nil then return {} end
  return { key }
end

-- The value of one key, or of an aggregation without a key: a number, or a table for stats and histograms.
function Map:value(key) return core.value(self.id, key_elements(key)) end

local function each_row(rows)
  local i = 0
  return function()
    i = i + 1
    if rows[i] then return rows[i].key, rows[i].value end
  end
end

-- for key, value in m:pairs(): a tuple key is a table.
function Map:pairs() return each_row(core.rows(self.id)) end

local function top(rows, n)
  n = n == nil and 10 or n
  if type(n) ~= "number" or not (n >= 0) then fail("top takes how many rows, not %s", tostring(n)) end
  local sorted = {}
  for i, row in ipairs(rows) do sorted[i] = row end
  table.sort(sorted, function(a, b) return a.weight > b.weight end)
  for i = #sorted, math.floor(math.min(n, #sorted)) + 1, -1 do sorted[i] = nil end
  return sorted
end
-- The n rows with the largest values: a list of { key=, value= }.
function Map:top(n) return top(core.rows(self.id), n) end

function Map:clear() core.clear(self.id) end

-- What was in an aggregation when take() emptied it: reads as the aggregation does.
local Taken = {}
Taken.__index = Taken
Taken.__tostring = function(taken) return taken.text end

-- Empties the aggregation and returns what was in it: no update is lost between.
function Map:take()
  local rows, text, output = core.take(self.id)
  return setmetatable({ rows = rows, text = text, output = output, id = self.id }, Taken)
end

local function same_key(a, b)
  a, b = key_elements(a), key_elements(b)
  for i = 1, math.max(#a, #b) do
    if a[i] ~= b[i] then return false end
  end
  return true
end

function Taken:value(key)
  for _, row in ipairs(self.rows) do
    if same_key(row.key, key) then return row.value end
  end
  return core.no_value(self.id)
end

function Taken:pairs() return each_row(self.rows) end
function Taken:top(n) return top(self.rows, n) end

local handler_only = "%s is for handlers; user space reads with value and pairs"
function Map.add() fail(handler_only, "add") end

local function declare_map(kind, decl)
  decl.kind = kind
  decl.file, decl.line = caller()
  return setmetatable({ id = core.map(decl) }, Map)
end

for _, kind in ipairs(core.aggregations) do
  kprobe[kind] = keeping(false, function(decl)
    if decl ~= nil and type(decl) ~= "table" then fail("%s takes no argument, or a table such as { max = 10000 }", kind) end
    check_options(kind, decl or {}, { max = "max" })
    return declare_map(kind, { max = decl and decl.max or 0 })
  end)
end

kprobe.lhist = keeping(false, function(lo, hi, step)
  if not (is_integer(lo) and is_integer(hi) and is_integer(step)) then fail "lhist(lo, hi, step) takes three integers" end
  if step <= 0 or hi <= lo or (hi - lo) % step ~= 0 then
    fail "lhist(lo, hi, step): hi must be over lo by a multiple of step, and step over 0"
  end
  if (tonumber(hi) - tonumber(lo)) / tonumber(step) > 1022 then fail "lhist has at most 1022 steps: take a larger one" end
  return declare_map("lhist", { max = 0, lo = lo, hi = hi, step = step })
end)

-- map(): state that handlers and user space share.
local Shared = {}
Shared.__index = Shared
Shared.__tostring = function(map)
  local lines = {}
  for key, value in map:pairs() do
    if type(key) == "table" then
      for i, element in ipairs(key) do key[i] = in_line(element) end
      key = table.concat(key, ", ")
    else
      key = in_line(key)
    end
    if type(value) == "table" then
      local fields = {}
      for name, field in pairs(value) do fields[#fields + 1] = name .. " = " .. in_line(field) end
      table.sort(fields)
      value = "{ " .. table.concat(fields, ", ") .. " }"
    else
      value = in_line(value)
    end
    lines[#lines + 1] = string.format("[%s]: %s", key, value)
  end
  return table.concat(lines, "\n")
end

-- The value of a key, or nil: a table when handlers store tables. It is a copy.
function Shared:get(key) return core.get(self.id, key_elements(key)) end
Shared.value = Shared.get

-- Sets a key; nil deletes it.
function Shared:set(key, value)
  if value == nil then return self:delete(key) end
  core.set(self.id, key_elements(key), value)
end

-- Deletes a key; false when there was none.
function Shared:delete(key) return core.erase(self.id, key_elements(key)) end

function Shared:pairs() return each_row(core.entries(self.id)) end

function Shared:clear() core.clear(self.id) end

function Shared.add() fail(handler_only, "add") end

-- What map{ key =, value = } may say of a field: its kind and, for strings, the limit.
local field_types = {
  int = "int", int64_t = "int", s64 = "int", long = "int", int32_t = "int", uint32_t = "int", s32 = "int", u32 = "int",
  int16_t = "int", uint16_t = "int", u16 = "int", int8_t = "int", uint8_t = "int", u8 = "int", pid_t = "int",
  uint64_t = "uint", u64 = "uint", size_t = "uint", ["unsigned long"] = "uint",
  bool = "bool", symbol = "symbol", pointer = "pointer", string = "string",
}
local max_limit = 4095

local function field_type(what, text)
  local base, limit = text, 255
  if type(text) == "string" then
    local name, digits = text:match "^(%a+)%[(%d+)%]$"
    if name == "string" or name == "char" then base, limit = "string", tonumber(digits) end
  end
  local kind = field_types[base]
  if not kind or limit < 1 or limit > max_limit then
    fail('map: %s is "int", "uint64_t", "bool", "string", "string[64]", "symbol" or "pointer", not %s', what,
      type(text) == "string" and '"' .. text .. '"' or "a " .. type(text))
  end
  return kind, limit
end

-- One type, or a table of them: a tuple key has elements, a struct value has names.
local function field_list(what, given, names)
  if given == nil then return nil end
  local list = {}
  local function add(name, text)
    local kind, limit = field_type(what, text)
    list[#list + 1] = { name = name, kind = kind, limit = limit }
  end
  if type(given) ~= "table" then
    add("", given)
    return list
  end
  for name, text in pairs(given) do
    if type(name) ~= names then
      fail(names == "string" and 'map: value is one type, or names and types: { pid = "int" }'
        or 'map: key is one type, or a list of them: { "int", "string" }')
    end
    if names == "string" then add(name, text) end
  end
  for i, text in ipairs(given) do add(tostring(i), text) end
  if #list == 0 then fail("map: %s is empty", what) end
  return list
end

-- map{ max =, key =, value = }: the types are those that handlers store, or are declared here.
kprobe.map = keeping(false, function(decl)
  if decl ~= nil and type(decl) ~= "table" then fail "map takes no argument, or a table such as { max = 10000 }" end
  decl = decl or {}
  check_options("map", decl, { max = "max", key = "any", value = "any" })
  return setmetatable(declare_map("map", {
    max = decl.max or 0,
    key = field_list("key", decl.key, "number"), value = field_list("value", decl.value, "string"),
  }), Shared)
end)

-- ---------------------------------------------------------------- events
local Event = {} -- each and each_batch: events.lua
Event.__index = Event
Event.__call = function() fail "an event is sent by a handler; user space receives it: e:each(function(e) … end)" end

kprobe.event = keeping(false, function(order)
  local takes = 'event takes nothing, or the order of its fields: event{ "pid", "comm" }'
  if order ~= nil and (type(order) ~= "table" or #order == 0 and next(order)) then fail(takes) end
  for i = 1, order and #order or 0 do if type(order[i]) ~= "string" then fail("event: field %d must be a name", i) end end
  local file, line = caller()
  return setmetatable({ id = core.event { order = order or {}, file = file, line = line } }, Event)
end)

-- ---------------------------------------------------------------- time and end
function kprobe.every(seconds, fn)
  if type(seconds) ~= "number" then fail("every(seconds, fn): seconds are a number, not a %s", type(seconds)) end
  if not (seconds > 0) then fail "every(seconds, fn): seconds must be over 0" end
  if type(fn) ~= "function" then fail "every(seconds, fn): fn must be a function" end
  core.every(seconds, fn)
end

function kprobe.at_exit(fn)
  if type(fn) ~= "function" then fail "at_exit takes a function" end
  core.at_exit(fn)
end

function kprobe.exit(code)
  if code ~= nil and not (is_integer(code) and code >= 0 and code <= 255) then fail "exit takes a status from 0 to 255" end
  core.exit(tonumber(code or 0))
end

-- core.write, which the Lua module replaces; where it runs no Lua, in a form that LuaJIT compiles into a callback.
local function write(text) core.write(text) end
local direct, host = core.direct_write()
if direct then
  local call, to = ffi.cast("void (*)(void *, const char *, size_t)", direct), ffi.cast("void *", host)
  write = function(text) call(to, text, #text) end
end

-- A recursion, where a loop over the arguments would not be compiled; not of so many that the stack has no room.
local function line_of(n, value, ...)
  if n == 0 then return "\n" end
  if n == 1 then return text_of(value) .. "\n" end
  if n <= 20 then return text_of(value) .. "\t" .. line_of(n - 1, ...) end
  local parts = { value, ... }
  for i = 1, n do parts[i] = text_of(parts[i]) end
  return table.concat(parts, "\t") .. "\n"
end

-- A map alone is printed in the format of the output.
function kprobe.print(...)
  local class = select("#", ...) == 1 and type(...) == "table" and getmetatable(...)
  if class == Map then return core.emit(core.output((...).id)) end
  if class == Taken then return core.emit((...).output) end
  local output = class == Shared and core.entries_output((...).id)
  if output then return core.emit(output) end
  write(line_of(select("#", ...), ...))
end

-- A recursion, likewise.
local function all_shown(n, value, ...)
  if n == 0 then return end
  if n == 1 then return shown(value) end
  if n <= 20 then return shown(value), all_shown(n - 1, ...) end
  local parts = { value, ... }
  for i = 1, n do parts[i] = shown(parts[i]) end
  return unpack(parts, 1, n)
end

-- The format's own text goes through as it is.
function kprobe.printf(format, ...)
  local ok, text = pcall(string.format, format, all_shown(select("#", ...), ...))
  if not ok then fail("%s", (text:gsub("'%?'", "'printf'"):gsub("'format'", "'printf'"))) end
  write(text)
end

-- Nanoseconds of the monotonic clock, as in handlers.
kprobe.now = core.now

-- ---------------------------------------------------------------- the system
local function text_or_nothing(what, value)
  if value ~= nil and type(value) ~= "string" then fail("%s takes a string", what) end
  return value
end

-- Every probe of the system: a list of { address=, kind=, place=, state=, owner=, pids=, missed= }.
function kprobe.probes() return core.probes() end

-- What may not be probed, all or by glob: a list of { name=, address=, size= }.
function kprobe.blacklist(glob) return core.blacklist(text_or_nothing("blacklist", glob)) end

-- The names of what can be probed, as targets: functions "vfs_*", functions "ext4:*".
function kprobe.functions(glob) return core.functions(text_or_nothing("functions", glob)) end

-- A function's instructions: a list of { offset=, text=, probe=, boost=, optimize=, ftrace= }; what is false has its
-- reason in probe_why, boost_why, optimize_why.
function kprobe.instructions(target)
  if type(target) ~= "string" then fail 'instructions takes a function: instructions "vfs_read"' end
  return core.instructions(target)
end

-- Handler builtins without a meaning in user space: calling one there says so.
for _, name in ipairs(core.handler_functions) do
  if kprobe[name] == nil and name ~= "tonumber" then -- Lua's own
    kprobe[name] = function() fail("%s() runs in a handler, at a probe hit", name) end
  end
end

-- ---------------------------------------------------------------- what luahost needs
-- Functions that a handler may name, by identity.
local builtins = {}
for name, value in pairs(kprobe) do
  if type(value) == "function" then builtins[value] = name end
end
for _, library in ipairs { "string", "math", "table", "os", "io", "debug", "coroutine" } do
  for name, fn in pairs(_G[library]) do builtins[fn] = library .. "." .. name end
end
for name, fn in pairs(bit) do builtins[fn] = "bit." .. name end
for name, fn in pairs(ffi) do
  if type(fn) == "function" then builtins[fn] = "ffi." .. name end
end
for name in ([[assert collectgarbage dofile error getfenv getmetatable ipairs load loadfile loadstring next pairs pcall print
  rawequal rawget rawlen rawset require select setfenv setmetatable tonumber tostring type unpack xpcall]]):gmatch "%w+" do
  if _G[name] then builtins[_G[name]] = name end
end
registry.builtins = builtins

registry.Map, registry.Shared, registry.Event, registry.Probe = Map, Shared, Event, Probe
registry.fail, registry.text_of, registry.in_line = fail, text_of, in_line
registry.Stack = { __tostring = function(stack) return "\n    " .. table.concat(stack, "\n    ") end }

-- Sessions of one state share these: they must not refer to `registry`, which would keep its session.
local function int64(high, low) return bit.bor(bit.lshift(ffi.cast("int64_t", high), 32), ffi.cast("int64_t", low)) end
registry.int64 = int64
function registry.uint64(high, low) return ffi.cast("uint64_t", int64(high, low)) end
function registry.cdata_kind(value)
  if ffi.istype("int64_t", value) then return "int64" end
  if ffi.istype("uint64_t", value) then return "uint64" end
  return tostring(ffi.typeof(value))
end

registry.vocabulary = kprobe
if not core.embedded then
  for name, value in pairs(kprobe) do _G[name] = value end
end
-- Asked for as members alone: require("kprobe").api_version, s.api_version.
kprobe.version, kprobe.api_version = core.version, core.api_version

-- Where text goes: { format = "text", rows =, columns = }; rows and columns of a terminal, nil elsewhere. "" is for none: with
-- -l and --check, nothing runs.
kprobe.medium = core.medium
-- A line of -f json: { "type": type, "data": { names[1]: values[1], … } }; nil is left out.
kprobe.emit_row = core.emit_row
-- Whether the running kernel has a function, has "vfs_read", or a member, has("struct file", "f_path").
function kprobe.has(name, field)
  if field then return core.has_field(name, field) end
  return core.has_function(name)
end

if core.embedded then return end
_G.ffi, _G.bit = ffi, bit
package.loaded.kprobe = kprobe
