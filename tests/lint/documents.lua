-- SPDX-License-Identifier: MIT
-- usage: luajit tests/lint/documents.lua
-- docs/kprobes.md names a test in each row, and each is there: a case of tests/vm/, or a file of tests/unit/.
local there = {}
for path in io.popen "ls tests/vm/*/*.sh tests/unit/*_test.cpp":lines() do
  there[path:match "([^/]+)%.sh$" or path:match "([^/]+)_test%.cpp$"] = true
end
local rows, wrong, number = 0, 0, 0
for line in io.lines "docs/kprobes.md" do
  number = number + 1
  local cells = {}
  for cell in (line:match "^|(.*)|$" or ""):gmatch "[^|]+" do cells[#cells + 1] = cell:match "^%s*(.-)%s*$" end
  local is_row = #cells == 3 and cells[1] ~= "the document" and not cells[1]:find "^%-+$"
  if is_row then
    rows = rows + 1
    local named = 0
    for name in cells[3]:gmatch "`([^`]+)`" do
      named = named + 1
      if not there[name] then
        wrong = wrong + 1
        print(("docs/kprobes.md:%d: there is no test %s"):format(number, name))
      end
    end
    if named == 0 and not cells[3]:find "^–" then
      wrong = wrong + 1
      print(("docs/kprobes.md:%d: a row without a test"):format(number))
    end
  elseif #cells > 0 and #cells ~= 3 then
    wrong = wrong + 1
    print(("docs/kprobes.md:%d: a row of %d cells"):format(number, #cells))
  end
end
if rows < 50 then
  wrong = wrong + 1
  print("docs/kprobes.md: rows are missing")
end
print(("docs/kprobes.md: %d rows, %d wrong"):format(rows, wrong))
os.exit(wrong == 0 and 0 or 1)
