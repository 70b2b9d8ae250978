# SPDX-License-Identifier: MIT
# limit: 2
sleep 30
