/* SPDX-License-Identifier: MIT */
#include "daemon/topology/topology.h"

#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/topology/speed.h"

/* What marks a domain before domains are numbered: a NUMA node's number, the lowest CPU of a cache,
 * NODES + a node's number for CPUs without such a cache, or UNKNOWN. */
#define NODES CPUSET_CPUS_MAX
#define UNKNOWN INT32_MAX
/* What marks a core: hwloc's number of it, or CORES + the CPU's number. */
#define CORES CPUSET_CPUS_MAX
#define PAUSES 10
#define PAUSE_NS 10000000

const char *const topology_domains_names[] = {
	[TOPOLOGY_SPLIT] = "split",
	[TOPOLOGY_LLC] = "llc",
	[TOPOLOGY_JOINT] = "joint",
	NULL,
};

/* What hwloc knows. */
struct machine {
	hwloc_topology_t hwloc; /* NULL: nothing */
	/* By the number of the CPU, since hwloc would look through all of them each time. NULL: not known. */
	hwloc_obj_t *pu;
	unsigned pus; /* entries */
};

static hwloc_obj_t pu_of(const struct machine *machine, int os_cpu)
{
	return (unsigned)os_cpu < machine->pus ? machine->pu[os_cpu] : NULL;
}

/* The first NUMA node of a CPU. Memory-only nodes beside it don't matter. */
static int32_t node_of(const struct machine *machine, int os_cpu)
{
	hwloc_obj_t pu = pu_of(machine, os_cpu);

	if (pu == NULL || pu->nodeset == NULL)
		return UNKNOWN;
	int node = hwloc_bitmap_first(pu->nodeset);
	return node < 0 ? UNKNOWN : node;
}

/* L3, or L2 on machines, or for cores, that have no L3. */
static int32_t last_cache_of(const struct machine *machine, int os_cpu)
{
	int32_t found = UNKNOWN;

	for (hwloc_obj_t at = pu_of(machine, os_cpu); at != NULL; at = at->parent)
		if (hwloc_obj_type_is_dcache(at->type) && at->attr->cache.depth > 1)
			found = hwloc_bitmap_first(at->cpuset);
	if (found != UNKNOWN)
		return found;
	int32_t node = node_of(machine, os_cpu);
	return node == UNKNOWN ? UNKNOWN : NODES + node;
}

static int32_t domain_of(const struct machine *machine, int os_cpu, enum topology_domains domains)
{
	if (machine->hwloc == NULL || domains == TOPOLOGY_JOINT)
		return 0;
	return domains == TOPOLOGY_LLC ? last_cache_of(machine, os_cpu) : node_of(machine, os_cpu);
}

static int32_t core_of(const struct machine *machine, int os_cpu)
{
	hwloc_obj_t core = pu_of(machine, os_cpu);

	while (core != NULL && core->type != HWLOC_OBJ_CORE)
		core = core->parent;
	return core != NULL && core->logical_index < CORES ? (int32_t)core->logical_index
							   : CORES + os_cpu;
}

static int by_domain(const void *a, const void *b)
{
	const struct topology_cpu *x = a, *y = b;

	if (x->domain != y->domain)
		return x->domain < y->domain ? -1 : 1;
	return (x->os_cpu > y->os_cpu) - (x->os_cpu < y->os_cpu);
}

/* The marks of domains may have gaps; domains have none. */
static void number_domains(struct topology *topology)
{
	int32_t mark = -1, domain = -1;

	qsort(topology->cpu, topology->cpus, sizeof *topology->cpu, by_domain);
	for (size_t i = 0; i < topology->cpus; i++) {
		if (domain < 0 || topology->cpu[i].domain != mark) {
			mark = topology->cpu[i].domain;
			domain++;
		}
		topology->cpu[i].domain = domain;
	}
	topology->domains = (size_t)domain + 1;
}

static int by_value(const void *a, const void *b)
{
	const int32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sort marks and leave each once. Returns how many there are. */
static size_t sort_once(int32_t *mark, size_t count)
{
	size_t kept = 0;

	qsort(mark, count, sizeof *mark, by_value);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || mark[kept - 1] != mark[i])
			mark[kept++] = mark[i];
	return kept;
}

static int32_t place_of(int32_t value, const int32_t *mark, size_t count)
{
	return (int32_t)((const int32_t *)bsearch(&value, mark, count, sizeof value, by_value) -
			 mark);
}

/* Nor have cores and caches. Returns 0 or -ENOMEM. */
static int number_parts(struct topology *topology)
{
	size_t cpus = topology->cpus;
	int32_t *core = malloc(cpus * sizeof *core), *cache = malloc(cpus * sizeof *cache);
	int r = core == NULL || cache == NULL ? -ENOMEM : 0;

	if (r == 0) {
		for (size_t i = 0; i < cpus; i++) {
			core[i] = topology->cpu[i].core;
			cache[i] = topology->cpu[i].cache;
		}
		size_t cores = sort_once(core, cpus), caches = sort_once(cache, cpus);
		for (size_t i = 0; i < cpus; i++) {
			struct topology_cpu *cpu = &topology->cpu[i];
			cpu->core = place_of(cpu->core, core, cores);
			cpu->cache = place_of(cpu->cache, cache, caches);
		}
	}
	free(core);
	free(cache);
	return r;
}

/* Forget all. Accepts a zeroed object. */
static void unload(struct machine *machine)
{
	if (machine->hwloc != NULL)
		hwloc_topology_destroy(machine->hwloc);
	free(machine->pu);
	*machine = (struct machine){0};
}

/* Ask hwloc. Call unload() afterwards. */
static void load(struct machine *machine)
{
	hwloc_obj_t pu = NULL;

	*machine = (struct machine){0};
	/* Without plugins: they look at I/O devices, and loading them takes as long as all the
	 * rest. */
	(void)setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 0);
	if (hwloc_topology_init(&machine->hwloc) < 0) {
		machine->hwloc = NULL;
		return;
	}
	/* Of no use here, and several files to read for each CPU. */
	(void)hwloc_topology_set_type_filter(
		machine->hwloc, HWLOC_OBJ_L1CACHE, HWLOC_TYPE_FILTER_KEEP_NONE);
#if HWLOC_API_VERSION >= 0x00020500
	/* Otherwise hwloc binds this thread to each CPU in turn, where it waits behind busy
	 * threads, sometimes for seconds. We don't need what it learns there. */
	(void)hwloc_topology_set_flags(machine->hwloc, HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING);
#endif
	if (hwloc_topology_load(machine->hwloc) == 0) {
		hwloc_const_bitmap_t all = hwloc_topology_get_topology_cpuset(machine->hwloc);
		machine->pus = 1 + (unsigned)hwloc_bitmap_last(all);
		machine->pu = calloc(machine->pus, sizeof *machine->pu);
	}
	if (machine->pu == NULL) {
		unload(machine);
		return;
	}
	while ((pu = hwloc_get_next_obj_by_type(machine->hwloc, HWLOC_OBJ_PU, pu)) != NULL)
		if (pu->os_index < machine->pus)
			machine->pu[pu->os_index] = pu;
}

static bool knows_all(const struct machine *machine, const struct cpuset *cpus)
{
	for (int os_cpu = 0; os_cpu < CPUSET_CPUS_MAX; os_cpu++)
		if (cpuset_has(cpus, os_cpu) && node_of(machine, os_cpu) == UNKNOWN)
			return false;
	return true;
}

/* A CPU that comes online is in affinity masks a moment before sysfs, where hwloc looks, has it. */
static void load_with(struct machine *machine, const struct cpuset *cpus)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	load(machine);
	for (int i = 0; i < PAUSES && machine->hwloc != NULL && !knows_all(machine, cpus); i++) {
		unload(machine);
		nanosleep(&pause, NULL);
		load(machine);
	}
}

/* Tell what hwloc knows of kinds of CPUs: cpu[].kind and query->ranked. */
static void find_kinds(hwloc_topology_t machine, struct speed_query *query, struct speed_cpu *cpu)
{
	for (size_t i = 0; i < query->cpus; i++)
		cpu[i].kind = -1;
#if HWLOC_API_VERSION >= 0x00020400
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	int kinds = machine != NULL && set != NULL ? hwloc_cpukinds_get_nr(machine, 0) : 0;

	query->ranked = kinds > 0;
	for (int k = 0; k < kinds; k++) {
		int efficiency = -1;
		if (hwloc_cpukinds_get_info(machine, (unsigned)k, set, &efficiency, NULL, NULL, 0) <
			0)
			continue;
		query->ranked = query->ranked && efficiency >= 0;
		for (size_t i = 0; i < query->cpus; i++)
			if (hwloc_bitmap_isset(set, (unsigned)cpu[i].os_cpu))
				cpu[i].kind = k;
	}
	hwloc_bitmap_free(set);
#else
	(void)machine;
#endif
}

static int open_cpus(const char *sysfs)
{
	char path[4096];
	int length = snprintf(
		path, sizeof path, "%s/devices/system/cpu", sysfs != NULL ? sysfs : "/sys");

	if (length < 0 || (size_t)length >= sizeof path)
		return -1;
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Returns 0 or -ENOMEM. */
static int find_speeds(struct topology *topology, const struct machine *machine,
	const struct topology_setup *setup)
{
	struct speed_cpu *cpu = calloc(topology->cpus, sizeof *cpu);
	double *speed = calloc(topology->cpus, sizeof *speed);
	int r = cpu == NULL || speed == NULL ? -ENOMEM : 0;

	if (r == 0) {
		struct speed_query query = {.cpu = cpu,
			.cpus = topology->cpus,
			.folder = open_cpus(setup->sysfs),
			.given = setup->speed,
			.given_cpus = setup->speed_cpus};
		for (size_t i = 0; i < topology->cpus; i++) {
			cpu[i].os_cpu = topology->cpu[i].os_cpu;
			cpu[i].core = topology->cpu[i].core;
		}
		find_kinds(machine->hwloc, &query, cpu);
		topology->speeds_from = speeds_read(&query, speed);
		for (size_t i = 0; i < topology->cpus; i++)
			topology->cpu[i].speed = speed[i];
		if (query.folder >= 0)
			close(query.folder);
	}
	free(speed);
	free(cpu);
	return r;
}

int topology_init(
	struct topology *topology, const struct cpuset *cpus, const struct topology_setup *setup)
{
	int count = cpuset_count(cpus);
	struct machine machine;

	*topology = (struct topology){.speeds_from = "equal"};
	if (count == 0)
		return -EINVAL;
	topology->cpu = calloc((size_t)count, sizeof *topology->cpu);
	if (topology->cpu == NULL)
		return -ENOMEM;
	/* Without an answer of hwloc, all CPUs are one domain, and balancing goes on. */
	load_with(&machine, cpus);
	for (int os_cpu = 0; os_cpu < CPUSET_CPUS_MAX; os_cpu++)
		if (cpuset_has(cpus, os_cpu))
			topology->cpu[topology->cpus++] = (struct topology_cpu){.os_cpu = os_cpu,
				.domain = domain_of(&machine, os_cpu, setup->domains),
				.core = core_of(&machine, os_cpu),
				.cache = machine.hwloc != NULL ? last_cache_of(&machine, os_cpu)
							       : 0};
	number_domains(topology);
	int r = number_parts(topology);
	if (r == 0)
		r = find_speeds(topology, &machine, setup);
	unload(&machine);
	if (r < 0)
		topology_deinit(topology);
	return r;
}

bool topology_speeds_differ(const struct cpuset *cpus, const struct topology_setup *setup)
{
	const struct machine unknown = {0};
	struct topology topology = {
		.cpu = calloc((size_t)cpuset_count(cpus) + 1, sizeof *topology.cpu)};

	for (int os_cpu = 0; os_cpu < CPUSET_CPUS_MAX && topology.cpu != NULL; os_cpu++)
		if (cpuset_has(cpus, os_cpu))
			topology.cpu[topology.cpus++] =
				(struct topology_cpu){.os_cpu = os_cpu, .core = os_cpu};
	bool differ = topology.cpus > 0 && find_speeds(&topology, &unknown, setup) == 0 &&
		      strcmp(topology.speeds_from, "equal") != 0;
	topology_deinit(&topology);
	return differ;
}

void topology_deinit(struct topology *topology)
{
	free(topology->cpu);
	*topology = (struct topology){0};
}
