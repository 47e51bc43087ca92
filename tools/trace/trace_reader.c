/* SPDX-License-Identifier: MIT */
#include "trace_reader.h"
