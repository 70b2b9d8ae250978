# SPDX-License-Identifier: MIT
# The list of functions that kernel developers marked (kmod/uapi/inject.def) against this kernel's symbols.
sed -n 's/^INJECT(\([^,]*\), \([A-Z_]*\), vmlinux)$/\1/p' "$KPL_ROOT/kmod/uapi/inject.def" | sort > listed
[ -s listed ] || fail 'no list'
awk '{ print $3 }' /proc/kallsyms | sort -u > there
comm -12 listed there > out
case $(uname -r) in
6.1.*) printf '%s\n' __filemap_add_folio bpf_fentry_test1 bpf_modify_return_test should_fail_alloc_page should_fail_bio should_failslab ;;
*) printf '%s\n' __filemap_add_folio bpf_fentry_test1 bpf_modify_return_test page_pool_alloc_pages should_fail_bio ;;
esac > expected
comm -3 out expected > wrong
[ ! -s wrong ] || fail "here and not expected, or expected and not here: $(cat wrong)"
