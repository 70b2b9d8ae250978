-- SPDX-License-Identifier: MIT
-- usage: luajit tests/lint/includes.lua
-- Each folder is one CMake target that names what it may use. The compiler sees one include path for all of them, so
-- what a folder includes is compared here with what its target links; targets form no circle. Says what is wrong and
-- fails, or prints one line.
local folders = {} -- of each target
for dir in io.popen("ls -d arch kmod/core runtime/*/"):lines() do
  dir = dir:gsub("/$", "")
  local target = dir == "kmod/core" and "kpl_core" or "kpl_" .. dir:match "[^/]+$"
  folders[target] = dir
end

-- The first part of an include's path, and the target that it takes.
local owners = { core = "kpl_core", arch = "kpl_arch" }
for target, dir in pairs(folders) do
  if dir:find "^runtime/" then owners[dir:match "[^/]+$"] = target end
end
-- Libraries that one folder alone may see: how an include begins, what the target must link.
local libraries = {
  ["bpf/"] = "PkgConfig::LIBBPF", ["lua"] = "PkgConfig::LUAJIT", ["capstone/"] = "${CMAKE_DL_LIBS}", ["histedit.h"] = "${CMAKE_DL_LIBS}",
  ["elfutils/"] = "${CMAKE_DL_LIBS}", ["gelf.h"] = "${CMAKE_DL_LIBS}", ["libelf.h"] = "${CMAKE_DL_LIBS}",
  ["fmt/"] = "fmt::fmt", ["zlib"] = "ZLIB::ZLIB",
}

local links = {} -- target: { public = set, private = set }
for target, dir in pairs(folders) do
  local text = assert(io.open(dir .. "/CMakeLists.txt")):read("*a"):gsub("#[^\n]*", "")
  links[target] = { public = {}, private = {}, sees_abi = text:find("PROJECT_SOURCE_DIR}/kmod", 1, true) ~= nil }
  for body in text:gmatch("target_link_libraries%(%s*" .. target .. "%s(.-)%)") do
    local side
    for word in body:gmatch "%S+" do
      if word == "PUBLIC" or word == "PRIVATE" or word == "INTERFACE" then
        side = word == "PRIVATE" and "private" or "public"
      else
        links[target][side][word] = true
      end
    end
  end
end

local wrong, checked = 0, 0
local function complain(...)
  wrong = wrong + 1
  print(string.format(...))
end

-- Adds what `target` gives to those that link it.
local function add_public(target, seen)
  seen[target] = true
  if not links[target] then return end
  if links[target].sees_abi then seen.abi = true end
  for used in pairs(links[target].public) do add_public(used, seen) end
end

-- What `target` may include.
local function reach(target)
  local seen = {}
  add_public(target, seen)
  for used in pairs(links[target].private) do add_public(used, seen) end
  return seen
end

local function check_order(target, above)
  if above[target] then
    complain("%s links itself, by way of others", target)
    os.exit(1)
  end
  above[target] = true
  for _, side in pairs { links[target].public, links[target].private } do
    for used in pairs(side) do
      if links[used] then check_order(used, above) end
    end
  end
  above[target] = nil
end

for target, dir in pairs(folders) do
  check_order(target, {})
  local may = reach(target)
  for file in io.popen("find " .. dir .. " -name '*.[ch]' -o -name '*.[ch]pp'"):lines() do
    local number = 0
    for line in io.lines(file) do
      number = number + 1
      local first = line:match '^#include "([%w_]+)/'
      local owner = first and (first == "uapi" and "abi" or owners[first])
      if first then
        checked = checked + 1
        if owner and not may[owner] then
          complain('%s:%d: includes "%s/…", but %s does not link %s', file, number, first, target,
                   owner == "abi" and "what gives it kmod/" or owner)
        end
      end
      local header = line:match "^#include <([^>]+)>"
      for begins, library in pairs(libraries) do
        if header and header:find("^" .. begins) and not may[library] then
          complain("%s:%d: includes <%s>, but %s does not link %s", file, number, header, target, library)
        end
      end
    end
  end
end
if checked < 100 then complain("only %d includes were seen", checked) end
if wrong > 0 then os.exit(1) end
print(checked .. " includes, each of a folder that the target links")
