# SPDX-License-Identifier: MIT
# What a case may use; runner.sh reads it into the case's shell. A case is a shell script that runs in an empty directory
# of its own and ends at its first unmet expectation. Lines of its header:
#   # limit: SECONDS   another time limit than 300, which only a hanging case should meet, on the slowest machine
#   # parallel: WHY    emulated with a thread for each CPU, for what two CPUs must do at the very same time
# Cases wait for conditions, never for a time.
#
#   script NAME        its stdin becomes the file NAME
#   run CMD…           runs CMD; then $status is its exit status, out and err are files with its streams
#   start CMD…         runs CMD in the background, kprobe-lua with -v, with out and err; $pid
#   until_true WHAT CMD…  until CMD succeeds; WHAT says what is waited for
#   wait_for REGEX [FILE] until `out`, or FILE, has a line that matches; what `start` started must still run
#   armed [FILE]       until the probes of what `start` started, or of a kprobe-lua -v that writes FILE, are armed
#   finish             waits for what `start` started; $status
#   status N           the last run's exit status
#   line TEXT          `out` has exactly this line
#   out REGEX · no_out REGEX · err REGEX · no_err REGEX   a line (none) of that stream matches (extended regex)
#   lines N REGEX      exactly N lines of `out` match
#   quiet_err          stderr is empty
#   one_error          stderr is one line
#   refuses REGEX SCRIPT  the script of one line ends in one error, which matches behind its place
#   shown_by DOC COMMAND  the lines that DOC shows below `$ kprobe-lua COMMAND`
#   like STREAM        `out` or `err` has a line like each of stdin's, which a document shows
#   target COMMAND     loads tests/vm/target if need be and has it call its functions; prints what came of it
#   target_lua         writes target.lua: target.call(COMMAND) the same from a script, target.value(), and
#                      target.steps{ fn, … }, which calls one function after the other once probes are armed, then exits;
#                      one that returns target.wait is called again
#   refused_to_others  prints what others were refused since the module was loaded, because sessions had it
#   left_nothing       no probe of ours in the kernel, the module is not in use
#   skip WHY · fail WHY · lacks WHY   the last: skips where the kernel is not Debian's, fails on those that all of it is for
# $KPL_ROOT is the source tree (examples/ is there), $KPL_MODULE the module's file for this kernel,
# $KPL_CONTROL one with functions, $KPL_LIVEPATCH one that patches kpl_t_plain(), $KPL_OTHER_ABI one that was built with a row more in a table.

KPL_MODULE=$KPL_MODULES/$(uname -r)/kprobe_lua.ko
KPL_TARGET=${KPL_MODULES%/kmod}/tests/vm/target/$(uname -r)/kpl_target.ko
KPL_CONTROL=${KPL_MODULES%/kmod}/tests/sweep/control/$(uname -r)/kpl_control.ko
KPL_LIVEPATCH=${KPL_MODULES%/kmod}/tests/vm/livepatch/$(uname -r)/kpl_livepatch.ko
KPL_OTHER_ABI=${KPL_MODULES%/kmod}/tests/vm/other_abi/$(uname -r)/kprobe_lua.ko

fail() {
    echo "FAILED: $*"
    for stream in out err; do
        [ -s "$stream" ] || continue
        echo "--- $stream:"
        head -c 4000 "$stream"
    done
    exit 1
}

skip() {
    echo "$*"
    exit 77
}

lacks() {
    case $(uname -r) in
        *-cloud-amd64) fail "$*" ;;
        *) skip "$*" ;;
    esac
}

script() { cat > "$1"; }

run() {
    "$@" > out 2> err < /dev/null
    status=$?
}

start() {
    : > out 2> err # what an earlier run wrote is not waited for
    KPROBE_LUA_VERBOSE=1 "$@" > out 2> err < /dev/null &
    pid=$!
}

patience=1200 # tenths of a second; what is waited for comes at once, unless the machine is busy

until_true() {
    awaited=$1
    shift
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ "$tries" -lt "$patience" ] || fail "$awaited: not within $((patience / 10)) s"
        sleep 0.1
    done
}

shows_or_ended() { grep -Eqs -- "$1" "$2" || ! kill -0 "$pid" 2> /dev/null; }

wait_for() {
    until_true "a line '$1' in ${2:-out}" shows_or_ended "$1" "${2:-out}"
    grep -Eqs -- "$1" "${2:-out}" || fail "ended without a line '$1' in ${2:-out}"
}

armed() { wait_for '^armed in ' "${1:-err}"; }

finish() {
    wait "$pid"
    status=$?
}

status() { [ "$status" = "$1" ] || fail "exit status $status, not $1"; }
line() { grep -Fxq -- "$1" out || fail "no line '$1'"; }
out() { grep -Eq -- "$1" out || fail "no line like '$1' in stdout"; }
no_out() { ! grep -Eq -- "$1" out || fail "a line like '$1' in stdout"; }
err() { grep -Eq -- "$1" err || fail "no line like '$1' in stderr"; }
no_err() { ! grep -Eq -- "$1" err || fail "a line like '$1' in stderr"; }
quiet_err() { [ ! -s err ] || fail "stderr is not empty"; }

lines() {
    n=$(grep -Ec -- "$2" out)
    [ "$n" = "$1" ] || fail "$n lines like '$2', not $1"
}

# ---- documents
# What DOC shows below "$ kprobe-lua COMMAND".
shown_by() {
    awk -v command="    \$ kprobe-lua $2" '/^    / { if (on) print substr($0, 5); else on = $0 == command; next } /./ { on = 0 }' "$1"
}

# Lines as documents show them, as patterns: numbers, addresses, releases and an instruction's bytes and text may be others,
# and … stands for anything.
patterns() {
    sed -E 's/[][(){}.*+?|^$\\]/\\&/g
        s/…/@any@/g
        s/[0-9]+\\\.[0-9]+\\\.[0-9][^ /]*-amd64/@release@/g
        s/0x[0-9a-f]+/0x@hex@/g
        s/ffffffff[0-9a-f]{8}/@hex@/g
        s/  [0-9a-f]{2}( [0-9a-f]{2})*   +[^ ]+( [^ ]+)*(   +|$)/  @any@\3/
        s/[0-9]+/@number@/g
        s/ +/ +/g
        s/@any@/.*/g
        s/@release@/[^ \/]+/g
        s/@hex@/[0-9a-f]+/g
        s/@number@/[0-9]+/g
        s/.*/^&$/'
}

# STREAM has a line like each of stdin's, which a document shows.
like() {
    patterns > patterns
    [ -s patterns ] || fail "the document shows nothing"
    while IFS= read -r pattern; do
        grep -Eq -- "$pattern" "$1" || fail "no line in $1 as the document shows it: $pattern"
    done < patterns
}

target() {
    [ -d /sys/module/kpl_target ] || insmod "$KPL_TARGET" || fail "can't load $KPL_TARGET"
    [ $# = 0 ] || echo "$*" > /sys/module/kpl_target/parameters/run || fail "target $*"
    cat /sys/module/kpl_target/parameters/result
}

target_lua() {
    target > /dev/null
    cat > target.lua << 'LUA'
local M, dir = { wait = {} }, "/sys/module/kpl_target/parameters/"
function M.call(what)
  local f = assert(io.open(dir .. "run", "w"))
  f:setvbuf "no"
  assert(f:write(what))
  f:close()
end
function M.value()
  local f = assert(io.open(dir .. "result"))
  local text = f:read "*a"
  f:close()
  return (text:gsub("%s+$", ""))
end
local function uptime() return tonumber(io.open("/proc/uptime"):read "*n") end
function M.steps(list)
  local i, ended, gathered = 1
  every(0.05, function()
    if list[i] then
      if list[i]() ~= M.wait then i = i + 1 end
    elseif gathered then
      exit()
    else -- events may gather for 0.02 s, and are delivered after the timers
      ended = ended or uptime()
      gathered = uptime() > ended + 0.05
    end
  end)
end
return M
LUA
}

one_error() { [ "$(wc -l < err)" = 1 ] || fail "not one line on stderr"; }

refuses() {
    echo "$2" > wrong.lua
    run kprobe-lua -c true wrong.lua # one that is taken ends by itself
    status 1
    one_error
    err "^wrong.lua:1: $1"
}

refused_to_others() { kprobe-lua --info | awk '/^  refused to others / { print $4 }'; }

# The probes of all kinds that are in the kernel; not what the stubs' module keeps there (kmod/kept.c).
probes() {
    sed 's/^/armed: /' /sys/kernel/debug/kprobes/list || echo "can't read the kernel's list of kprobes"
    # Of a kernel without the function tracer there is none.
    if [ -e /sys/kernel/tracing/enabled_functions ] || grep -q ' register_ftrace_function$' /proc/kallsyms; then
        sed '/kpl_kept/d; s/^/traced: /' /sys/kernel/tracing/enabled_functions || echo "can't read the kernel's list of functions"
    fi
}

# Of a function, the offsets of two instructions that can be optimized, the second within the jump of the first.
overlapping() { # FUNCTION
    kprobe-lua disasm "$1" |
        awk '{ yes = $2 $3 $4 == "yesyesyes" } yes && before { print before, $1 } { before = yes ? $1 : "" }' |
        while read -r one two; do [ $((two - one)) -ge 5 ] || { echo "$one $two" && break; }; done
}

# Prints what of ours is in the kernel; nothing when all is well.
leftovers() {
    probes
    users=$(cat /sys/module/kprobe_lua/refcnt 2> /dev/null || echo 0)
    [ "$users" = 0 ] || echo "the module is in use: $users"
}

# The kernel may need a moment: grace periods, the death of a process that was just killed.
nothing_left() {
    left=$(leftovers)
    [ -z "$left" ]
}

left_nothing() {
    tries=0
    until nothing_left; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || fail "left behind: $left"
        sleep 0.1
    done
}
