/* SPDX-License-Identifier: MIT */
#include "ideal.h"
