# SPDX-License-Identifier: MIT
# limit: 600
# The C API in a program of its own (tests/library): steps that fail leave all as it was, records, maps, ends.
run library_test all
status 0
out '^[0-9]+ tests, 0 checks failed$'
left_nothing
run library_cpp_test all
status 0
left_nothing

# The Lua module, in Debian's LuaJIT.
export LUA_CPATH="${KPL_MODULES%/kmod}/lua/?.so;/usr/lib/x86_64-linux-gnu/lua/5.1/?.so"
run luajit "$KPL_ROOT/tests/library/module.lua" all
status 0
out '^[0-9]+ tests passed$'
