# SPDX-License-Identifier: MIT
sleep 1000 &
