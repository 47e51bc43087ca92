/* SPDX-License-Identifier: MIT */
/* Feeds arbitrary bytes to the reader of traces: what it returns must be complete. */
#undef NDEBUG
#include <assert.h>
#include <string.h>

#include "daemon/trace/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_point(const struct trace_point *point)
{
	assert(point->domain < TRACE_DOMAINS_MAX);
	for (size_t i = 0; i < point->threads; i++)
		assert(point->thread[i].tid > 0 && point->thread[i].os_cpu >= -1);
	for (size_t i = 0; i < point->others; i++)
		assert(point->other[i].tid > 0);
	for (size_t i = 0; i < point->newcomers; i++)
		assert(point->newcomer[i].tid > 0);
	for (size_t i = 0; i < point->moves; i++)
		assert(point->move[i].tid > 0 && point->move[i].from >= 0 &&
			point->move[i].to >= 0);
	for (size_t i = 0; i < point->changes; i++)
		assert(point->change[i].tid > 0 &&
			(point->change[i].from == -1 || point->change[i].to == -1));
	for (size_t i = 0; i < point->handovers; i++)
		assert(point->handover[i].tid > 0 && point->handover[i].domain < TRACE_DOMAINS_MAX);
}

static void check_teams(const struct trace_file *trace)
{
	for (size_t i = 0; i < trace->teams; i++) {
		const struct trace_team *team = &trace->team[i];
		assert(team->domain < team->domains && team->domains <= TRACE_DOMAINS_MAX);
		assert(team->first_point <= trace->points);
		for (size_t c = 0; c < team->cpus; c++)
			assert(trace->cpu[team->first_cpu + c].os_cpu >= 0);
	}
}

static void check_subdomains(const struct trace_file *trace, size_t bytes)
{
	size_t numbers = 0;

	for (size_t i = 0; i < trace->publisheds; i++) {
		const struct trace_subdomains *published = &trace->published[i];
		numbers += published->subdomains;
		for (size_t s = 0; s < published->subdomains; s++)
			assert(published->owner[s] >= -1 &&
				(published->owner[s] < 0 ||
					(uint32_t)published->owner[s] < published->workers));
	}
	for (size_t i = 0; i < trace->samples; i++) {
		numbers += trace->sample[i].subdomains;
		for (size_t s = 0; s < trace->sample[i].subdomains; s++)
			assert(trace->sample[i].updates[s] >= -1);
	}
	for (size_t i = 0; i < trace->gives; i++)
		assert(trace->give[i].pid > 0 && trace->give[i].to < TRACE_WORKERS_MAX &&
			trace->give[i].subdomain < TRACE_SUBDOMAINS_MAX);
	assert(numbers <= bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct trace_file trace;
	struct trace_error error;

	if (trace_parse(&trace, (const char *)data, bytes, &error) < 0) {
		assert(error.text[0] != '\0' && memchr(error.text, '\0', sizeof(error.text)));
		assert(trace.memory == NULL);
		return 0;
	}
	/* Each takes at least one line. */
	assert(trace.points + trace.births + trace.regimes <= bytes);
	for (size_t i = 0; i < trace.points; i++)
		check_point(&trace.point[i]);
	for (size_t i = 0; i < trace.births; i++)
		assert(trace.birth[i].tid > 0 && strlen(trace.birth[i].comm) < bytes);
	for (size_t i = 0; i < trace.regimes; i++)
		assert(strlen(trace.regime[i].reason) < bytes);
	check_teams(&trace);
	check_subdomains(&trace, bytes);
	trace_file_deinit(&trace);
	return 0;
}
