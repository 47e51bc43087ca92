# SPDX-License-Identifier: MIT
"""What libphases sees of OpenMP, by either runtime."""

import os
import subprocess

import pytest

import helpers
import phases_table
import traces
from phases_programs import CONSTRUCTS, TASKS, openmp
from phases_table import Table, run

pytestmark = pytest.mark.unsanitized


@pytest.fixture
def two():
    """The first two CPUs that may be used, as an argument of --cpus."""
    cpus = helpers.cpus()[:2]
    if len(cpus) < 2:
        pytest.skip("needs two CPUs")
    return ",".join(map(str, cpus))


@pytest.fixture
def table():
    with Table() as made:
        yield made


OPENMP = r"""
#include <omp.h>
#include <stdio.h>
#include <time.h>

static void compute(double ms)
{
	struct timespec start, now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - start.tv_sec) * 1e3 + (now.tv_nsec - start.tv_nsec) / 1e6 < ms);
}

int main(void)
{
	for (int i = 0; i < 20; i++) {
		#pragma omp parallel num_threads(2)
		{
			compute(omp_get_thread_num() ? 1 : 5);
			#pragma omp barrier
			compute(omp_get_thread_num() ? 1 : 5);
		}
	}
	puts("done");
	return 0;
}
"""


def check_openmp(table, source):
    assert table.sources == source
    busy, other = table.rows()
    # Useful time is a guess where a thread was preempted, perhaps too small for a phase.
    assert busy.arrivals in (39, 40) and other.arrivals in (39, 40)
    assert busy.useful_ns == pytest.approx(200e6, rel=0.15)
    assert other.useful_ns == pytest.approx(40e6, rel=0.5)
    assert other.waited_ns > busy.waited_ns
    assert all(not row.flags & phases_table.TASKS for row in (busy, other))
    assert table.site_names() == {"barrier in program", "parallel region in program"}
    assert len(table.sites()) == 2


@pytest.mark.parametrize("waiting", ["active", "passive"])
def test_gcc(table, tmp_path, waiting):
    run(table, [openmp(tmp_path, "gcc", OPENMP)], env={"OMP_WAIT_POLICY": waiting})
    check_openmp(table, phases_table.GOMP)


@pytest.mark.parametrize("how", ["preloaded", "as a tool", "both"])
def test_clang(table, tmp_path, how):
    env = {}
    if how != "preloaded":
        env["OMP_TOOL_LIBRARIES"] = phases_table.library()
    if how == "as a tool":
        env["LD_PRELOAD"] = ""
    run(table, [openmp(tmp_path, "clang", OPENMP)], env=env)
    check_openmp(table, phases_table.OMPT)


def llvms_runtime(tmp_path):
    """The path of libomp.so."""
    program = openmp(tmp_path, "clang", OPENMP)
    for line in helpers.run(["ldd", program]).stdout.splitlines():
        if "libomp" in line or "libiomp" in line:
            return line.split()[2]
    return pytest.skip("clang uses another runtime")


def test_gcc_with_the_runtime_of_llvm(table, tmp_path):
    """It has gcc's functions as well: each barrier counts once."""
    runtime = llvms_runtime(tmp_path)
    run(table, [openmp(tmp_path, "gcc", OPENMP)], env={"LD_PRELOAD": phases_table.library() + ":" + runtime})
    check_openmp(table, phases_table.OMPT)


TOOL = r"""
#include <stdio.h>
static int begin(void *lookup, int device, void *data)
{
	puts("the other tool");
	return 0;
}
static void end(void *data)
{
}
static struct {
	int (*begin)(void *, int, void *);
	void (*end)(void *);
	void *data;
} result = {begin, end, NULL};
void *ompt_start_tool(unsigned version, const char *runtime)
{
	return &result;
}
"""


@pytest.mark.parametrize("how", ["OMP_TOOL_LIBRARIES", "LD_PRELOAD"])
def test_another_tool_goes_first(table, tmp_path, how):
    program = openmp(tmp_path, "clang", OPENMP)
    (tmp_path / "tool").mkdir()
    tool = helpers.compile_c(tmp_path / "tool", TOOL, "-shared", "-fPIC")
    tools = "%s:%s" % (phases_table.library(), tool) if how == "LD_PRELOAD" else str(tool)
    done = run(table, [program], env={how: tools})
    assert done.stdout == "the other tool\ndone\n"
    assert table.rows_used == 0


ONLY_REGION = r"""
#include <omp.h>
#include <stdio.h>

int main(void)
{
	#pragma omp parallel num_threads(2)
	{
		#pragma omp critical
		if (printf("ready\n") > 0 && fflush(stdout) == 0)
			getchar();
	}
	puts("done");
	fflush(stdout);
	getchar();
	return 0;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_only_region(table, tmp_path, background, compiler):
    """It is under way before any thread has waited at its end."""
    program = background([openmp(tmp_path, compiler, ONLY_REGION)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         env={**os.environ, **table.environment})
    assert program.stdout.readline() == "ready\n"
    helpers.wait_for(lambda: len(table.rows()) == 2 and all(row.since_ns > 0 for row in table.rows()),
                     "both threads have begun", program)
    assert [row.arrivals for row in table.rows()] == [0, 0]
    program.stdin.write("\n\n")
    program.stdin.flush()
    assert [program.stdout.readline() for _ in range(2)] == ["ready\n", "done\n"]
    assert [row.arrivals for row in table.rows()] == [1, 1]
    program.stdin.close()
    assert program.wait(helpers.TIMEOUT_S) == 0


HELD_REGION = r"""
#include <omp.h>
#include <poll.h>

int main(void)
{
	volatile int end = 0;
	#pragma omp parallel num_threads(3)
	while (!end) {
		for (volatile int i = 0; i < 1000000; i++)
			;
		if (omp_get_thread_num() == 0)
			end = poll(&(struct pollfd){.fd = 0, .events = POLLIN}, 1, 0);
	}
	return 0;
}
"""


@pytest.mark.told
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_period_of_the_only_region(juggle, two, background, tmp_path, compiler):
    """It is known to be long before it ends: points become rarer. Ticks don't cease, as threads might spin in waits of
    their own."""
    process = background([juggle, "-q", "-c", two, "--trace", tmp_path / "trace",
                          openmp(tmp_path, compiler, HELD_REGION)], stdin=subprocess.PIPE)
    helpers.wait_for(lambda: any(point["period_ns"] > 12_000_000 and point["ticks"]
                                 for point in traces.growing(tmp_path / "trace", "points")
                                 if point["regime"] == "balance"),
                     "a period for long phases", process, interval_s=0.05)
    process.stdin.close()
    assert process.wait(helpers.TIMEOUT_S) == 0


FLEETING = r"""
#include <omp.h>
#include <stdio.h>

int main(void)
{
	#pragma omp parallel
	{
		for (int i = 0; i < 100; i++) {
			#pragma omp barrier
		}
		#pragma omp master
		{
			puts("ready");
			fflush(stdout);
			getchar();
		}
		for (int i = 0; i < 20000; i++) {
			#pragma omp barrier
		}
		#pragma omp master
		{
			puts("done");
			fflush(stdout);
			getchar();
		}
	}
	return 0;
}
"""


@pytest.mark.parametrize("rests", [False, True], ids=["told", "resting"])
@pytest.mark.parametrize("compiler, threads", [("gcc", 1), ("gcc", 2), ("clang", 2)])
def test_fleeting(table, tmp_path, background, compiler, threads, rests):
    """Barriers of less than a microsecond count, whether all are told or some stand for all."""
    table.let_rest(rows=threads)  # of earlier threads
    program = background([openmp(tmp_path, compiler, FLEETING)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         env={**os.environ, **table.environment, "OMP_NUM_THREADS": str(threads)})
    assert program.stdout.readline() == "ready\n"
    if rests:
        table.let_rest(rows=threads)
    program.stdin.write("\n")
    program.stdin.flush()
    assert program.stdout.readline() == "done\n"
    for row in table.rows():
        # The last few that were not told are missing yet.
        assert 20080 <= row.arrivals <= 20102
        if not rests:
            assert row.waits >= row.arrivals - 1
        elif threads == 1:  # of more, one may wait for long for another that has no CPU
            assert row.waits < row.arrivals / 2
    program.stdin.close()
    assert program.wait(helpers.TIMEOUT_S) == 0


REGIONS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

static unsigned told[3]; /* regions that libphases has called */

static void note_caller(const void *address)
{
	Dl_info info;
	if (dladdr(address, &info) && strstr(info.dli_fname, "libphases"))
		told[omp_get_thread_num()]++;
}

static void work(void)
{
	for (double end = omp_get_wtime() + 30e-6; omp_get_wtime() < end;)
		continue;
}

static void regions(int n)
{
	for (int i = 0; i < n; i++) {
		#pragma omp parallel
		{
			note_caller(__builtin_return_address(0));
			work();
			#pragma omp barrier
			#pragma omp parallel
			work();
		}
		#pragma omp parallel if (n < 0)
		work();
	}
}

static void tell(void)
{
	printf("%u %u %u\n", told[0], told[1], told[2]);
	fflush(stdout);
	getchar();
}

int main(void)
{
	regions(100);
	tell();
	regions(5000);
	tell();
	regions(100);
	tell();
	return 0;
}
"""


@pytest.mark.parametrize("restless", [0, 1], ids=["all rest", "one is restless"])
def test_regions_are_handed_on(table, tmp_path, background, restless):
    """A team that rests runs regions as without the library, and counts them later. Regions within them, or with one
    thread, are none of the team's."""
    program = background([openmp(tmp_path, "gcc", REGIONS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         env={**os.environ, **table.environment, "OMP_NUM_THREADS": "3"})

    def told():
        return [int(word) for word in program.stdout.readline().split()]

    def go_on():
        program.stdin.write("\n")
        program.stdin.flush()

    assert told() == 3 * [100]
    table.let_rest(rows=3 - restless, how=phases_table.RESTS_MORE)
    go_on()
    rested = told()
    assert rested == 3 * [5100] if restless else max(rested) < 5100
    table.let_rest(rows=3, how=0)
    go_on()
    assert told() == [before + 100 for before in rested]
    # Two regions and a barrier; and the region of the thread that begins them.
    arrivals = sorted(row.arrivals / 5200 for row in table.rows())
    assert arrivals == pytest.approx([3, 3, 4], rel=0.01)
    program.stdin.close()
    assert program.wait(helpers.TIMEOUT_S) == 0


LOOPS = r"""
#include <stdio.h>

static void compute(void)
{
	for (volatile int k = 0; k < 2000000; k++)
		;
}

int main(int argc, char **argv)
{
	TYPE many = 30;
	int region = 0;

	do {
		#pragma omp parallel num_threads(3)
		{
			LOOP
		}
	} while (++region < 5 || argc > 1);
	/* They wait at the end of the region. */
	puts("done");
	fflush(stdout);
	return getchar();
}
"""
ALL_LOOPS = {"up": "for (TYPE i = 0; i < many; i++)", "down": "for (TYPE i = many; i > 0; i--)",
             "in steps": "for (TYPE i = 5; i < 7 * many; i += 7)"}
HANDED_OUT = ["schedule(dynamic)", "schedule(dynamic, 2)", "schedule(monotonic : dynamic)", "schedule(guided)",
              "schedule(monotonic : guided)"]
OTHERS = ["", "schedule(static, 1)", "schedule(dynamic, 3)", "schedule(guided, 3)"]  # too few chunks


def loop(schedule, which="up", kind="int"):
    source = LOOPS.replace("LOOP", "#pragma omp for nowait %s\n%s compute();" % (schedule, ALL_LOOPS[which]))
    return source.replace("TYPE", kind)


def marked(table, background, program):
    """Which threads have had their work handed out, while they wait after it."""
    process = background([program], env={**os.environ, **table.environment}, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
    assert process.stdout.readline() == "done\n"
    rows = [row for row in table.rows() if row.arrivals]
    assert len(rows) == 3
    process.stdin.close()
    process.wait(timeout=helpers.TIMEOUT_S)
    return [bool(row.flags & phases_table.DYNAMIC) for row in rows if row.pid != row.tid]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("schedule", HANDED_OUT + OTHERS)
def test_loops_that_hand_out_their_work(table, tmp_path, background, compiler, schedule):
    program = openmp(tmp_path, compiler, loop(schedule))
    assert marked(table, background, program) == 2 * [schedule in HANDED_OUT]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("kind, which", [(kind, which) for kind in ("unsigned", "long", "unsigned long long")
                                         for which in ALL_LOOPS
                                         if (kind, which) != ("unsigned", "down")])  # GCC 12 leaves such a loop out
def test_all_kinds_of_iterations(table, tmp_path, background, compiler, kind, which):
    program = openmp(tmp_path, compiler, loop("schedule(dynamic)", which, kind))
    assert marked(table, background, program) == [True, True]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_loops_that_are_regions(table, tmp_path, background, compiler):
    source = LOOPS.replace("#pragma omp parallel num_threads(3)\n\t\t{\n\t\t\tLOOP\n\t\t}", """
        #pragma omp parallel for num_threads(3) schedule(dynamic)
        for (TYPE i = 0; i < many; i++)
            compute();""").replace("TYPE", "int")
    assert "LOOP" not in source
    assert marked(table, background, openmp(tmp_path, compiler, source)) == [True, True]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("schedule", ["dynamic", "static"])
def test_loops_that_hand_out_their_work_are_left_alone(background, juggle, tmp_path, two, compiler, schedule):
    trace = tmp_path / "trace"
    background([juggle, "-q", "--cpus", two, "--trace", trace,
                openmp(tmp_path, compiler, loop("schedule(%s)" % schedule)), "for ever"])
    alone = " aside loops that hand out their work\n"
    if schedule == "dynamic":  # at the latest when it has the CPUs for itself
        helpers.wait_for(lambda: alone in trace.read_text(), "it is left alone")
    else:
        helpers.wait_for(lambda: trace.read_text().count(" arrivals=") > 500, "it is known")
        assert alone not in trace.read_text()


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("tasks", [False, True], ids=["without tasks", "with tasks"])
def test_all_constructs(table, tmp_path, compiler, tasks):
    """Each gives what it gives without the library; and tasks are noticed."""
    source = CONSTRUCTS.replace("TASKS", TASKS if tasks else "")
    program = openmp(tmp_path, compiler, source, "-Wno-all")
    env = {"OMP_CANCELLATION": "true", "OMP_NUM_THREADS": "3", "OMP_SCHEDULE": "dynamic,2",
           "OMP_MAX_ACTIVE_LEVELS": "2", "OMP_DYNAMIC": "false"}
    plain = helpers.run([program], env=env)
    assert plain.returncode == 0
    assert run(table, [program], env=env).stdout == plain.stdout
    assert table.rows()
    assert all(bool(row.flags & phases_table.TASKS) == tasks for row in table.rows() if row.tid)
