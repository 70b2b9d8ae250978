# SPDX-License-Identifier: MIT
run kprobe-lua -c 'cat /etc/passwd >/dev/null; cat /etc/passwd > /dev/null; true' "$KPL_ROOT/tests/data/scripts/kprobe_example.lua"
status 0
pre=$(grep -c '^pre_handler: kernel_clone addr=0x[0-9a-f]* ip=0x[0-9a-f]* flags=0x[0-9a-f]*$' out)
post=$(grep -c '^post_handler: addr=0x' out)
[ "$pre" -ge 2 ] && [ "$pre" = "$post" ] || fail "$pre pre lines, $post post lines"
lines "$pre" '^    kernel_clone'
out '^    do_syscall_64\+0x'
out '^    entry_SYSCALL_64_after_hwframe\+0x'
no_out fault_handler
awk '/^pre_handler/ { sub(/.* ip=/, ""); sub(/ .*/, ""); pre = $0 }
     /^post_handler/ { sub(/.* ip=/, ""); sub(/ .*/, ""); if ($0 == pre) exit 1 }' out || fail "post has pre's ip"
