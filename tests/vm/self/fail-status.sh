# SPDX-License-Identifier: MIT
echo out; exit 3
