/* SPDX-License-Identifier: MIT */
#include <ctype.h>
