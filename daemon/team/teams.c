/* SPDX-License-Identifier: MIT */
#include "daemon/team/teams.h"

#include <stdio.h>

#include "daemon/base/clock.h"
#include "daemon/telemetry/writer.h"
#include "daemon/trace/write_point.h"

static struct job_thread *join(struct job_thread *list, struct job_thread *more)
{
	while (more != NULL) {
		struct job_thread *next = more->next;
		more->next = list;
		list = more;
		more = next;
	}
	return list;
}

static void show_cpus(const struct teams *teams)
{
	struct telemetry *t = teams->context.telemetry;
	size_t count =
		teams->topology.cpus < TELEMETRY_CPUS ? teams->topology.cpus : TELEMETRY_CPUS;

	for (size_t i = 0; i < count; i++)
		telemetry_cpus(t)[i] =
			(struct telemetry_cpu){.os_cpu = teams->topology.cpu[i].os_cpu,
				.domain = teams->topology.cpu[i].domain,
				.speed = topology_speed(&teams->topology.cpu[i])};
	snprintf(t->speeds, sizeof t->speeds, "%s", teams->topology.speeds_from);
	telemetry_set32(&t->cpus, (uint32_t)count);
}

void teams_show_stolen(const struct teams *teams)
{
	const struct telemetry *t = teams->context.telemetry;
	uint32_t count = telemetry_get32(&t->cpus);

	for (uint32_t i = 0; i < count && i < teams->topology.cpus; i++)
		telemetry_set32(&telemetry_cpus(t)[i].stolen,
			stolen_of(teams->context.stolen, teams->topology.cpu[i].os_cpu));
}

int teams_start(struct teams *teams, const struct cpuset *usable)
{
	struct team_context *context = &teams->context;
	struct exchange *exchange = &teams->exchange;
	const struct topology_cpu *cpu;
	const struct topology_setup setup = options_topology(context->options);
	int r = topology_init(&teams->topology, usable, &setup);

	if (r == 0)
		r = exchange_init(exchange, teams->topology.domains);
	if (r < 0)
		return r;
	context->exchange = exchange;
	context->own = &teams->own;
	context->refused = &teams->refused;
	show_cpus(teams);
	trace_cpus(context->trace, clock_monotonic_ns(), &teams->topology);
	for (size_t i = 0; i < teams->topology.cpus; i++)
		exchange->domain[teams->topology.cpu[i].domain].cpus++;
	cpu = teams->topology.cpu;
	for (size_t d = 0; d < exchange->domains && r == 0; d++) {
		r = team_new(&exchange->team[d], context, cpu, exchange->domain[d].cpus);
		teams->count += r == 0;
		cpu += exchange->domain[d].cpus;
	}
	if (r == 0)
		exchange_open(exchange, true);
	return r;
}

struct job_thread *teams_stop(struct teams *teams)
{
	struct job_thread *all = NULL;

	if (teams->exchange.domains > 0) {
		exchange_open(&teams->exchange, false);
		for (size_t d = 0; d < teams->count; d++)
			team_stop(teams->exchange.team[d]);
		for (size_t d = 0; d < teams->count; d++)
			all = join(all, team_free(teams->exchange.team[d]));
		exchange_deinit(&teams->exchange);
	}
	teams->count = 0;
	topology_deinit(&teams->topology);
	telemetry_set32(&teams->context.telemetry->threads, 0);
	telemetry_set32(&teams->context.telemetry->idle_threads, 0);
	return all;
}

void teams_add(struct teams *teams, struct job_thread *threads)
{
	struct exchange *exchange = &teams->exchange;

	while (threads != NULL) {
		struct job_thread *thread = threads;
		threads = thread->next;
		thread->next = NULL;
		team_add(exchange->team[thread->assigned ? exchange_assign(exchange) : 0], thread);
	}
}

struct job_thread *teams_take_ended(struct teams *teams)
{
	struct job_thread *all = NULL;

	for (size_t d = 0; d < teams->count; d++)
		all = join(all, team_take_ended(teams->exchange.team[d]));
	return all;
}
