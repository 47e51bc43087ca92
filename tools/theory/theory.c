/* SPDX-License-Identifier: MIT */
#include "theory.h"
