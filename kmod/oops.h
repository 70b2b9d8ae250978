/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* At an oops or a panic: whose handler runs on each CPU.  Process context. */
#ifndef KPL_OOPS_H
#define KPL_OOPS_H

void kpl_oops_init(void);
void kpl_oops_exit(void);

#endif
