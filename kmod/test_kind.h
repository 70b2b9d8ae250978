/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef KPL_TEST_KIND_H
#define KPL_TEST_KIND_H

#include "kind.h"

extern const struct kpl_probe_ops kpl_test_kind_ops;

#endif
