# SPDX-License-Identifier: MIT
"""jugglectl stat --openmetrics and --prometheus: what is printed, by the parsers of others; the file at
intervals; and the dashboard of these metrics."""

import json
import os
import re
import shutil
import signal

import pytest

import helpers
from helpers import refused
from test_manuals import keys_of_page

pytestmark = pytest.mark.beside

FORMATS = ("--openmetrics", "--prometheus")
DASHBOARD = helpers.REPO / "tools" / "packaging" / "grafana.json"
WORD = 'quoted" back\\slash'  # in a command line, and so in a label


@pytest.fixture
def metrics(shm):
    """metrics(OPTION...): what a stat of the namespace's jobs prints, which has to succeed."""
    def run(*arguments, **options):
        done = shm.run("stat", *arguments, **options)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout
    return run


@pytest.fixture
def parsed(metrics):
    """parsed(JOB...): {(sample's name, labels as a sorted tuple): value}, by the parser of Prometheus' client,
    which is strict."""
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")

    def run(*arguments):
        families = list(parser.text_string_to_metric_families(metrics("--openmetrics", *arguments)))
        found = [((sample.name, tuple(sorted(sample.labels.items()))), sample.value)
                 for family in families for sample in family.samples]
        assert len(found) == len(dict(found)), "a value twice"
        assert all(family.documentation for family in families)
        return dict(found)
    return run


@pytest.fixture
def promtool():
    path = shutil.which("promtool")
    if not path:
        pytest.skip("promtool is not installed (Debian's package prometheus)")
    return path


@pytest.fixture
def solver(shm, background, app):
    """A program that publishes its progress, without juggle, as soon as both of its threads do."""
    process = background(shm.command([app("jacobi"), "-q", "-t", "2", "-n", "1000000000", "--grid", "64x64"]))

    def publish():
        done = shm.run("stat", "--json", "--summary")
        return done.returncode == 0 and json.loads(done.stdout)["threads"] == 2
    helpers.wait_for(publish, "both threads publish", process, interval_s=0.05)
    return process


@pytest.fixture
def balanced(shm, background, juggle, app):
    """The pid of a juggle whose job tells of phases and publishes subdomains, as soon as both are known."""
    process = background(shm.command([
        juggle, "-q", "--phases", "on", "-i", "10ms", "--always", "--", "sh", "-c",
        '"$0" -q -t 2 -n 1000000000 --grid 64x64 & exec "$1" -q -t 3 -e 5ms -p 1000000000 >/dev/null',
        app("jacobi"), app("ubench"), WORD]))

    def look():
        done = shm.run("stat", "--json", "--summary")
        found = json.loads(done.stdout) if done.returncode == 0 else None
        return found["juggle_pid"] if found and found["phase_s"] and found["held"] and found["balanced_s"] else None
    return helpers.wait_for(look, "phases and subdomains", process, interval_s=0.05)


def names(text):
    return set(re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE))


def samples(text):
    return [line for line in text.splitlines() if not line.startswith("#")]


# --- what is printed -----------------------------------------------------------------

def test_no_job(metrics, parsed):
    for form in FORMATS:
        text = metrics(form)
        assert names(text) and samples(text) == []
    assert metrics("--openmetrics").endswith("\n# EOF\n")
    assert parsed() == {}


@pytest.mark.told
def test_all_metrics(parsed, balanced):
    """They are those of the page, with the labels that it names."""
    found = parsed()
    listed, _ = keys_of_page("jugglectl-stat.1", "METRICS")
    assert {name for name, _ in found} == listed
    labels = {key for _, labels in found for key, _ in labels}
    assert labels == {"pid", "user", "command", "state", "regime", "process"}
    assert {dict(labels)["pid"] for _, labels in found} == {str(balanced)}
    commands = {dict(labels)["command"] for _, labels in found}
    assert len(commands) == 1 and commands.pop().endswith(WORD)
    assert all(0 <= value <= 1 for (name, _), value in found.items() if name.endswith("_ratio"))


@pytest.mark.told
def test_promtool(metrics, promtool, balanced, tmp_path):
    path = tmp_path / "metrics"
    path.write_text(metrics("--prometheus", balanced))
    with open(path, encoding="utf-8") as file:
        done = helpers.run([promtool, "check", "metrics"], stdin=file)
    assert len(samples(path.read_text())) > len(names(path.read_text()))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_values_are_those_of_json(shm, parsed, solver):
    """Counters are between those of two records."""
    def record():
        return json.loads(shm.run("stat", "--json", "--summary").stdout)

    def updates():
        process, = json.loads(shm.run("stat", "--json", "--processes").stdout)["progress"]
        return process["updates"]
    before, moves = updates(), record()["moves"]
    found = {name: value for (name, _), value in parsed().items()}
    assert before <= found["juggle_subdomain_updates_total"] <= updates()
    assert moves <= found["juggle_subdomain_moves_total"] <= record()["moves"]
    assert found["juggle_threads"] == 2
    assert "juggle_up" not in found and "juggle_moves_total" not in found
    assert solver.poll() is None


def pids(text):
    return {int(pid) for pid in re.findall(r'\{pid="(\d+)"', text)}


def test_jobs(metrics, shm, solver, background, juggle):
    """All, or those that are named: each once, by whatever name."""
    process = background(shm.command([juggle, "-q", "--", *helpers.held_job()]), stdin=helpers.subprocess.PIPE)
    ubench = helpers.wait_for_below(process, "ubench")
    helpers.wait_for(lambda: len(shm.list()) == 2, "is listed", process)
    both = {process.pid, solver.pid}
    assert pids(metrics("--openmetrics")) == both
    assert pids(metrics("--openmetrics", "ubench")) == {process.pid}
    text = metrics("--prometheus", solver.pid, "ubench", process.pid, ubench, "jacobi")
    assert pids(text) == both
    assert len(samples(text)) == len({line.rpartition(" ")[0] for line in samples(text)})
    refused(shm.run("stat", "--openmetrics", "ubench", "no-such-job"), 1, "no-such-job")


@pytest.mark.needs_root
def test_other_users_jobs(metrics, shm, solver, jugglectl, unprivileged):
    """Only those that may be read, without a message; all for root."""
    if unprivileged.run(["test", "-x", jugglectl]).returncode != 0:
        pytest.skip("the other user cannot enter the build folder")
    assert pids(metrics("--openmetrics")) == {solver.pid}
    done = shm.run("stat", "--openmetrics", wrap=unprivileged.command)
    assert (done.returncode, done.stderr, samples(done.stdout)) == (0, "", [])


# --- files ---------------------------------------------------------------------------

def test_file(metrics, solver, tmp_path):
    path = tmp_path / "juggle.prom"
    assert metrics("--prometheus", "--output", path) == ""
    assert pids(path.read_text()) == {solver.pid}
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask
    assert os.listdir(tmp_path) == [path.name]
    os.kill(solver.pid, signal.SIGTERM)
    solver.wait(timeout=helpers.TIMEOUT_S)
    metrics("--openmetrics", "-o", path)
    assert samples(path.read_text()) == []


def test_file_at_intervals(shm, jugglectl, background, app, tmp_path):
    """It is always whole, and has jobs that start later, and not those that have ended."""
    path = tmp_path / "metrics"
    exporter = background(shm.command([jugglectl, "stat", "--openmetrics", "-i", "10ms", "-o", path]))
    seen = set()

    def read():
        with open(path, encoding="utf-8") as file:
            seen.add(os.fstat(file.fileno()).st_ino)
            text = file.read()
        assert text.endswith("\n# EOF\n") and len(names(text)) == text.count("# TYPE")
        return text
    helpers.wait_for(lambda: samples(read()) == [], "no job", exporter)
    job = background(shm.command([app("jacobi"), "-q", "-t", "2", "-n", "1000000000", "--grid", "64x64"]))
    helpers.wait_for(lambda: pids(read()) == {job.pid}, "the job", exporter)
    job.kill()
    job.wait(timeout=helpers.TIMEOUT_S)
    helpers.wait_for(lambda: samples(read()) == [], "no job again", exporter)
    assert len(seen) > 1, "another file each time"


@pytest.mark.told
def test_phases_are_those_of_the_interval(shm, metrics, juggle, jugglectl, background, app, tmp_path):
    """A job that is stopped has none, but those since its start."""
    path = tmp_path / "metrics"
    job = background(shm.command([juggle, "-q", "--phases", "on", "-i", "10ms", "--",
                                  app("ubench"), "-q", "-t", "3", "-e", "5ms", "-p", "1000000000"]))
    ubench = helpers.wait_for_below(job, "ubench")
    exporter = background(shm.command([jugglectl, "stat", "--openmetrics", "-i", "50ms", "-o", path]))
    there = "\njuggle_phase_seconds{"
    helpers.wait_for(lambda: there in path.read_text(), "phases", exporter)
    os.kill(ubench, signal.SIGSTOP)
    helpers.wait_for(lambda: there not in path.read_text(), "no phases", exporter)
    assert there in metrics("--openmetrics")


def test_end_of_the_named_jobs(shm, jugglectl, background, solver, tmp_path):
    path = tmp_path / "metrics"
    exporter = background(
        shm.command([jugglectl, "stat", "--openmetrics", "-i", "10ms", "-o", path, solver.pid]),
        stderr=helpers.subprocess.PIPE)
    helpers.wait_for(lambda: pids(path.read_text()), "the job", exporter)
    solver.kill()
    solver.wait(timeout=helpers.TIMEOUT_S)
    _, err = exporter.communicate(timeout=helpers.TIMEOUT_S)
    assert exporter.returncode == 0 and "ended" in err
    assert samples(path.read_text()) == []


def test_count(metrics, tmp_path):
    assert metrics("--openmetrics", "-i", "10ms", "-c", "3", "-o", tmp_path / "metrics") == ""


def test_cannot_write(shm, tmp_path):
    refused(shm.run("stat", "--openmetrics", "-o", tmp_path / "no" / "metrics"), 1, "cannot write", "No such file")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = shm.run("stat", "--openmetrics", stdout=full)
    assert done.returncode == 1 and "cannot write" in done.stderr


@pytest.mark.parametrize("words", [
    ["--output", "x"], ["--openmetrics", "--prometheus"], ["--openmetrics", "--csv"], ["--prometheus", "--json"],
    ["--openmetrics", "--threads"], ["--openmetrics", "--all"], ["--openmetrics", "--summary"],
    ["--openmetrics", "-i", "1"]])
def test_bad_command_line(run_jugglectl, words):
    refused(run_jugglectl("stat", *words), 2)


# --- the dashboard -------------------------------------------------------------------

@pytest.fixture(scope="module")
def dashboard():
    return json.loads(DASHBOARD.read_text("utf-8"))


def queries(dashboard):
    return [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


def test_dashboard_has_the_metrics_that_are_printed(metrics, dashboard):
    """All of them, and no others."""
    asked = set(re.findall(r"\bjuggle_\w+", " ".join(queries(dashboard))))
    assert asked == names(metrics("--prometheus"))
    variables = {variable["name"]: variable for variable in dashboard["templating"]["list"]}
    of_variables = {name for variable in variables.values()
                    for name in re.findall(r"\bjuggle_\w+", str(variable["query"]))}
    assert of_variables <= asked
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(dashboard["panels"])))
    assert used == set(variables) | {"__rate_interval"}


@pytest.mark.told
def test_dashboard_has_the_labels_that_are_printed(metrics, dashboard, balanced):
    assert balanced
    printed = set(re.findall(r'[{,](\w+)="', metrics("--prometheus")))
    text = " ".join(queries(dashboard))
    asked = set(re.findall(r"[{,](\w+)=", text)) | set(re.findall(r"(?:ignoring|without) ?\((\w+)\)", text))
    asked |= set(re.findall(r"\{\{(\w+)\}\}", DASHBOARD.read_text("utf-8")))
    # Prometheus adds the one, ranks have the other.
    assert asked - {"instance", "rank"} <= printed


def test_dashboard_has_valid_queries(dashboard, promtool, tmp_path):
    rules = [{"record": "query:%d" % i, "expr": query.replace("$__rate_interval", "1m")}
             for i, query in enumerate(queries(dashboard))]
    path = tmp_path / "rules.json"  # which is YAML, too
    path.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    done = helpers.run([promtool, "check", "rules", path])
    assert done.returncode == 0, done.stdout + done.stderr
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))
