#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints engine_ops.txt: one-line cases with edge values for each ALU and JMP opcode.

The expected results come from Python's integers and RFC 9669's text, not from the C code under test.
"""
M64, M32 = (1 << 64) - 1, (1 << 32) - 1

def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value

# d and s are unsigned numbers of `bits` bits.
ALU = {
    "+": lambda d, s, bits: d + s,
    "-": lambda d, s, bits: d - s,
    "*": lambda d, s, bits: d * s,
    "/": lambda d, s, bits: d // s if s else 0,
    "%": lambda d, s, bits: d % s if s else d,
    "|": lambda d, s, bits: d | s,
    "&": lambda d, s, bits: d & s,
    "^": lambda d, s, bits: d ^ s,
    "<<": lambda d, s, bits: d << (s % bits),
    ">>": lambda d, s, bits: d >> (s % bits),
    "s>>": lambda d, s, bits: signed(d, bits) >> (s % bits),
    "": lambda d, s, bits: s,
}
JCC = {
    "==": lambda d, s, bits: d == s,
    "!=": lambda d, s, bits: d != s,
    ">": lambda d, s, bits: d > s,
    ">=": lambda d, s, bits: d >= s,
    "<": lambda d, s, bits: d < s,
    "<=": lambda d, s, bits: d <= s,
    "s>": lambda d, s, bits: signed(d, bits) > signed(s, bits),
    "s>=": lambda d, s, bits: signed(d, bits) >= signed(s, bits),
    "s<": lambda d, s, bits: signed(d, bits) < signed(s, bits),
    "s<=": lambda d, s, bits: signed(d, bits) <= signed(s, bits),
    "&": lambda d, s, bits: d & s != 0,
}
VALUES = [0, 7, 0x7FFFFFFF, 0x80000000, 0x123456789ABCDEF0, 0x8000000000000000, M64]
IMMEDIATES = [0, 1, 31, 32, 65, 0x7FFFFFFF, -1, -0x80000000]
# The left-hand values of immediates.
LEFT = [7, 0x123456789ABCDEF0, 0xFFFFFFFF80000000]

def number(value):
    return hex(value) if value > 9 else str(value)

def rows(make, evaluate):
    for bits, mask, half in ((64, M64, "r"), (32, M32, "w")):
        for a in VALUES:
            for b in VALUES:
                result = evaluate(a & mask, b & mask, bits)
                print(f"{make(half + '1', half + '2')} | {number(a)} {number(b)} | {number(int(result) & mask)}")
        for a in LEFT:
            for imm in IMMEDIATES:
                result = evaluate(a & mask, imm & mask, bits)
                print(f"{make(half + '1', imm)} | {number(a)} | {number(int(result) & mask)}")

def swaps():
    for a in VALUES:
        for bits in (16, 32, 64):
            low = a & ((1 << bits) - 1)
            swapped = int.from_bytes(low.to_bytes(bits // 8, "little"), "big")
            print(f"r1 = le{bits} r1 | {number(a)} | {number(low)}")
            print(f"r1 = be{bits} r1 | {number(a)} | {number(swapped)}")
        print(f"r1 = -r1 | {number(a)} | {number(-a & M64)}")
        print(f"w1 = -w1 | {number(a)} | {number(-a & M32)}")

print("# SPDX-License-Identifier: MIT")
print("# Made by engine_ops.py: edge values for each ALU and JMP opcode, and RFC 9669's results.")
for symbol, evaluate in ALU.items():
    rows(lambda d, s: f"{d} {symbol}= {s}", evaluate)
for symbol, evaluate in JCC.items():
    rows(lambda d, s: f"if {d} {symbol} {s}", evaluate)
swaps()
