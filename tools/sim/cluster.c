/* SPDX-License-Identifier: MIT */
#include "cluster.h"
