-- SPDX-License-Identifier: MIT
-- A tool's options, as its table has them: { "-x --failed", "failed opens only" } is a flag, { "-d --disk DISK", … } takes a
-- value, { "FUNCTION", … } is an argument. A string stands for options that many tools have. More in a row: kind = (of
-- `kinds`), default =, choices =, many = true, optional = true.
local groups = {
  process = {
    { "-p --pid PID", "this process only", kind = "id" },
    { "--tid TID", "this thread only", kind = "id" },
    { "--comm NAME", "processes of this name only" },
    { "--cgroup PATH", "processes of this cgroup only" },
  },
  timestamp = { { "-T --timestamp", "begin each line with the seconds since the start" } },
  interval = {
    { "-i --interval SECONDS", "print and begin anew each so many seconds", kind = "seconds" },
    { "-n --count N", "end after so many times", kind = "positive" },
  },
  top = { { "--top N", "show the N largest only", kind = "positive" } },
}

-- Text to a value, or nil and why not.
local function whole(least, what)
  return function(text)
    local n = tonumber(text)
    if n and n == math.floor(n) and n >= least and n < 2 ^ 53 then return n end
    return nil, ("'%s' is no %s"):format(text, what)
  end
end
local kinds = {
  text = function(text) return text end,
  id = whole(1, "number of a process"),
  positive = whole(1, "whole number over 0"),
  whole = whole(0, "whole number"),
  seconds = function(text)
    local n = tonumber(text)
    if n and n > 0 and n < 1e9 then return n end
    return nil, ("'%s' is no number of seconds"):format(text)
  end,
}

-- The rows of a tool's options, each with names (empty: an argument), value (nil: a flag) and field.
local function rows_of(spec)
  local rows, arguments = {}, 0
  local function add(row)
    local names, value = {}, nil
    for word in row[1]:gmatch "%S+" do
      if word:sub(1, 1) == "-" then names[#names + 1] = word else value = word end
    end
    if #names == 0 then arguments = arguments + 1 end
    local field = (names[#names] or value):gsub("^%-+", ""):gsub("-", "_"):lower()
    rows[#rows + 1] = setmetatable({ names = names, value = value, field = field, help = row[2] }, { __index = row })
  end
  local groups_given = {}
  for _, row in ipairs(spec.options or {}) do
    if type(row) == "string" then
      groups_given[row] = true
      for _, one in ipairs(groups[row]) do add(one) end
    else
      add(row)
    end
  end
  for _, row in ipairs(rows) do -- a tool's own default of an option of a group
    if spec.defaults and spec.defaults[row.field] ~= nil then row.default = spec.defaults[row.field] end
  end
  -- As bcc has them: vfsstat 1 5.
  if groups_given.interval and arguments == 0 then
    local function argument(name, field, kind)
      rows[#rows + 1] = { names = {}, value = name, field = field, kind = kind, help = "the same as --" .. name, optional = true }
    end
    argument("interval", "seconds", "seconds")
    argument("count", "times", "positive")
  end
  return rows
end

local Parser = {}
Parser.__index = Parser

local function build(spec, rows)
  local found, argparse = pcall(require, "argparse")
  if not found then
    io.stderr:write(spec.name, ": its options need argparse: apt-get install lua-argparse\n")
    os.exit(1)
  end
  local parser = argparse(spec.name, spec.description)
  parser:add_help "-h --help"
  parser:help_description_margin(30)
  parser.error = function(_, text)
    io.stderr:write(("%s: %s\nTry '%s --help'.\n"):format(spec.name, text, spec.name))
    os.exit(2)
  end
  for _, row in ipairs(rows) do
    local made
    if #row.names == 0 then
      made = parser:argument(row.field, row.help):args(row.many and (row.optional and "*" or "+") or row.optional and "?" or 1)
      made:argname(row.optional and row.value or "<" .. row.value:lower() .. ">")
    elseif row.value then
      made = parser:option(table.concat(row.names, " "), row.help):argname(row.value)
      if row.many then made:count "*" end
    else
      made = parser:flag(table.concat(row.names, " "), row.help)
    end
    made:target(row.field)
    if row.value then made:convert(kinds[row.kind or "text"]) end
    if row.choices then made:choices(row.choices) end
    if row.default ~= nil then made:description(("%s (%s)"):format(row.help, row.default)) end
  end
  if spec.columns then
    local headings = {}
    for i, column in ipairs(spec.columns) do headings[i] = column[1] end
    parser:epilog(("Columns: %s\nOptions of kprobe-lua stand before the tool: kprobe-lua -f json %s"):format(
      table.concat(headings, " "), spec.name))
  end
  return parser
end

function Parser:parse(words)
  local list = {}
  for i, word in ipairs(words) do list[i] = word end
  local options = build(self.spec, self.rows):parse(list)
  for _, row in ipairs(self.rows) do
    if options[row.field] == nil then options[row.field] = row.default end
  end
  options.interval, options.count = options.seconds or options.interval, options.times or options.count
  return options
end

return setmetatable({ rows_of = rows_of }, { __call = function(_, spec)
  return setmetatable({ spec = spec, rows = rows_of(spec) }, Parser)
end })
