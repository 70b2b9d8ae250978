-- SPDX-License-Identifier: MIT
-- usage: luajit tests/bench/table.lua [--check]     from the top of the tree
-- Writes what tests/bench/recorded holds into docs/performance.md, between its marks; --check: fails if it stands there
-- otherwise.
local columns = { "kprobe-lua", "module in C", "eBPF, its best", "eBPF, kprobe", "bpftrace" }
-- What the documents call it; what each column's row is called in a record.
local jobs = {
  { "count at entry", "count-at-entry-ftrace", "by-hand-ftrace", "ebpf-fentry-count-at-entry" },
  { "the same, by kprobe", "count-at-entry-kprobe", "by-hand-count", nil, "ebpf-kprobe-count-at-entry", "bpftrace-count-at-entry" },
  { "hit refused by `when`", "filtered", nil, "ebpf-fentry-filtered", "ebpf-kprobe-filtered", "bpftrace-filtered" },
  { "two pointers followed, and a count", "follow-pointers", nil, "ebpf-fentry-follow-pointers", "ebpf-kprobe-follow-pointers",
    "bpftrace-follow-pointers" },
  { "three pointers followed, and a count", "three-pointers", nil, "ebpf-fentry-three-pointers", "ebpf-kprobe-three-pointers",
    "bpftrace-three-pointers" },
  { "count by `pid`", "count-by-pid", nil, "ebpf-fentry-count-by-pid", "ebpf-kprobe-count-by-pid", "bpftrace-count-by-pid" },
  { "count by `comm`", "count-by-comm", nil, "ebpf-fentry-count-by-comm", "ebpf-kprobe-count-by-comm", "bpftrace-count-by-comm" },
  { "count by a string of up to 31 bytes", "count-by-short-name", nil, "ebpf-fentry-count-by-short-name",
    "ebpf-kprobe-count-by-short-name" },
  { "count by a string of up to 255 bytes", "count-by-name", nil, "ebpf-fentry-count-by-name", "ebpf-kprobe-count-by-name",
    "bpftrace-count-by-name" },
  { "two sessions that count at one function", "two-sessions" },
  { "eight probes of one script at one function", "eight-probes", nil, "ebpf-fentry-eight-probes", "ebpf-kprobe-eight-probes" },
  { "count at return", "count-at-return", nil, "ebpf-fentry-count-at-return" },
  { "the same, by kretprobe", "count-at-return-kretprobe", "by-hand-return", nil, "ebpf-kprobe-count-at-return",
    "bpftrace-count-at-return" },
  { "histogram of latency, entry to return", "latency-histogram", nil, "ebpf-fentry-latency-histogram" },
  { "the same, by kretprobe", "latency-histogram-kretprobe", "by-hand-latency", nil, "ebpf-kprobe-latency-histogram",
    "bpftrace-latency-histogram" },
  { "count at a tracepoint, `raw_syscalls:sys_enter`", "tracepoint-count", nil, "ebpf-raw-tp-tracepoint-count", nil,
    "bpftrace-tracepoint-count" },
  { "the same, of those with one argument", "tracepoint-arguments", nil, "ebpf-raw-tp-tracepoint-arguments" },
  { "count of one system call", "syscall-entry", nil, "ebpf-fentry-syscall-entry", "ebpf-kprobe-syscall-entry",
    "bpftrace-syscall-entry" },
  { "latency of one system call", "syscall-latency", nil, "ebpf-fentry-syscall-latency", "ebpf-kprobe-syscall-latency",
    "bpftrace-syscall-latency" },
  { "count at a mark of the program (`usdt`; a `uprobe` on a `nop`)", "count-at-mark", "by-hand-uprobe",
    "ebpf-uprobe-count-at-mark", nil, "bpftrace-count-at-mark" },
  { "event with time, pid and comm: produced", "event-produced", nil, "ebpf-fentry-event-produced", "ebpf-kprobe-event-produced" },
  { "event with a string: produced", "event-name-produced", nil, "ebpf-fentry-event-name-produced",
    "ebpf-kprobe-event-name-produced" },
}

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

local function figures(path)
  local rows = {}
  for name, value in read(path):gmatch "\n(%S+) +(%d[%d.]*)" do rows[name] = value end
  return rows
end

local function table_of(release, rows)
  local out = { ("Linux %s; the read itself takes %.0f:\n"):format(release, assert(rows.base)) }
  out[#out + 1] = "| job | " .. table.concat(columns, " | ") .. " |"
  out[#out + 1] = "|---" .. ("|---"):rep(#columns) .. "|"
  for _, job in ipairs(jobs) do
    local cells = { job[1] }
    for column = 1, #columns do
      local name = job[column + 1]
      cells[column + 1] = name and rows[name] or ""
    end
    assert(cells[2] ~= "", job[2] .. " is not recorded for " .. release)
    out[#out + 1] = ("| " .. table.concat(cells, " | ") .. " |"):gsub("|  ", "| ")
  end
  return table.concat(out, "\n") .. "\n"
end

local tables = {}
for path in io.popen("ls -v tests/bench/recorded/*"):lines() do
  local release = path:match "[^/]+$"
  tables[#tables + 1] = table_of(release, figures(path))
end
local document = "docs/performance.md"
local old = read(document)
local from, to = "<!-- hits: tests/bench/table.lua -->\n\n", "\n<!-- end of hits -->"
local _, head = assert(old:find(from, 1, true))
local tail = assert(old:find(to, head, true))
local new = old:sub(1, head) .. table.concat(tables, "\n") .. old:sub(tail)
if arg[1] == "--check" then
  if new == old then return end
  print(document .. ": not what tests/bench/recorded holds: run luajit tests/bench/table.lua")
  os.exit(1)
end
local file = assert(io.open(document, "w"))
file:write(new)
file:close()
