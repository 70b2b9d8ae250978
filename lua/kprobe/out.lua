-- SPDX-License-Identifier: MIT
-- What tools print: rows under a header, tables, histograms as bcc draws them; blocks that a terminal shows in place. With
-- -f json, a row is a line {"type": "row", "data": {…}} by the columns' keys, and aggregations are as for all scripts.
local kprobe = require "kprobe"

-- "READ/s" is read_s, "LAT(ms)" lat_ms.
local function key_of(column) return column.key or (column[1]:lower():gsub("[^%w]+", "_"):gsub("^_*(.-)_*$", "%1")) end

-- The columns that these options show: "%-7.2f" of their table is `number` "%.2f", in `text` "%-7s".
local function columns_shown(spec, options)
  local shown = {}
  local function add(column)
    local sign, width, conversion = column[2]:match "^%%(%-?)(%d*)(.*)$"
    shown[#shown + 1] = {
      heading = column[1], key = key_of(column), text = "%" .. sign .. width .. "s", sign = sign, width = tonumber(width) or 0,
      number = conversion:match "[dfxu]$" and "%" .. conversion, always = column.always,
    }
  end
  if options.timestamp then add { "TIME(s)", "%-11.6f" } end
  for _, column in ipairs(spec.columns or {}) do
    if (not column.only or options[column.only]) and not (column.unless and options[column.unless]) then add(column) end
  end
  return shown
end

-- TIME is the clock's, TIME(s) the seconds since the start: of the record's event, or now.
local function value_of(self, column, record)
  if column.always then return column.always end
  if column.heading == "TIME" then return os.date "%H:%M:%S" end
  if column.heading == "TIME(s)" then return tonumber((record.time or kprobe.now()) - self.began) / 1e9 end
  return record[column.key]
end

-- What stands in a line stays in it; control characters of eight bits are U+0080 to U+009F.
local function printable(text) return (tostring(text):gsub("%c", "?"):gsub("\194[\128-\159]", "?"):gsub("\194$", "?")) end

local function cell(column, value)
  if value == nil then return column.text:format "-" end
  if type(value) == "table" then value = table.concat(value, " ") end
  local number = type(value) == "number" or type(value) == "cdata"
  if number and column.number then value = column.number:format(value) end
  return column.text:format(printable(value))
end

local Out = {}
Out.__index = Out

-- A pattern would begin anew at each blank of a text that somebody else chose.
local function without_blanks_behind(text)
  local size = #text
  while text:byte(size) == 32 do size = size - 1 end
  return text:sub(1, size)
end

-- All text goes through here: a block on a terminal is gathered, and shown as a whole.
function Out:line(text)
  text = without_blanks_behind(text)
  if self.gathered then
    self.gathered[#self.gathered + 1] = text
  else
    kprobe.print(text)
  end
end

function Out:header()
  if self.json then return end
  local cells = {}
  for i, column in ipairs(self.columns) do cells[i] = column.text:format(column.heading) end
  self:line(table.concat(cells, " "))
  self.since_header = 0
end

-- A row of values by the columns' keys. On a terminal, the header comes again with each screen.
function Out:show(record)
  local values = {}
  if self.json then
    local keys = {}
    for _, column in ipairs(self.columns) do
      if not column.always then
        keys[#keys + 1] = column.key
        values[#keys] = value_of(self, column, record)
      end
    end
    if type(record.stack) == "table" then
      local frames = {}
      for i, frame in ipairs(record.stack) do frames[i] = frame end
      keys[#keys + 1] = "stack"
      values[#keys] = frames
    end
    return kprobe.emit_row("row", keys, values)
  end
  if self.rows and not self.gathered and self.since_header >= self.rows - 1 then self:header() end
  for i, column in ipairs(self.columns) do values[i] = cell(column, value_of(self, column, record)) end
  self:line(table.concat(values, " "))
  self.since_header = self.since_header + 1
end

-- The width of each column: as wide as its longest cell; on a narrow terminal, the widest gives way to the numbers.
local function widths_of(self, records)
  local widths, total, widest = {}, #self.columns - 1, 1
  for i, column in ipairs(self.columns) do
    widths[i] = math.max(column.width, #column.heading)
    for _, record in ipairs(i < #self.columns and records or {}) do
      widths[i] = math.max(widths[i], #cell(column, value_of(self, column, record)))
    end
    total = total + widths[i]
    if not column.number and widths[i] > widths[widest] then widest = i end
  end
  if self.width and total > self.width then widths[widest] = math.max(widths[widest] - (total - self.width), 8) end
  return widths
end

-- A block: a header, and the records; the last N (--top) of them, as the largest come last.
function Out:table(records)
  local first = self.options.top and math.max(#records - self.options.top, 0) or 0
  if first > 0 then
    local last = {}
    for i = first + 1, #records do last[#last + 1] = records[i] end
    records = last
  end
  local columns = self.columns
  local widths = widths_of(self, records)
  self.columns = {}
  for i, column in ipairs(columns) do
    local text = i < #columns and ("%%%s%d.%ds"):format(column.sign, widths[i], widths[i]) or column.text
    self.columns[i] = setmetatable({ text = text }, { __index = column })
  end
  self:header()
  for _, record in ipairs(records) do self:show(record) end
  self.columns = columns
end

-- The frames of a stack, below a row.  In JSON, they are the row's: record.stack.
function Out:stack(frames)
  if self.json then return end
  for _, frame in ipairs(frames) do self:line("    " .. frame) end
end

-- A line of -f json that is no row.
function Out:emit(kind, record) -- luacheck: no self
  local names, values = {}, {}
  for name, value in pairs(record) do names[#names + 1], values[#values + 1] = name, value end
  kprobe.emit_row(kind, names, values)
end

-- An aggregation by stack, or by { comm, stack } or { comm, ustack, kstack }: each way with its number below it, the
-- largest last.
function Out:stacks(map, top)
  if self.json or self.folded then return kprobe.print(map:take()) end
  local rows = self.ascending(map)
  for i = math.max(1, #rows - (top or #rows) + 1), #rows do
    local key = rows[i].key
    local named = type(key) == "table" and type(key[2]) == "table"
    local one = type(key[1]) == "table" and key[1] or key
    for at = named and #key or 1, named and 2 or 1, -1 do
      for _, frame in ipairs(named and key[at] or one) do self:line("  " .. frame) end
    end
    if named then self:line("    " .. printable(key[1])) end
    self:line(("    %d"):format(rows[i].value))
    self:line ""
  end
end

-- Records of a stats() of nanoseconds, emptied: its key, or its name, as `field`, count and total_usecs; the largest last.
function Out.sums(map, field, names)
  local records = {}
  for key, value in map:take():pairs() do
    local name = names and names[tonumber(key)] or key
    records[#records + 1] = { [field] = name, count = value.count, total_usecs = math.floor(tonumber(value.sum) / 1000) }
  end
  table.sort(records, function(a, b) return a.total_usecs < b.total_usecs end)
  return records
end

-- Rows of an aggregation, ascending: { key, value }.
function Out.ascending(map)
  local taken = map:take()
  local rows = taken:top(1e6)
  local sorted = {}
  for i = #rows, 1, -1 do sorted[#sorted + 1] = rows[i] end
  return sorted, taken
end

-- The slots of hist(): negative, 0, 1, 2 to 3, 4 to 7, …
local function bars(self, slots, unit)
  local counts, last, most = { (slots[2] or 0) + (slots[3] or 0) }, 0, 1
  for i = 4, 66 do counts[i - 2] = slots[i] or 0 end
  for i, n in ipairs(counts) do
    counts[i] = tonumber(n)
    if counts[i] > 0 then last = i end
    most = math.max(most, counts[i])
  end
  local wide = last > 32
  local body = wide and "%20s -> %-20s : %-8d |%-20s|" or "%10s -> %-10s : %-8d |%-40s|"
  self:line(((wide and "%15s%-29s" or "%5s%-19s") .. " : count     distribution"):format("", unit))
  if tonumber(slots[1] or 0) > 0 then self:line(("     below 0 : %d"):format(tonumber(slots[1]))) end
  for i = 1, last do
    local low, high = i == 1 and 0 or 2 ^ (i - 1), 2 ^ i - 1
    local stars = ("*"):rep(math.floor((wide and 20 or 40) * counts[i] / most))
    self:line(body:format(("%.0f"):format(low), ("%.0f"):format(high), counts[i], stars))
  end
end

-- A hist(), emptied: one, or one for each key, or its name, under "label = key". Returns how many.
function Out:histogram(map, unit, label, names)
  local taken = map:take()
  if self.json then
    kprobe.print(taken)
    return #taken.rows
  end
  local drawn = 0
  for key, slots in taken:pairs() do
    if tonumber(slots.count) > 0 then
      if drawn > 0 then self:line "" end
      if names then key = names[tonumber(key)] or key end
      if label then self:line(("%s = %s"):format(label, printable(type(key) == "table" and table.concat(key, ", ") or key))) end
      bars(self, slots, unit)
      drawn = drawn + 1
    end
  end
  return drawn
end

-- The beginning of a line that is longer than a terminal's: so many characters of UTF-8.
local function cut(text, columns)
  local count = 0
  for at = 1, #text do
    local byte = text:byte(at)
    if byte < 128 or byte >= 192 then count = count + 1 end
    if count > columns then return text:sub(1, at - 1) end
  end
  return text
end

local function show_screen(self, whole)
  local lines = self.gathered
  self.gathered = nil
  for i, text in ipairs(lines) do lines[i] = cut(text, self.width) end
  if not whole and #lines >= self.rows then
    for i = #lines, self.rows, -1 do lines[i] = nil end
  end
  kprobe.printf("\27[H\27[J%s", table.concat(lines, "\n") .. (#lines > 0 and "\n" or ""))
end

-- `block` prints what was seen since it was called last: each --interval, up to --count times, and at the end. In place on
-- a terminal, one behind the other elsewhere.
function Out:blocks(block)
  local options, shown, ended = self.options, 0, false
  local in_place = options.interval and self.rows and not self.json
  local function next_block(last)
    if in_place then self.gathered = {} elseif shown > 0 and not self.json then self:line "" end
    block(shown)
    if in_place then show_screen(self, last) end
    shown = shown + 1
  end
  if options.interval then
    every(options.interval, function()
      if ended then return end
      ended = shown + 1 == options.count
      next_block(ended)
      if ended then exit() end
    end)
  end
  at_exit(function()
    if not ended then next_block(true) end
  end)
end

-- As blocks, for one row each time: `row` gives it, and the seconds that have passed are its argument. A last moment too
-- short for a rate has none, unless it is all there was.
function Out:ticks(row)
  local options, shown, ended, last = self.options, 0, false, tonumber(kprobe.now())
  local function tick()
    local at = tonumber(kprobe.now())
    self:show(row((at - last) / 1e9))
    last, shown = at, shown + 1
  end
  every(options.interval or 1, function()
    if ended then return end
    tick()
    ended = shown == options.count
    if ended then exit() end
  end)
  at_exit(function()
    local passed = (tonumber(kprobe.now()) - last) / 1e9
    if not ended and (shown == 0 or passed > 0.1 * (options.interval or 1)) then tick() end
  end)
end

return function(spec, options)
  local medium = kprobe.medium()
  local self = setmetatable({
    options = options, json = medium.format == "json", folded = medium.format == "folded", rows = medium.rows, width = medium.columns,
    columns = columns_shown(spec, options), began = kprobe.now(), since_header = 0,
  }, Out)
  -- For callbacks: events:each(out.row).
  self.row = function(record) self:show(record) end
  if #self.columns > 0 and not spec.blocks and medium.format ~= "" then self:header() end
  return self
end
