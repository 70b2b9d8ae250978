-- SPDX-License-Identifier: MIT
-- The prompt's side in Lua: runs inputs, keeps globals in step with what is armed, shows values.

local core, registry = ...
local ffi = require "ffi"
local kprobe = registry.vocabulary
local fail, text_of = registry.fail, registry.text_of
local Probe, Map, Shared, Event = registry.Probe, registry.Map, registry.Shared, registry.Event

-- A value that shows as its text, unquoted.
local Text = { __tostring = function(text) return text[1] end }
local function text(what) return setmetatable({ what }, Text) end
local function asked(what, of) return text(core.ask(what, of and tostring(of) or "")) end

-- ---------------------------------------------------------------- probes
local objects = {} -- all that was declared, by its number, which begins with 1
registry.objects = objects

local live_states = {
  int3 = true, optimized = true, ftrace = true, direct = true, armed = true, disabled = true, mixed = true,
}
local function is_probe(value) return type(value) == "table" and getmetatable(value) == Probe end
local function is_live(probe) return live_states[core.describe(probe.id).state] == true end

local function targets_of(probe)
  local names = {}
  for i, target in ipairs(probe.targets) do
    names[i] = type(target) == "string" and target or string.format("0x%s", bit.tohex(target, 16):gsub("^0+", ""))
  end
  return table.concat(names, ", ")
end

local paths = {} -- by probe: how it was armed when last seen; a disabled one has no path of its own

-- "ftrace, armed": how it is armed, or was, and whether.
local function state_of(id, row)
  local state = row.state
  if state == "gone" or state == "detached" then return state end
  if state == "disabled" then return paths[id] and paths[id] .. ", disabled" or state end
  paths[id] = row.follows_calls and "return" or state
  return paths[id] .. ", armed"
end

Probe.__tostring = function(probe)
  local row = core.describe(probe.id)
  local targets = targets_of(probe)
  local name = row.places > 1 and string.format("%s (%d places)", targets, row.places) or targets
  return string.format("probe %d: %s, %s", probe.id + 1, name, state_of(probe.id, row))
end
function Probe:cost() return asked("cost", self.id) end
function Probe:asm() return asked("asm", self.id) end

-- ---------------------------------------------------------------- the table of probes
local looked = {} -- by probe: { hits=, at= }, as it was at the last look

local function counts_of(row)
  local first, second = row.first, row.second
  local both = function(name) return (first[name] or 0) + (second and second[name] or 0) end
  local lead = row.has_first and first or second or first
  return {
    hits = first.hits, handled = lead.handled, missed = both "missed",
    stopped = both "faults" + both "errors" + both "overruns",
  }
end

local function rate(id, hits)
  local at, last = tonumber(core.now()), looked[id]
  looked[id] = { hits = hits, at = at }
  if not last or at <= last.at then return "" end
  return string.format("%.0f/s", (tonumber(hits) - tonumber(last.hits)) * 1e9 / (at - last.at))
end

local columns = { "", "target", "path", "state", "hits", "handled", "stopped", "missed", "rate" }
local function table_of(rows)
  local widths, lines = {}, {}
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do widths[i] = math.max(widths[i] or 0, #cell) end
  end
  for _, row in ipairs(rows) do
    local cells = {}
    for i, cell in ipairs(row) do
      local left = i >= 2 and i <= 4
      cells[i] = left and cell .. (" "):rep(widths[i] - #cell) or (" "):rep(widths[i] - #cell) .. cell
    end
    lines[#lines + 1] = (table.concat(cells, "  "):gsub("%s+$", ""))
  end
  return table.concat(lines, "\n")
end

local function probes_text()
  local rows = { columns }
  for id = 0, core.declared() - 1 do
    local probe = objects[id + 1]
    local row = probe and core.describe(id)
    if row and row.places > 0 then
      local path, state = state_of(id, row):match "^(.-), (.*)$"
      local counts = counts_of(row)
      rows[#rows + 1] = {
        tostring(id + 1), targets_of(probe), path or "", state or row.state, text_of(counts.hits), text_of(counts.handled),
        text_of(counts.stopped), text_of(counts.missed), rate(id, counts.hits),
      }
    end
  end
  if #rows == 1 then return 'no probes yet: kprobe("vfs_read", function(p) … end)' end
  return table_of(rows)
end

-- ---------------------------------------------------------------- what only the prompt has
local prompt = {}
prompt.probes = setmetatable({}, {
  __tostring = probes_text,
  __index = objects,
  __call = function() return kprobe.probes() end,
})
function prompt.detach_all()
  local ids = {}
  for _, probe in next, objects do
    if is_live(probe) then ids[#ids + 1] = probe.id end
  end
  core.control("detach", ids)
  return text(#ids == 1 and "1 probe detached" or #ids .. " probes detached")
end
function prompt.pause() core.ask("pause", "") end
function prompt.resume() core.ask("resume", "") end
function prompt.save(path)
  if type(path) ~= "string" then fail 'save takes the name of a file: save "investigation.lua"' end
  return asked("save", path)
end
function prompt.help(name)
  if name ~= nil and type(name) ~= "string" then fail 'help takes a name: help "kprobe"' end
  return asked("help", name)
end
for name, value in next, prompt do _G[name] = value end

-- ---------------------------------------------------------------- values
local most_depth, most_elements, width = 5, 200, 76

local escapes = { ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r", ['"'] = '\\"', ["\\"] = "\\\\" }
local function quoted(value)
  return '"' .. value:gsub('[%c"\\]', function(c) return escapes[c] or string.format("\\%03d", c:byte()) end) .. '"'
end

local keywords = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat return then true until
  while]]):gmatch "%a+" do keywords[word] = true end
registry.keywords = keywords

local function function_text(fn)
  if registry.builtins[fn] then return "builtin " .. registry.builtins[fn] end
  local info = debug.getinfo(fn, "S")
  if info.what == "C" then return tostring(fn) end
  return string.format("function (%s:%d)", info.short_src, info.linedefined)
end

local function scalar(value)
  local kind = type(value)
  if kind == "string" then return quoted(value) end
  if kind == "function" then return function_text(value) end
  if getmetatable(value) == Event then return "event " .. value.id + 1 end
  return kind == "number" and text_of(value) or tostring(value)
end

local function is_plain(value)
  if type(value) ~= "table" then return false end
  local meta = getmetatable(value)
  return not (type(meta) == "table" and (meta.__tostring or meta == Event))
end

-- In the order in which people read them: numbers, then names.
local function by_kind(a, b)
  if type(a) == type(b) and (type(a) == "number" or type(a) == "string") then return a < b end
  return type(a) ~= type(b) and type(a) < type(b) or tostring(a) < tostring(b)
end

local render

-- The elements of a table as texts: those without keys first.
local function elements(value, state, depth)
  local parts, length = {}, 0
  local function add(part)
    state.left = state.left - 1
    parts[#parts + 1] = part
  end
  while rawget(value, length + 1) ~= nil and state.left > 0 do
    length = length + 1
    add(render(rawget(value, length), state, depth + 1))
  end
  local keys = {}
  for key in next, value do
    if not (type(key) == "number" and key >= 1 and key <= length and key == math.floor(key)) then keys[#keys + 1] = key end
  end
  table.sort(keys, by_kind)
  for i, key in ipairs(keys) do
    if state.left <= 0 then
      parts[#parts + 1] = string.format("… %d more", #keys - i + 1)
      break
    end
    local name = type(key) == "string" and key:find "^[%a_][%w_]*$" and not keywords[key] and key
    add((name or "[" .. (is_plain(key) and tostring(key) or scalar(key)) .. "]") .. " = " .. render(rawget(value, key), state, depth + 1))
  end
  return parts
end

-- `state`: { above = tables that this one stands in, left = how many elements may still be shown }
function render(value, state, depth)
  if not is_plain(value) then return scalar(value) end
  if state.above[value] then return "<a table that this stands in>" end
  if next(value) == nil then return "{}" end
  if depth > most_depth then return "{ … }" end
  state.above[value] = true
  local parts = elements(value, state, depth)
  state.above[value] = nil
  local line = "{ " .. table.concat(parts, ", ") .. " }"
  if #line + 2 * depth <= width and not line:find "\n" then return line end
  local indent = ("  "):rep(depth)
  return "{\n" .. indent .. "  " .. table.concat(parts, ",\n" .. indent .. "  ") .. ",\n" .. indent .. "}"
end

-- What the prompt shows of one result. Aggregations and maps draw themselves, in the format of the output.
local function shown(value)
  local class = type(value) == "table" and getmetatable(value)
  local drawn
  if class == Map then drawn = core.output(value.id) end
  if class == Shared then drawn = core.entries_output(value.id) or tostring(value) end
  if class == Map or class == Shared then return drawn ~= "" and (drawn:gsub("\n$", "")) or "nothing yet" end
  if type(value) == "string" then return value end
  return render(value, { above = {}, left = most_elements }, 0)
end
registry.shown = shown

-- ---------------------------------------------------------------- inputs
local results -- of the input that ran last: { n =, … }
local before  -- the globals that were there
local first   -- number of the first probe that it may have declared

local function pack(...) return { n = select("#", ...), ... } end

-- A loop that the JIT has compiled looks for no ^C.
function registry.prompt_run(chunk)
  jit.off(chunk, true)
  results = nil
  local held = {}
  for name, value in next, _G do held[name] = value end
  first, before = core.declared(), held
  local values
  local returned = pack(chunk(function(...) values = pack(...) end))
  results = values or returned -- an expression gives its values to the function, a chunk may return some
end

local declared_classes = { [Probe] = true, [Map] = true, [Shared] = true, [Event] = true }
local function is_declared(value) return type(value) == "table" and declared_classes[getmetatable(value)] == true end

-- Probes that globals held before and do not any more: new ones, from the number `from` on, took their place.
local function replaced(held, from)
  local old = {}
  for name, value in next, held do
    local now = rawget(_G, name)
    if is_probe(value) and value.id < from and is_probe(now) and now.id >= from and is_live(value) then
      old[#old + 1] = { value, now }
    end
  end
  return old
end

-- Nothing that the input declared is there: the globals that hold such things, or held others, are as they were.
local function take_back(held, from)
  local there = {}
  for name, value in next, held do
    if is_declared(value) then
      there[value] = true
      _G[name] = value
    end
  end
  for name, value in next, _G do
    if is_declared(value) and not there[value] then _G[name] = held[name] end
  end
  for id = from, core.declared() - 1 do objects[id + 1] = nil end
end

-- After the input: whether all went well. The text that it shows.
function registry.prompt_done(well)
  local held, from = before, first
  before, first = nil, nil -- of this input alone: the next one may not get as far as to run
  if not well then
    if held then take_back(held, from) end
    return ""
  end
  local lines, told, instead = {}, {}, {}
  for _, pair in ipairs(replaced(held, from)) do
    pair[1]:detach()
    instead[pair[2]] = (instead[pair[2]] or "") .. string.format(", replaces probe %d", pair[1].id + 1)
  end
  for id = from, core.declared() - 1 do
    local probe = objects[id + 1]
    if probe then
      told[probe] = true
      lines[#lines + 1] = tostring(probe) .. (instead[probe] or "")
    end
  end
  for i = 1, results.n do
    if not told[results[i]] then lines[#lines + 1] = shown(results[i]) end
  end
  if results.n > 0 then rawset(_G, "_", results[1]) end
  return table.concat(lines, "\n")
end

-- ---------------------------------------------------------------- names
local function fields_of(value)
  local names = {}
  local function add(from)
    if type(from) ~= "table" then return end
    for name in next, from do
      if type(name) == "string" and name:find "^[%a_][%w_]*$" and name:sub(1, 2) ~= "__" then names[name] = true end
    end
  end
  local meta = getmetatable(value)
  if type(meta) == "table" then
    add(type(meta.__index) == "table" and meta.__index or meta)
    if meta == Probe then add { state = true, targets = true } end
  end
  if type(value) == "table" and not (type(meta) == "table" and meta.__index) then add(value) end
  return names
end

-- The names behind `path` ("ffi", "p"; "": globals), or the options of "{kprobe", one a line.
function registry.prompt_names(path)
  local value = path:find "^{" and (registry.options[path:sub(2)] or {}) or _G
  for name in (path:gsub("^{.*", "")):gmatch "[^.]+" do
    if type(value) ~= "table" then return "" end
    local index = tonumber(name:match "^%[(%d+)%]$")
    value = rawget(value == prompt.probes and objects or value, index or name)
  end
  local names = {}
  for name in next, fields_of(value) do names[#names + 1] = name end
  if value == _G then
    for name in next, keywords do names[#names + 1] = name end
  end
  table.sort(names)
  return table.concat(names, "\n")
end

-- What a variable of the prompt is; "": there is none of that name, or it is no variable of the user's.
function registry.prompt_about(name)
  local value = rawget(_G, name)
  if value == nil or kprobe[name] ~= nil or prompt[name] ~= nil or registry.builtins[value] then return "" end
  local class = type(value) == "table" and getmetatable(value)
  local what = class == Map and "an aggregation" or class == Shared and "a map" or class == Event and "an event" or
      class == Probe and "a probe" or type(value) == "cdata" and "C data: " .. tostring(ffi.typeof(value)) or "a " .. type(value)
  return name .. " is " .. what .. "\n" .. shown(value)
end
