// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A timer and its function in one call (6.13). */
#include <linux/hrtimer.h>

void kpl_try(struct hrtimer *timer, enum hrtimer_restart (*fn)(struct hrtimer *timer));
void kpl_try(struct hrtimer *timer, enum hrtimer_restart (*fn)(struct hrtimer *timer))
{
	hrtimer_setup(timer, fn, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
}
