/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Memory for the CPUs that are up, and for those that come up later. */
#ifndef KPL_GROW_H
#define KPL_GROW_H

#include "area.h"
#include "session.h"

/*
 * What has memory for each such CPU.  A CPU that goes keeps its own, and one
 * whose memory can't be had comes up without.
 */
struct kpl_grower {
	struct list_head list;		/* of all that grow */
	struct kpl_areas *areas;	/* they tell which CPUs have it, and whose account it goes to */
	u64 each;			/* bytes, of a CPU */
	u32 ahead;			/* CPUs that are charged for and still have none */
	/*
	 * For a CPU on which no handler uses it: the CPU is not up yet, or no
	 * program can know of it.  Sleeps, and waits for nobody.
	 */
	int (*make)(struct kpl_grower *g, u32 cpu);
};

/* `areas`, `each` and `make` are set.  Whatever it returns, kpl_grow_end() follows. */
int kpl_grow_begin(struct kpl_grower *g);
/* Also of one that never began.  What was made is the caller's to free. */
void kpl_grow_end(struct kpl_grower *g);
/* Of all of a session. */
void kpl_grow_end_all(const struct kpl_session *s);

int kpl_grow_init(void);
void kpl_grow_exit(void);

#endif
