/* SPDX-License-Identifier: MIT */
#include "threads.h"
