/* SPDX-License-Identifier: MIT */
#include "field.h"
