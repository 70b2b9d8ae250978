# SPDX-License-Identifier: MIT
# Each function of this kernel that a row of kmod/uapi/places.def has is refused: to breakpoints, or their returns are; and to
# ftrace where the rule says so.
script named.lua <<'LUA'
local which_of, whole, begins = {}, {}, {}
for line in io.lines(arg[1]) do
  local rule, which = line:match "^RULE%((%u+),%s*(%u+)"
  if rule then which_of[rule] = which end
  local of, match, name = line:match '^PLACE%((%u+), (%u+), "([^"]+)"%)'
  if match == "WHOLE" then whole[name] = of elseif match then begins[name] = of end
end
local function rule_for(name)
  local own = name:match "^[^.]+"
  if not own or whole[own] then return whole[own] end
  for beginning, rule in pairs(begins) do
    if name:sub(1, #beginning) == beginning then return rule end
  end
end
local at_ftrace = {}
for line in io.lines "/sys/kernel/tracing/available_filter_functions" do at_ftrace[line] = true end
local function nothing() end
local tried, probes, taken = {}, {}, 0
local function try(name, rule, probe, spec)
  spec.optional = true
  probes[#probes + 1] = { name = name, rule = rule, via = spec.via, probe = probe(spec) }
end
for line in io.lines(arg[2]) do
  local address, name = line:match "^(%x+) (%S+)$"
  local rule = rule_for(name)
  if rule then
    address = "0x" .. address
    tried[rule] = (tried[rule] or 0) + 1
    if which_of[rule] ~= "RETURNS" then try(name, rule, kprobe, { address, via = "kprobe", pre = nothing }) end
    try(name, rule, kretprobe, { address, via = "kretprobe", ret = nothing })
    if which_of[rule] == "ALL" and at_ftrace[name] then
      try(name, rule, kprobe, { address, via = "ftrace", pre = nothing })
      try(name, rule, kretprobe, { address, via = "direct", ret = nothing })
    end
  end
end
local there = kprobe { "vfs_read", optional = true, pre = nothing }
every(0.1, function()
  for rule in pairs(which_of) do print(rule, tried[rule] or 0) end
  for _, p in ipairs(probes) do
    if p.probe.state ~= there.state and p.probe.state == "disabled" then goto refused end
    print(("%s, of %s, takes a probe: %s"):format(p.name, p.rule, p.via))
    taken = taken + 1
    ::refused::
  end
  print(taken .. " taken")
  exit()
end)
LUA
# shellcheck source=tests/sweep/batch.sh
. "$KPL_ROOT/tests/sweep/batch.sh"
list > image
run kprobe-lua named.lua "$KPL_ROOT/kmod/uapi/places.def" image
cat out
status 0
line '0 taken'
grep -q ' tdx_get_ve_info$' /proc/kallsyms && guest=GUEST || guest= # a kernel that is no hypervisor's guest has none
for rule in REWRITTEN EARLY BLIND FAULTLESS ENTRY TRACER THUNK NMI POLLS DEAD $guest PARKS IDLES SWITCHES FORKS LEAVES; do
    out "^$rule	[1-9]"
done
