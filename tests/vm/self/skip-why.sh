# SPDX-License-Identifier: MIT
skip "no such feature"
