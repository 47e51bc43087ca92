/* SPDX-License-Identifier: MIT */
#include "live.h"
