/* SPDX-License-Identifier: MIT */
/*
 * What kmod/hash.c needs of the kernel, in user space: the same operations with
 * the same memory order, as the compiler's atomics, which ThreadSanitizer knows.
 */
#ifndef RACE_KERNEL_H
#define RACE_KERNEL_H

#include <errno.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "uapi/kprobe_lua.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define __percpu
#undef __always_inline
#define __always_inline	inline __attribute__((always_inline))

#define READ_ONCE(x)	__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)

#define race_cmpxchg(p, from, to, order)						\
	({										\
		__typeof__(*(p)) from_ = (from);					\
		__atomic_compare_exchange_n(p, &from_, to, false, order, __ATOMIC_RELAXED); \
		from_;									\
	})
#define cmpxchg(p, from, to)	race_cmpxchg(p, from, to, __ATOMIC_SEQ_CST)
#define cmpxchg_acquire(p, from, to)	race_cmpxchg(p, from, to, __ATOMIC_ACQUIRE)

typedef struct { int n; } atomic_t;
typedef struct { s64 n; } atomic64_t;
#define atomic_inc(a)	((void)__atomic_add_fetch(&(a)->n, 1, __ATOMIC_RELAXED))
#define atomic_dec(a)	((void)__atomic_sub_fetch(&(a)->n, 1, __ATOMIC_RELAXED))
#define atomic_read(a)	__atomic_load_n(&(a)->n, __ATOMIC_RELAXED)
#define atomic64_inc(a)	atomic_inc(a)
#define atomic64_read(a)	atomic_read(a)

static inline void cpu_relax(void) {}
static inline void cond_resched_tasks_rcu_qs(void) {}
/* How memory is got changes nothing of what is tested. */
#define KPL_GFP		0
#define __GFP_ZERO		0
static inline void *__vmalloc(u64 size, int flags) { (void)flags; return calloc(1, size); }
static inline void *vzalloc(u64 size) { return calloc(1, size); }
static inline void vfree(const void *p) { free((void *)p); }

static inline u64 roundup_pow_of_two(u64 n)
{
	u64 p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

static inline void kpl_acts(u64 hit) { (void)hit; }

struct kpl_session;
struct vm_area_struct;
struct mutex { int unused; };	/* these two: of types that it only names */
typedef struct { int unused; } refcount_t;

#endif
