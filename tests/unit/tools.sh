#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: tools.sh KPROBE_LUA SOURCE
# What tools say before they probe anything: help, lists, what is wrong with their options. What they show is in
# tests/vm/tools/.
set -u
program=$1 source=$2 failed=0
cd "$(mktemp -d)" || exit 1

# STATUS STREAM REGEX ARGS…: the run ends so, and a line of that stream (out, err) matches.
says() {
    expected=$1 stream=$2 regex=$3
    shift 3
    "$@" > out 2> err < /dev/null
    status=$?
    [ "$status" = "$expected" ] && grep -Eq -- "$regex" "$stream" && return
    echo "$*: status $status, not $expected with '$regex' in std$stream: $(cat out err)"
    failed=1
}

for tool in $("$program" tools --names); do
    says 0 out "^Usage: $tool " "$program" "$tool" --help
    says 0 out "^$tool-kpl\\(8\\)$" "$program" tools --manual "$tool"
    grep -q '^# EXAMPLE$' out || { echo "$tool: no example"; failed=1; }
    says 2 err "^$tool: unknown option '--no-such-option'" "$program" "$tool" --no-such-option
    # Each is called in one of the cases that run in VMs.
    grep -Eq "(kprobe-lua .*|on_tcp |for tool in.*)\\b$tool\\b" "$source"/tests/vm/tools/*.sh || { echo "no test calls $tool"; failed=1; }
done
says 0 out '^  opensnoop +Shows who opens which file' "$program" tools
says 0 out '^files$' "$program" tools files
[ "$(grep -c '^[a-z]' out)" = 1 ] || { echo "tools files: $(cat out)"; failed=1; }
says 2 err "^tools: no subject 'nothing'; there are: files, " "$program" tools nothing
says 2 err "^tools: no tool 'nothing'$" "$program" tools --manual nothing

says 2 err "^opensnoop: .*'x' is no number of a process" "$program" opensnoop -p x
says 2 err "^vfsstat: .*'0' is no number of seconds" "$program" vfsstat -i 0
says 2 err "^vfsstat: .*'none' is no number of seconds" "$program" vfsstat none
says 2 err "^ext4slower: .*'-1' is no whole number|^ext4slower: unknown option" "$program" ext4slower -1
says 2 err "^opensnoop: too many arguments" "$program" opensnoop more
says 2 err "^funccount: missing argument 'pattern'" "$program" funccount
says 1 err '^naptime: no process 4000000000$' "$program" naptime -p 4000000000
says 1 err '^ttysnoop: no terminal /dev/pts/77777$' "$program" ttysnoop pts/77777
says 1 err "^biosnoop: no disk 'nosuchdisk'$" "$program" biosnoop -d nosuchdisk
says 1 err "^trace: 'vfs_read\\(file' is no function" "$program" trace 'vfs_read(file' 1
says 1 err "^trace: 'count >' is no expression of Lua" "$program" trace vfs_read 'count >'
says 1 err "^argdist: '1 \\+' is no expression of Lua" "$program" argdist vfs_read 1 -F '1 +'

# A tool's name is the tool, ./NAME the file; others' folders come first; NAME-kpl is the tool.
mkdir own
cat > own/mine.lua << 'LUA'
local options = require "kprobe.tool" { subject = "others", description = "Says what it was given.", options = { { "WORD", "a word" } } }
print("mine" .. (pcall(require, "beside") and "" or ", alone"), options.word)
LUA
echo 'return {}' > own/beside.lua
cp own/mine.lua mine
echo 'io.open("ran", "w") kprobe("vfs_read", function() end)' > own/script.lua # no tool: listing does not run it
echo 'print "of one'\''s own"' > own/opensnoop.lua
export KPROBE_LUA_TOOLS="$PWD/nowhere:$PWD/own"
says 0 out '^mine	it$' "$program" mine it
says 0 out '^mine, alone	it$' "$program" ./mine it
says 0 out "^of one's own$" "$program" opensnoop
says 0 out '^  mine +Says what it was given$' "$program" tools others
[ ! -e ran ] || { echo "a script that is no tool was run"; failed=1; }
ln -s "$program" mine-kpl
says 0 out '^mine	that$' ./mine-kpl that
says 2 err "^mine: missing argument 'word'" ./mine-kpl
unset KPROBE_LUA_TOOLS
says 1 err 'cannot open mine.*' "$program" mine.lua
exit $failed
