# SPDX-License-Identifier: MIT
run sh -c "echo a; echo b >&2; exit 4"
status 4
line a
out "^a$"
no_out b
lines 1 a
err "^b$"
no_err a
