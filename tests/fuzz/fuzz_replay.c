/* SPDX-License-Identifier: MIT */
/* Replays arbitrary bytes as a trace: the policy gets input that no kernel produces. */
#undef NDEBUG
#include <assert.h>

#include "tools/replay/follow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check(const struct trace_file *trace, const struct replay_settings *settings)
{
	struct replay_follow follow;

	if (replay_follow_init(&follow, trace, settings, trace->start_ns) < 0)
		return;
	assert(follow.decisions.points <= trace->points);
	assert(follow.decisions.same <= follow.decisions.points);
	for (size_t i = 0; i < follow.cpus; i++)
		assert(follow.cpu[i].share >= 0 && follow.cpu[i].share < 1);
	replay_follow_deinit(&follow);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct trace_file trace;
	struct trace_error error;
	struct replay_settings settings;

	if (trace_parse(&trace, (const char *)data, bytes, &error) < 0)
		return 0;
	if (replay_recorded_settings(&trace, &settings)) {
		check(&trace, &settings);
		settings.always = !settings.always;
		settings.period_auto = !settings.period_auto;
		check(&trace, &settings);
	}
	trace_file_deinit(&trace);
	return 0;
}
