// SPDX-License-Identifier: MIT
/* Speeds of CPUs: of recorded machines, of damaged ones, and of the option. */
#undef NDEBUG
#include "daemon/topology/speed.h"

#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "daemon/topology/topology.h"
#include "tests/unit/recorded.h"

#define CPUS 24
#define CPU_FILE "sys/devices/system/cpu/cpu%d/%s"

struct machine {
	char root[sizeof RECORDED_ROOT];
	struct topology topology;
	double speed[CPUS]; /* by CPU number */
	int32_t core[CPUS];
	bool differ; /* as is told without hwloc */
};

static void unpack(struct machine *m, const char *name)
{
	char fixture[64];

	*m = (struct machine){.root = RECORDED_ROOT};
	snprintf(fixture, sizeof fixture, "topology/%s", name);
	recorded_unpack(fixture, m->root);
}

/* Look at some CPUs of the machine. */
static void look(struct machine *m, const char *cpus, struct topology_setup setup)
{
	char sysfs[64];
	struct cpuset mask;

	topology_deinit(&m->topology);
	snprintf(sysfs, sizeof sysfs, "%s/sys", m->root);
	setup.sysfs = sysfs;
	assert_int_equal(cpuset_parse(cpus, &mask), 0);
	setenv("HWLOC_FSROOT", m->root, 1);
	setenv("HWLOC_COMPONENTS", "linux,stop", 1); /* not the cpuid of this machine */
	assert_int_equal(topology_init(&m->topology, &mask, &setup), 0);
	unsetenv("HWLOC_FSROOT");
	unsetenv("HWLOC_COMPONENTS");
	assert_int_equal(m->topology.cpus, cpuset_count(&mask));
	m->differ = topology_speeds_differ(&mask, &setup);
	for (int i = 0; i < CPUS; i++)
		m->speed[i] = m->core[i] = -1;
	for (size_t i = 0; i < m->topology.cpus; i++) {
		const struct topology_cpu *cpu = &m->topology.cpu[i];
		m->speed[cpu->os_cpu] = cpu->speed;
		m->core[cpu->os_cpu] = cpu->core;
	}
}

static void deinit(struct machine *m)
{
	topology_deinit(&m->topology);
	recorded_remove(m->root);
}

static void assert_speeds(const struct machine *m, const char *cpus, double speed)
{
	struct cpuset mask;

	assert_int_equal(cpuset_parse(cpus, &mask), 0);
	for (int i = 0; i < CPUS; i++)
		if (cpuset_has(&mask, i))
			assert_float_equal(m->speed[i], speed, 1e-9);
}

static void assert_from(const struct machine *m, const char *from)
{
	assert_string_equal(m->topology.speeds_from, from);
	assert_true(strlen(from) <= 15); /* telemetry */
}

/* Replace the text of a CPU's file; NULL: remove it. */
static void change(const struct machine *m, int os_cpu, const char *name, const char *text)
{
	char file[100], path[200];

	snprintf(file, sizeof file, CPU_FILE, os_cpu, name);
	snprintf(path, sizeof path, "%s/%s", m->root, file);
	(void)unlink(path);
	if (text != NULL)
		recorded_append(m->root, file, text);
}

/* ---- Recorded machines ---- */

static void test_intel(void **state)
{
	struct machine m;
	(void)state;

	unpack(&m, "intel-hybrid");
	look(&m, "0-15", (struct topology_setup){0});
	assert_from(&m, "CPU kinds");
	assert_true(m.differ);
	assert_speeds(&m, "0-7", 1); /* the favoured core, too */
	assert_speeds(&m, "8-15", 15 / 27.0);
	for (int i = 0; i < 8; i++)
		assert_int_equal(m.core[i], i / 2);
	for (int i = 8; i < 16; i++)
		assert_int_equal(m.core[i], i - 4);
	/* Cores of one kind; the fastest of them has 1. */
	look(&m, "8-11,14", (struct topology_setup){0});
	assert_from(&m, "equal");
	assert_speeds(&m, "8-11,14", 1);
	look(&m, "7,8", (struct topology_setup){.domains = TOPOLOGY_LLC});
	assert_int_equal(m.topology.domains, 1);
	assert_speeds(&m, "8", 15 / 27.0);
	deinit(&m);
}

static void test_big_little(void **state)
{
	struct machine m;
	(void)state;

	unpack(&m, "arm-big-little");
	look(&m, "0-5", (struct topology_setup){.domains = TOPOLOGY_LLC});
	assert_from(&m, "cpu_capacity");
	assert_true(m.differ);
	assert_speeds(&m, "0-3", 446 / 1024.0);
	assert_speeds(&m, "4-5", 1);
	assert_int_equal(m.topology.domains, 2);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(m.core[i], i);
		assert_int_equal(m.topology.cpu[i].domain, i / 4);
	}
	deinit(&m);
}

static void test_gb10(void **state)
{
	struct machine m;
	(void)state;

	unpack(&m, "gb10");
	look(&m, "0-19", (struct topology_setup){.domains = TOPOLOGY_LLC});
	assert_from(&m, "cpu_capacity");
	assert_speeds(&m, "0-4", 718 / 1024.0);
	assert_speeds(&m, "5-9", 997 / 1024.0);
	assert_speeds(&m, "10-14", 731 / 1024.0);
	assert_speeds(&m, "19", 1);
	assert_int_equal(m.topology.domains, 2);
	/* The large ones alone are equal but for a few per cent. */
	look(&m, "5-9,15-19", (struct topology_setup){0});
	assert_from(&m, "equal");
	assert_false(m.differ);
	assert_speeds(&m, "5-9,15-19", 1);
	deinit(&m);
}

/* Rankings differ by 15 %, and so do the frequencies and hwloc's kinds that come from them. */
static void test_epyc(void **state)
{
	struct machine m;
	(void)state;

	unpack(&m, "epyc");
	look(&m, "0-15", (struct topology_setup){.domains = TOPOLOGY_LLC});
	assert_false(m.differ);
	assert_from(&m, "equal");
	assert_speeds(&m, "0-15", 1);
	assert_int_equal(m.topology.domains, 4);
	for (int i = 0; i < 8; i++)
		assert_int_equal(m.core[i], m.core[i + 8]);
	for (int i = 0; i < 16; i++)
		assert_int_equal(m.topology.cpu[i].domain, i / 4);
	look(&m, "0-15", (struct topology_setup){0});
	assert_int_equal(m.topology.domains, 1);
	for (int i = 0; i < 16; i++)
		assert_int_equal(m.topology.cpu[i].cache, i % 8 / 2);
	deinit(&m);
}

/* ---- Damage ---- */

static void test_missing(void **state)
{
	struct machine m;
	(void)state;

	unpack(&m, "intel-hybrid");
	change(&m, 3, "acpi_cppc/nominal_perf", NULL); /* its sibling has it */
	look(&m, "0-15", (struct topology_setup){0});
	assert_speeds(&m, "0-7", 1);
	assert_speeds(&m, "8-15", 15 / 27.0);
	change(&m, 12, "acpi_cppc/nominal_perf", NULL);
	look(&m, "0-15", (struct topology_setup){0});
	assert_from(&m, "CPU kinds");
	assert_speeds(&m, "8-15", 34 / (0.75 * 45 + 0.25 * 47)); /* by frequency */
	look(&m, "0-11", (struct topology_setup){0});
	assert_speeds(&m, "8-11", 15 / 27.0);
	change(&m, 2, "cpufreq/cpuinfo_max_freq", NULL);
	look(&m, "0-15", (struct topology_setup){0});
	assert_from(&m, "equal");
	assert_speeds(&m, "0-15", 1);
	deinit(&m);

	unpack(&m, "arm-big-little");
	change(&m, 1, "cpu_capacity", NULL);
	look(&m, "0-5", (struct topology_setup){0});
	assert_from(&m, "CPU kinds");
	assert_speeds(&m, "0-3", 1416 / 1800.0);
	deinit(&m);
}

static void test_no_sysfs(void **state)
{
	struct topology topology;
	struct cpuset mask;
	(void)state;

	assert_int_equal(cpuset_of_thread(0, &mask), 0);
	assert_int_equal(
		topology_init(&topology, &mask, &(struct topology_setup){.sysfs = "/nonexistent"}),
		0);
	assert_string_equal(topology.speeds_from, "equal");
	for (size_t i = 0; i < topology.cpus; i++)
		assert_true(topology.cpu[i].speed == 1);
	topology_deinit(&topology);
}

static void test_parse(void **state)
{
	double out = 7;
	(void)state;

	assert_int_equal(speed_parse("446", 3, &out), 0);
	assert_true(out == 446);
	assert_int_equal(speed_parse("1024\n", 5, &out), 0);
	assert_true(out == 1024);
	assert_int_equal(speed_parse("12345", 2, &out), 0);
	assert_true(out == 12);
	assert_int_equal(speed_parse("1000000000000\n", 14, &out), 0);
	assert_true(out == 1e12);
	out = 7;
	assert_int_equal(speed_parse("1000000000001\n", 14, &out), -EBADMSG);
	assert_int_equal(speed_parse("", 0, &out), -EBADMSG);
	assert_int_equal(speed_parse("1\n\n", 3, &out), -EBADMSG);
	assert_int_equal(speed_parse("1\0\n", 3, &out), -EBADMSG);
	assert_int_equal(speed_parse(" 1\n", 3, &out), -EBADMSG);
	assert_true(out == 7);
}

/* ---- Kinds, CPPC and frequencies, without hwloc ---- */

/* What sources say of four CPUs of these kinds; *speed is of CPU 0 with CPU 3 as 1. */
static const char *ask(struct machine *m, const int32_t kind[4], bool ranked, double *speed)
{
	struct speed_cpu cpu[4];
	double found[4];
	char path[100];

	snprintf(path, sizeof path, "%s/sys/devices/system/cpu", m->root);
	for (int32_t i = 0; i < 4; i++)
		cpu[i] = (struct speed_cpu){.os_cpu = i, .core = i, .kind = kind[i]};
	struct speed_query query = {
		.cpu = cpu, .cpus = 4, .folder = open(path, O_PATH), .ranked = ranked};
	const char *from = speeds_read(&query, found);
	if (query.folder >= 0)
		close(query.folder);
	*speed = found[0] / found[3];
	return from;
}

static void write_all(const struct machine *m, const char *name, const char *const text[4])
{
	for (int i = 0; i < 4; i++)
		change(m, i, name, text[i]);
}

/* What a file says that is no speed doesn't count, and other sources do. */
static void test_damaged(void **state)
{
	static const char *const bad[] = {"", "\n", "0\n", "-446\n", "446.5\n", "446 447\n",
		"0x446\n", "many\n", "99999999999999999999\n", "1\n" /* a thousandth of others */,
		"44644644644644644644644644644644644644644644\n"};
	static const int32_t two[4] = {0, 0, 1, 1};
	struct machine m = {.root = RECORDED_ROOT};
	double speed;
	(void)state;

	assert_non_null(mkdtemp(m.root));
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		write_all(&m, "cpu_capacity", (const char *const[]){bad[i], "446", "1024", "1024"});
		write_all(&m, "cpufreq/cpuinfo_max_freq",
			(const char *const[]){"1500000", "1500000", "1800000", "1800000"});
		assert_string_equal(ask(&m, two, true, &speed), "CPU kinds");
		assert_float_equal(speed, 15 / 18.0, 1e-9);
		change(&m, 1, "cpufreq/cpuinfo_max_freq", bad[i]);
		if (strcmp(bad[i], "1\n") == 0)
			continue;
		assert_string_equal(ask(&m, two, true, &speed), "equal");
		assert_true(speed == 1);
	}
	recorded_remove(m.root);
}

static void test_sources(void **state)
{
	static const int32_t none[4] = {-1, -1, -1, -1}, two[4] = {0, 0, 1, 1},
			     part[4] = {0, -1, 1, 1}, many[4] = {0, 1, 99, 99};
	struct machine m = {.root = RECORDED_ROOT};
	double speed;
	(void)state;

	assert_non_null(mkdtemp(m.root));
	assert_string_equal(ask(&m, two, true, &speed), "equal");
	assert_true(speed == 1);
	write_all(&m, "cpufreq/cpuinfo_max_freq",
		(const char *const[]){"2900000", "3100000", "5000000", "5000000"});
	assert_string_equal(ask(&m, two, true, &speed), "CPU kinds");
	assert_float_equal(speed, 0.6, 1e-9);
	assert_string_equal(ask(&m, none, false, &speed), "frequency");
	assert_float_equal(speed, 0.58, 1e-9);
	assert_string_equal(ask(&m, part, true, &speed), "frequency");
	assert_string_equal(ask(&m, many, true, &speed), "frequency");
	/* CPPC is better. */
	write_all(&m, "acpi_cppc/nominal_perf", (const char *const[]){"14", "16", "30", "30"});
	assert_string_equal(ask(&m, none, false, &speed), "CPPC");
	assert_float_equal(speed, 14 / 30.0, 1e-9);
	assert_string_equal(ask(&m, two, true, &speed), "CPU kinds");
	assert_float_equal(speed, 0.5, 1e-9);
	/* But not when it calls the faster kind the slower one. */
	write_all(&m, "acpi_cppc/nominal_perf", (const char *const[]){"30", "30", "15", "15"});
	assert_string_equal(ask(&m, two, true, &speed), "CPU kinds");
	assert_float_equal(speed, 0.6, 1e-9);
	assert_string_equal(ask(&m, two, false, &speed), "CPU kinds");
	assert_float_equal(speed, 2, 1e-9);
	write_all(&m, "cpufreq/cpuinfo_max_freq", (const char *const[]){"9", "9", "8", "8"});
	assert_string_equal(ask(&m, two, true, &speed), "equal");
	assert_true(speed == 1);
	/* Where it knows that all are equal, frequencies don't matter. */
	write_all(&m, "acpi_cppc/nominal_perf", (const char *const[]){"30", "30", "30", "30"});
	assert_string_equal(ask(&m, none, false, &speed), "equal");
	/* Nor do capacities if all are equal. */
	write_all(&m, "acpi_cppc/nominal_perf", (const char *const[]){"20", "20", "30", "30"});
	write_all(&m, "cpu_capacity", (const char *const[]){"1024", "1024", "1024", "1024"});
	assert_string_equal(ask(&m, none, false, &speed), "CPPC");
	write_all(&m, "cpu_capacity", (const char *const[]){"512", "512", "1024", "1024"});
	assert_string_equal(ask(&m, two, true, &speed), "cpu_capacity");
	/* Less than five per cent is nothing. */
	write_all(&m, "cpu_capacity", (const char *const[]){"96", "98", "100", "100"});
	assert_string_equal(ask(&m, two, true, &speed), "equal");
	assert_true(speed == 1);
	recorded_remove(m.root);
}

/* ---- The option ---- */

static void test_option(void **state)
{
	static const double given[] = {2, 1, 0.5, 2, 2, 2};
	struct machine m;
	struct cpuset mask;
	(void)state;

	assert_int_equal(cpuset_parse("0,2-5,7", &mask), 0);
	struct topology_setup setup = {.speed = given, .speed_cpus = &mask};
	unpack(&m, "intel-hybrid");
	look(&m, "0,2-5,7", setup);
	assert_from(&m, "option");
	assert_speeds(&m, "0,4-5,7", 1);
	assert_speeds(&m, "2", 0.5);
	assert_speeds(&m, "3", 0.25);
	/* CPUs went offline: the others keep theirs. */
	look(&m, "2-3", setup);
	assert_speeds(&m, "2", 1);
	assert_speeds(&m, "3", 0.5);
	look(&m, "3-15", setup);
	assert_speeds(&m, "3", 0.25);
	assert_speeds(&m, "4-15", 1); /* those without a number, too */
	/* That all are equal is worth saying. */
	setup.speed = (const double[]){3, 3, 3, 3, 3, 3};
	look(&m, "0,2-5,7", setup);
	assert_from(&m, "option");
	assert_speeds(&m, "0,2-5,7", 1);
	/* The user may say what no file may. */
	setup.speed = (const double[]){100, 1, 1, 1, 1, 1};
	look(&m, "0,2-5,7", setup);
	assert_from(&m, "option");
	assert_speeds(&m, "2-5,7", 0.01);
	deinit(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intel),
		cmocka_unit_test(test_big_little),
		cmocka_unit_test(test_gb10),
		cmocka_unit_test(test_epyc),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_no_sysfs),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
