-- SPDX-License-Identifier: MIT
-- The functions of the kernel's image, and what keeps a probe of each kind out of each: by the kernel's own lists, its types, and the
-- module's named rules.
--   left.lua PLACES_DEF DIRECT_CPP
-- Prints "ADDRESS NAME FTRACE KPROBE KRETPROBE DIRECT" in the order of addresses, each of the last four a reason, or -
-- where there is none: such a probe must be armed. One with a reason must not, unless that ends in "?".
local places_def, direct_cpp = arg[1], arg[2]
local tracing, ffi = "/sys/kernel/tracing/", require "ffi"

-- ---- the kernel's lists
local seen, functions, count_of, init = {}, {}, {}, {} -- the first of several names is what the kernel calls it
for line in io.lines "/proc/kallsyms" do
  local address, kind, name = line:match "^(%x+) (%a) (%S+)$" -- modules' have one word more
  if kind and kind:find "[tTwW]" and not name:find "^__[pc]fi?x?_" then
    if not seen[address] then
      seen[address] = true
      assert(#functions == 0 or functions[#functions].address < address, "/proc/kallsyms is not in order") -- 16 digits each
      functions[#functions + 1] = { address = address, name = name }
    end
    count_of[name] = (count_of[name] or 0) + 1
  end
  if name == "__init_begin" or name == "__init_end" then init[name] = address end
end

local blacklist, listed = {}, {}
for line in io.lines "/sys/kernel/debug/kprobes/blacklist" do
  local first, last = line:match "^0x(%x+)%-0x(%x+)"
  blacklist[#blacklist + 1] = { first = first, last = last }
end
for _, range in ipairs(blacklist) do
  local low, high = 1, #functions -- the first that is not before it
  while low <= high do
    local middle = math.floor((low + high) / 2)
    if functions[middle].address < range.first then low = middle + 1 else high = middle - 1 end
  end
  while functions[low] and functions[low].address < range.last do
    listed[functions[low].address] = true
    low = low + 1
  end
end

local traceable = {} -- by address
local by_address = io.open(tracing .. "available_filter_functions_addrs")
if by_address then
  for line in by_address:lines() do
    local high, low = line:match "^(%x%x%x%x%x%x%x%x)(%x+) "
    low = tonumber(low, 16)
    for behind = 0, 4, 4 do traceable[("%s%08x"):format(high, low - behind)] = true end -- a landing pad
  end
else -- names alone, which are in the order of addresses, too
  local next_one = 1
  for line in io.lines(tracing .. "available_filter_functions") do
    if not line:find "[ %[]" and not line:find "^__ftrace_invalid" then
      repeat
        local one = assert(functions[next_one], line .. " is out of order in available_filter_functions")
        next_one = next_one + 1
        if one.name == line then traceable[one.address] = true end
      until one.name == line
    end
  end
end

-- ---- its types: of each function of one name, why no stub can call it; "" where one can
local function declarations()
  local file = assert(io.open("/sys/kernel/btf/vmlinux", "rb"))
  local data = file:read "*a"
  file:close()
  local bytes = ffi.new("uint8_t[?]", #data) -- not the string's own, which goes when nothing else has it
  ffi.copy(bytes, data, #data)
  local function u32(offset) return ffi.cast("const uint32_t *", bytes + offset)[0] end
  local first, last, texts = u32(4) + u32(8), u32(4) + u32(8) + u32(12), u32(4) + u32(16)
  local each = { [4] = 12, [5] = 12, [6] = 8, [13] = 8, [15] = 12, [19] = 12 } -- bytes behind a type, for each of its parts
  local once = { [1] = 4, [3] = 12, [14] = 4, [17] = 4 }
  local types, nr, offset = {}, 1, first
  local function kind(id) return bit.band(bit.rshift(u32(types[id] + 4), 24), 31) end
  while offset < last do
    types[nr], nr = offset, nr + 1
    local info = u32(offset + 4)
    local its = bit.band(bit.rshift(info, 24), 31)
    offset = offset + 12 + (each[its] or 0) * bit.band(info, 65535) + (once[its] or 0)
  end
  local names_another = { [8] = true, [9] = true, [10] = true, [11] = true, [18] = true } -- typedef, const, …
  local is_plain = { [1] = true, [6] = true, [19] = true } -- int, enums
  local function is_word(id) -- false: in no plain register, or nobody knows
    while id ~= 0 and names_another[kind(id)] do id = u32(types[id] + 8) end
    return id == 0 or kind(id) == 2 or is_plain[kind(id)] and u32(types[id] + 8) <= 8
  end
  local function why_not(proto)
    local nr_params = bit.band(u32(types[proto] + 4), 65535)
    if not is_word(u32(types[proto] + 8)) then return "values?" end
    for i = 0, nr_params - 1 do
      local param = u32(types[proto] + 12 + 8 * i + 4)
      if param == 0 then return "varargs" end
      if not is_word(param) then return "values?" end
    end
    return nr_params > 6 + 8 and "stack" or "-"
  end
  local found = {}
  for id = 1, nr - 1 do
    if kind(id) == 12 then
      local name, proto = ffi.string(bytes + texts + u32(types[id])), u32(types[id] + 8)
      if found[name] == nil then found[name] = proto elseif found[name] ~= proto then found[name] = false end
    end
  end
  return function(name) return found[name] and why_not(found[name]) or found[name] == nil and "untyped" or "several?" end
end

-- ---- the module's own rules
local refuses = { RETURNS = 1, PROBES = 2, ALL = 3 } -- each with what those before it refuse
local which_of, whole, begins, lengths = {}, {}, {}, {}
for line in io.lines(places_def) do
  local rule, which = line:match "^RULE%((%u+),%s*(%u+)"
  if rule then which_of[rule] = which end
  local of, match, name = line:match '^PLACE%((%u+), (%u+), "([^"]+)"%)'
  if match == "WHOLE" then whole[name] = of elseif match then begins[name], lengths[#name] = of, true end
end
local function rule_for(name)
  local own = name:match "^[^.]+"
  if not own or whole[own] then return whole[own] end
  for length in pairs(lengths) do
    local rule = begins[name:sub(1, length)]
    if rule then return rule end
  end
end
local returns_otherwise = {}
for line in io.lines(direct_cpp) do returns_otherwise[line:match '^        "([%w_]+)",$' or ""] = true end

-- ---- together
local why_not_by_types = declarations()
local function named(one, least) -- by a rule that refuses so much
  one.rule = one.rule or rule_for(one.name) or ""
  return (refuses[which_of[one.rule]] or 0) >= refuses[least] and one.rule
end
local function is_part(name) return name:find "%.cold$" or name:find "%.cold%." end
local listed_names = {}
for _, one in ipairs(functions) do listed_names[one.name] = listed_names[one.name] or listed[one.address] end

local function everywhere(one)
  local whole_name = not is_part(one.name) and one.name:match "^([^.]+)%." -- what the compiler made of it
  return one.address >= init.__init_begin and one.address < init.__init_end and "freed"
    or (listed[one.address] or listed_names[whole_name or ""]) and "blacklist"
end
local function at_entry(one) return not traceable[one.address] and "untraceable" or named(one, "ALL") end
local function by_return(one) return named(one, "RETURNS") or is_part(one.name) and "part" end
local function by_call(one)
  if one.name:find("%.", 2) then return "variant" end
  if count_of[one.name] > 1 then return "namesakes" end
  if returns_otherwise[one.name] or one.name:find "_play_dead$" then return "noreturn" end
  return why_not_by_types(one.name)
end
local kinds = {
  function(one) return everywhere(one) or at_entry(one) end, -- ftrace
  function(one) return everywhere(one) or named(one, "PROBES") end, -- kprobe
  function(one) return everywhere(one) or by_return(one) end, -- kretprobe
  function(one) return everywhere(one) or at_entry(one) or by_return(one) or by_call(one) end, -- direct
}
for _, one in ipairs(functions) do
  local reasons = {}
  for i, reason in ipairs(kinds) do reasons[i] = reason(one) or "-" end
  print(one.address, one.name, unpack(reasons))
end
