// SPDX-License-Identifier: GPL-2.0 OR MIT
/* get_user_pages() gives the mappings, too. */
#include <linux/mm.h>

long kpl_try(unsigned long addr);
long kpl_try(unsigned long addr)
{
	return get_user_pages(addr, 1, 0, NULL, NULL);
}
