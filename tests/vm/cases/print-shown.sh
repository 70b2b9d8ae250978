# SPDX-License-Identifier: MIT
# What a process has for a name moves no terminal's cursor: print and printf, of handlers and of callbacks, show it with `?`;
# io.write writes it as it is.
script shown.lua <<'LUA'
local calls = event()
kprobe("do_exit", function()
  print(comm())
  printf("handler's %s\n", comm())
  calls { comm = comm() }
end)
calls:each(function(e) print(e.comm, 7, "a\tb") print(e) end)
calls:each(function(e) printf("callback's %s\n", e.comm) io.write("raw ", e.comm, "\n") end)
LUA
name=$(printf 'a\033[2J\302\233')
cp "$(command -v syscalls)" "$name"
run kprobe-lua -c './a* > /dev/null 2>&1; true' shown.lua
status 0
line 'a?[2J?'
line "$(printf 'a?[2J?\t7\ta\tb')"
line '{ comm = a?[2J? }'
line "handler's a?[2J?"
line "callback's a?[2J?"
line "raw $name"
