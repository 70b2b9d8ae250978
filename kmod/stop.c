// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Where and why programs have stopped: a small table for each program, filled
 * at hits without a lock.  A site that finds no place is still counted under
 * its probe, and makes the session's `stops` grow.
 */
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/timekeeping.h>

#include "record.h"
#include "session.h"
#include "stop.h"

struct kpl_stop_site {
	u32 key;		/* KPL_RET_STOP(reason, pc); 0: free */
	atomic64_t count;
	u64 bad_addr;
	u64 first;		/* 0: not yet complete */
};

struct kpl_sites {
	/* The program's. */
	u32 kind;
	u32 nr_insns;
	enum kpl_looks looks;
	u32 mask;
	struct kpl_stop_site site[];
};

static u32 kpl_sites_room(u32 nr_insns)
{
	return roundup_pow_of_two(clamp_t(u32, nr_insns / 4, 16, KPL_MAX_SITES));
}

u64 kpl_sites_memory(u32 nr_insns)
{
	return sizeof(struct kpl_sites) + kpl_sites_room(nr_insns) * sizeof(struct kpl_stop_site);
}

struct kpl_sites *kpl_sites_alloc(u32 kind, u32 nr_insns, enum kpl_looks looks)
{
	struct kpl_sites *sites = kvzalloc(kpl_sites_memory(nr_insns), KPL_GFP);

	if (!sites)
		return NULL;
	sites->kind = kind;
	sites->nr_insns = nr_insns;
	sites->looks = looks;
	sites->mask = kpl_sites_room(nr_insns) - 1;
	return sites;
}

void kpl_sites_free(struct kpl_sites *sites)
{
	kvfree(sites);
}

#define STOP(name, class, text)	\
	[KPL_STOP_##name] = KPL_C_##class,

static const u8 kpl_stop_class[KPL_STOP_END_] = {
#include "uapi/stops.def"
};

#undef STOP

static struct kpl_stop_site *kpl_site(struct kpl_sites *sites, u32 key)
{
	u32 i, at = (key * 0x9e3779b1u) >> 16;

	for (i = 0; i <= sites->mask; i++, at++) {
		struct kpl_stop_site *site = &sites->site[at & sites->mask];
		u32 found = READ_ONCE(site->key);

		if (!found)
			found = cmpxchg(&site->key, 0, key);
		if (!found || found == key)
			return site;
	}
	return NULL;
}

static void kpl_remember(struct kpl_sites *sites, u32 key, u64 bad_addr)
{
	struct kpl_stop_site *site = kpl_site(sites, key);

	if (!site)
		return;
	if (!READ_ONCE(site->first)) {
		WRITE_ONCE(site->bad_addr, bad_addr);
		/* With it, the site is complete. */
		smp_store_release(&site->first, ktime_get_mono_fast_ns() ?: 1);
	}
	atomic64_inc(&site->count);
}

enum kpl_count kpl_stop(const struct kpl_ctx *ctx, struct kpl_session *s, struct kpl_sites *sites,
			u64 result)
{
	u32 key = kpl_ending(sites->kind, sites->nr_insns, result), reason = KPL_RET_REASON(key);
	u64 bad_addr = 0;

	if (key == KPL_RET_SKIP)
		return KPL_C_DECLINED;
	if (kpl_stop_class[reason] == KPL_C_MISSED)
		return KPL_C_MISSED;
	/* It may come between a record's begin and its end. */
	if (reason == KPL_STOP_BUDGET)
		kpl_rec_abandon(s);
	/* For a program that looks nowhere, or met no fault, the address is an earlier hit's. */
	if (kpl_stop_class[reason] == KPL_C_FAULT && sites->looks == KPL_LOOKS_AT_ALL &&
	    ctx->hit.status)
		bad_addr = ctx->hit.bad_addr;
	kpl_remember(sites, key, bad_addr);
	/* The first one that user space has not seen wakes it. */
	if (atomic64_inc_return(&s->stops) == READ_ONCE(s->stops_seen) + 1)
		kpl_session_wake(s);
	return kpl_stop_class[reason];
}

static int kpl_site_cmp(const void *a, const void *b)
{
	const struct kpl_site *x = a, *y = b;

	return x->pc != y->pc ? (x->pc < y->pc ? -1 : 1) :
	       (x->reason > y->reason) - (x->reason < y->reason);
}

u32 kpl_sites_collect(struct kpl_sites *sites, struct kpl_site *out)
{
	u32 i, nr = 0;

	for (i = 0; i <= sites->mask; i++) {
		struct kpl_stop_site *site = &sites->site[i];
		u64 first = smp_load_acquire(&site->first);	/* before the rest */
		u64 count = atomic64_read(&site->count);

		if (!first || !count)
			continue;
		out[nr++] = (struct kpl_site) {
			.pc = KPL_RET_PC(site->key),
			.reason = KPL_RET_REASON(site->key),
			.count = count,
			.bad_addr = READ_ONCE(site->bad_addr),
			.first = first,
		};
	}
	sort(out, nr, sizeof(*out), kpl_site_cmp, NULL);
	return nr;
}
