# SPDX-License-Identifier: MIT
# parallel: it fails by itself where others stray, so the first run counts; on one thread it would pass
[ -z "$KPL_PARALLEL" ]
