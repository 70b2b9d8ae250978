-- SPDX-License-Identifier: MIT
-- From records in the rings to the callbacks of events. For each event a decoder is written that knows the layout of its
-- records, so that LuaJIT compiles the way from the ring to the end of the callback into one piece. runtime/output/datum.cpp
-- decodes too, field by field: the records of printf, which C++ prints without a script, and the fixed keys and values of
-- maps, which need the same rules for symbols, stacks and strings that this file asks it for.

local core, registry = ...
local ffi = require "ffi"
local bit = require "bit"
local fail = registry.fail
local Event = registry.Event

-- struct RecordBatch of runtime/device/rings.hpp. What is unsigned there, too, is int32_t here where it can't be that large:
-- LuaJIT then computes with integers.
local room = core.batch_room()
if not pcall(ffi.typeof, "struct kpl_batch") then -- once in a state
ffi.cdef(string.format([[
  struct kpl_rec { int32_t len, event; uint64_t seq, time; };
  struct kpl_batch {
    int32_t size, delivered, stop, next, event;
    const struct kpl_rec *record[%d];
    int32_t cpu[%d];
  };
]], room, room))
end
local Batch = ffi.typeof "struct kpl_batch *"

-- ---------------------------------------------------------------- symbols
-- Names by the halves of their address: a double does not hold all of it. Addresses of processes that come and go are
-- many, so it starts afresh now and then. Not kept: what may have another name next time.
local most_names = 100000
local function name_cache(resolve)
  local cache, size = {}, 0
  return function(high, low)
    local names = cache[high]
    if not names then
      names = {}
      cache[high] = names
    end
    local name = names[low]
    if not name then
      local passing
      name, passing = resolve(high, low)
      if passing then return name end
      if size == most_names then
        names, size = {}, 0
        cache = { [high] = names }
      end
      names[low], size = name, size + 1
    end
    return name
  end
end
local symbol, frame = name_cache(core.symbol), name_cache(core.frame)

-- Internet addresses by their bytes, likewise.
local inets, inet_count = {}, 0
local function inet(bytes)
  local name = inets[bytes]
  if not name then
    if inet_count == most_names then inets, inet_count = {}, 0 end
    name = core.inet(bytes)
    inets[bytes], inet_count = name, inet_count + 1
  end
  return name
end

local Words = ffi.typeof "const uint32_t *"
local Bytes = ffi.typeof "const char *"

-- Names of commands and the like come again and again: to find one takes a tenth of what it takes to make it. What differs is
-- found in another place or made, and takes this one.
local most_short = 64 -- a power of two
local known = ffi.typeof("struct { int64_t first[$], second[$]; int32_t size[$]; }", most_short, most_short, most_short)()
local strings = {}
for i = 0, most_short - 1 do strings[i] = "" end
local Halves, Longs = ffi.typeof "const int32_t *", ffi.typeof "const int64_t *"
local function text(at, size)
  local halves, longs = ffi.cast(Halves, at), ffi.cast(Longs, at)
  local third, second = 0, 0LL
  if size > 8 then
    if size > 16 then return ffi.string(at, size) end
    third, second = halves[2], longs[1]
  elseif size == 0 then
    return ""
  end
  local hash, first = bit.bxor(halves[0], halves[1], third), longs[0]
  local i = bit.band(bit.bxor(hash, bit.rshift(hash, 11)), most_short - 1)
  if known.size[i] ~= size or known.first[i] ~= first or known.second[i] ~= second then
    known.size[i] = -1 -- ^C may come between the two
    strings[i] = ffi.string(at, size)
    known.first[i], known.second[i], known.size[i] = first, second, size
  end
  return strings[i]
end

local function stack(record, offset, size)
  local words = ffi.cast(Words, ffi.cast(Bytes, record) + offset)
  local frames = {}
  for i = 0, size / 4 - 2, 2 do
    local low, high = words[i], words[i + 1]
    if low == 0 and high == 0 then break end
    frames[#frames + 1] = frame(high, low)
  end
  return setmetatable(frames, registry.Stack)
end

-- Of a process: the space that its addresses belong to, then these.
local user_name = core.user_name
local function user_stack(record, offset, size)
  local at = ffi.cast(Bytes, record) + offset
  local words, space = ffi.cast(Words, at), ffi.string(at, 8)
  local frames = {}
  for i = 2, size / 4 - 2, 2 do
    if words[i] == 0 and words[i + 1] == 0 then break end
    frames[#frames + 1] = user_name(space .. ffi.string(words + i, 8))
  end
  return setmetatable(frames, registry.Stack)
end

-- ---------------------------------------------------------------- lists
-- One number of a list, as a field of that kind would be; the names are those of `kinds` below.
local Int, Unsigned = ffi.typeof "const int64_t *", ffi.typeof "const uint64_t *"
local numbers = {
  integer = function(at)
    local n = tonumber(ffi.cast(Int, at)[0])
    return n > -0x1p53 and n < 0x1p53 and n or ffi.cast(Int, at)[0]
  end,
  unsigned = function(at)
    local n = tonumber(ffi.cast(Unsigned, at)[0])
    return n < 0x1p53 and n or ffi.cast(Unsigned, at)[0]
  end,
  boolean = function(at) return ffi.cast(Unsigned, at)[0] ~= 0 end,
  pointer = function(at) return string.format("0x%x", ffi.cast(Unsigned, at)[0]) end,
  symbol = function(at) return symbol(ffi.cast(Words, at)[1], ffi.cast(Words, at)[0]) end,
}

-- As helpers.def packs them: numbers of 8 bytes; strings with their length before them, filled up to a multiple of 8.
local function elements_of(record, offset, size, element, named)
  local at, elements, n = ffi.cast(Bytes, record) + offset, {}, 0
  local stop, number = at + size, numbers[element]
  if element == "named" then number = function(word) return named(ffi.cast(Words, word)[1], ffi.cast(Words, word)[0]) end end
  while at < stop do
    n = n + 1
    if number then
      elements[n], at = number(at), at + 8
    else
      local length = ffi.cast(Words, at)[0]
      elements[n] = ffi.string(at + 4, length)
      at = at + 8 * math.floor((4 + length + 7) / 8)
    end
  end
  return elements
end

-- ---------------------------------------------------------------- decoders
-- How a field of each kind lies in the record's struct, and the code that makes the local `f` of it; $ is the field's number,
-- @ the kind of a list's elements.
local number_limits = "if not (f > -0x1p53 and f < 0x1p53) then f = r._$ end"
local kinds = {
  integer = { "int64_t _$;", "local f = tonumber(r._$) " .. number_limits },
  unsigned = { "int64_t _$;", "local f = tonumber(r._$) if not (f >= 0 and f < 0x1p53) then f = cast(u64, r._$) end" },
  boolean = { "uint64_t _$;", "local f = r._$ ~= 0" },
  pointer = { "uint64_t _$;", "local f = format('0x%x', r._$)" },
  symbol = { "uint32_t _$l, _$h;", "local f = symbol(r._$h, r._$l)" },
  string = { "int32_t _$o, _$s;", "local f if r._$o ~= 0 then f = text(cast(Bytes, r) + r._$o, r._$s) end" },
  stack = { "int32_t _$o, _$s;", "local f if r._$o ~= 0 then f = stack(r, r._$o, r._$s) end" },
  ustack = { "int32_t _$o, _$s;", "local f if r._$o ~= 0 then f = user_stack(r, r._$o, r._$s) end" },
  usym = { "int32_t _$o, _$s;", "local f if r._$o ~= 0 then f = user_name(text(cast(Bytes, r) + r._$o, r._$s)) end" },
  list = { "int32_t _$o, _$s;", "local f if r._$o ~= 0 then f = elements_of(r, r._$o, r._$s, '@', named[$]) end" },
  named = { "uint32_t _$l, _$h;", "local f = named[$](r._$h, r._$l)" },
  inet = { "int32_t _$o, _$s;", "local f if r._$o ~= 0 then f = inet(text(cast(Bytes, r) + r._$o, r._$s)) end" },
}

-- The record as a C struct: gaps and all.
local function struct_of(layout)
  local parts, at = { "struct __attribute__((packed)) { int32_t _len, _event; uint64_t _seq; int64_t _time; " }, 0
  local places = {}
  for i, field in ipairs(layout.fields) do
    places[#places + 1] = { field.offset, (kinds[field.kind][1]:gsub("%$", tostring(i))) }
  end
  if layout.presence then places[#places + 1] = { layout.presence, "uint32_t _present[2];" } end
  table.sort(places, function(a, b) return a[1] < b[1] end)
  for i, place in ipairs(places) do
    if place[1] > at then parts[#parts + 1] = string.format("char _gap%d[%d]; ", i, place[1] - at) end
    parts[#parts + 1] = place[2]
    at = place[1] + 8
  end
  parts[#parts + 1] = "}"
  return ffi.typeof(table.concat(parts))
end

-- Code that leaves the value of field `i` in the local `name`.
local function field_code(layout, i, name)
  local field = layout.fields[i]
  local code = kinds[field.kind][2]:gsub("%$", tostring(i)):gsub("@", field.element):gsub("%f[%w_]f%f[^%w_]", name)
  if not (field.nilable and layout.presence) then return code end
  local word, mask = math.floor((i - 1) / 32), bit.lshift(1, (i - 1) % 32)
  return string.format("local %s_ if band(r._present[%d], %d) ~= 0 then %s %s_ = %s end local %s = %s_",
    name, word, mask, code, name, name, name, name)
end

local own_fields = {
  time = "local f = tonumber(r._time) if not (f < 0x1p53) then f = r._time end",
  cpu = "local f = cpu",
}

-- Every field's name and the code of its value; a field of the script's own called `time` or `cpu` wins.
local function fields_of(layout)
  local fields, taken = {}, {}
  for i, field in ipairs(layout.fields) do
    taken[field.name] = true
    fields[#fields + 1] = { name = field.name, code = function(name) return field_code(layout, i, name) end }
  end
  for _, own in ipairs { "time", "cpu" } do
    if not taken[own] then
      fields[#fields + 1] = { name = own, code = function(name) return (own_fields[own]:gsub("%f[%w_]f%f[^%w_]", name)) end }
    end
  end
  return fields
end

local prelude = [[
local cast, u64, Bytes, text, symbol, stack, elements_of, inet, user_stack, user_name, named, Record, Printed = ...
local tonumber, format, band, setmetatable = tonumber, string.format, require("bit").band, setmetatable
]]

local function compile(layout, code, record, printed)
  local chunk = setfenv(assert(loadstring(prelude .. code, "=kprobe")), getfenv(1))
  return chunk(ffi.cast, ffi.typeof "uint64_t", Bytes, text, symbol, stack, elements_of,
    inet, user_stack, user_name, layout.named, record, printed)
end

-- An event's layout, with the names of the numbers that print as such, by field.
local function layout_of(event)
  local layout = core.layout(event)
  layout.named = {}
  for i, field in ipairs(layout.fields) do
    if field.kind == "named" or field.element == "named" then
      layout.named[i] = name_cache(function(high, low) return core.named(event, i, high, low) end)
    end
  end
  return layout
end

-- What tostring() gives of an event: the fields that it has, in their order.
local function text_of_fields(layout)
  return function(event)
    local parts = {}
    for _, field in ipairs(layout.fields) do
      local value = event[field.name]
      if value ~= nil then parts[#parts + 1] = field.name .. " = " .. registry.in_line(value) end
    end
    return "{ " .. table.concat(parts, ", ") .. " }"
  end
end

-- (record, cpu) → a table of its own.
local function table_decoder(layout, record)
  local code, row = { "return function(r, cpu) r = cast(Record, r)" }, {}
  for i, field in ipairs(fields_of(layout)) do
    local name = i <= 100 and "v" .. i or "w.v" .. i -- a function has 200 locals at most
    if i == 101 then code[#code + 1] = "local w = {}" end
    if i <= 100 then
      code[#code + 1] = field.code(name)
    else
      code[#code + 1] = string.format("do %s %s = v end", field.code "v", name)
    end
    row[#row + 1] = string.format("[%q] = %s", field.name, name)
  end
  code[#code + 1] = string.format("return setmetatable({ %s }, Printed) end", table.concat(row, ", "))
  return compile(layout, table.concat(code, "\n"), record, { __tostring = text_of_fields(layout) })
end

-- ---------------------------------------------------------------- batches
-- Raised when each_batch's callback has returned: the views that it was given are then of no record.
local turn = ffi.new "struct { int32_t now; }"

-- A view of one record: its fields are read when they are named.
local function view_of(layout, record)
  local code = { "return {" }
  for _, field in ipairs(fields_of(layout)) do
    code[#code + 1] = string.format("[%q] = function(view) local r, cpu = view._record, view._cpu %s return v end,", field.name,
      field.code "v")
  end
  code[#code + 1] = "}"
  local getters = compile(layout, table.concat(code, "\n"), record)
  local view = ffi.typeof("struct { $ _record; int32_t _cpu, _turn; }", record)
  return ffi.metatype(view, { __tostring = text_of_fields(layout), __index = function(v, name)
    if v._turn ~= turn.now then
      fail("this record is gone: what each_batch's callback is given is valid until it returns; batch:copy(i) is to keep")
    end
    local get = getters[name]
    if get then return get(v) end
  end })
end

-- What each_batch's callback is given: records of one event, valid until it returns.
local function batch_type(layout, record, decode)
  local view = view_of(layout, record)
  local methods = {}
  local function next_view(batch, i)
    if i < batch.size then return i + 1, view(ffi.cast(record, batch.record[i]), batch.cpu[i], turn.now) end
  end
  function methods.iter(batch) return next_view, batch, 0 end
  function methods.copy(batch, i)
    if i >= 1 and i <= batch.size then return decode(batch.record[i - 1], batch.cpu[i - 1]) end
  end
  local batch = ffi.typeof("struct { int32_t size; const struct kpl_rec *record[$]; int32_t cpu[$]; }", room, room)
  return ffi.metatype(batch, {
    __len = function(b) return b.size end,
    __index = function(b, i)
      if type(i) ~= "number" then return methods[i] end
      if i >= 1 and i <= b.size then return view(ffi.cast(record, b.record[i - 1]), b.cpu[i - 1], turn.now) end
    end,
  })
end

-- ---------------------------------------------------------------- delivery
local subscribers = {} -- by event: a list of { fn=, batch= }
local subscribed = {}  -- every subscription, in order: { event=, subscriber= }
local collecting = {}  -- batches that the records of the current delivery are put into
local current          -- struct kpl_batch *
local none = -1        -- no event's number

local function ignore() end

local function each_consumer(decode, fn)
  return function(record, cpu) fn(decode(record, cpu)) end
end

-- `counts`: the record counts as delivered with this batch, not when it is collected.
local function batch_consumer(layout, record, decode, fn, counts)
  local batch = batch_type(layout, record, decode)()
  collecting[#collecting + 1] = { batch = batch, fn = fn, counts = counts }
  return function(r, cpu)
    local size = batch.size
    batch.record[size], batch.cpu[size] = r, cpu
    batch.size = size + 1
    if counts then current.delivered = current.delivered - 1 end
  end
end

-- An error of the first keeps no record from the second, and is the one that is told.
local function both(first, second)
  return function(record, cpu)
    local well, problem = xpcall(first, core.traceback, record, cpu)
    if current.stop ~= 0 then
      if not well then error(problem, 0) end
    elseif well then
      second(record, cpu)
    else
      pcall(second, record, cpu)
      error(problem, 0)
    end
  end
end

-- Made when an event's first record comes: by then its layout stands.
local consumers = setmetatable({}, { __index = function(consumers, event)
  local list = subscribers[event]
  local consumer
  if list then
    local layout = layout_of(event)
    local record = ffi.typeof("const $ *", struct_of(layout))
    local decode = table_decoder(layout, record)
    local counted = false
    for _, subscriber in ipairs(list) do
      if not subscriber.consumer then
        subscriber.consumer = subscriber.batch and batch_consumer(layout, record, decode, subscriber.fn, not counted)
            or each_consumer(decode, subscriber.fn)
      end
      counted = counted or subscriber.batch
      consumer = consumer and both(consumer, subscriber.consumer) or subscriber.consumer
    end
  end
  consumers[event] = consumer or ignore
  return consumers[event]
end })

local function forget_collected()
  for i = 1, #collecting do collecting[i].batch.size, collecting[i].handed = 0, false end
end

local function flush()
  for i = 1, #collecting do
    local one = collecting[i]
    if one.handed then one.batch.size, one.handed = 0, false end -- to a callback that raised an error
    if one.batch.size ~= 0 and current.stop == 0 then
      one.handed = true
      turn.now = turn.now + 1
      if one.counts then current.delivered = current.delivered + one.batch.size end
      local well, problem = xpcall(one.fn, core.traceback, one.batch)
      turn.now = turn.now + 1
      if not well then error(problem, 0) end
      one.batch.size, one.handed = 0, false
    end
  end
  forget_collected()
end

-- The records [from, to) of the session's batch; batch.next is behind the last that was handed on, also if that raised an
-- error. What is collected for other callbacks then waits for the next call: none of new records, which delivers that alone.
function registry.consume(from, to)
  local batch = current
  if from < to and collecting[1] then forget_collected() end
  local consumer
  batch.event = none
  for i = from, to - 1 do
    local record = batch.record[i]
    batch.next = i + 1
    if record.event ~= batch.event then
      batch.event = record.event
      consumer = consumers[record.event]
    end
    consumer(record, batch.cpu[i])
    if batch.stop ~= 0 then break end
  end
  if collecting[1] then flush() end
end

function registry.attach(pointer) current = ffi.cast(Batch, pointer) end

-- Who takes an event has changed: its next record asks again.
local function renew(event)
  consumers[event] = nil
  if current then current.event = none end
end

-- The layouts of events have changed: what decoders were made for is gone.
function registry.forget_layouts()
  for i = #collecting, 1, -1 do collecting[i] = nil end -- each_batch's are made anew, too
  for event, list in next, subscribers do
    for _, subscriber in ipairs(list) do subscriber.consumer = nil end
    renew(event)
  end
end

local function subscribe(event, what, subscriber)
  if type(subscriber.fn) ~= "function" then fail("%s takes a function", what) end
  local list = subscribers[event.id] or {}
  subscribers[event.id] = list
  list[#list + 1] = subscriber
  subscribed[#subscribed + 1] = { event = event.id, subscriber = subscriber }
  core.subscriptions(#subscribed)
  renew(event.id)
  return event
end

-- Ends the subscriptions behind the first `keep`.
function registry.unsubscribe(keep)
  for i = #subscribed, keep + 1, -1 do
    local event, ended = subscribed[i].event, subscribed[i].subscriber
    local list = {}
    for _, subscriber in ipairs(subscribers[event]) do
      subscriber.consumer = nil -- which one counts may change
      if subscriber ~= ended then list[#list + 1] = subscriber end
    end
    renew(event)
    subscribers[event], subscribed[i] = list, nil
    core.subscriptions(i - 1)
  end
end

-- fn(e) for each record: e is a table of its own, the script's to keep.
function Event:each(fn) return subscribe(self, "each", { fn = fn }) end

-- fn(batch) for many records at once: #batch, batch[i].field, for i, e in batch:iter(). Views, valid in the callback only;
-- batch:copy(i) is a table to keep.
function Event:each_batch(fn) return subscribe(self, "each_batch", { fn = fn, batch = true }) end
