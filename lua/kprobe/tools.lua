-- SPDX-License-Identifier: MIT
-- kprobe-lua tools: what tools there are, by subject; and for the manual and completion, what their tables say.
--   kprobe-lua tools [SUBJECT]      --names      --options TOOL      --headers      --manual TOOL
local describe = require("kprobe.tool").describe
local rows_of = require("kprobe.options").rows_of

local subjects = { "files", "processes", "disks", "memory", "network", "scheduling", "functions" }

ffi.cdef [[
  struct kpl_dirent { unsigned long ino; long off; unsigned short reclen; unsigned char type; char name[256]; };
  void *opendir(const char *name);
  struct kpl_dirent *readdir(void *dir);
  int closedir(void *dir);
]]
local function names_in(dir)
  local names, handle = {}, ffi.C.opendir(dir)
  if handle == nil then return names end
  local entry = ffi.C.readdir(handle)
  while entry ~= nil do
    names[#names + 1] = ffi.string(entry.name):match "^([^.].*)%.lua$"
    entry = ffi.C.readdir(handle)
  end
  ffi.C.closedir(handle)
  return names
end

-- The first of a name counts, as when it is called.
local dirs = {}
for dir in (os.getenv "KPROBE_LUA_TOOLS" or ""):gmatch "[^:]+" do dirs[#dirs + 1] = dir end
dirs[#dirs + 1] = arg[0]:gsub("kprobe/tools%.lua$", "tools")

local function tool_named(name)
  for _, dir in ipairs(dirs) do
    local spec = describe(dir .. "/" .. name .. ".lua")
    if spec then return spec end
  end
  io.stderr:write("tools: no tool '", name, "'\n")
  os.exit(2)
end

local function all_tools()
  local tools, seen = {}, {}
  for _, dir in ipairs(dirs) do
    for _, name in ipairs(names_in(dir)) do
      local spec = not seen[name] and describe(dir .. "/" .. name .. ".lua")
      if spec then tools[#tools + 1], seen[name] = spec, true end
    end
  end
  table.sort(tools, function(a, b) return a.name < b.name end)
  return tools
end

local function list(only)
  local tools, by_subject, order = all_tools(), {}, {}
  for _, name in ipairs(subjects) do by_subject[name], order[#order + 1] = {}, name end
  for _, spec in ipairs(tools) do
    local subject = spec.subject or "others"
    if not by_subject[subject] then by_subject[subject], order[#order + 1] = {}, subject end
    table.insert(by_subject[subject], spec)
  end
  local shown = 0
  for _, subject in ipairs(order) do
    if #by_subject[subject] > 0 and (not only or only == subject) then
      print((shown > 0 and "\n" or "") .. subject)
      for _, spec in ipairs(by_subject[subject]) do print(("  %-14s %s"):format(spec.name, (spec.description:gsub("%.$", "")))) end
      shown = shown + 1
    end
  end
  if only and shown == 0 then
    io.stderr:write("tools: no subject '", only, "'; there are: ", table.concat(order, ", "), "\n")
    os.exit(2)
  end
end

-- ---------------------------------------------------------------- the manual page
local function plain(text) return (text:gsub("[\\*_<]", "\\%0")) end

local function manual(spec)
  local out, rows = {}, rows_of(spec)
  local function add(text) out[#out + 1] = text end
  local usage = { "*" .. plain(spec.name) .. "-kpl*" }
  for _, row in ipairs(rows) do
    if #row.names == 0 then
      local name = "_" .. plain(row.value:lower()) .. "_" .. (row.many and "..." or "")
      usage[#usage + 1] = row.optional and "[" .. name .. "]" or name
    end
  end
  table.insert(usage, 2, "[_options_]")
  add(("%s-kpl(8)\n\n# NAME\n\n%s-kpl - %s\n\n# SYNOPSIS\n\n%s"):format(
    spec.name, spec.name, plain(spec.description:gsub("%.$", "")), table.concat(usage, " ")))
  add(("*kprobe-lua* [_options of kprobe-lua_] *%s* ..."):format(plain(spec.name)))
  if spec.details then add("# DESCRIPTION\n\n" .. plain(spec.details)) end
  add "# OPTIONS"
  for _, row in ipairs(rows) do
    local names = {}
    for i, name in ipairs(row.names) do names[i] = "*" .. name .. "*" end
    local head = "_" .. plain((row.value or ""):lower()) .. "_"
    if #names > 0 then head = table.concat(names, ", ") .. (row.value and " _" .. plain(row.value) .. "_" or "") end
    local default = row.default ~= nil and (" (%s)"):format(plain(tostring(row.default))) or ""
    add(head .. "\n\t" .. plain(row.help:sub(1, 1):upper() .. row.help:sub(2)) .. default .. ".")
  end
  if spec.columns then
    local headings = {}
    for i, column in ipairs(spec.columns) do
      headings[i] = plain(column[1]) .. (column.only and " (with --" .. column.only:gsub("_", "-") .. ")" or "")
    end
    add("# COLUMNS\n\n" .. table.concat(headings, ", "))
  end
  if spec.example then -- output, and behind its last empty line what to see in it
    local output, text = spec.example:match "^(.*)\n\n(.-)$"
    add("# EXAMPLE\n\n```\n" .. (output or spec.example) .. "\n```\n\n" .. plain(text or ""))
  end
  local needs = {}
  for _, names in pairs(spec.needs or {}) do needs[#needs + 1] = plain(type(names) == "table" and table.concat(names, " or ") or names) end
  table.sort(needs)
  if #needs > 0 then add("# WHAT IT NEEDS\n\nOf the kernel: " .. table.concat(needs, ", ") .. ".") end
  add "# SEE ALSO\n\n*kprobe-lua*(1)"
  print(table.concat(out, "\n\n"))
end

local function header_of(spec)
  local cells = {}
  for _, column in ipairs(spec.columns or {}) do
    if not column.only then cells[#cells + 1] = (column[2]:match "^%%%-?%d*" .. "s"):format(column[1]) end
  end
  return (table.concat(cells, " "):gsub(" +$", ""))
end

local function option_words(spec)
  local words = { "--help" }
  for _, row in ipairs(rows_of(spec)) do
    for _, name in ipairs(row.names) do words[#words + 1] = name end
  end
  print(table.concat(words, " "))
end

local asks = { ["--options"] = option_words, ["--manual"] = manual }
local what, name = arg[1], arg[2]
if what == "--names" then
  local names = {}
  for i, spec in ipairs(all_tools()) do names[i] = spec.name end
  print(table.concat(names, " "))
elseif what == "--headers" then
  for _, spec in ipairs(all_tools()) do
    if spec.columns then print(spec.name .. ": " .. header_of(spec)) end
  end
elseif asks[what] and name then
  asks[what](tool_named(name))
elseif what == "-h" or what == "--help" or what and what:sub(1, 1) == "-" then
  local text = "Usage: kprobe-lua tools [SUBJECT]\nLists the tools; TOOL --help tells of one. Others' folders: KPROBE_LUA_TOOLS=DIR:DIR.\n"
  local help = what == "-h" or what == "--help"
  local stream = help and io.stdout or io.stderr
  stream:write(text)
  os.exit(help and 0 or 2)
else
  list(what)
end
