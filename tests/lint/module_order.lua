-- SPDX-License-Identifier: MIT
-- usage: luajit tests/lint/module_order.lua [objects DIRECTORY…]
-- The module's files in order: each knows only what stands above it, and calls what stands below only through pointers
-- that it was given. Checks includes; or, in directories where kbuild has built the module, the symbols that objects
-- use. docs/architecture.md has them in the same order, more to a row; these know each other. Says what is wrong and fails,
-- or prints one line.

-- Names of one line don't know each other. A name is X.c and X.h, or the one of them that there is; `core` is a folder.
local order = {
  "core",
  "compat words",
  "kept",
  "stubs",
  "session",
  "area",
  "grow",
  "guard shape",
  "memory",
  "ring agg hash",
  "map record",
  "strings lists path stack",
  "change going",
  "place",
  "jumps",
  "helpers",
  "native stop",
  "prog",
  "dry overload ucall",
  "kind",
  "trace table handle",
  "hit call uhit",
  "stats sites refused",
  "common traces",
  "kprobe",
  "kretprobe ftrace tracepoint event uprobe direct_set",
  "direct watch test_kind",
  "group log oops",
  "probe control bench wake",
  "reader",
  "life",
  "main",
}

local rank = {}
for number, line in ipairs(order) do
  for name in line:gmatch "%S+" do rank[name] = number end
end

-- By the document's table: the number of a name's row.
local row, rows = {}, 0
for line in io.lines(arg[0]:gsub("tests/lint/[^/]*$", "") .. "docs/architecture.md") do
  if rows == 0 and line == "| files | what they are |" then
    rows = 1
  elseif rows > 0 and line:sub(1, 1) ~= "|" then
    break
  elseif rows > 0 then
    rows = rows + 1
    for name in line:match("^|([^|]*)|"):gmatch "`([%w_]+)[^`]*`" do row[name] = rows end
  end
end

local wrong, checked = 0, 0
local function complain(...)
  wrong = wrong + 1
  print(string.format(...))
end

-- `user` may know itself and what stands above it.
local function check(user, used, ...)
  checked = checked + 1
  if user ~= used and rank[used] >= rank[user] then complain(...) end
  if (row[used] or 0) > (row[user] or rows) then
    complain("docs/architecture.md: %s stands above %s, which it uses", user, used)
  end
end

local function lines(command)
  local list = {}
  for line in io.popen(command):lines() do list[#list + 1] = line end
  return list
end

-- The name of a file of kmod/, or nil where that is in no order: uapi/ and ioctls.def are everybody's.
local function name_of(path)
  if path:find "^core/" then return "core" end
  return path:match "^([%w_]+)%.[ch]$"
end

local function check_includes()
  local seen = {}
  for _, file in ipairs(lines "find kmod -name '*.[ch]' ! -path 'kmod/uapi/*' ! -path 'kmod/features/*' | sort") do
    local user, number = name_of(file:gsub("^kmod/", "")), 0
    if not rank[user] then
      complain("%s: stands nowhere in the order of tests/lint/module_order.lua", file)
    else
      seen[user] = true
      for line in io.lines(file) do
        number = number + 1
        local path = line:match '^%s*#%s*include "([^"]+)"'
        local used = path and name_of(user == "core" and not path:find "/" and "core/" .. path or path)
        if used and not rank[used] then
          complain("%s:%d: %s is no file of the module", file, number, path)
        elseif used then
          check(user, used, "%s:%d: includes %s, which does not stand above it", file, number, path)
        end
      end
    end
  end
  for name in pairs(rank) do
    if not row[name] then complain("docs/architecture.md: %s is not among the module's files", name) end
    if not seen[name] then complain("%s: in the order of tests/lint/module_order.lua, but not in kmod/", name) end
  end
  if checked < 100 then complain("only %d includes were seen", checked) end
end

-- In a build of the module: what its objects define, and what they take from each other.
local function check_objects(dir)
  local list = io.open(dir .. "/kprobe_lua.mod")
  if not list then return complain("%s: no module has been built there", dir) end
  local owner, uses = {}, {}
  for object in list:lines() do
    local user = name_of((object:gsub("^.*/src/", ""):gsub("o$", "c")))
    if not rank[user] then complain("%s: stands nowhere in the order of tests/lint/module_order.lua", object) end
    for _, line in ipairs(lines("nm '" .. object .. "'")) do
      local kind, symbol = line:match "(%a) (%S+)$"
      if kind == "U" then
        uses[#uses + 1] = { user = user, symbol = symbol }
      elseif kind:find "%u" then
        owner[symbol] = user
      end
    end
  end
  local before = checked
  for _, use in ipairs(uses) do
    local used = owner[use.symbol] -- or it is the kernel's
    if rank[used] and rank[use.user] then
      check(use.user, used, "%s: %s.o uses %s, but %s.o does not stand above it", dir, use.user, use.symbol, used)
    end
  end
  if checked - before < 100 then complain("%s: only %d uses were seen", dir, checked - before) end
end

if arg[1] == "objects" and not arg[2] then
  print "skipped: no kernel headers, so no module"
  os.exit(77)
end
local said
if arg[1] == "objects" then
  for i = 2, #arg do check_objects(arg[i]) end
  said = "%d uses of symbols in " .. #arg - 1 .. " builds, each of a file above"
else
  check_includes()
  said = "%d includes, each of a file above"
end
if wrong > 0 then os.exit(1) end
print(said:format(checked))
