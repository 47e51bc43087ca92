/* SPDX-License-Identifier: MIT */
/* Feeds arbitrary traces to all of jugglectl plot: script, page and JSON. */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>

#include "tools/plot/page.h"
#include "tools/plot/perfetto.h"
#include "tools/plot/picture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void draw(const struct trace_file *trace, const struct plot_run *run, FILE *to)
{
	struct chart chart;
	struct braid braid;

	assert(chart_init(&chart, trace, run, &chart_picture) == 0);
	assert(braid_init(&braid, trace, run, 100, &chart_picture) == 0);
	const struct picture picture = {.trace = trace,
		.run = run,
		.chart = &chart,
		.braid = &braid,
		.panel = {true, true, true, true, true},
		.width = 1000};
	assert(picture_write(&picture, to) == 0);
	assert(page_write(&picture, to) == 0);
	assert(perfetto_write(trace, run, &braid, to) == 0);
	braid_deinit(&braid);
	chart_deinit(&chart);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const struct plot_choice choices[] = {{.to_ns = UINT64_MAX, .threads_max = 100},
		{.from_ns = 100000000, .to_ns = 200000000, .threads_max = 2}};
	struct trace_file trace;
	struct trace_error error;
	static FILE *to; /* kept, because it takes long to open */

	if (to == NULL)
		to = fopen("/dev/null", "w");
	assert(to != NULL);
	for (int i = 0; i < 2 && trace_parse(&trace, (const char *)data, bytes, &error) == 0; i++) {
		struct plot_run run;
		if (plot_run_init(&run, &trace, &choices[i]) == 0)
			draw(&trace, &run, to);
		plot_run_deinit(&run);
		trace_file_deinit(&trace);
	}
	return 0;
}
