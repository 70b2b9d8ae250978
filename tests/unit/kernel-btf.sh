#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: kernel-btf.sh DIR
# Writes the BTF of each kernel in /boot, or KPROBE_LUA_BOOT_DIR, to DIR/<release>/vmlinux, and of some of its modules beside it, as
# /sys/kernel/btf of that kernel would have them. What is there already and newer than the kernel stays.
set -eu
out=$1
boot=${KPROBE_LUA_BOOT_DIR:-/boot}
modules="nf_conntrack nf_nat ext4"

byte_at() { od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' '; }
word_at() { od -An -tu4 -j "$2" -N 4 "$1" | tr -d ' '; }

unpacker() { # FILE: the command that unpacks it, by its first bytes
    case $(od -An -tx1 -N 4 "$1" | tr -d ' ') in
        1f8b*) echo gzip ;;
        fd377a58) echo xz ;;
        28b52ffd) echo zstd ;;
        02214c18) echo lz4 ;;
        7f454c46) echo cat ;;
        *) echo "kernel-btf: $1: unknown compression" >&2; return 1 ;;
    esac
}

unpack() { # FROM TO; the padding after a kernel's payload makes unpackers complain at its end
    tool=$(unpacker "$1")
    command -v "$tool" > /dev/null || { echo "kernel-btf: $1 needs $tool, which is not installed" >&2; return 1; }
    [ "$tool" = cat ] || tool="$tool -dc"
    $tool < "$1" > "$2" 2> /dev/null || [ -s "$2" ]
}

extract() { # ELF TO
    objcopy --dump-section ".BTF=$2.new" "$1" /dev/null && mv "$2.new" "$2"
}

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
for kernel in "$boot"/vmlinuz-*; do
    [ -e "$kernel" ] || continue
    release=${kernel#"$boot"/vmlinuz-}
    [ -n "$(find "$out/$release/vmlinux" -newer "$kernel" 2> /dev/null)" ] && continue
    mkdir -p "$out/$release"
    # Documentation/arch/x86/boot.rst: setup_sects at 0x1f1, payload_offset at 0x248, payload_length at 0x24c.
    start=$(( ($(byte_at "$kernel" 497) + 1) * 512 + $(word_at "$kernel" 584) ))
    tail -c +$((start + 1)) "$kernel" | head -c "$(word_at "$kernel" 588)" > "$temporary/payload"
    unpack "$temporary/payload" "$temporary/vmlinux"
    for module in $modules; do
        file=$(find "/lib/modules/$release" -name "$module.ko*" 2> /dev/null | head -n 1)
        [ -n "$file" ] || continue
        unpack "$file" "$temporary/module"
        extract "$temporary/module" "$out/$release/$module" || true  # a module may have none
    done
    extract "$temporary/vmlinux" "$out/$release/vmlinux"
    touch "$out/$release/vmlinux"
done
