# SPDX-License-Identifier: MIT
# Turns the text file IN into the initialiser of a char array, OUT.
file(READ ${IN} hex HEX)
string(REPEAT "[0-9a-f]" 40 line)  # 20 bytes
string(REGEX REPLACE "(${line})" "\\1\n" lines "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${lines}")
file(WRITE ${OUT} "${bytes}0\n")
