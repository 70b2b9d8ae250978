// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Which instructions ftrace calls from.  Process context. */
#include <linux/ftrace.h>
#include <linux/slab.h>

#include "compat.h"
#include "going.h"
#include "memory.h"
#include "place.h"
#include "session.h"
#include "sites.h"

#ifdef KPL_TRACES
bool kpl_ftrace_is_dead(void)
{
	unsigned long nowhere = 0;

	return kpl_sites_known(&nowhere, 1) == -ENODEV;
}

/*
 * Where ftrace calls from, for a function's address or the site's own.  ftrace
 * would find that itself, but would not tell.
 */
static int kpl_site_find(struct kpl_probe *pr)
{
	u8 text[KPL_LANDING_PAD + MCOUNT_INSN_SIZE];

	if (!kpl_peek(text, pr->origin.addr, sizeof(text)))
		return -EINVAL;
	if (kpl_is_ftrace_site(text))
		pr->site = pr->origin.addr;
	else if (kpl_is_landing_pad(text) && kpl_is_ftrace_site(text + KPL_LANDING_PAD))
		pr->site = pr->origin.addr + KPL_LANDING_PAD;
	else
		return -EINVAL;
	return kpl_is_going(pr->site) ? -ENOENT : 0;
}

/*
 * Gives an error to the probes whose sites ftrace does not know: all are asked
 * for at once, and halves of what it refuses, down to one (17 calls deep).
 * `sites` has room for all.
 */
static void kpl_sites_ask(struct kpl_probe **prs, u32 nr, unsigned long *sites)
{
	u32 i, good = 0;
	int err;

	for (i = 0; i < nr; i++)
		if (!prs[i]->error)
			sites[good++] = prs[i]->site;
	if (!good)
		return;
	cond_resched_tasks_rcu_qs();
	err = kpl_interrupted(prs[0]) ? -EINTR : kpl_sites_known(sites, good);
	if (!err)
		return;
	if (nr > 1 && err == -EINVAL) {
		kpl_sites_ask(prs, nr / 2, sites);
		kpl_sites_ask(prs + nr / 2, nr - nr / 2, sites);
		return;
	}
	for (i = 0; i < nr; i++)
		prs[i]->error = prs[i]->error ?: err;
}

void kpl_ftrace_settle(void)
{
	synchronize_rcu_tasks_rude();
	synchronize_rcu_tasks();
}

void kpl_sites_find(struct kpl_probe **prs, u32 nr)
{
	unsigned long *sites = kvmalloc_array(nr, sizeof(*sites), KPL_GFP_SHARED);
	u32 i;

	for (i = 0; i < nr; i++)
		prs[i]->error = sites ? kpl_site_find(prs[i]) : -ENOMEM;
	if (sites)
		kpl_sites_ask(prs, nr, sites);
	kvfree(sites);
}
#endif
