-- SPDX-License-Identifier: MIT
-- What makes a script a tool: a table at its top, from which come its options, --help, the header of what it prints, its
-- manual page and its completion. docs/tools.md tells how to write one.
--
--   local options, out = require "kprobe.tool" { subject =, description =, needs =, options =, columns =, example = }
local kprobe = require "kprobe"
local new_parser = require "kprobe.options"
local new_output = require "kprobe.out"

local tool = {}
local describing = false -- describe() wants the table alone

-- Ends the tool before it has begun: nothing is armed yet.
local function fail(name, status, text, ...)
  io.stdout:flush()
  io.stderr:write(name, ": ", text:format(...), "\n")
  os.exit(status)
end

local function is_there(need)
  local type_name, field = need:match "^(%l+ .+)%.([%w_]+)$"
  return type_name and kprobe.has(type_name, field) or not type_name and kprobe.has(need)
end

-- What the tool probes, by name: the first of each list that this kernel has.
local function resolve(name, spec)
  local found = {}
  for key, names in pairs(spec.needs or {}) do
    names = type(names) == "table" and names or { names }
    for _, one in ipairs(names) do
      if not found[key] and is_there(one) then found[key] = one end
    end
    if not found[key] then
      fail(name, 1, "it needs %s, which this kernel has not%s", table.concat(names, " or "), spec.instead and "; " .. spec.instead or "")
    end
  end
  return found
end

local function exists(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

-- What kprobe{ when = } takes; a process that ends, ends the tool.
local function hits_wanted(name, options)
  local pid = options.pid
  if pid then
    local stat = ("/proc/%d/stat"):format(pid)
    if not exists(stat) then fail(name, 1, "no process %d", pid) end
    every(0.2, function()
      if exists(stat) then return end
      io.stderr:write(name, ": process ", pid, " has ended\n")
      exit()
    end)
  end
  return { pid = pid, tid = options.tid, comm = options.comm, cgroup = options.cgroup }
end

-- The table of a tool's file; nothing if it is no tool. What stands before the table runs, so other scripts are not tried.
function tool.describe(path)
  local file = io.open(path)
  local text = file and file:read "*a"
  if file then file:close() end
  local is_tool = text and text:find "require%s*%(?[\"']kprobe%.tool[\"']"
  local chunk = is_tool and loadstring((text:gsub("^#[^\n]*", "")), "@" .. path)
  if not chunk then return end
  describing = true
  local ran, spec = pcall(chunk)
  describing = false
  if ran or type(spec) ~= "table" or not spec.description then return end
  spec.name = path:match "([^/]+)%.lua$"
  return spec
end

return setmetatable(tool, { __call = function(_, spec)
  if describing then error(spec, 0) end
  spec.name = arg[0]:match "([^/]+)%.lua$" or arg[0]
  local options = new_parser(spec):parse(arg)
  options.needs = resolve(spec.name, spec)
  options.when = hits_wanted(spec.name, options)
  return options, new_output(spec, options), function(...) fail(spec.name, 1, ...) end
end })
