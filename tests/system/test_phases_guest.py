# SPDX-License-Identifier: MIT
"""libphases is a guest: programs of all kinds run as they do without it, whatever it is given."""

import os
import resource
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

import helpers
import phases_programs
import phases_table
from phases_table import Table, run

pytestmark = [pytest.mark.beside, pytest.mark.unsanitized]


@pytest.fixture(scope="module")
def pthreads(tmp_path_factory):
    return helpers.compile_c(tmp_path_factory.mktemp("pthreads"), phases_programs.PTHREADS, "-pthread")


@pytest.fixture
def table():
    with Table() as made:
        yield made


# --- what it leaves alone ------------------------------------------------------------

def alone(pid):
    """The table that a process makes for itself."""
    return helpers.wait_for(lambda: phases_table.of_process(pid), "it has a table", pid)


def test_without_juggle(pthreads, background):
    """A process has a table of its own, for whoever attaches to it."""
    process = background([pthreads, 2, 2000, 5, 1], env={"LD_PRELOAD": phases_table.library()},
                         stdout=subprocess.DEVNULL)
    with alone(process.pid) as table:
        helpers.wait_for(lambda: len(table.rows()) == 2 and all(row.arrivals > 3 for row in table.rows()),
                         "both arrive", process)
        assert {row.pid for row in table.rows()} == {process.pid}
        assert {row.tid for row in table.rows()} == set(helpers.threads(process.pid))
        folder = "/proc/%d/fd" % process.pid
        found = [int(name) for name in os.listdir(folder)
                 if os.readlink(os.path.join(folder, name)).startswith("/memfd")]
        assert len(found) == 1 and found[0] >= 200


def test_costs_nothing_without_barriers(background):
    process = background(["sleep", "60"], env={"LD_PRELOAD": phases_table.library()})
    helpers.wait_for(lambda: "libphases" in Path("/proc/%d/maps" % process.pid).read_text("utf-8"), "loaded", process)
    assert phases_table.of_process(process.pid) is None


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL, signal.SIGUSR1])
def test_crashes(table, pthreads, number):
    """The program ends as it would without the library, and leaves nothing."""
    before = set(os.listdir("/dev/shm"))
    done = run(table, [pthreads, 2, 3, 1, 1, int(number)], status=-number)
    assert done.stdout in ("done\n", "")
    assert [row.arrivals for row in table.rows()] == [3, 3]
    assert not {name for name in set(os.listdir("/dev/shm")) - before if "phases" in name}


FORK = r"""
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_barrier_t barrier;
static void waits(int number)
{
	for (int i = 0; i < number; i++)
		pthread_barrier_wait(&barrier);
}
int main(int argc, char **argv)
{
	int status;
	pthread_barrier_init(&barrier, NULL, 1);
	waits(3);
	if (fork() == 0) {
		waits(5);
		if (fork() == 0) {
			waits(7);
			if (argc > 1)
				execl(argv[1], argv[1], "/proc/self/fd", NULL);
			getchar();
			return 1;
		}
		wait(&status);
		return WEXITSTATUS(status) + 1;
	}
	waits(10);
	wait(&status);
	return WEXITSTATUS(status) + 1;
}
"""


@pytest.fixture(scope="module")
def forks(tmp_path_factory):
    return helpers.compile_c(tmp_path_factory.mktemp("forks"), FORK, "-pthread")


def test_forks(table, forks):
    """Each process has rows of its own."""
    run(table, [forks], status=3)
    assert sorted(row.arrivals for row in table.rows()) == [5, 7, 13]
    assert len({row.pid for row in table.rows()}) == 3
    assert all(row.pid == row.tid for row in table.rows())


def test_forks_without_juggle(forks, background):
    """Each process has a table of its own, and none of its parent's."""
    process = background([forks], env={"LD_PRELOAD": phases_table.library()}, stdin=subprocess.PIPE)
    helpers.wait_for(lambda: len(helpers.descendants(process.pid)) == 2, "all run", process)
    for pid, arrivals in zip([process.pid, *helpers.descendants(process.pid)], (13, 5, 7)):
        with alone(pid) as table:
            row = helpers.wait_for(lambda table=table, arrivals=arrivals: [
                row for row in table.rows() if row.arrivals == arrivals], "arrivals", process)
            assert [(one.pid, one.tid) for one in row] == [(pid, pid)] and table.rows_used == 1
            assert table.site_names() == {"barrier in program"}
        links = [os.readlink("/proc/%d/fd/%s" % (pid, name)) for name in os.listdir("/proc/%d/fd" % pid)]
        assert sum(link.startswith("/memfd") for link in links) == 1
    process.communicate("x", timeout=helpers.TIMEOUT_S)
    assert process.returncode == 3


@pytest.mark.parametrize("own", [False, True], ids=["in a job", "alone"])
def test_exec(table, forks, own):
    """The next program inherits no descriptor."""
    env = {"LD_PRELOAD": phases_table.library()} if own else table.environment
    done = helpers.run([forks, shutil.which("ls")], env=env)
    plain = helpers.run([forks, shutil.which("ls")])
    assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, "")


def test_rows_of_an_earlier_program(table, pthreads, tmp_path):
    """Of the same process: its rows are free again."""
    program = helpers.compile_c(tmp_path, r"""
#include <pthread.h>
#include <unistd.h>
static pthread_barrier_t barrier;
static void *run(void *next)
{
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return next;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	pthread_barrier_init(&barrier, NULL, 3);
	pthread_create(&thread, NULL, run, NULL);
	pthread_create(&thread, NULL, run, NULL);
	pthread_barrier_wait(&barrier);
	execv(argv[1], argv + 1);
	return 1;
}
""", "-pthread")
    run(table, [program, pthreads, 2, 9, 0, 0], status=7)
    assert len([row for row in table.rows() if row.tid]) == 1
    row, = (row for row in table.rows() if row.tid)
    assert row.pid == row.tid and row.arrivals == 9


def test_dlclose(table, tmp_path):
    """Whoever loads the library by hand can't take it out under the threads that are in it."""
    program = helpers.compile_c(tmp_path, r"""
#include <dlfcn.h>
#include <pthread.h>
static void *run(void *library)
{
	void (*arrive)(void) = dlsym(library, "phases_arrive"), (*depart)(void) = dlsym(library, "phases_depart");
	for (int i = 0; i < 9; i++) {
		arrive();
		depart();
	}
	dlclose(library);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	for (int i = 0; i < 3; i++) {
		void *library = dlopen(argv[1], RTLD_NOW);
		if (!library)
			return 1;
		pthread_create(&thread, NULL, run, library);
		pthread_join(thread, NULL);
	}
	return 0;
}
""", "-pthread", "-ldl")
    run(table, [program, phases_table.library()], env={"LD_PRELOAD": ""})
    assert sum(row.arrivals for row in table.rows()) in (9, 27)
    assert all(row.tid == 0 for row in table.rows())


CHURN = r"""
#include <pthread.h>
#include <stdlib.h>
static pthread_barrier_t barrier;
static void *run(void *unused)
{
	pthread_barrier_wait(&barrier);
	return unused;
}
int main(int argc, char **argv)
{
	pthread_t threads[4];
	pthread_barrier_init(&barrier, NULL, 4);
	for (int i = 0; i < atoi(argv[1]); i++) {
		for (int k = 0; k < 4; k++)
			if (pthread_create(&threads[k], NULL, run, NULL) != 0)
				return 1;
		for (int k = 0; k < 4; k++)
			pthread_join(threads[k], NULL);
	}
	return 0;
}
"""


@pytest.fixture(scope="module")
def churn(tmp_path_factory):
    return helpers.compile_c(tmp_path_factory.mktemp("churn"), CHURN, "-pthread")


def test_more_threads_than_rows(table, churn):
    """One after the other: rows are used again."""
    run(table, [churn, phases_table.ROWS // 4 + 100], timeout_s=helpers.TIMEOUT_S * 2)
    assert table.rows_used <= phases_table.ROWS
    assert all(row.tid == 0 for row in table.rows())
    assert sum(site.waits for site in table.sites()) > 0


@pytest.mark.parametrize("free", [0, 2, 100])
def test_a_full_table(table, churn, free):
    """Threads without a row run on unseen."""
    table.take_rows(0, phases_table.ROWS)
    table.take_rows(0, free, tid=0)
    table.take_rows(free, phases_table.ROWS)
    run(table, [churn, 50])
    taken = [table.row(i) for i in range(phases_table.ROWS)]
    assert all(row.tid == 0 for row in taken[:free]) and all(row.tid == 1 for row in taken[free:])
    assert sum(row.arrivals > 0 for row in taken) == min(free, 4) or free > 4


def test_a_row_that_was_taken_away(table, pthreads, background):
    """The thread takes another one."""
    process = background([pthreads, 2, 100000, 1, 1], env=table.environment, stdout=subprocess.DEVNULL)
    rows = helpers.wait_for(lambda: len(table.rows()) == 2 and table.rows(), "both have one", process)
    tids = {row.tid for row in rows}
    table.take_rows(0, 1)
    helpers.wait_for(lambda: table.rows_used == 3 and {row.tid for row in table.rows()} == tids | {1}, "another one",
                     process)


DESCRIPTORS = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	pthread_barrier_t barrier;
	pthread_barrier_init(&barrier, NULL, 1);
	for (int i = 0; i < 5; i++) {
		pthread_barrier_wait(&barrier);
		printf("%d ", open("/dev/null", O_RDONLY));
		fflush(stdout);
		if (i == 1)
			for (int fd = 3; fd < 2000; fd++)
				close(fd);
		if (i == 2)
			for (int fd = 3; fd < 400; fd++)
				dup2(1, fd);
		if (i == 3) {
			if (fork() != 0) {
				wait(NULL);
				continue;
			}
			int left = 0;
			for (int fd = 3; fd < 400; fd++)
				left += fcntl(fd, F_GETFD) >= 0;
			pthread_barrier_wait(&barrier);
			printf("%d ", left);
			fflush(stdout);
			_exit(0);
		}
	}
	return 0;
}
"""


@pytest.mark.parametrize("limit", [1024, 410, 201, 64, 16, 8, 4])
def test_descriptors_of_the_program(tmp_path, limit):
    """Have the numbers that they have without the library, are few or many; and nobody else's are
    closed."""
    program = helpers.compile_c(tmp_path, DESCRIPTORS, "-pthread")
    options = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))}
    plain = helpers.run([program], **options)
    done = helpers.run([program], env={"LD_PRELOAD": phases_table.library()}, **options)
    assert (done.stdout, done.stderr, done.returncode) == (plain.stdout, "", plain.returncode)


@pytest.mark.parametrize("limit, bytes_", [("RLIMIT_FSIZE", 0), ("RLIMIT_FSIZE", 100000), ("RLIMIT_AS", 24 << 20)])
def test_limits(pthreads, limit, bytes_):
    """No signal, when a file of the table's size would be one."""
    number = getattr(resource, limit)
    options = {"preexec_fn": lambda: resource.setrlimit(number, (bytes_, bytes_))}
    done = helpers.run([pthreads, 1, 5, 1, 1], env={"LD_PRELOAD": phases_table.library()}, **options)
    assert (done.returncode, done.stdout, done.stderr) == (7, "done\n", "")


# --- what juggle may give it ---------------------------------------------------------

FOREIGN = ["dangling", "device", "fifo", "folder", "gone", "long", "memory", "none", "own", "root", "size", "text",
           "words"]


def foreign_files(folder):
    """Paths that are no table, {what: path}."""
    (folder / "text").write_text("juggle\n")
    (folder / "size").write_bytes(bytes(phases_table.BYTES))
    os.mkfifo(folder / "fifo")
    (folder / "dangling").symlink_to(folder / "nowhere")
    found = {name: str(folder / name) for name in ("text", "size", "fifo", "dangling", "none")}
    return {**found, "folder": str(folder), "device": "/dev/null", "own": "/proc/self/fd/0", "root": "/",
            "long": "/x" * 5000, "words": "not a path", "memory": "/proc/self/mem", "gone": "/proc/4711000/fd/3"}


@pytest.mark.parametrize("what", FOREIGN)
def test_no_table(tmp_path, pthreads, what):
    paths = foreign_files(tmp_path)
    assert sorted(paths) == FOREIGN
    done = helpers.run([pthreads, 2, 5, 1, 1], env={"LD_PRELOAD": phases_table.library(), "JUGGLE_PHASES": paths[what]})
    assert (done.returncode, done.stdout, done.stderr) == (7, "done\n", "")
    assert (tmp_path / "text").read_text() == "juggle\n"
    assert (tmp_path / "size").read_bytes() == bytes(phases_table.BYTES)


@pytest.mark.parametrize("change", [
    {"seals": 0}, {"seals": phases_table.F_SEAL_GROW}, {"size": phases_table.BYTES - 4096},
    {"size": phases_table.BYTES + 4096}, {"size": 4096}, *({"header": {field: 7}} for field in (
        "magic", "version", "header_bytes", "size_bytes", "rows", "sites", "row_bytes", "site_bytes"))], ids=str)
def test_not_this_table(pthreads, change):
    """One of another version, or that could shrink: nothing is written to it."""
    with Table(**change) as table:
        before = bytes(table.memory)
        done = helpers.run([pthreads, 2, 5, 1, 1], env=table.environment)
        assert (done.returncode, done.stdout, done.stderr) == (7, "done\n", "")
        assert bytes(table.memory) == before


@pytest.mark.parametrize("value", [b"\xff", b"\x01", b"\x00"])
def test_a_table_full_of_nonsense(table, tmp_path, pthreads, churn, value):
    """Numbers that others have written are not trusted. With random ones in the middle."""
    size = phases_table.BYTES - 64
    table.memory[64:] = value * size
    run(table, [pthreads, 3, 20, 1, 1], status=7)
    table.memory[64:] = (value + bytes(range(256))) * (size // 257) + value * (size % 257)
    run(table, [churn, 50])
    source = phases_programs.CONSTRUCTS.replace("TASKS", phases_programs.TASKS)
    run(table, [phases_programs.openmp(tmp_path, "gcc", source, "-Wno-all")], env={"OMP_NUM_THREADS": "3"})


# --- other programs ------------------------------------------------------------------

def test_errno(table, tmp_path):
    """The first barrier makes the table, maps it, looks for names."""
    program = helpers.compile_c(tmp_path, r"""
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
int main(void)
{
	pthread_barrier_t barrier;
	pthread_barrier_init(&barrier, NULL, 1);
	void (*arrive)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "phases_arrive");
	void (*depart)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "phases_depart");
	for (int i = 0; i < 5; i++) {
		errno = 4711;
		if (pthread_barrier_wait(&barrier) != PTHREAD_BARRIER_SERIAL_THREAD || errno != 4711)
			return 1;
		arrive();
		depart();
		if (errno != 4711)
			return 2;
	}
	return 0;
}
""", "-D_GNU_SOURCE", "-pthread", "-ldl")
    run(table, [program])
    assert table.rows()[0].arrivals == 10
    for path in ("/nowhere", "/dev/null"):
        done = helpers.run([program], env={"LD_PRELOAD": phases_table.library(), "JUGGLE_PHASES": path})
        assert done.returncode == 0
    assert helpers.run([program], env={"LD_PRELOAD": phases_table.library()}).returncode == 0


def test_barriers_of_cxx(table, tmp_path):
    """Can't be seen: they are in the program itself."""
    compiler = shutil.which("c++")
    source = tmp_path / "program.cpp"
    source.write_text(r"""
#include <barrier>
#include <iostream>
#include <thread>
#include <vector>
int main()
{
	std::barrier together(3);
	std::vector<std::thread> threads;
	for (int i = 0; i < 3; i++)
		threads.emplace_back([&] { for (int k = 0; k < 100; k++) together.arrive_and_wait(); });
	for (auto &thread : threads)
		thread.join();
	std::cout << "done\n";
}
""")
    if not compiler or subprocess.run([compiler, "-std=c++20", "-pthread", "-o", tmp_path / "program", source],
                                      check=False, capture_output=True, timeout=helpers.TIMEOUT_S * 3).returncode != 0:
        pytest.skip("no compiler for C++20 barriers")
    assert run(table, [tmp_path / "program"]).stdout == "done\n"
    assert table.rows_used == 0


def test_static_programs(table, tmp_path):
    try:
        program = helpers.compile_c(tmp_path, phases_programs.PTHREADS, "-pthread", "-static")
    except subprocess.CalledProcessError:
        pytest.skip("no static C library")
    run(table, [program, 2, 3, 1, 1], status=7)
    assert table.rows_used == 0


LIBRARY = r"""
#include <stdio.h>
void GOMP_barrier(void)
{
	puts(NAME);
}
"""
MODULE = r"""
void GOMP_barrier(void);
void run(void)
{
	GOMP_barrier();
}
"""


def test_modules_with_runtimes_of_their_own(table, tmp_path):
    """As Python's can have: each calls its own."""
    modules = []
    for name in "ab":
        folder = tmp_path / name
        (folder / "library").mkdir(parents=True)
        library = helpers.compile_c(folder / "library", LIBRARY, "-shared", "-fPIC", '-DNAME="%s"' % name)
        modules.append(helpers.compile_c(folder, MODULE, "-shared", "-fPIC", library))
    program = helpers.compile_c(tmp_path, r"""
#include <dlfcn.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < 3; i++)
		for (int k = 1; k < argc; k++) {
			void *module = dlopen(argv[k], RTLD_NOW | RTLD_LOCAL);
			((void (*)(void))dlsym(module, "run"))();
			dlclose(module);
		}
	return 0;
}
""", "-ldl")
    done = run(table, [program, *modules])
    assert done.stdout.split() == ["a", "b"] * 3
    assert table.rows()[0].waits == 6 and len(table.sites()) == 1  # of one name


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("runtime", ["the program's", "its own"])
def test_threads_of_a_constructor(table, tmp_path, runtime, compiler):
    """The loader is locked while it runs constructors: threads that they wait for must not need it."""
    (tmp_path / "module").mkdir()
    module = phases_programs.openmp(tmp_path / "module", compiler, r"""
#include <pthread.h>
static pthread_barrier_t barrier;
static void *run(void *unused)
{
	pthread_barrier_wait(&barrier);
	return unused;
}
__attribute__((constructor)) static void begin(void)
{
	pthread_t thread;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, run, NULL);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	#pragma omp parallel for num_threads(4) schedule(dynamic)
	for (int i = 0; i < 100; i++)
		;
	#pragma omp parallel num_threads(4)
	{
		#pragma omp barrier
		#pragma omp for schedule(dynamic)
		for (int i = 0; i < 10; i++)
			;
	}
}
""", "-shared", "-fPIC")
    program = phases_programs.openmp(tmp_path, compiler, r"""
#include <dlfcn.h>
#include <omp.h>
int main(int argc, char **argv)
{
#ifdef _OPENMP
	omp_get_max_threads();
#endif
	return !dlopen(argv[1], RTLD_NOW);
}
""", "-ldl", *([] if runtime == "the program's" else ["-fno-openmp"]))
    for _ in range(10):
        run(table, [program, module])


def test_functions_that_are_not_there(table, tmp_path):
    """A program that looks whether it has MPI or OpenMP finds ours, which do nothing."""
    program = helpers.compile_c(tmp_path, r"""
#include <stdio.h>
__attribute__((weak)) int MPI_Barrier(int world);
__attribute__((weak)) void GOMP_parallel(void (*run)(void *), void *data, unsigned threads, unsigned flags);
static void run(void *data)
{
	puts(data);
}
int main(void)
{
	if (MPI_Barrier && MPI_Barrier(0) != 0)
		return 1;
	if (GOMP_parallel)
		GOMP_parallel(run, "run", 1, 0);
	return 0;
}
""", "-fPIE", "-pie")
    assert run(table, [program]).stdout == "run\n"


def test_a_wait_that_is_left(table, tmp_path):
    """By longjmp(), as handlers of errors do: the next one counts again."""
    (tmp_path / "library").mkdir()
    library = helpers.compile_c(tmp_path / "library", r"""
int MPI_Barrier(void (*leave)(int))
{
	if (leave)
		leave(1);
	return 0;
}
""", "-shared", "-fPIC")
    program = helpers.compile_c(tmp_path, r"""
#include <setjmp.h>
int MPI_Barrier(void (*leave)(int));
static jmp_buf place;
static void leave(int value)
{
	longjmp(place, value);
}
static __attribute__((noinline)) void deeper(void (*how)(int))
{
	volatile char room[1000];
	room[0] = 0;
	MPI_Barrier(how);
	room[1] = 0;
}
int main(void)
{
	for (int i = 0; i < 10; i++) {
		if (setjmp(place) == 0)
			deeper(leave);
		MPI_Barrier(0);
	}
	return 0;
}
""", library)
    run(table, [program])
    row, = table.rows()
    assert (row.arrivals, row.waits) == (20, 20)
