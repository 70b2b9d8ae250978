-- SPDX-License-Identifier: MIT
-- The tables that the verifier works by, each cell weakened: mutate.lua makes the mutants. rows_of(file) has the function
-- that tells the weaker forms of a line of that file, each with what was done; nil: it has no such table.
local M = {}

local function lines_of(path)
  local list = {}
  for line in assert(io.open(path)):lines() do list[#list + 1] = line end
  return list
end

-- Bits that a header or source defines: their names, in order.
local function flags_of(path, name)
  local list = {}
  for _, line in ipairs(lines_of(path)) do list[#list + 1] = line:match("^#define (" .. name .. ")%s+%d+u") end
  assert(#list > 0, path)
  return list
end

local function with_flags(flags, has)
  local list = {}
  for _, flag in ipairs(flags) do if has[flag] then list[#list + 1] = flag end end
  return #list > 0 and table.concat(list, " | ") or "0"
end

local function copy(set, change)
  local new = {}
  for key, value in pairs(set) do new[key] = value end
  for key, value in pairs(change) do new[key] = value end
  return new
end

-- An array of flags, by a row's name: each flag is given and taken away. `instead`: pairs of which a row has one at most;
-- it gets the other. `without`: names that have no row.
local function flag_table(flags, array, instead, without)
  local inside = false
  return function(line, weaker)
    if line:find("const u8 " .. array .. "[", 1, true) then
      inside = true
      for _, name in ipairs(without) do
        for _, flag in ipairs(flags) do
          weaker(("%s [%s] = %s,"):format(line, name, flag), ("%s with %s"):format(name, flag))
        end
      end
    elseif line:find "^}" then
      inside = false
    end
    local before, value, after = line:match "^(\t%[[%w_]+%]%s*= )([%w_ |]+)(,.*)$"
    if not inside or not before then return end
    local has = {}
    for flag in value:gmatch "[%a_][%w_]*" do has[flag] = true end
    local function change(changed, what) weaker(before .. with_flags(flags, copy(has, changed)) .. after, what) end
    for _, flag in ipairs(flags) do
      change({ [flag] = not has[flag] }, (has[flag] and "without " or "with ") .. flag)
      if has[flag] and instead[flag] then
        change({ [flag] = false, [instead[flag]] = true }, ("%s for %s"):format(instead[flag], flag))
      end
    end
  end
end

-- Rows of a .def file: NAME(cell, cell, …). `columns`: for a cell's number, a function from what is there to a list of what
-- is weaker.
local function def_table(name, columns)
  local for_tests = false
  return function(line, weaker)
    if line:find "^#ifdef KPL_TEST_ROWS" then for_tests = true elseif line:find "^#endif" then for_tests = false end
    local row = line:match("^" .. name .. "%((.*)%)$")
    if for_tests or not row then return end
    local cells = {}
    for cell in (row .. ","):gmatch "([^,]*)," do cells[#cells + 1] = cell end
    for nr = 1, #cells do
      local original, space, was = cells[nr], cells[nr]:match "^(%s*)(.-)%s*$"
      for _, new in ipairs(columns[nr] and columns[nr](was) or {}) do
        cells[nr] = space .. new
        weaker(("%s(%s)"):format(name, table.concat(cells, ",")), ("cell %d, %s, is %s"):format(nr, was, new))
      end
      cells[nr] = original
    end
  end
end

local function one_of(map) return function(was) return { map[was] } end end

local function less(was)
  local n = tonumber(was)
  return n > 0 and { tostring(n - 1) } or {}
end

local looks = one_of { AT_ALL = "AT_STATUS", AT_STATUS = "AT_CALL", AT_CALL = "NOWHERE" }

local laxer = {
  CONST = "NUM", AGG = "HASH", NAMES = "AGG", HASH = "AGG", VAL = "KEY", OUT = "VAL", WMEM = "RMEM", STR = "RMEM",
  WSTR = "STR", LIST = "STR",
}
local function argument(was) return was == "-" and {} or { "-", laxer[was] } end

-- The kinds of programs, as hit.def has them, each with one more.
local function kinds(path)
  local value = { ["1 << KPL_PROG_RET"] = 0x10 }
  for _, line in ipairs(lines_of(path)) do
    local name, number = line:match "^#define (K_%u+)%s+(0x%x+)"
    if name then value[name] = tonumber(number) end
  end
  return function(was)
    local list, has = {}, assert(value[was], was)
    for kind = 0, 6 do
      if math.floor(has / 2 ^ kind) % 2 == 0 then list[#list + 1] = ("%s | 1 << %d"):format(was, kind) end
    end
    return list
  end
end

-- What an opcode's fields mean: another form, which takes others.
local form = {
  ALU_K = "ALU_X", ALU_X = "ALU_K", JCC_K = "JCC_X", JCC_X = "JCC_K", LDX = "STX", ST = "STX", STX = "ST",
  NEG = "ALU_K", SWAP = "ALU_K", LD64 = "ALU_K", JA = "JCC_K", CALL = "JA", EXIT = "JA",
}

local function forms(line, weaker)
  local before, was, after = line:match "^(\t%[BPF_.*%] = KPL_F_)([%w_]+)(,.*)$"
  if before then weaker(before .. form[was] .. after, ("%s is %s"):format(was, form[was])) end
end

function M.rows_of(kmod, file)
  local core = kmod .. "/core/"
  if file == "core/verify.c" then
    return flag_table(flags_of(core .. "verify.c", "%u+"), "form_fields", { DST = "BASE", BASE = "DST" }, {})
  elseif file == "core/verify_state.c" then
    return flag_table(flags_of(core .. "verify.h", "KPL_P_%u+"), "kpl_pointer_flags", {},
      { "KPL_T_NONE", "KPL_T_NUM", "KPL_T_REC_OR_NULL", "KPL_T_MAP" })
  elseif file == "core/verify_call.c" then
    return flag_table(flags_of(core .. "verify_call.c", "%u+"), "arg_flags", {}, {})
  elseif file == "core/tables.c" then
    return forms
  elseif file == "core/insns.def" then
    return def_table("OP", { [3] = one_of(form) })
  elseif file == "uapi/helpers.def" then
    return def_table("HELPER", {
      [3] = one_of { VOID = "NUM", DONE = "VOID", REC_OR_NULL = "NUM" },
      [4] = argument, [5] = argument, [6] = argument, [7] = argument, [8] = argument,
      [9] = less, [10] = less, [11] = looks,
    })
  elseif file == "uapi/hit.def" then
    return def_table("HIT", {
      [2] = one_of { REGS = "NUM", DATA = "NUM", SCRATCH = "NUM", NUM = "SCRATCH" },
      [3] = kinds(kmod .. "/uapi/hit.def"), [4] = looks,
    })
  end
end

return M
