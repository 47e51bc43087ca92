# SPDX-License-Identifier: MIT
"""What juggle returns: the command's own status, or 125, 126, 127 as env(1) has them."""
import os
import shutil
import subprocess

import pytest

import helpers

pytestmark = pytest.mark.beside


def other_cpu():
    """A CPU number that does not exist here, or is not allowed."""
    return os.sysconf("SC_NPROCESSORS_CONF") + 100


@pytest.mark.parametrize("script, expected", [
    ("exit 0", 0),
    ("exit 3", 3),
    ("exit 255", 255),
    ("kill -TERM $$", 128 + 15),
    ("kill -KILL $$", 128 + 9),
])
def test_the_commands_own(run_juggle, script, expected):
    done = run_juggle("sh", "-c", script)
    assert done.returncode == expected
    assert done.stderr == ""


@pytest.mark.parametrize("arguments, message", [
    ([], "nothing to run"),
    (["--"], "nothing to run"),
    (["-v"], "nothing to run"),
    (["--no-such-option", "true"], "no-such-option"),
    (["-P", "magic", "true"], "juggle, juggle2012, static or observe"),
    (["-i", "10", "true"], "a time such as"),
    (["-i", "1us", "true"], "100us"),
    (["-i", "-1ms", "true"], "a time such as"),
    (["--jitter", "91", "true"], "from 0 to 90"),
    (["-n", "0", "true"], "from 1 to"),
    (["-n", "2x", "true"], "from 1 to"),
    (["--idle", "comm=", "true"], "comm=GLOB"),
    (["--sampler", "guess", "true"], "schedstat"),
    (["--domains", "both", "true"], "split, llc or joint"),
    (["--speeds", "0", "true"], "from 0.01 to 100"),
    (["--speeds", "9999x1", "true"], "at most 8192 CPUs"),
    (["--speeds", "1,fast", "true"], "list of speeds"),
    (["--speeds", "", "true"], "list of speeds"),
    (["-c", "", "true"], "list of CPUs"),
    (["-c", "1-0", "true"], "list of CPUs"),
    (["-c", "0,", "true"], "list of CPUs"),
    (["-c", "0,,1", "true"], "list of CPUs"),
    (["-c", "99999999", "true"], "CPU numbers end"),
    (["-p", "1", "true"], "not both"),
    (["-p", "0"], "-p"),
    (["-p", "x"], "-p"),
    (["-p", str(2 ** 22 + 1)], "no process"),
])
def test_a_wrong_command_line_is_125(run_juggle, arguments, message):
    done = run_juggle(*arguments)
    assert done.returncode == 125
    assert message in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("cpus", ["other", "mixed"])
def test_cpus_that_cannot_be_used_are_125(run_juggle, cpus, tmp_path):
    ran = tmp_path / "ran"
    listed = {"other": "%d" % other_cpu(),
              "mixed": "%d,%d" % (helpers.cpus()[0], other_cpu())}[cpus]
    done = run_juggle("-c", listed, "touch", ran)
    assert done.returncode == 125
    assert "choose from" in done.stderr
    assert not ran.exists(), "the command ran all the same"


@pytest.mark.parametrize("speeds, count", [("2x1,0.55,0.6", "4 speeds"), ("1", "1 speed")])
def test_another_number_of_speeds_than_cpus_is_125(run_juggle, speeds, count, tmp_path):
    ran = tmp_path / "ran"
    cpus = helpers.cpus()[:2 if count == "1 speed" else 1]
    if count == "1 speed" and len(cpus) == 1:
        pytest.skip("needs 2 CPUs")
    listed = ",".join(str(cpu) for cpu in cpus)
    for env, words in (({}, ["--speeds", speeds]), ({"JUGGLE_OPTIONS": "--speeds " + speeds}, [])):
        done = run_juggle("-c", listed, *words, "touch", ran, env=env)
        assert done.returncode == 125
        assert done.stderr == "juggle: --speeds: %s for %d CPU%s\n" % (
            count, len(cpus), "s" * (len(cpus) > 1))
        assert not ran.exists()


@pytest.mark.parametrize("option", ["--report", "--trace"])
def test_an_output_that_cannot_be_written_is_125(run_juggle, option, tmp_path):
    ran = tmp_path / "ran"
    for path in [tmp_path / "none" / "file", tmp_path]:
        done = run_juggle(option, path, "touch", ran)
        assert done.returncode == 125
        assert option in done.stderr and str(path) in done.stderr
        assert not ran.exists()


def test_a_fifo_that_nobody_reads_is_125(juggle, background, tmp_path):
    """At once for both options, as juggle gives readers a second."""
    os.mkfifo(tmp_path / "fifo")
    for option, process in {option: background([juggle, option, tmp_path / "fifo", "true"], stderr=subprocess.PIPE)
                            for option in ("--report", "--trace")}.items():
        assert process.wait(helpers.TIMEOUT_S) == 125
        assert process.stderr.read() == "juggle: %s %s: nobody reads from it\n" % (option, tmp_path / "fifo")


def test_small_files(juggle, tmp_path):
    """Not even a message to a file may end juggle by SIGXFSZ."""
    if helpers.SANITIZER == "thread":
        pytest.skip("ThreadSanitizer writes to a file itself")
    with open(tmp_path / "messages", "w", encoding="utf-8") as messages:
        done = subprocess.run(["sh", "-c", "ulimit -f 0; exec \"$0\" -v sh -c 'exit 3'", juggle],
                              stderr=messages, check=False, timeout=helpers.TIMEOUT_S)
    assert done.returncode == 3
    assert (tmp_path / "messages").stat().st_size == 0


def test_juggle_does_not_attach_to_itself(juggle):
    done = helpers.run(["sh", "-c", 'exec "$0" -p $$', juggle])
    assert done.returncode == 125
    assert "is this juggle itself" in done.stderr


@pytest.fixture
def unshare():
    """A command that makes its command process 1 of a PID namespace."""
    command = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if not shutil.which("unshare") or helpers.run([*command, "true"]).returncode != 0:
        pytest.skip("unshare cannot make a PID namespace here")
    return command


@pytest.mark.needs_root
def test_process_1_is_refused_below_it(unshare, juggle):
    twice = ["sh", "-c", 'sh -c "$1" "$0"; exit $?', juggle, '"$0" -p 1; exit $?']
    done = helpers.run([*unshare, *twice])
    assert done.returncode == 125
    assert done.stderr == ("juggle: all programs here are below process 1, and so is this juggle; "
                           "give -p the process of your program\n")


@pytest.mark.needs_root
def test_process_1_is_taken_from_outside(unshare, juggle, background):
    """As from `docker exec`."""
    if not shutil.which("nsenter"):
        pytest.skip("nsenter is not installed")
    first = background([*unshare, "sleep", "1000"])
    inside = ["nsenter", "--pid", "--mount", "--target", helpers.wait_for_below(first, "sleep")]
    done = helpers.run([*inside, "timeout", "-s", "INT", "0.5", juggle, "-p", "1"])
    assert (done.returncode, done.stderr) == (124, "")


@pytest.mark.needs_root
def test_threads_of_the_kernel(run_juggle):
    if helpers.comm(2) != "kthreadd":
        pytest.skip("this pid namespace shows no threads of the kernel")
    for pid in [2, *helpers.children(2)[:20]]:
        done = run_juggle("-p", pid)
        assert done.returncode == 125
        assert done.stderr == "juggle: process %d is a thread of the kernel\n" % pid


def test_a_thread_is_no_process(run_juggle, background):
    sleeper = background(["python3", "-c",
                          "import threading, time\n"
                          "threading.Thread(target=time.sleep, args=(60,)).start()"])
    tids = helpers.wait_for(
        lambda: [t for t in helpers.threads(sleeper.pid) if t != sleeper.pid], "a thread", sleeper)
    done = run_juggle("-p", tids[0])
    assert done.returncode == 125
    assert "is a thread, not a process" in done.stderr


def test_what_cannot_be_executed_is_126(run_juggle, tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("no program\n")
    for command in [plain, tmp_path, plain / "below"]:
        done = run_juggle(command)
        assert done.returncode == 126
        assert "cannot execute " + str(command) in done.stderr


def test_what_is_not_found_is_127(run_juggle, tmp_path):
    for command in [tmp_path / "none", "no-such-command-anywhere", ""]:
        # A folder in PATH that the user may not read would make it 126, as for env(1).
        done = run_juggle(command, env={"PATH": "/usr/bin:/bin"})
        assert done.returncode == 127
        assert "command not found" in done.stderr


HOSTILE = "a\x1b[2J\nb"


@pytest.mark.parametrize("arguments, shown", [
    ([HOSTILE], "juggle: a?[2J?b: command not found\n"),
    (["--report", "/nonexistent/" + HOSTILE, "true"], "juggle: --report /nonexistent/a?[2J?b: "),
    (["-i", HOSTILE, "true"], "a?[2J?b"),
    (["-v", "true", HOSTILE], "juggle: true a?[2J?b\n"),
    (["--" + HOSTILE, "true"], "unrecognized option '--a?[2J\nb'\n"),
    (["-\x1b", "true"], "invalid option -- '?'\n"),
])
def test_names_do_not_control_a_terminal(run_juggle, arguments, shown):
    done = run_juggle(*arguments)
    assert shown in done.stderr
    assert "\x1b" not in done.stderr


def test_the_commands_options_are_its_own(run_juggle):
    done = run_juggle("-q", "echo", "-n", "-v", "--report", "x")
    assert (done.returncode, done.stdout) == (0, "-v --report x")
    done = run_juggle("--", "sh", "-c", "exit 4")
    assert done.returncode == 4


@pytest.mark.parametrize("words, message", [
    ("-q true", "'true' is not an option"),
    ("-- true", "'true' is not an option"),
    ("--bad", "bad"),
    ("-i", "requires an argument"),
])
def test_wrong_options_from_the_environment_are_125(run_juggle, words, message, tmp_path):
    ran = tmp_path / "ran"
    done = run_juggle("touch", ran, env={"JUGGLE_OPTIONS": words})
    assert done.returncode == 125
    assert message in done.stderr
    assert not ran.exists()


@pytest.mark.parametrize("words", ["", " ", " -q ", "-q  "])
def test_blanks_in_the_environment_are_no_options(run_juggle, words):
    assert run_juggle("sh", "-c", "exit 4", env={"JUGGLE_OPTIONS": words}).returncode == 4


def test_help_and_version(run_juggle):
    done = run_juggle("--help")
    assert done.returncode == 0
    assert "--report" in done.stdout
    done = run_juggle("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("juggle ")
