/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A direct call that stays while the stubs' module is there, where the kernel makes the first one wait. */
#ifndef KPL_KEPT_H
#define KPL_KEPT_H

#include "compat.h"

#ifdef KPL_DIRECT_CALLS
extern char kpl_kept_nothing[];	/* stubs_text.S: a direct call of it does nothing */
#endif

void kpl_kept(void);
void kpl_kept_init(void);
void kpl_kept_exit(void);

#endif
