/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A dry run: a program on what user space gives it, at no probe. */
#ifndef KPL_DRY_H
#define KPL_DRY_H

#include "session.h"

int kpl_prog_run(struct kpl_session *s, struct kpl_prog_run *arg);

#endif
