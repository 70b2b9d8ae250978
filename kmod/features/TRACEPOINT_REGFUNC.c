// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What a tracepoint calls when it is switched on is its own (up to 6.13), and not in its `ext`. */
#include <linux/tracepoint.h>

bool kpl_try(const struct tracepoint *tp);
bool kpl_try(const struct tracepoint *tp)
{
	return tp->regfunc || tp->unregfunc;
}
