/* SPDX-License-Identifier: MIT */
/* What the writer and the reader of traces agree on: juggle(1), TRACE FORMAT. */
#ifndef JUGGLE_TRACE_FORMAT_H
#define JUGGLE_TRACE_FORMAT_H

#define TRACE_MAGIC "# juggle trace " /* a version and a header follow */
#define TRACE_VERSION 2

/* Readers take larger numbers of CPUs and domains as damage, so that they may have tables. */
enum { TRACE_OS_CPU_MAX = 65535, TRACE_DOMAINS_MAX = 1024 };
/* Speeds are in thousandths of the fastest CPU's. */
enum { TRACE_SPEED_MAX = 1000 };
/* Likewise for workers and subdomains: the limits of libprogress. */
enum { TRACE_WORKERS_MAX = 65536, TRACE_SUBDOMAINS_MAX = 1048576 };

#endif
