# SPDX-License-Identifier: MIT
# doctor: all well here; then each thing that can go wrong, with the command that fixes it, which is run.
run kprobe-lua doctor
status 0
line 'This kernel can be probed.'
line 'ok    module has ABI 1, as this program'
out '^ok    kernel configuration: KPROBES .*OPTPROBES'

# broken FILE VALUE WHAT STATUS: doctor finds it, and its remedy works.
broken() {
    good=$(cat "$1")
    echo "$2" > "$1"
    run kprobe-lua doctor
    status "$4"
    out "^(no|poor) +$3"
    grep -A 1 -E "^(no|poor) +$3" out | tail -n 1 > mend
    sh -e mend > /dev/null || fail "the remedy fails: $(cat mend)"
    run kprobe-lua doctor
    mended=$status
    echo "$good" > "$1"
    [ "$mended" = 0 ] || fail "not mended by$(cat mend)"
    line 'This kernel can be probed.'
}
broken /proc/sys/kernel/kptr_restrict 2 'kernel.kptr_restrict hides addresses' 1
broken /proc/sys/debug/kprobes-optimization 0 'jump optimization is off' 0
broken /sys/kernel/debug/kprobes/enabled 0 'kprobes are switched off' 1
broken /proc/sys/net/core/bpf_jit_enable 0 'JIT is off' 0

rmmod kprobe_lua
run kprobe-lua doctor
status 1
line 'no    module is not loaded'
line "        insmod $KPL_MODULE"
insmod "$KPL_MODULE"
run kprobe-lua doctor
status 0

run kprobe-lua --info
status 0
quiet_err
line '  ABI          1'
line '    CONFIG_KPROBES                    y'
line "  release      $(uname -r) $(uname -m)"
out '^  features     .*kretprobe'
