# SPDX-License-Identifier: MIT
start sh -c "echo up; trap \"exit 5\" TERM; while :; do sleep 0.1; done"
wait_for up
kill "$pid"
finish
status 5
