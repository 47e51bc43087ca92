/* SPDX-License-Identifier: MIT */
/* What writer and reader of traces agree on: juggle(1), TRACE FORMAT. */
#ifndef JUGGLE_TRACE_FORMAT_H
#define JUGGLE_TRACE_FORMAT_H

#define TRACE_MAGIC "# juggle trace " /* a version and a header follow */
#define TRACE_VERSION 2

/* Larger numbers of CPUs and domains are taken as damage, so that readers may have tables. */
enum { TRACE_OS_CPU_MAX = 65535, TRACE_DOMAINS_MAX = 1024 };
/* Likewise of workers and subdomains: what libprogress takes. */
enum { TRACE_WORKERS_MAX = 65536, TRACE_SUBDOMAINS_MAX = 1048576 };

#endif
