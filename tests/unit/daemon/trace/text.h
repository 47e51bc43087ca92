/* SPDX-License-Identifier: MIT */
/* Parts of traces as text, for tests that make up traces. */
#ifndef TEST_TRACE_TEXT_H
#define TEST_TRACE_TEXT_H

/* The first line, of a run that began then, with a period of 4 ms. */
#define TRACE_HEADER(start_ns)                                                                     \
	"# juggle trace 2 {\"version\":\"0.1.0\",\"command\":\"true\",\"start_ns\":" start_ns      \
	",\"policy\":\"juggle\",\"sampler\":\"schedstat\",\"balancers\":\"domain\","               \
	"\"domains\":\"split\",\"period_s\":0.004,\"period_auto\":false,\"jitter\":0.1,"           \
	"\"margin_ns\":500000,\"always\":true,\"threads\":0}\n"

/* The last line of a point. */
#define DECIDE "decide 4000000 4000000 0 aside why\n"
#define DECIDE_BALANCE "decide 4000000 4000000 0 balance why\n"

#endif
