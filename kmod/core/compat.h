/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the core takes from its surroundings: fixed-width types, the eBPF
 * instruction format, errno, memcpy, memset and static_assert.
 */
#ifndef KPL_CORE_COMPAT_H
#define KPL_CORE_COMPAT_H

#ifdef __KERNEL__

#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
#include <uapi/linux/bpf.h>

#else

#include <assert.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/types.h>
#include <stddef.h>
#include <string.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#define S32_MAX	((s32)0x7fffffff)
#define S32_MIN	(-S32_MAX - 1)

#endif

#endif
