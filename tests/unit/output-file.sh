#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: output-file.sh KPROBE_LUA
# What -o FILE holds after runs that fail, and what a limit of its size does.
set -u
program=$1 failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

# STATUS REGEX TEXT ARGS…: of a run with -o kept, which held "before"; standard error matches, and the file is TEXT.
leaves() {
    expected=$1 regex=$2 text=$3
    shift 3
    echo before > kept
    "$program" -o kept "$@" > out 2> err < /dev/null
    status=$?
    [ "$status" = "$expected" ] && { [ -z "$regex" ] || grep -Eq -- "$regex" err; } && [ "$(cat kept)" = "$text" ] && return
    echo "-o kept $*: status $status, '$(cat kept)', $(cat err)"
    failed=1
}
leaves 1 'cannot open mistyped.lua' before mistyped.lua
leaves 1 '^-e:1: ' before --check -e 'x('
leaves 1 . before -e 'print "columns" kprobe("kpl_no_such_function", function() end)'
leaves 1 '^-e:1: ' before --check -e 'print "columns" error "wrong"'
leaves 0 '' '' --check -e ''
leaves 0 '' columns --check -e 'print "columns" io.popen("true"):close()'
leaves 3 '' '' -e 'exit(3)'
"$program" -o new mistyped.lua 2> err
[ ! -e new ] || { echo "a new file stays"; failed=1; }

echo 'print "mine"' > s.lua
for asked in '-o s.lua s.lua' '-o ./s.lua -' ; do
    # shellcheck disable=SC2086 # words
    "$program" --check $asked < s.lua > out 2> err
    [ "$? $(cat s.lua)" = '2 print "mine"' ] && grep -q 'that is the script itself: name another file$' err && continue
    echo "$asked: $(cat s.lua err)"
    failed=1
done

said=$( (ulimit -f 0 && exec "$program" --check -o limited -e 'print(("x"):rep(1e5))') 2>&1; echo "$?")
[ "$said" = "kprobe-lua: writing output: File too large
1" ] || { echo "a file that reaches its limit: $said"; failed=1; }
# What scripts start is ended by the signal as ever.
"$program" --check -e 'io.popen("kill -XFSZ $$; echo alive > alive"):close()' 2> err
[ ! -e alive ] || { echo "a script's program ignores SIGXFSZ"; failed=1; }
exit $failed
