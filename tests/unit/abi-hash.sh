#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: abi-hash.sh KMOD_DIRECTORY
# The hash of the ABI changes with every table that both sides compile in, and not with words about them.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp -r "$1/uapi" "$dir"
mkdir "$dir/core"
cp "$1/core/insns.def" "$dir/core"
hash() { sh "$kmod/abi-hash.sh" "$dir"; }
kmod=$1
plain=$(hash)
echo "$plain" | grep -qx '[0-9a-f]\{16\}' || { echo "no hash: $plain"; exit 1; }
cd "$dir" || exit 1
changed=0
for file in uapi/*.def uapi/*.h core/*.def; do
    cp "$file" saved
    # the first number or name behind the comment at the top
    awk '!done && !/^[ \/#]*\*/ && sub(/[A-Za-z_]+[ \t]*\(/, "OTHER&") { done = 1 } { print }' saved >"$file"
    cmp -s "$file" saved && { echo "$file: nothing to change in it"; exit 1; }
    [ "$(hash)" != "$plain" ] || { echo "$file: a changed row has the same hash"; exit 1; }
    { printf '/* A comment\n * of two lines. */\n'; sed 's/\t/  /g' saved; echo; } >"$file"
    [ "$(hash)" = "$plain" ] || { echo "$file: a comment or a space changes the hash"; exit 1; }
    cp saved "$file"
    changed=$((changed + 1))
done
sed -i 's/KPL_CTL_DETACH = 2/KPL_CTL_DETACH = 3/' uapi/kprobe_lua.h
[ "$(hash)" != "$plain" ] || { echo "a changed number has the same hash"; exit 1; }
echo "$changed files"
[ "$changed" -ge 6 ]
