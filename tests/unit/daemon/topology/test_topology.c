// SPDX-License-Identifier: MIT
/*
 * Domains, on machines that hwloc makes up from HWLOC_SYNTHETIC, so that the number and layout of
 * this machine's CPUs do not matter.
 */
#undef NDEBUG
#include "daemon/topology/topology.h"

#include <errno.h>
#include <hwloc.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct cpuset mask_of(const int *cpus, size_t count)
{
	struct cpuset mask = {{0}};

	for (size_t i = 0; i < count; i++)
		cpuset_add(&mask, cpus[i]);
	return mask;
}

struct place {
	int os_cpu, domain;
};

/* On `machine` (NULL: this one) the CPUs fall into the given domains. */
static void assert_domains(const char *machine, enum topology_domains mode,
	const struct place *expected, size_t count, size_t domains)
{
	struct topology topology;
	struct cpuset mask = {{0}};

	for (size_t i = 0; i < count; i++)
		cpuset_add(&mask, expected[i].os_cpu);
	if (machine != NULL)
		setenv("HWLOC_SYNTHETIC", machine, 1);
	else
		unsetenv("HWLOC_SYNTHETIC");
	memset(&topology, 0xa5, sizeof topology);
	assert_int_equal(
		topology_init(&topology, &mask, &(struct topology_setup){.domains = mode}), 0);
	unsetenv("HWLOC_SYNTHETIC");
	assert_int_equal(topology.cpus, count);
	assert_int_equal(topology.domains, domains);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(topology.cpu[i].os_cpu, expected[i].os_cpu);
		assert_int_equal(topology.cpu[i].domain, expected[i].domain);
	}
	topology_deinit(&topology);
	assert_null(topology.cpu);
	assert_int_equal(topology.cpus, 0);
	topology_deinit(&topology); /* a zeroed one */
}

#define ASSERT_DOMAINS(machine, mode, domains, ...)                                                \
	assert_domains(machine, mode, (const struct place[])__VA_ARGS__,                           \
		sizeof((const struct place[])__VA_ARGS__) / sizeof(struct place), domains)

static void test_split(void **state)
{
	(void)state;
	ASSERT_DOMAINS("node:2 core:4 pu:1", TOPOLOGY_SPLIT, 2,
		{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 1}, {5, 1}, {6, 1}, {7, 1}});
	ASSERT_DOMAINS("node:1 core:2 pu:2", TOPOLOGY_SPLIT, 1, {{0, 0}, {1, 0}, {2, 0}, {3, 0}});
	ASSERT_DOMAINS("package:2 node:2 core:1 pu:2", TOPOLOGY_SPLIT, 4,
		{{0, 0}, {1, 0}, {2, 1}, {3, 1}, {4, 2}, {5, 2}, {6, 3}, {7, 3}});
	/* Nodes inside packages that have no cores of their own are still nodes. */
	ASSERT_DOMAINS("package:2 [numa] core:2 pu:1", TOPOLOGY_SPLIT, 2,
		{{0, 0}, {1, 0}, {2, 1}, {3, 1}});
}

/* With some of the CPUs, domains are numbered in order, without gaps. */
static void test_part_of_a_machine(void **state)
{
	(void)state;
	ASSERT_DOMAINS("node:4 core:2 pu:1", TOPOLOGY_SPLIT, 2, {{2, 0}, {3, 0}, {7, 1}});
	ASSERT_DOMAINS("node:4 core:2 pu:1", TOPOLOGY_SPLIT, 1, {{5, 0}});
	ASSERT_DOMAINS("node:2 core:64 pu:1", TOPOLOGY_SPLIT, 2, {{63, 0}, {64, 1}, {127, 1}});
}

/* CPU numbers that alternate between the nodes, as on many real machines. */
static void test_interleaved(void **state)
{
	(void)state;
	ASSERT_DOMAINS("node:2 core:3 pu:1(indexes=0,2,4,1,3,5)", TOPOLOGY_SPLIT, 2,
		{{0, 0}, {2, 0}, {4, 0}, {1, 1}, {3, 1}, {5, 1}});
}

/* Two memories beside the same CPUs do not make two domains. */
static void test_two_memories(void **state)
{
	(void)state;
	ASSERT_DOMAINS("package:2 [numa] [numa] core:2 pu:1", TOPOLOGY_SPLIT, 2,
		{{0, 0}, {1, 0}, {2, 1}, {3, 1}});
}

static void test_joint(void **state)
{
	(void)state;
	ASSERT_DOMAINS("node:2 core:2 pu:1", TOPOLOGY_JOINT, 1, {{0, 0}, {1, 0}, {2, 0}, {3, 0}});
	ASSERT_DOMAINS(
		"node:2 core:2 pu:1", TOPOLOGY_JOINT, 1, {{1, 0}, {2, 0}, {100, 0}, {8191, 0}});
	ASSERT_DOMAINS(NULL, TOPOLOGY_JOINT, 1, {{0, 0}});
}

static void test_caches(void **state)
{
	(void)state;
	ASSERT_DOMAINS("node:1 l3:2 l2:2 core:1 pu:2", TOPOLOGY_LLC, 2,
		{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 1}, {5, 1}, {6, 1}, {7, 1}});
	ASSERT_DOMAINS(
		"node:2 l3:2 core:1 pu:1", TOPOLOGY_LLC, 4, {{0, 0}, {1, 1}, {2, 2}, {3, 3}});
	ASSERT_DOMAINS(
		"node:1 l2:2 l1:2 core:1 pu:1", TOPOLOGY_LLC, 2, {{0, 0}, {1, 0}, {2, 1}, {3, 1}});
	/* A cache that a machine's halves share is one domain, whatever its memory. */
	ASSERT_DOMAINS(
		"l3:1 node:2 core:2 pu:1", TOPOLOGY_LLC, 1, {{0, 0}, {1, 0}, {2, 0}, {3, 0}});
	/* The first level is each core's own. */
	ASSERT_DOMAINS(
		"node:2 core:2 l1:1 pu:1", TOPOLOGY_LLC, 2, {{0, 0}, {1, 0}, {2, 1}, {3, 1}});
	ASSERT_DOMAINS("node:2 core:1 pu:1", TOPOLOGY_LLC, 3, {{0, 0}, {1, 1}, {100, 2}});
	ASSERT_DOMAINS("l3:2 core:2 pu:1(indexes=0,2,1,3)", TOPOLOGY_LLC, 2,
		{{0, 0}, {2, 0}, {1, 1}, {3, 1}});
	ASSERT_DOMAINS("node:1 l3:8 core:8 pu:1", TOPOLOGY_LLC, 2, {{17, 0}, {18, 0}, {63, 1}});
}

/* The cores of these CPUs, in the order of the topology. */
static void assert_cores(const char *machine, enum topology_domains mode, const int32_t *core,
	const int *cpu, size_t count)
{
	struct topology topology;
	struct cpuset mask = mask_of(cpu, count);

	setenv("HWLOC_SYNTHETIC", machine, 1);
	assert_int_equal(
		topology_init(&topology, &mask, &(struct topology_setup){.domains = mode}), 0);
	unsetenv("HWLOC_SYNTHETIC");
	assert_int_equal(topology.cpus, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(topology.cpu[i].os_cpu, cpu[i]);
		assert_int_equal(topology.cpu[i].core, core[i]);
	}
	topology_deinit(&topology);
}

static void test_cores(void **state)
{
	(void)state;
	for (enum topology_domains mode = 0; topology_domains_names[mode] != NULL; mode++) {
		assert_cores("core:2 pu:2", mode, (int32_t[]){0, 0, 1, 1}, (int[]){0, 1, 2, 3}, 4);
		assert_cores("core:4 pu:2", mode, (int32_t[]){0, 1, 1}, (int[]){3, 6, 7}, 3);
		/* All first threads of cores, and then all second ones. */
		assert_cores("core:2 pu:2(indexes=0,2,1,3)", mode, (int32_t[]){0, 1, 0, 1},
			(int[]){0, 1, 2, 3}, 4);
		assert_cores(
			"core:1 pu:2", mode, (int32_t[]){0, 0, 1, 2}, (int[]){0, 1, 2, 8191}, 4);
	}
	assert_cores("node:2 core:2 pu:2(indexes=0,2,4,6,1,3,5,7)", TOPOLOGY_SPLIT,
		(int32_t[]){0, 0, 1, 2, 2}, (int[]){0, 2, 4, 5, 7}, 5);
}

/* The last-level caches of these CPUs, whatever the domains. */
static void assert_caches(const char *machine, const int32_t *cache, const int *cpu, size_t count)
{
	struct topology topology;
	struct cpuset mask = mask_of(cpu, count);

	for (enum topology_domains mode = 0; topology_domains_names[mode] != NULL; mode++) {
		setenv("HWLOC_SYNTHETIC", machine, 1);
		assert_int_equal(
			topology_init(&topology, &mask, &(struct topology_setup){.domains = mode}),
			0);
		unsetenv("HWLOC_SYNTHETIC");
		assert_int_equal(topology.cpus, count);
		for (size_t i = 0; i < count; i++) {
			assert_int_equal(topology.cpu[i].os_cpu, cpu[i]);
			assert_int_equal(topology.cpu[i].cache, cache[i]);
		}
		topology_deinit(&topology);
	}
}

static void test_cache_of_each(void **state)
{
	(void)state;
	assert_caches(
		"node:1 l3:2 l2:2 core:1 pu:1", (int32_t[]){0, 0, 1, 1}, (int[]){0, 1, 2, 3}, 4);
	assert_caches("node:1 l3:4 core:2 pu:1", (int32_t[]){0, 1, 1}, (int[]){3, 6, 7}, 3);
	/* Where none is known, the CPUs of a node count as behind one; so do CPUs that hwloc does
	 * not know. */
	assert_caches("node:2 core:2 pu:1", (int32_t[]){0, 0, 1, 1}, (int[]){0, 1, 2, 3}, 4);
	assert_caches("node:1 core:2 pu:1", (int32_t[]){0, 0, 1, 1}, (int[]){0, 1, 100, 8191}, 4);
}

/* Of two hardware threads each, which have consecutive numbers. */
static void assert_many(
	const char *machine, enum topology_domains mode, size_t cpus, size_t domains)
{
	struct topology topology;
	struct cpuset mask = {0};

	for (size_t i = 0; i < cpus; i++)
		cpuset_add(&mask, (int)i);
	setenv("HWLOC_SYNTHETIC", machine, 1);
	assert_int_equal(
		topology_init(&topology, &mask, &(struct topology_setup){.domains = mode}), 0);
	unsetenv("HWLOC_SYNTHETIC");
	assert_int_equal(topology.cpus, cpus);
	assert_int_equal(topology.domains, domains);
	for (size_t i = 0; i < cpus; i++) {
		assert_int_equal(topology.cpu[i].os_cpu, i);
		assert_int_equal(topology.cpu[i].domain, i * domains / cpus);
		assert_int_equal(topology.cpu[i].core, i / 2);
	}
	topology_deinit(&topology);
}

/* All that can be, too. */
static void test_many(void **state)
{
	(void)state;
	assert_many("node:8 l3:2 core:8 pu:2", TOPOLOGY_SPLIT, 256, 8);
	assert_many("node:8 l3:2 core:8 pu:2", TOPOLOGY_LLC, 256, 16);
	assert_many("node:8 l3:2 core:8 pu:2", TOPOLOGY_JOINT, 256, 1);
	assert_many("node:64 l3:2 core:32 pu:2", TOPOLOGY_SPLIT, CPUSET_CPUS_MAX, 64);
	assert_many("node:64 l3:2 core:32 pu:2", TOPOLOGY_LLC, CPUSET_CPUS_MAX, 128);
}

/* CPUs that hwloc does not know form the last domain. */
static void test_unknown(void **state)
{
	(void)state;
	ASSERT_DOMAINS("node:2 core:2 pu:1", TOPOLOGY_SPLIT, 3,
		{{0, 0}, {3, 1}, {4, 2}, {1000, 2}, {8191, 2}});
	ASSERT_DOMAINS("node:2 core:2 pu:1", TOPOLOGY_SPLIT, 1, {{4, 0}, {5, 0}});
}

/* A machine that hwloc cannot describe is one domain: balancing goes on. */
static void test_no_answer(void **state)
{
	struct topology topology;
	struct cpuset mask = mask_of((int[]){0, 1}, 2);
	(void)state;

	setenv("HWLOC_XMLFILE", "/nonexistent/machine.xml", 1);
	int r = topology_init(&topology, &mask, &(struct topology_setup){0});
	unsetenv("HWLOC_XMLFILE");
	assert_int_equal(r, 0);
	assert_int_equal(topology.cpus, 2);
	assert_true(topology.domains >= 1 && topology.domains <= 2);
	topology_deinit(&topology);
}

static void test_this_machine(void **state)
{
	struct topology topology;
	struct cpuset mask;
	(void)state;

	unsetenv("HWLOC_SYNTHETIC");
	assert_int_equal(cpuset_of_thread(0, &mask), 0);
	assert_int_equal(topology_init(&topology, &mask, &(struct topology_setup){0}), 0);
	assert_int_equal(topology.cpus, cpuset_count(&mask));
	assert_true(topology.domains >= 1 && topology.domains <= topology.cpus);
	assert_int_equal(topology.cpu[0].domain, 0);
	for (size_t i = 0; i < topology.cpus; i++) {
		assert_true(cpuset_has(&mask, topology.cpu[i].os_cpu));
		if (i == 0)
			continue;
		const struct topology_cpu *cpu = &topology.cpu[i];
		assert_true(cpu->domain == cpu[-1].domain ? cpu->os_cpu > cpu[-1].os_cpu
							  : cpu->domain == cpu[-1].domain + 1);
	}
	assert_int_equal(topology.cpu[topology.cpus - 1].domain, topology.domains - 1);
	topology_deinit(&topology);
}

static void test_empty(void **state)
{
	struct topology topology;
	struct cpuset mask = {{0}};
	(void)state;

	for (enum topology_domains mode = 0; topology_domains_names[mode] != NULL; mode++) {
		memset(&topology, 0xa5, sizeof topology);
		assert_int_equal(
			topology_init(&topology, &mask, &(struct topology_setup){.domains = mode}),
			-EINVAL);
		topology_deinit(&topology); /* accepts a partial one */
	}
}

/* From now on the kernel kills this process at its first sched_setaffinity(). */
static int forbid_binding(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setaffinity, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}

/* If the balancer bound itself to each CPU in turn, it would wait behind what runs on each. */
static void test_no_binding(void **state)
{
	struct cpuset mask;
	int status;
	(void)state;

#if HWLOC_API_VERSION < 0x00020500
	skip(); /* hwloc cannot be configured for it */
#endif
	assert_int_equal(cpuset_of_thread(0, &mask), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct topology topology;
		if (forbid_binding() < 0)
			_exit(77);
		_exit(topology_init(&topology, &mask, &(struct topology_setup){0}) == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("SKIPPED: no seccomp filters here\n");
		skip();
	}
	assert_false(WIFSIGNALED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_part_of_a_machine),
		cmocka_unit_test(test_interleaved),
		cmocka_unit_test(test_two_memories),
		cmocka_unit_test(test_joint),
		cmocka_unit_test(test_caches),
		cmocka_unit_test(test_cores),
		cmocka_unit_test(test_cache_of_each),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_no_answer),
		cmocka_unit_test(test_this_machine),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_no_binding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
