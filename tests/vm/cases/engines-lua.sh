# SPDX-License-Identifier: MIT
# limit: 900
# Compiled Lua computes the same on the simulator, the module's interpreter and the kernel's JIT.
run engine_functions
status 0
out '^[1-9][0-9]* random functions, .* all engines agree$'
out '^every operator on 1024 pairs of edges: all engines agree$'
cat out
