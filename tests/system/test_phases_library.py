# SPDX-License-Identifier: MIT
"""What libphases sees of a program: its barriers, and how long each thread waits there."""

import shutil
import subprocess

import pytest

import helpers
import phases_programs
import phases_table
from phases_table import Table, run

pytestmark = pytest.mark.unsanitized


@pytest.fixture(scope="module")
def pthreads(tmp_path_factory):
    return helpers.compile_c(tmp_path_factory.mktemp("pthreads"), phases_programs.PTHREADS, "-pthread")


@pytest.fixture
def table():
    with Table() as made:
        yield made


def seconds(ns):
    return ns / 1e9


def test_exports():
    """Only what is interposed, and the two calls."""
    nm = shutil.which("nm")
    if not nm:
        pytest.skip("nm is not installed")
    shown = subprocess.run([nm, "-D", "--defined-only", phases_table.library()], capture_output=True, text=True,
                           check=True).stdout
    names = {line.split()[-1] for line in shown.splitlines()}
    rest = {name for name in names if not name.startswith(("GOMP_", "MPI_", "mpi_", "__kmpc_dispatch_init_"))}
    assert rest == {"ompt_start_tool", "phases_arrive", "phases_depart", "pthread_barrier_wait",
                    "sched_yield"}
    assert {"GOMP_parallel", "GOMP_barrier", "__kmpc_dispatch_init_4", "MPI_Allreduce", "mpi_allreduce_",
            "mpi_allreduce_f08_"} < names
    needed = helpers.run(["readelf", "-d", phases_table.library()]).stdout
    assert [line.split("[")[1] for line in needed.splitlines() if "NEEDED" in line] == ["libc.so.6]"]


SHORTER = r"""
#include <time.h>
#include "libprogress/phases/waits.h"
static void work(double ms)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	double end = now.tv_sec * 1e3 + now.tv_nsec / 1e6 + ms;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_sec * 1e3 + now.tv_nsec / 1e6 < end);
	phases_arrive();
	phases_depart();
}
int main(void)
{
	for (int i = 0; i < 10; i++) {
		work(30);
		for (int k = 0; k < 3; k++)
			work(0.3);
	}
	for (int i = 0; i < 300; i++)
		work(1);
	return 0;
}
"""


def test_waits_after_little_work(table, tmp_path):
    """They end no phase, until there are only such."""
    program = helpers.compile_c(tmp_path, SHORTER, "-I%s" % helpers.REPO)
    run(table, [program])
    row, = table.rows()
    assert row.waits == 340
    assert 280 < row.arrivals < 325


YIELDS = r"""
#include <sched.h>
#include <stdbool.h>
#include <time.h>
#include "libprogress/phases/waits.h"
static void pass(bool yields, bool once)
{
	/* Who yields on a busy machine gets hardly any CPU time. */
	clockid_t clock = yields ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
	struct timespec now, begun;
	clock_gettime(clock, &begun);
	if (once)
		sched_yield();
	do {
		if (yields)
			sched_yield();
		clock_gettime(clock, &now);
	} while (now.tv_sec - begun.tv_sec + (now.tv_nsec - begun.tv_nsec) / 1e9 < 0.003);
}
int main(int argc, char **argv)
{
	for (char *c = argv[argc - 1]; *c; c++) {
		pass(*c == 'w', false);
		phases_arrive();
		pass(*c == 'y', *c == '1');
		phases_depart();
	}
	return 0;
}
"""


@pytest.mark.parametrize("waits, flags", [("sss", 0), ("www", 0), ("syy", phases_table.YIELDS),
                                          ("yss", 0), ("yww", 0), ("111", 0), ("y11", 0)])
def test_yields(table, tmp_path, waits, flags):
    """In waits they count, until there are hardly any."""
    run(table, [helpers.compile_c(tmp_path, YIELDS, "-I%s" % helpers.REPO), waits])
    row, = table.rows()
    assert row.flags == flags


def test_barriers_of_pthreads(table, pthreads):
    """Each arrival; who computes less waits longer."""
    done = run(table, [pthreads, 3, 50, 6, 2], status=7)
    assert done.stdout == "done\n"
    assert table.sources == phases_table.PTHREAD
    busy, *others = table.rows()
    assert [row.arrivals for row in (busy, *others)] == [50] * 3
    assert [row.waits for row in (busy, *others)] == [50] * 3
    assert 0.3 <= seconds(busy.useful_ns) < 0.36
    for row in others:
        assert 0.1 <= seconds(row.useful_ns) < 0.13
        assert row.waited_ns > busy.waited_ns
        # It sleeps while it waits.
        assert row.turn_cpu_ns - row.useful_ns < 20e6
    site, = table.sites()
    assert site.name.startswith("barrier in program+0x") and site.named == 1
    assert 147 <= site.waits <= 150  # without those whose times are not yet read
    assert abs(site.waited_ns - sum(row.waited_ns for row in table.rows())) < 5e6


def test_the_first_barrier(tmp_path):
    """All arrive while one of them makes the table of the process."""
    program = helpers.compile_c(tmp_path, r"""
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
static pthread_barrier_t barrier;
static atomic_int passed;
static void *run(void *unused)
{
	pthread_barrier_wait(&barrier);
	passed++;
	while (passed < 8) /* nobody ends and gives a row back */
		usleep(1000);
	return unused;
}
int main(void)
{
	pthread_t threads[7];
	pthread_barrier_init(&barrier, NULL, 8);
	for (int i = 0; i < 7; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	run(NULL);
	for (int i = 0; i < 7; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
""", "-pthread")
    for _ in range(20):
        with Table() as table:
            run(table, [program])
            assert [(row.arrivals, row.waits) for row in table.rows()] == [(1, 1)] * 8


def test_rows_are_given_back(table, pthreads):
    """By all but the first thread, whose process is gone with it."""
    run(table, [pthreads, 4, 2, 1, 1], status=7)
    left = [row for row in table.rows() if row.tid]
    assert table.rows_used == 4 and len(left) == 1
    assert left[0].pid == left[0].tid


def test_a_thread_that_waits_is_seen(table, pthreads, background):
    """From outside, while it does."""
    process = background([pthreads, 2, 3, 400, 1], env=table.environment, stdout=subprocess.DEVNULL)
    rows = helpers.wait_for(lambda: [row for row in table.rows() if row.pid and row.turns % 4 == 2], "one waits", process)
    assert len(rows) == 1
    assert rows[0].tid in helpers.threads(process.pid) and rows[0].pid == process.pid
    assert rows[0].tid != process.pid


def test_short_phases(table, pthreads):
    """Thousands, each counted, but for those after long ones, by which a machine may interrupt them; their times are
    taken together."""
    run(table, [pthreads, 2, 20000, 0, 0], status=7)
    assert all(row.arrivals in range(15000, 20001) for row in table.rows())
    assert sum(site.waits for site in table.sites()) in range(39000, 40001)
    assert sum(site.waited_ns for site in table.sites()) == pytest.approx(
        sum(row.waited_ns for row in table.rows()), rel=0.02)


def test_a_long_wait_after_a_short_phase(table, tmp_path):
    """Its times are not read when it begins, but at its end."""
    program = helpers.compile_c(tmp_path, r"""
#include <pthread.h>
#include <unistd.h>
static pthread_barrier_t barrier;
static void *other(void *unused)
{
	for (int i = 0; i < 5; i++) {
		pthread_barrier_wait(&barrier);
		usleep(50000);
		pthread_barrier_wait(&barrier);
	}
	return unused;
}
int main(void)
{
	pthread_t thread;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, other, NULL);
	for (int i = 0; i < 5; i++) {
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
	}
	return pthread_join(thread, NULL);
}
""", "-pthread")
    run(table, [program])
    waited_ns = max(row.waited_ns for row in table.rows())
    assert waited_ns > 240e6
    assert max(site.waited_ns for site in table.sites()) == pytest.approx(waited_ns, rel=0.1)


@pytest.mark.parametrize("barrier", ["block", "yield", "spin"])
def test_ubench(table, app, barrier):
    """Its own barriers tell of themselves. Who spins uses CPU time while it waits."""
    if helpers.SANITIZER:
        pytest.skip("a sanitizer wants to be loaded first")
    run(table, [app("ubench"), "-q", "-t", 2, "-b", barrier, "-e", "4ms", "-p", 50, "--imbalance", 200,
                "--rate", "300000"])
    busy, other = table.rows()
    # A phase that seems too short ends none. It was seen once, probably by stolen time that had counted as CPU
    # time before.
    assert min(busy.arrivals, other.arrivals) >= 50
    assert max(busy.arrivals, other.arrivals) == 51
    assert table.sources == (phases_table.PTHREAD if barrier == "block" else phases_table.OWN)
    assert other.waited_ns > busy.waited_ns
    assert busy.useful_ns > 2 * other.useful_ns
    if barrier == "spin":
        assert other.turn_cpu_ns - other.useful_ns > other.useful_ns / 10
