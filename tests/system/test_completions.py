# SPDX-License-Identifier: MIT
"""The completions, in the shells themselves: the offers for a line with the cursor at its end, and what
the Tab key makes of each word that --help has."""

import contextlib
import json
import os
import pty
import re
import shlex
import shutil
import subprocess
import threading

import pytest

import helpers
import test_manuals
from terminal import Terminal

FOLDER = helpers.BUILD / "tools" / "completions"
PROGRAMS = ["juggle", "jugglectl", "jacobi", "ubench", "noise"]
PACKAGE = "/usr/share/bash-completion/bash_completion"
END = "-- end of what is offered for a line"


def are_made():
    """Whether this build has them; the files may be from another configuration of it."""
    targets = json.loads((helpers.BUILD / "meson-info" / "intro-targets.json").read_text("utf-8"))
    return any(target["name"] == "completions" for target in targets)


pytestmark = [pytest.mark.beside,
              pytest.mark.skipif(not are_made(), reason="completions are not in this build")]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The environment of an ordinary user with an empty home, who finds the programs."""
    home = tmp_path_factory.mktemp("home")
    (home / "bash-completion").mkdir()
    (home / "bash-completion" / "completions").symlink_to(FOLDER)
    folders = [str(helpers.BUILD / folder) for folder in ("daemon", "tools", "apps")]
    return {"HOME": str(home), "PATH": ":".join([*folders, "/usr/bin", "/bin"]), "TERM": "vt100",
            "LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": str(home), "XDG_DATA_HOME": str(home)}


def need(shell):
    if not shutil.which(shell):
        pytest.skip("%s is not installed" % shell)


def completed(command, environment, **options):
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False,
                          timeout=helpers.TIMEOUT_S, stdin=subprocess.DEVNULL, **options)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()


def divided(shown):
    """The output of a shell, divided by line to complete."""
    found = [[]]
    for line in shown:
        if line == END:
            found.append([])
        else:
            found[-1].append(line)
    assert found.pop() == []
    return found


# One process completes all lines, since a shell starts slowly.

def bash(lines, environment, folder, package=False, made=FOLDER):
    """What bash would put in place of the last word, as divided by readline; also with its
    package."""
    script = ["PATH=$PATH"]
    if package:
        script.append("source %s; compopt() { :; }" % PACKAGE)
    script += ["source %s/%s.bash" % (made, name) for name in sorted({line.split()[0] for line in lines})]
    for line in lines:
        words = re.findall(r"[=:]+|[^\s=:]+", line) + [""] * line.endswith(" ")
        script += ["COMP_LINE=%s COMP_POINT=%d COMP_WORDS=(%s) COMP_CWORD=%d" % (
            shlex.quote(line), len(line), shlex.join(words), len(words) - 1),
                   "_%s_complete %s" % (words[0], words[0]),
                   'printf "%s\\n" "${COMPREPLY[@]}" ' + shlex.quote(END)]
    return divided(completed(["bash", "--norc", "-c", "\n".join(script)], environment, cwd=folder))


def zsh(lines, environment, folder, made=FOLDER):
    """All matches that zsh inserts into each line: a real line editor, on a terminal of its own."""
    result = folder / "zsh.result"
    (folder / "zsh.lines").write_text("\n".join(lines))
    (folder / ".zshrc").write_text(r"""
        fpath=(%s $fpath); autoload -Uz compinit; compinit -u -D
        lines=("${(@f)$(<zsh.lines)}")
        all() { compstate[insert]=all; compstate[list]= }
        capture() { BUFFER=$lines[1]; CURSOR=$#BUFFER; comppostfuncs=(all); zle complete-word
            print -r -- "$BUFFER" >>%s.new; shift lines; (( $#lines )) || { mv %s.new %s; exit }
            BUFFER=; zle accept-line }
        zle -N capture; zle-line-init() { zle capture }; zle -N zle-line-init
        """ % (made, result, result, result))
    leader, terminal = pty.openpty()
    process = subprocess.Popen(["zsh", "-i"], stdin=terminal, stdout=terminal, stderr=terminal, cwd=folder,
                               env={**environment, "ZDOTDIR": str(folder)}, start_new_session=True)
    os.close(terminal)
    # What it prints fills the terminal up, else.
    reader = threading.Thread(target=read_all, args=(leader,), daemon=True)
    reader.start()
    try:
        helpers.wait_for(result.exists, "zsh completes", process)
    finally:
        process.kill()
        process.wait()
        reader.join(helpers.TIMEOUT_S)
        os.close(leader)
    found = []
    for line, inserted in zip(lines, result.read_text("utf-8").splitlines(), strict=True):
        begin = line[:len(line) - len(line.split(" ")[-1])]
        assert inserted.startswith(begin)
        found.append([word.replace("\\", "") for word in inserted[len(begin):].split()])
    return found


def read_all(file):
    with contextlib.suppress(OSError):  # when nobody has the terminal any more
        while os.read(file, 4096):
            pass


def fish(lines, environment, folder, made=FOLDER):
    script = "set -g fish_complete_path %s $fish_complete_path; " \
        "for line in $argv; complete -C $line; echo '%s'; end" % (made, END)
    return [[found.split("\t")[0] for found in offered]
            for offered in divided(completed(["fish", "-N", "-c", script, *lines], environment, cwd=folder))]


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


def values(found):
    """Without the option before them, the space after and marks of folders."""
    return [re.sub(r"^-[^=]*=(?=.)", "", word).strip().rstrip("/") for word in found]


# --- what must be there --------------------------------------------------------------

COMMANDS = [*test_manuals.PROGRAMS, "jugglectl", "jugglectl simulate"]


def options_of_bash(name, path):
    text = (FOLDER / (name + ".bash")).read_text("utf-8")
    part = re.search(r"^\t'%s'\)$.*?options='(.*?)'$" % " ".join(path), text, re.MULTILINE | re.DOTALL)
    return set(part.group(1).split())


def options_of_zsh(name, path):
    text = (FOLDER / ("_" + name)).read_text("utf-8")
    part = re.search(r"^_%s\(\) \{$(.*?)^\}$" % "-".join([name, *path]), text, re.MULTILINE | re.DOTALL)
    found = re.findall(r"^\t+'(?:\*|\([^)]*\))(-\S+?)[=+]?\[", part.group(1), re.MULTILINE)
    return {option.replace("\\", "") for option in found}


def options_of_fish(name, path):
    text = (FOLDER / (name + ".fish")).read_text("utf-8")
    lines = [line for line in text.splitlines() if line.startswith("complete ") and (
        re.search("_(at|in) %s[';]" % " ".join(path), line) if path
        else not re.search("_(at|in) [a-z]", line))]
    # Conditions, and descriptions of options, may mention others.
    lines = [re.sub(r" -n '[^']*'", "", line).partition(" -d ")[0] for line in lines]
    return ({"--" + found for line in lines for found in re.findall(r" -l (\S+)", line)} |
            {"-" + found for line in lines for found in re.findall(r" -s '(.)'", line)})


@pytest.mark.parametrize("command", COMMANDS)
def test_options_are_those_of_the_help(command, juggle, jugglectl, app):
    name, *path = command.split()
    executable = {"juggle": juggle, "jugglectl": jugglectl}.get(name) or app(name)
    options = test_manuals.options_of_help(helpers.run([executable, *path, "--help"]).stdout)
    expected = {"--" + option for option in options} | {
        "-" + short for short, _, _ in options.values() if short}
    expected = expected or {option for option in ("--help", "--version")
                            if helpers.run([executable, *path, option]).returncode == 0}
    assert options_of_bash(name, path) == expected
    assert options_of_zsh(name, path) == expected
    assert options_of_fish(name, path) == expected


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_takes_the_file(shell, program, environment):
    need(shell)
    name = {"bash": program + ".bash", "zsh": "_" + program, "fish": program + ".fish"}[shell]
    assert completed([shell, "-n", str(FOLDER / name)], environment) == []


# --- all words, by the key -----------------------------------------------------------

def words_of_help(command, executable):
    """The subcommands and options that --help has; for a command of subcommands, what all have."""
    _, *path = command.split()
    shown = helpers.run([executable, *path, "--help"]).stdout
    options = test_manuals.options_of_help(shown)
    if options:
        return ["--" + option for option in options]
    rows = re.findall(r"^  ([a-z-]+) {2,}\S", shown, re.MULTILINE)
    return [*rows, *(option for option in ("--help", "--version")
                     if helpers.run([executable, *path, option]).returncode == 0)]


def shortest(word, words):
    """The shortest beginning that only this word has; the word when it begins another."""
    for n in range(1, len(word)):
        if sum(other.startswith(word[:n]) for other in words) == 1:
            return word[:n]
    return word


@pytest.fixture(scope="module")
def words_to_press(juggle, jugglectl, app):
    """[(line with the cursor at its end, the line that the key should make of it)]"""
    found = []
    for command in COMMANDS:
        name = command.split()[0]
        words = words_of_help(command, {"juggle": juggle, "jugglectl": jugglectl}.get(name) or app(name))
        assert len(words) > 1
        found += [("%s %s" % (command, shortest(word, words)), "%s %s" % (command, word)) for word in words]
    return found


# Control-X d writes the line to a file, empties it, and prints PRESSED.
PRESSED = "-- pressed"
RC = {
    "bash": """PS1='ready '; cd %(folder)s; for f in %(made)s/*.bash; do source $f; done
        press() { printf '%%s\\n' "$READLINE_LINE" >>bash.lines; READLINE_LINE= READLINE_POINT=0; echo %(pressed)s; }
        bind -x '"\\C-xd": press' """,
    "zsh": """PS1='ready '; cd %(folder)s; fpath=(%(made)s $fpath); autoload -Uz compinit; compinit -u -D
        press() { print -r -- "$BUFFER" >>zsh.lines; BUFFER=; print -r -- %(pressed)s >$TTY }
        zle -N press; bindkey '^Xd' press""",
    "fish": """cd %(folder)s; set -g fish_complete_path %(made)s $fish_complete_path
        function fish_prompt; echo 'ready '; end
        function press; commandline >>fish.lines; commandline ''; echo %(pressed)s; end
        bind \\cxd press""",
}


@pytest.mark.parametrize("shell", RC)
def test_the_key_completes_each_word_of_the_help(shell, words_to_press, environment, tmp_path):
    need(shell)
    rc = tmp_path / ".zshrc"
    rc.write_text(RC[shell] % {"folder": tmp_path, "made": FOLDER, "pressed": shlex.quote(PRESSED)})
    command = {"bash": ["bash", "--rcfile", rc, "-i"], "zsh": ["zsh", "-i"],
               "fish": ["fish", "-N", "-i", "-C", "source %s" % rc]}[shell]
    screen = Terminal(command, env={**environment, "ZDOTDIR": str(tmp_path)})
    try:
        screen.expect("ready ")
        for line, _ in words_to_press:
            screen.type(line + "\t\x18d")
            screen.expect(PRESSED)
    finally:
        screen.close()
    made = (tmp_path / (shell + ".lines")).read_text("utf-8").splitlines()
    # What takes a value gets = instead of the space, in some shells.
    found = {line: made.rstrip(" =") for (line, _), made in zip(words_to_press, made, strict=True)}
    assert found == dict(words_to_press)


# --- in the shells -------------------------------------------------------------------

LINES = [
    ("juggle --pol", {"--policy"}),
    ("juggle --policy=", {"juggle", "juggle2012", "static", "observe"}),
    ("juggle --policy=st", {"static"}),
    ("juggle -q -P o", {"observe"}),
    ("juggle --sampler t", {"taskstats"}),
    ("juggle --report a-", {"a-file", "a-folder"}),
    ("jugglectl ", {"list", "stat", "top", "doctor", "plot", "clean", "compare", "predict", "simulate", "replay"}),
    ("jugglectl li", {"list"}),
    ("jugglectl pre", {"predict"}),
    ("jugglectl doctor --cp", {"--cpus"}),
    ("jugglectl doctor --cpus 0 --th", {"--threads"}),
    ("jugglectl list --user=roo", {"root"}),
    ("jugglectl clean -u roo", {"root"}),
    ("jugglectl simulate ", {"juggle", "plb", "dplb"}),
    ("jugglectl simulate plb --cut ", {"1d", "2d"}),
    ("jugglectl simulate plb --mod", {"--mode"}),
    ("jugglectl simulate plb --mode s", {"sync", "ssync:"}),
    ("jugglectl simulate --he", {"--help"}),
    ("jugglectl --vers", {"--version"}),
    ("jugglectl replay a-fi", {"a-file"}),
    ("jugglectl replay --policy rea", {"reactive"}),
    ("ubench --barrier=sp", {"spin"}),
    ("jacobi --host ", {"self", "daemon"}),
]


# A command's own options are known for programs of this build.
LINES_WITH_COMMAND = [
    ("juggle -c 0-1 ubench --barrier y", {"yield"}),
    ("juggle --policy static -- ubench --barrier y", {"yield"}),
    ("juggle -P static a-fi", set()),
    ("juggle jugglectl simulate d", {"dplb"}),
    ("juggle -q jugg", {"juggle", "jugglectl"}),
    ("jugglectl doctor -- jugg", {"juggle", "jugglectl"}),
    ("jugglectl doctor --cpus 0 -n 2 -- jugg", {"juggle", "jugglectl"}),
    ("jugglectl doctor -- juggle --polic", {"--policy"}),
    ("jugglectl doctor -q -- juggle --policy ob", {"observe"}),
    ("juggle -- ubench --barrier y", {"yield"}),
    ("jugglectl doctor -- juggle -- ubench --barrier y", {"yield"}),
]

LINES_WITH_COMMAS = [
    ("jugglectl simulate plb --balance=none,j", "none,joint"),
    ("juggle --idle comm=x,ma", "x,main"),
]

OTHER_LINES = ["juggle -p 1", "juggle --period ", "jugglectl stat ", "noise --"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("folder")
    (folder / "a-file").write_text("")
    (folder / "a-folder").mkdir()
    return folder


@pytest.fixture(scope="module")
def job(juggle, jugglectl):
    """The pid of a running juggle."""
    process = helpers.start([juggle, "-q", "sleep", "1000"])

    def runs():
        listed = map(json.loads, helpers.run([jugglectl, "list", "--json"]).stdout.splitlines())
        return (process.pid, "runs") in {(entry["pid"], entry["state"]) for entry in listed}
    try:
        helpers.wait_for(runs, "juggle runs", process)
        yield process.pid
    finally:
        helpers.kill_session(process)
        process.wait()


@pytest.fixture(scope="module", params=SHELLS)
def offered(request, environment, folder, job):
    """{line: what one of the shells offers}"""
    need(request.param)
    shell = SHELLS[request.param]
    alone = [line for line, _ in LINES + LINES_WITH_COMMAS] + OTHER_LINES
    commands = [line for line, _ in LINES_WITH_COMMAND]
    if shell != bash:
        lines = alone + commands
        return dict(zip(lines, shell(lines, environment, folder), strict=True))
    found = dict(zip(alone, bash(alone, environment, folder), strict=True))
    if os.path.exists(PACKAGE):
        found.update(zip(commands, bash(commands, environment, folder, package=True), strict=True))
    return found


@pytest.mark.parametrize("line, expected", LINES)
def test_completes(offered, line, expected):
    found = values(offered[line])
    assert {word[:-1] if word.startswith("--") and word.endswith("=") else word for word in found} == expected


@pytest.mark.parametrize("line, expected", LINES_WITH_COMMAND)
def test_the_command_is_completed_as_if_alone(offered, line, expected):
    if line not in offered:
        pytest.skip("bash-completion is not installed")
    found = {word.rstrip("=") for word in values(offered[line])}
    assert expected <= found
    assert found <= expected if line.split()[-1].startswith("-") else "--policy" not in found


def test_pids(offered):
    assert "1" in {word.split()[0] for word in offered["juggle -p 1"]}


def test_jobs_that_run(offered, job):
    found = values(offered["jugglectl stat "])
    assert str(job) in found and "1" not in found


@pytest.mark.parametrize("line, expected", LINES_WITH_COMMAS)
def test_several_words_with_commas(offered, line, expected):
    assert expected in [word.rpartition("=")[2] for word in values(offered[line])]


def test_no_value_is_invented(offered):
    assert offered["juggle --period "] in ([], [""])


def test_a_program_that_fails_makes_no_completions(tmp_path):
    done = helpers.run([str(helpers.REPO / "tools/completions/generate"), str(tmp_path), "/bin/false"])
    assert done.returncode == 1 and "/bin/false --help" in done.stderr
    assert list(tmp_path.iterdir()) == []


# --- what the programs may become ----------------------------------------------------

FAKE = """#!/bin/sh
case "$1" in
--help) cat <<'EOF'
Usage: fake [OPTION...] JOB
  or:  fake [OPTION...] --all
It isn't there: [x] `y` $z "q" %s \\n.

      --all                  all of them
      --log=DIR              don't: [put] it `there`, $HOME "or" a\\b: so
      --sort=KEY[,KEY...]    by what (default: name)
  -x, --extra-long-name=ROWSxCOLUMNS   text on the
                             next line
EOF
;;
--sort*) echo "fake: --sort ?: expected name, speed or hybrid:N, as hybrid:3" >&2; exit 2 ;;
*) exit 2 ;;
esac
"""


FAKE_JOBS = """#!/bin/sh
cat <<'EOF'
{"kind": "job", "state": "runs", "pid": 4711, "juggle_pid": null, "command": "x \\"pid\\": 1", "job_pid": 4712}
{"kind":"progress","state":"runs","pid":48,"juggle_pid":4711,"job_pid":null}
{"kind": "job", "state": "stale", "pid": 4750, "juggle_pid": null, "command": "\\"state\\": \\"runs\\"", "job_pid": null}
{"kind": "job", "state": "foreign", "pid": 4751, "juggle_pid": null, "job_pid": null}
EOF
"""

FAKE_LINES = [
    ("fake ", {"4711", "48"}),
    ("fake --all 47", {"4711"}),
    ("fake --s", {"--sort"}),
    ("fake --sort s", {"speed"}),
    ("fake --sort name,h", {"name,hybrid:"}),
    ("fake --log a-f", {"a-folder"}),
    ("fake --ex", {"--extra-long-name"}),
]


@pytest.fixture(scope="module")
def fake(tmp_path_factory, environment):
    """(environment, folder): completions of a program with all that is awkward, and a jugglectl that
    knows of two jobs, and what else it lists."""
    folder = tmp_path_factory.mktemp("fake")
    for name, text in (("fake", FAKE), ("jugglectl", FAKE_JOBS)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    done = helpers.run([str(helpers.REPO / "tools/completions/generate"), str(folder), str(folder / "fake")])
    assert done.returncode == 0, done.stderr
    return {**environment, "PATH": "%s:%s" % (folder, environment["PATH"])}, folder


@pytest.fixture(scope="module", params=SHELLS)
def offered_for_fake(request, fake, folder):
    need(request.param)
    environment, made = fake
    (folder / "zsh.result").unlink(missing_ok=True)
    lines = [line for line, _ in FAKE_LINES]
    return dict(zip(lines, SHELLS[request.param](lines, environment, folder, made=made), strict=True))


@pytest.mark.parametrize("line, expected", FAKE_LINES)
def test_another_program(offered_for_fake, line, expected):
    assert {word.rstrip("=") for word in values(offered_for_fake[line])} == expected


def test_descriptions_come_through_as_they_are(fake, folder):
    environment, made = fake
    need("fish")
    shown = completed(["fish", "-N", "-c", "set -g fish_complete_path %s; complete -C 'fake --lo'" % made],
                      environment, cwd=folder)
    assert shown == ["--log\tdon't: [put] it `there`, $HOME \"or\" a\\b: so"]
