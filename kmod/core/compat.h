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
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define S16_MAX	INT16_MAX
#define S16_MIN	INT16_MIN
#define S32_MAX	INT32_MAX
#define S32_MIN	INT32_MIN
#define S64_MAX	INT64_MAX

#endif

#endif
