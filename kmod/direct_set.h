/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Stubs, the functions that are called through them, and ftrace's part in that.
 * Process context; all but kpl_stubs_there() under kpl_directs_lock.
 */
#ifndef KPL_DIRECT_SET_H
#define KPL_DIRECT_SET_H

#include <linux/ftrace.h>
#include <linux/list.h>
#include <linux/mutex.h>

#include "compat.h"
#include "kind.h"
#include "stubs.h"
#include "table.h"

#ifdef KPL_DIRECT_CALLS
/* Functions that one ftrace_ops is for: of the group's probes, those from `from` to `to`. */
struct kpl_direct_set {
	struct list_head list;
	struct ftrace_ops ops;
	u32 from, to;
	bool registered;
};

/* A stub, and the probes whose functions are called through it. */
struct kpl_direct {
	struct list_head list;		/* of all */
	struct list_head sets;
	struct kpl_table table;		/* of a stub of many: by where their functions go on */
	struct kpl_stub *stub;		/* NULL: given back */
	unsigned long text, behind;	/* what the stub is, and what it calls: 0: the site tells */
	unsigned long *sites;		/* room for a filter */
	u32 nr, refs, added;		/* probes; not freed; added */
	bool changed;			/* by the operation under way */
	bool of_many;
	struct kpl_probe *probes[];	/* NULL: freed, or left */
};

/* Nothing under it waits for user space, nor for a module that comes or goes. */
extern struct mutex kpl_directs_lock;
extern struct list_head kpl_directs;	/* all */
extern u32 kpl_directs_nr;	/* probes in them */

/* The stubs' module; NULL: not there yet.  Ours until we go. */
extern const struct kpl_stubs *kpl_stubs_used;
bool kpl_stubs_there(void);

/* Room for `nr` probes; NULL: no memory. */
struct kpl_direct *kpl_direct_alloc(u32 nr, bool of_many);
void kpl_direct_free(struct kpl_direct *d);

/* A set of these probes, behind `behind` in a list of sets; NULL: no memory. */
struct kpl_direct_set *kpl_set_alloc(struct list_head *behind, u32 from, u32 to);

/* Takes a probe out; it is added no more. */
void kpl_direct_drop(struct kpl_probe *pr);

/* A call that is under way when its probe goes off returns to its handler all the same. */
void kpl_direct_switch(struct kpl_probe *pr, bool armed);

/*
 * Registers and unregisters what the probes want.  Returns how many are not
 * armed; their `error` says why.
 */
u32 kpl_direct_update(struct kpl_direct *d);
/* The same, for those in which a probe of the list was switched. */
void kpl_directs_update(struct kpl_probe **prs, u32 nr);

/* Unregisters a set, if it is registered. */
int kpl_set_off(struct kpl_direct *d, struct kpl_direct_set *set);
#endif

#endif
