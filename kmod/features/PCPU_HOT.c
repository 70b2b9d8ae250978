// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What a CPU needs at each entry lies together (6.2 to 6.14). */
#include <asm/current.h>

unsigned long *kpl_try(unsigned int cpu);
unsigned long *kpl_try(unsigned int cpu)
{
	return &per_cpu_ptr(&pcpu_hot, cpu)->top_of_stack;
}
