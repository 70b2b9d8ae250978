# SPDX-License-Identifier: MIT
# Turns the text file IN into the initialiser of a char array, OUT.
file(READ ${IN} hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(.................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "${bytes}0\n")
