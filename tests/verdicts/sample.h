/* SPDX-License-Identifier: MIT */
/*
 * A file of programs: what verdict_samples writes and verdicts reads.  Each is
 * this head, then its instructions, labels and maps, as the verifier takes them.
 */
#ifndef VERDICTS_SAMPLE_H
#define VERDICTS_SAMPLE_H

#include "core/core.h"

struct sample {
	char name[80];		/* where it comes from; ends with NUL */
	u32 nr_insns, nr_labels, nr_maps;
	u32 kind, data_size, scratch_size, budget, max_record;
	u32 rights;		/* KPL_RIGHT_* */
};

#endif
