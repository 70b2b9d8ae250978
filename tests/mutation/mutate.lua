-- SPDX-License-Identifier: MIT
-- usage: luajit tests/mutation/mutate.lua BUILD [PATTERN]     from the top of the tree
-- Deletes, weakens or turns round each rule of the verifier and the rewriter in turn, and each cell of the tables that they
-- work by (tables.lua), and compiles it, without sanitizers and with them. It is noticed if the data rows are judged
-- otherwise than by the original, or a unit test fails. PATTERN: only mutants whose place matches. equivalent.txt has a
-- line for each mutant that nothing can tell from the original, with the reason.
io.stdout:setvbuf "line"
local build, pattern = arg[1], arg[2]
if not build then
  io.stderr:write "usage: luajit tests/mutation/mutate.lua BUILD [PATTERN]\n"
  os.exit(2)
end
local kmod, tests, equivalent = "kmod", "tests", "tests/mutation/equivalent.txt"
local rows = { "base", "memory", "calls", "edges", "change" }
-- The interpreter wraps on purpose, the verifier nowhere.
local cc = "cc -std=gnu11 -O0 -w -fno-strict-aliasing -I" .. kmod .. " -I" .. tests
local sanitized = " -fsanitize=undefined,bounds-strict,address -fno-sanitize-recover=all"
-- Below kmod/, and for a table the source that includes it.
local sources = {
  { "core/verify.c" }, { "core/verify_call.c" }, { "core/verify_jump.c" }, { "core/verify_mem.c" },
  { "core/verify_state.c" }, { "core/rewrite.c" }, { "core/tables.c", tables_only = true },
  { "core/insns.def", "core/tables.c" }, { "uapi/helpers.def", "core/tables.c" }, { "uapi/hit.def", "core/tables.c" },
}
for file in io.popen("ls kmod/core/verify*.c"):lines() do
  local name, listed = file:sub(#"kmod/" + 1), false
  for _, source in ipairs(sources) do listed = listed or source[1] == name end
  assert(listed, name .. " is in no list")
end
local tables = dofile "tests/mutation/tables.lua"
local dir = io.popen("mktemp -d"):read "*l"
local samples = dir .. "/samples"

local function quiet(command) return os.execute(command .. " > /dev/null 2>&1") == 0 end

local function lines_of(path)
  local list = {}
  for line in assert(io.open(path)):lines() do list[#list + 1] = line end
  return list
end

-- Operators: from a line to lines that say something else, each with what was done. An operand or a condition may go on in
-- the next line: 1 || 0 && leaves it out, 1 ? 0 : takes all of it in.
local changes = {}

local function each_match(line, find, replace, what)
  local from = 1
  while true do
    local first, last = line:find(find, from)
    if not first then return end
    local piece = line:sub(first, last)
    local with = type(replace) == "string" and replace or replace(piece)
    if with ~= piece then changes[#changes + 1] = { line:sub(1, first - 1) .. with .. line:sub(last + 1), what } end
    from = last + 1
  end
end

-- A loop that passes over one of its turns, neither the first nor the last.
local turns = { ["KPL_NR_REGS"] = { 1, 2, 3, 4, 5, 6, 7 }, ["sizeof(s->stack)"] = { 1, 7, 31, 32, 62 }, ["5"] = { 1, 2, 3 } }

local function without_turns(line)
  local loop, limit, brace = line:match "^(%s*for %(i = 0; i < ([^;]+); i%+%+%))( ?{?)$"
  for _, turn in ipairs(turns[limit] or {}) do
    changes[#changes + 1] = { ("%s if (i != %d)%s"):format(loop, turn, brace), ("without turn %d"):format(turn) }
  end
end

-- A comparison with one opcode also takes another: of the operation, of its source, of its width.
local function other_opcodes(line)
  for _, bits in ipairs { "0x10", "0x20", "0x40", "0x80", "8", "3" } do
    each_match(line, "[%w_>-]+ [!=]= %(BPF_[^)]+%)", function(piece)
      local code, how, opcode = piece:match "^(%S+) (%S+) (.*)$"
      return ("(%s %s %s %s (%s ^ %s))"):format(piece, how == "==" and "||" or "&&", code, how, opcode, bits)
    end, "or opcode ^ " .. bits)
  end
end

-- A size that the program has, and what none has more of.
local limits = { max_record = "KPL_MAX_RECORD", data_size = "KPL_MAX_DATA", scratch_size = "KPL_MAX_SCRATCH" }

-- `more` stands before the last character of what is found, or behind it.
local function before_end(more) return function(piece) return piece:sub(1, -2) .. more .. piece:sub(-1) end end
local function behind(more) return function(piece) return piece .. more end end
local function again(more) return function(piece) return piece .. " && " .. piece .. more end end

local operators = {
  function(line) each_match(line, "kpl_refuse%b()", "0", "not refused") end,
  function(line) each_match(line, "kpl_refuse_at%b()", "0", "not refused") end,
  function(line) each_match(line, " ||", " &&", "or is and") end,
  function(line) each_match(line, " &&", " ||", "and is or") end,
  function(line) each_match(line, " &&", " && 0 ||", "without what is before and") end,
  function(line) each_match(line, " &&", " && 1 || 0 &&", "without what is behind and") end,
  function(line) each_match(line, " == ", " >= ", "equal or more") end,
  function(line) each_match(line, " == ", " <= ", "equal or less") end,
  function(line) each_match(line, " == ", " != ", "not equal") end,
  function(line) each_match(line, " != ", " > ", "unequal if more") end,
  function(line) each_match(line, " != ", " < ", "unequal if less") end,
  function(line) each_match(line, " != ", " == ", "equal") end,
  function(line) each_match(line, "if %(", "if (1 ? 0 : ", "never") end,
  function(line) each_match(line, "if %(", "if (1 ? 1 : ", "always") end,
  function(line) each_match(line, "![%a(]", function(piece) return piece:sub(2) end, "without not") end,
  function(line) each_match(line, " %+ ", " - ", "plus is minus") end,
  function(line) each_match(line, " |= ", " = ", "without what it was") end,
  function(line) each_match(line, " >= ", " > ", "one less") end,
  function(line) each_match(line, " > ", " >= ", "one more") end,
  function(line) each_match(line, " <= ", " < ", "one less") end,
  function(line) each_match(line, " < ", " <= ", "one more") end,
  function(line) each_match(line, " %% 8", " %% 4", "half as aligned") end,
  function(line) each_match(line, "for %(%w+ = 0;", function(piece) return (piece:gsub("0", "1")) end, "without the first") end,
  function(line) each_match(line, "; %w+ < [^;]+;", before_end " - 1", "without the last") end,
  function(line) without_turns(line) end,
  function(line) each_match(line, " > [%w_]+%f[^%w_(]", behind " + 1", "one over it") end,
  function(line) each_match(line, " < %-?[%w_]+%f[^%w_(;]", behind " - 1", "one under it") end,
  function(line) each_match(line, " %+ [%w_.>-]+%f[^%w_.>([-]", "", "without what is added") end,
  function(line) each_match(line, "[%w_.>-]+ %+ ", "", "without what it is added to") end,
  function(line) each_match(line, "size%)", "size - 1)", "a size less one") end,
  function(line) each_match(line, ", [%w_.]*size[%[(]%w+[%])]%)", before_end " - 1", "a size less one") end,
  function(line) each_match(line, "= [%w_.>-]*size;", before_end " + 1", "a size and one") end,
  function(line) each_match(line, "insn%->[io][mf][mf]%)", before_end " > 0", "if positive") end,
  function(line) other_opcodes(line) end,
  function(line) each_match(line, "[%w_>-]+ != %d+", again " * 0", "or 0") end,
  function(line) each_match(line, "[%w_>-]+ != %d+", again " * 3", "or three times it") end,
  function(line)
    each_match(line, "v%->%w+_%w+", function(piece) return limits[piece:sub(4)] or piece end, "the limit of all")
  end,
  function(line) if line:find "^\t+case [%w_]+:$" then changes[#changes + 1] = { "", "without the case" } end end,
  function(line) if line:find "^\treturn 0;" or line:find "^\t\t+return 0;" then each_match(line, "0;", "1;", "true") end end,
  function(line)
    if line:find "^\t+[%w_>%.%[%]*%-]+ [|&+%-]?= .*;$" or line:find "^\t+kpl_[%w_]+%b();$" or line:find "%+%+;$" then
      changes[#changes + 1] = { line:match "^\t+" .. ";", "deleted" }
    end
  end,
}

-- A mutant's place, which names it: the second of the same has `#2`.
local function add(list, number, line, change, what)
  local was = line:match("^%s*(.-)%s*$"):gsub("%s+", " ")
  local nr = (list[what .. was] or 0) + 1
  list[what .. was] = nr
  list[#list + 1] = { number = number, line = change, what = nr > 1 and ("%s #%d"):format(what, nr) or what, was = was }
end

-- Where code is: not in comments, tables, declarations.
local function code_mutants(lines, list)
  local inside, comment = false, false
  for number, line in ipairs(lines) do
    if line:find "^{" then inside = true elseif line:find "^}" then inside = false end
    local starts = line:find "^%s*/%*"
    comment = comment or starts
    if inside and not comment then
      changes = {}
      for _, operator in ipairs(operators) do operator(line) end
      for _, change in ipairs(changes) do add(list, number, line, change[1], change[2]) end
    end
    if comment and line:find "%*/" then comment = false end
  end
end

local function mutants_of(source)
  local list, lines = {}, lines_of(kmod .. "/" .. source[1])
  if source[1]:find "%.c$" and not source.tables_only then code_mutants(lines, list) end
  local weaken = tables.rows_of(kmod, source[1])
  for number, line in ipairs(weaken and lines or {}) do
    weaken(line, function(change, what) add(list, number, line, change, what) end)
  end
  return list, lines
end

-- `ending` is that of the object's name: "", or ".checked", with sanitizers.
local function compile(source, object, ending)
  local flags = ending == "" and "" or source:find "interp" and " -fsanitize=address" or sanitized
  return quiet(("%s%s -I%s/core -c %s -o %s%s"):format(cc, flags, kmod, source, object, ending))
end

for i, name in ipairs(rows) do rows[i] = ("%s/data/verifier_%s.txt"):format(tests, name) end
rows[#rows + 1] = tests .. "/data/engine_programs.txt"
os.execute(("%s/tests/verdicts/verdict_samples 0 %s > %s"):format(build, table.concat(rows, " "), samples))

local objects = {}
for path in io.popen("ls " .. kmod .. "/core/*.c"):lines() do
  local stem = path:match "([%w_]+)%.c$"
  objects[stem] = dir .. "/" .. stem .. ".o"
  for _, ending in ipairs { "", ".checked" } do assert(compile(path, objects[stem], ending), path) end
end
for _, ending in ipairs { "", ".checked" } do assert(compile(tests .. "/verdicts/verdicts.c", dir .. "/verdicts.o", ending)) end

local function with(stem, object, ending)
  local all = {}
  for name, own in pairs(objects) do all[#all + 1] = (name == stem and object or own) .. ending end
  return table.concat(all, " ")
end

-- What it says of the samples, with the object of one source replaced. It may crash, or not end: then it says less.
local function judge(stem, object, out, ending)
  local flags = ending == "" and "" or "-fsanitize=undefined,address"
  local command = ("cc %s %s/verdicts.o%s %s -o %s/judge"):format(flags, dir, ending, with(stem, object, ending), dir)
  assert(quiet(command), "can't be linked")
  os.execute(("timeout %d %s/judge < %s > %s 2> /dev/null"):format(ending == "" and 5 or 60, dir, samples, out))
end

-- The unit tests of the verifier, and of the tables, as the build links them, but with these objects instead of its own.
local links = {}
for _, test in ipairs { "verifier_test", "core_test" } do
  local command = io.popen(("ninja -C %s -t commands tests/unit/%s | tail -1"):format(build, test)):read "*l"
  assert(command and command:find(" %-o tests/unit/" .. test .. " "), ("no build of %s in %s"):format(test, build))
  links[test] = command:gsub("%S*libkpl_core%.a", "")
end

local function test_passes(test, stem, object)
  local command = links[test]:gsub(" %-o tests/unit/" .. test .. " ", function()
    return (" -fsanitize=undefined,address -o %s/unit %s "):format(dir, with(stem, object, ".checked"))
  end)
  assert(quiet(("cd %s && %s"):format(build, command)), test .. " can't be linked")
  return quiet(("cd %s && timeout 120 %s/unit"):format(tests .. "/data", dir))
end

local function tests_pass(stem, object)
  return (stem ~= "tables" or test_passes("core_test", stem, object)) and test_passes("verifier_test", stem, object)
end

local function says_right(stem, object, ending)
  judge(stem, object, dir .. "/said", ending)
  return quiet(("cmp %s/right %s/said"):format(dir, dir))
end

-- Most are told apart without sanitizers, which takes a tenth of the time.
local function passes(source, stem, object)
  return says_right(stem, object, "") and compile(source, object, ".checked") and says_right(stem, object, ".checked")
    and tests_pass(stem, object)
end

judge("", "", dir .. "/right", ".checked")
assert(says_right("", "", "") and says_right("", "", ".checked"), "the original does not say the same twice")
assert(test_passes("core_test", "", "") and tests_pass("", ""), "the original fails the unit tests")

local known = {}
for _, line in ipairs(lines_of(equivalent)) do
  local place, was = line:match "^(%S+: [^:]+): (.-)%s+;;"
  if place then known[place .. ": " .. was] = "not met" end
end

-- In a tree of its own, which comes before kmod/: what is included there is looked for here first.
local tree = dir .. "/tree"
os.execute(("mkdir -p %s/core %s/uapi"):format(tree, tree))

local function write_to_tree(source, lines)
  local unit = source[2] or source[1]
  local file = assert(io.open(("%s/%s"):format(tree, source[1]), "w"))
  file:write(table.concat(lines, "\n"), "\n")
  file:close()
  if source[2] then assert(quiet(("cp %s/%s %s/%s"):format(kmod, unit, tree, unit))) end
  return ("%s/%s"):format(tree, unit)
end

local made, unnoticed, excused = 0, 0, 0
for _, source in ipairs(sources) do
  local list, lines = mutants_of(source)
  local name, stem = source[1]:match "[^/]+$", (source[2] or source[1]):match "([%w_]+)%.c$"
  for _, mutant in ipairs(list) do
    local place = ("%s: %s: %s"):format(name, mutant.what, mutant.was)
    if not pattern or place:find(pattern) then
      local object = dir .. "/mutant.obj"
      local original = lines[mutant.number]
      lines[mutant.number] = mutant.line
      local changed = write_to_tree(source, lines)
      lines[mutant.number] = original
      if compile(changed, object, "") then
        made = made + 1
        if passes(changed, stem, object) then
          if known[place] then
            excused = excused + 1
            known[place] = "met"
          else
            unnoticed = unnoticed + 1
            print(("%s:%d: %s: %s"):format(name, mutant.number, mutant.what, mutant.was))
          end
        end
      end
    end
  end
  os.remove(("%s/%s"):format(tree, source[1]))
end
os.execute("rm -rf " .. dir)
local stale = 0
for place, how in pairs(pattern and {} or known) do
  if how ~= "met" then
    stale = stale + 1
    print(("%s: no such mutant is left, or it is noticed: %s"):format(equivalent, place))
  end
end
print(("%d mutants, %d equivalent, %d unnoticed"):format(made, excused, unnoticed))
os.exit(unnoticed == 0 and stale == 0 and made > 0 and 0 or 1)
