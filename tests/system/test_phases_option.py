# SPDX-License-Identifier: MIT
"""juggle --phases: which commands get libphases preloaded, and that nothing else changes for them."""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

import helpers
import mpi
import phases_table

pytestmark = pytest.mark.beside

NAMES = ["LD_PRELOAD", "OMP_TOOL_LIBRARIES", "JUGGLE_PHASES"]
OTHERS = ["OMP_TOOL", "LD_LIBRARY_PATH", "JUGGLE_LIBPHASES", "SLURM_JOB_NUM_NODES"]

# Shows what it finds of these variables, and waits at a barrier of some kind before.
SHOW = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef MPI
#include <mpi.h>
#endif

#ifdef LIBRARY
void wait_for_others(void);
#elif defined PTHREAD
static pthread_barrier_t barrier;

static void *thread(void *argument)
{
	for (int i = 0; i < 1000; i++)
		pthread_barrier_wait(&barrier);
	return argument;
}

static void wait_for_others(void)
{
	pthread_t other;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&other, NULL, thread, NULL);
	thread(NULL);
	pthread_join(other, NULL);
}
#else
static void wait_for_others(void)
{
	for (int i = 0; i < 1000; i++) {
#pragma omp parallel num_threads(2)
		{
#pragma omp barrier
		}
	}
}
#endif

int main(int count, char **argument)
{
	static const char *const names[] = {"LD_PRELOAD", "OMP_TOOL_LIBRARIES", "JUGGLE_PHASES"};
	FILE *out = count > 1 ? fopen(argument[1], "a") : stdout;

#ifdef MPI
	MPI_Init(NULL, NULL);
	for (int i = 0; i < 1000; i++)
		MPI_Barrier(MPI_COMM_WORLD);
#endif
	wait_for_others();
	for (int i = 0; i < 3; i++)
		if (getenv(names[i]))
			fprintf(out, "%s=%s\n", names[i], getenv(names[i]));
#ifdef MPI
	MPI_Finalize();
#endif
	return 0;
}
"""
INNER = r"""
void wait_for_others(void);
void wait_for_others(void)
{
#pragma omp parallel
	{
	}
}
"""
FLAGS = {"plain": [], "pthread": ["-DPTHREAD", "-pthread"], "omp": ["-fopenmp"]}


def said_of_phases(report):
    """Which runtimes tell of phases, or why none was asked to."""
    phases = helpers.read_report(report)["phases"]
    return phases["told_by"] if phases["not_told"] is None else phases["not_told"]


@pytest.fixture(scope="module")
def library():
    path = helpers.BUILD / "libprogress" / "phases" / "libphases.so"
    assert path.exists(), "not built: %s" % path
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("phases")
    path.chmod(0o755)
    return path


@pytest.fixture(scope="module")
def compiled(folder):
    """compiled(NAME, FLAG...) is the path of SHOW, built that way, of that name."""
    made = {}

    def build(name, *flags, compiler="cc"):
        if name not in made:
            (folder / (name + ".d")).mkdir()
            made[name] = helpers.compile_c(folder / (name + ".d"), SHOW, *flags, compiler=compiler)
        return str(made[name])
    return build


@pytest.fixture
def program(compiled):
    """program("omp") and the like, as FLAGS has them."""
    return lambda kind: compiled(kind, *FLAGS[kind])


@pytest.fixture
def clean():
    """Without what may be set where the tests run."""
    return ["env", *("-u" + name for name in (*NAMES, *OTHERS))]


@pytest.fixture
def told(clean, juggle, tmp_path):
    """told(COMMAND..., options=[], env={}) is (what the command shows, what juggle prints, what its
    report says of phases)."""
    def run(*command, options=(), env=None, wrap=list):
        if helpers.SANITIZER and env and "LD_PRELOAD" in env:
            pytest.skip("a sanitized juggle bears nothing that is preloaded")
        report = tmp_path / "report.json"
        done = helpers.run(wrap([*clean, *("%s=%s" % pair for pair in (env or {}).items()), juggle,
                                 "--report", report, *options, "--", *map(str, command)]))
        assert done.returncode == 0, done.stderr
        shown = dict(line.split("=", 1) for line in done.stdout.splitlines() if line.startswith(
            tuple(NAMES)))
        return shown, done.stderr, said_of_phases(report)
    return run


def is_set(shown, library):
    assert shown.pop("JUGGLE_PHASES").startswith("/proc/")
    assert shown == {"LD_PRELOAD": library, "OMP_TOOL_LIBRARIES": library}


# --- auto ----------------------------------------------------------------------------

@pytest.mark.parametrize("kind, who", [("pthread", "pthreads"), ("omp", "libgomp")])
def test_programs_that_wait(told, program, library, kind, who):
    shown, said, phases = told(program(kind))
    is_set(shown, library)
    assert said == ""
    assert phases == [who]


def test_programs_that_do_not(told, program):
    shown, said, phases = told(program("plain"))
    assert (shown, said) == ({}, "")
    assert phases == "neither OpenMP, MPI nor pthread barriers are found"


def test_off(told, program):
    assert told(program("omp"), options=["--phases", "off"]) == ({}, "", "off")


def test_on(told, program, library):
    shown, said, phases = told(program("plain"), options=["--phases", "on"])
    is_set(shown, library)
    assert (said, phases) == ("", [])
    assert told("true", options=["--phases", "on"]) == ({}, "", [])


def test_option_in_the_environment(told, program):
    assert told(program("omp"), env={"JUGGLE_OPTIONS": "--phases=off"})[0] == {}


def test_verbose(told, program):
    assert "  phases       told by OpenMP (libgomp)" in told(program("omp"), options=["-v"])[1]
    assert "  phases       not told: off\n" in told("true", options=["-v", "--phases=off"])[1]
    assert "  phases       no thread was seen to wait" in told("true", options=["-v", "--phases=on"])[1]


@pytest.mark.parametrize("before", [["env", "-u", "HOME"], ["taskset", "-c", str(helpers.cpus()[0])],
                                    ["nice", "-n", "1"]])
def test_among_the_arguments(told, program, library, before):
    shown, _, phases = told(*before, program("omp"))
    is_set(shown, library)
    assert phases == ["libgomp"]
    assert told(*before, program("plain"))[0] == {}


def test_arguments_that_are_no_programs(told, program, folder, tmp_path):
    """A file that is there, but not a program; a FIFO is not even opened."""
    os.mkfifo(tmp_path / "fifo", 0o755)
    data = tmp_path / "data"
    shutil.copy(program("omp"), data)
    data.chmod(0o644)
    assert told("env", "true", tmp_path / "fifo", data, folder, "/dev/null", "no such")[0] == {}


def test_found_in_path(told, program, library):
    folder, _, name = program("omp").rpartition("/")
    path = {"PATH": folder + ":" + os.environ["PATH"]}
    is_set(told(name, env=path)[0], library)
    is_set(told("env", name, env=path)[0], library)


def test_scripts_are_not_followed(told, program, library, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nexec %s\n" % program("omp"))
    script.chmod(0o755)
    assert told(script)[0] == {}
    shown, said, phases = told(script, options=["--phases=on"])
    is_set(shown, library)
    assert (said, phases) == ("", ["libgomp"])


@pytest.fixture(scope="module")
def inner(compiled, folder):
    """A function that gives SHOW, with OpenMP only in a library of its own that is found by `how`."""
    libraries = folder / "libraries"
    libraries.mkdir()
    source = libraries / "inner.c"
    source.write_text(INNER)
    subprocess.run(["cc", "-shared", "-fPIC", "-fopenmp", "-o", libraries / "libinner.so", source],
                   check=True)
    flags = {"variable": [], "rpath": ["-Wl,--disable-new-dtags,-rpath,%s" % libraries],
             "runpath": ["-Wl,--enable-new-dtags,-rpath,/nowhere:%s" % libraries],
             "origin": ["-Wl,-rpath,$ORIGIN/../libraries"],
             "braces": ["-Wl,-rpath,${ORIGIN}/../libraries"]}

    def build(how):
        link = ["-DLIBRARY", "-L%s" % libraries, "-Wl,--no-as-needed", "-linner"]
        return compiled("with-" + how, *link, *flags[how])
    build.folder = str(libraries)
    return build


@pytest.mark.parametrize("how", ["rpath", "runpath", "origin", "braces"])
def test_libraries_of_libraries(told, inner, library, how):
    is_set(told(inner(how))[0], library)


def test_libraries_by_a_variable(told, inner, library):
    variable = {"LD_LIBRARY_PATH": "/nowhere:" + inner.folder}
    is_set(told(inner("variable"), env=variable)[0], library)


def test_libraries_where_the_loader_looks_last(told, inner, library):
    """Some packages have theirs in /usr/lib itself."""
    mounts = helpers.own_mounts("mount -t overlay -o lowerdir=%s:/usr/lib none /usr/lib" % inner.folder)
    program = inner("variable")
    if helpers.run([*mounts, program]).returncode != 0:
        pytest.skip("the loader does not look into /usr/lib")
    is_set(told(program, wrap=lambda command: [*mounts, *command])[0], library)


# --- what speaks against it ----------------------------------------------------------

@pytest.mark.parametrize("env", [
    {"LD_PRELOAD": "libdlb.so"}, {"LD_PRELOAD": "/a/b/libTAU.so.2"},
    {"LD_PRELOAD": "libm.so.6:libscorep_adapter.so"}, {"OMP_TOOL_LIBRARIES": "/opt/tool.so"},
    {"OMP_TOOL": "disabled"}])
def test_other_tools(told, program, env):
    """They are left alone, without a word; only -v and the report tell."""
    shown, said, phases = told(program("pthread"), env=env, options=["-v"])
    assert shown == {name: value for name, value in env.items() if name in NAMES}
    assert "phases       not told: " in said
    assert "another tool is there already" in phases or phases == "OMP_TOOL is disabled"


def test_what_is_there_is_kept(told, program, library):
    shown, said, _ = told(program("pthread"), env={"LD_PRELOAD": "libm.so.6 libdl.so.2"})
    assert shown.pop("JUGGLE_PHASES")
    assert shown == {"LD_PRELOAD": library + ":libm.so.6 libdl.so.2", "OMP_TOOL_LIBRARIES": library}
    assert said == ""
    shown, *_ = told(program("pthread"), options=["--phases=on"],
                     env={"LD_PRELOAD": "", "OMP_TOOL_LIBRARIES": "/opt/tool.so"})
    assert shown["LD_PRELOAD"] == library
    assert shown["OMP_TOOL_LIBRARIES"] == "/opt/tool.so:" + library


def test_it_is_there_already(told, program, library, tmp_path):
    """By the user, in another place; or by a juggle around this one."""
    copy = tmp_path / "libphases.so"
    shutil.copy(library, copy)
    there = {"LD_PRELOAD": str(copy), "OMP_TOOL_LIBRARIES": str(copy)}
    shown, _, phases = told(program("pthread"), env=there)
    assert shown.pop("JUGGLE_PHASES")
    assert (shown, phases) == (there, ["pthreads"])


def test_juggle_in_juggle(told, program, library, juggle):
    """The inner one has the table."""
    if helpers.SANITIZER:
        pytest.skip("a sanitized juggle is no program for libphases")
    shown, _, phases = told(juggle, "-v", program("pthread"))
    is_set(shown, library)
    assert phases == []


def refused(told, command, *words):
    """With `on`, one line says why it can't be; with `auto`, none. The command runs."""
    shown, said, phases = told(*command, options=["--phases=on"])
    assert said == "juggle: --phases on is not possible: %s\n" % phases
    for word in words:
        assert word in phases
    assert not {"JUGGLE_PHASES"} & set(shown)
    assert told(*command, options=["--phases=on", "-q"])[1] == ""
    again, said, same = told(*command)
    assert (again, said, same) == (shown, "", phases)


def test_static(told, compiled):
    try:
        static = compiled("static", "-static", *FLAGS["pthread"])
    except subprocess.CalledProcessError:
        pytest.skip("no static C library")
    refused(told, [static], "is linked statically")
    # Some other command could still be of use.
    assert isinstance(told("env", static, options=["--phases=on"])[2], list)


@pytest.mark.slow  # with a sanitizer
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("flag", ["address", "thread"])
def test_sanitizers(told, compiled, program, compiler, flag):
    """Their runtime has to be the first library: the program would end at once. clang's is within the
    program."""
    try:
        sanitized = compiled("-".join((compiler, flag)), "-fsanitize=" + flag, *FLAGS["pthread"],
                             compiler=compiler)
        subprocess.run([sanitized], check=True, capture_output=True)
    except (subprocess.CalledProcessError, FileNotFoundError):
        pytest.skip("no runtime of this sanitizer, or it doesn't run here")
    refused(told, [sanitized], "program ", " a sanitizer's runtime")
    refused(told, ["env", sanitized], " a sanitizer's runtime")
    refused(told, ["env", program("omp"), sanitized], " a sanitizer's runtime")


def test_sanitizer_that_is_preloaded(told, program):
    found = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True,
                           check=True).stdout.strip()
    if not os.path.isabs(found):
        pytest.skip("no libasan")
    refused(lambda *command, **more: told(*command, env={"LD_PRELOAD": found}, **more),
            [program("plain")], "LD_PRELOAD", "sanitizer")


@pytest.fixture
def another_loader(program):
    """SHOW with a loader of another path, as another C library has."""
    data = Path(program("pthread")).read_bytes()
    loader = re.search(rb"/lib[^\0]*/ld-[^\0]+", data)[0]
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as folder:
        other = os.fsencode(folder) + b"/ld"
        if len(other) > len(loader):
            pytest.skip("the loader's path is too short")
        os.symlink(loader, other)
        changed = Path(folder) / "changed"
        changed.write_bytes(data.replace(loader, other.ljust(len(loader), b"\0"), 1))
        changed.chmod(0o755)
        yield changed


def test_another_loader(told, another_loader):
    refused(told, [another_loader], "is for another kind of machine or C library")
    assert told("env", another_loader)[0] == {}


def test_another_machine(told, program, tmp_path):
    """A program of the other word size: here it can't run, so it is only an argument."""
    data = bytearray(Path(program("omp")).read_bytes())
    data[4] = 3 - data[4]
    foreign = tmp_path / "foreign"
    foreign.write_bytes(data)
    foreign.chmod(0o755)
    assert told("env", "true", foreign)[0] == {}


@pytest.mark.needs_root
def test_privileges(program, library, unprivileged, clean):
    """Of a set-user-ID program; of its owner, it is a program like any other."""
    user = unprivileged
    copy = user.dir / "set-uid"
    shutil.copy(program("pthread"), copy)
    copy.chmod(0o755)
    os.chmod(copy, 0o755 | stat.S_ISUID)
    report = user.dir / "report.json"
    done = user.run([*clean, "JUGGLE_LIBPHASES=" + library, user.juggle, "--report", report,
                     "--phases=on", copy])
    assert done.returncode == 0, done.stderr
    phases = said_of_phases(report)
    assert phases == "set-uid gets privileges when it is started"
    assert done.stderr == "juggle: --phases on is not possible: %s\n" % phases
    assert done.stdout == ""


@pytest.mark.parametrize("name", ["with blank", "with:colon"])
def test_paths_that_the_loader_divides(told, program, library, tmp_path, name):
    (tmp_path / name).mkdir()
    copy = tmp_path / name / "libphases.so"
    shutil.copy(library, copy)
    refused(lambda *command, **more: told(*command, env={"JUGGLE_LIBPHASES": str(copy)}, **more),
            [program("pthread")], "the path of libphases.so has a blank or colon")


def test_no_library(told, program):
    refused(lambda *command, **more: told(*command, env={"JUGGLE_LIBPHASES": "/nowhere"}, **more),
            [program("pthread")], "libphases.so is not found")


def test_no_table(told, program):
    """With a limit on the size of files the table can't be made."""
    def limited(command):
        return ["prlimit", "--fsize=100000", "--", *command]
    shown, _, phases = told(program("pthread"), wrap=limited)
    assert shown == {}
    assert phases.startswith("no table: ")


@pytest.mark.parametrize("launcher, words, expected", [
    ("docker", ["run", "{}"], False), ("srun", ["-n", "2", "{}"], False),
    ("mpirun", ["-n", "1", "{}"], True), ("mpirun", ["--hostfile", "hosts", "{}"], False),
    ("mpirun", ["-f", "hosts", "{}"], False), ("mpirun", ["-n", "1", "{}", "-f", "hosts"], True),
    ("mpirun", ["-host", "localhost:2", "{}"], True), ("mpirun", ["-host", "a,b", "{}"], False)])
def test_commands_that_start_elsewhere(told, program, tmp_path, launcher, words, expected):
    """What they start may have no such library, or another C library."""
    command = tmp_path / launcher
    command.write_text("#!/bin/sh\nexec env\n")
    command.chmod(0o755)
    words = [word.format(program("omp")) for word in words]
    assert bool(told(command, *words)[0]) == expected
    assert told(command, *words, options=["--phases=on"])[0]
    if launcher == "mpirun":
        assert not told(command, *words, env={"SLURM_JOB_NUM_NODES": "2"})[0]


# --- what the job gets ---------------------------------------------------------------

def test_nothing_else_changes(told, program, clean, juggle, tmp_path):
    """Neither variables nor descriptors, but for the three; the loader's own opens nothing."""
    show = tmp_path / "show"
    show.write_text("#!/bin/sh\nenv | sort\nls /proc/self/fd\n")
    show.chmod(0o755)
    plain = helpers.run([*clean, show, program("omp")]).stdout
    wrapped = helpers.run([*clean, juggle, "--", show, program("omp")]).stdout
    left = [line for line in wrapped.splitlines() if not line.startswith(tuple(NAMES))]
    assert left == plain.splitlines()
    assert len(left) == len(wrapped.splitlines()) - len(NAMES)


@pytest.fixture
def show_mpi(compiled):
    """A function that gives SHOW, built with an MPI."""
    def build(library):
        compiler = shutil.which("mpicc." + library)
        if not compiler:
            pytest.skip("no mpicc of " + library)
        return compiled("mpi-" + library, "-DMPI", compiler=compiler)
    return build


@pytest.mark.parametrize("around", [True, False])
@pytest.mark.parametrize("library_name", ["openmpi", "mpich"])
def test_mpi(show_mpi, clean, juggle, library, tmp_path, library_name, around):
    """`juggle mpirun` and `mpirun juggle`."""
    program, shown = show_mpi(library_name), tmp_path / "shown"
    wrapped = [juggle, "--report", tmp_path / "report.json", "--"]
    if around:
        done = mpi.run(library_name, 2, [program, shown],
                       wrap=lambda command: [*clean, *wrapped, *command])
        phases = said_of_phases(tmp_path / "report.json")
        assert phases == ["MPI"]
        tables = 1
    else:
        done = mpi.run(library_name, 2, [*clean, juggle, "--", program, shown])
        tables = 2
    assert done.returncode == 0, done.stderr
    lines = shown.read_text().splitlines()
    assert lines.count("LD_PRELOAD=" + library) == 2
    assert len({line for line in lines if line.startswith("JUGGLE_PHASES=")}) == tables


def test_doctor(program, jugglectl, clean):
    """It says the same beforehand."""
    def text(*command):
        found = json.loads(helpers.run([*clean, jugglectl, "doctor", "--json", "--", *command]).stdout)
        return [finding["text"] for finding in found["findings"] if finding["id"] == "command_phases"]
    assert "libphases.so will tell juggle" in text(program("omp"))[0]
    assert "libgomp.so" in text(program("omp"))[0]
    assert "neither OpenMP, MPI nor pthread barriers" in text("true")[0]
    assert text("/nonexistent") == []


# --- attaching -----------------------------------------------------------------------

WAITS = r"""
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>
static pthread_barrier_t barrier;

static void *thread(void *argument)
{
	for (;;) {
		for (volatile int i = 0; i < 1000000; i++)
			;
		pthread_barrier_wait(&barrier);
	}
	return argument;
}

int main(void)
{
	pthread_t other;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&other, NULL, thread, NULL);
	thread(NULL);
	return 0;
}
"""


@pytest.mark.parametrize("option, expected", [("auto", ["pthreads"]), ("off", "off")])
def test_attached(background, juggle, library, tmp_path, option, expected):
    """A process that has a table of its own."""
    job = background([helpers.compile_c(tmp_path, WAITS, "-pthread")], env={"LD_PRELOAD": library})

    def has_table():
        links = [os.readlink("/proc/%d/fd/%s" % (job.pid, name))
                 for name in os.listdir("/proc/%d/fd" % job.pid)]
        return any("juggle-phases" in link for link in links)
    helpers.wait_for(has_table, "the process has a table", job)
    report, trace = tmp_path / "report.json", tmp_path / "trace"
    process = background([juggle, "--phases", option, "--report", report, "--trace", trace, "-p", job.pid])
    helpers.wait_for(lambda: helpers.threads(job.pid) and trace.exists() and
                     (" arrivals=" if option == "auto" else "\npoint ") in trace.read_text(),
                     "points were recorded", process)
    process.terminate()
    assert process.wait(timeout=helpers.TIMEOUT_S) == 0
    assert said_of_phases(report) == expected
    assert (" arrivals=" in trace.read_text()) == (option == "auto")


@pytest.mark.told
@pytest.mark.skipif(len(helpers.cpus()) < 2, reason="needs two CPUs")
def test_short_phases_are_told_in_part(background, juggle):
    """Threads that sleep in them are left to the kernel, and need not tell all of their waits."""
    cpus = ",".join(map(str, helpers.cpus()[:2]))
    job = background([juggle, "-q", "--cpus", cpus, "--", *helpers.held_job(3, phase="500us", barrier="block")],
                     stdin=subprocess.PIPE)
    with helpers.wait_for(lambda: phases_table.of_process(job.pid, maker=0), "juggle has a table", job) as table:
        helpers.wait_for(lambda: table.resting == 3 * [phases_table.RESTS_MORE], "they may rest", job)


@pytest.mark.alone
def test_rows_of_killed_threads_are_given_back(background, juggle, tmp_path):
    """Processes that end by a signal can't give their rows back themselves."""
    program, trace = helpers.compile_c(tmp_path, WAITS, "-pthread"), tmp_path / "trace"
    process = background([juggle, "--phases=on", "--trace", trace, "sh", "-c", '"$0"; sleep 100', program])

    def known():
        """The threads whose rows juggle has read."""
        return set(re.findall(r"^thread (\d+) .* arrivals=", trace.read_text(), re.MULTILINE))
    helpers.wait_for(lambda: len(known()) == 2, "juggle knows the rows of both threads", process)
    with phases_table.of_process(process.pid, maker=0) as table:
        def taken():
            return {str(row.tid) for row in table.rows() if row.tid}
        assert taken() == known()
        os.kill(helpers.find(process.pid, program.name), signal.SIGKILL)
        helpers.wait_for(lambda: not taken(), "no row is taken", process)
    helpers.wait_for_below(process, "sleep")
