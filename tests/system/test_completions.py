# SPDX-License-Identifier: MIT
"""The completions, in the shells themselves: what is offered for a line with the cursor at its end."""

import json
import os
import pty
import re
import shutil
import subprocess

import pytest

import helpers
import test_manuals

FOLDER = helpers.BUILD / "tools" / "completions"
PROGRAMS = ["juggle", "jugglectl", "jacobi", "ubench", "noise"]



def are_made():
    """Whether they are in this build; files may be of another configuration of it."""
    targets = json.loads((helpers.BUILD / "meson-info" / "intro-targets.json").read_text("utf-8"))
    return any(target["name"] == "completions" for target in targets)


pytestmark = pytest.mark.skipif(not are_made(), reason="completions are not in this build")


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Of an ordinary user with an empty home, who finds the programs."""
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


def bash(line, environment, folder, package=False, made=FOLDER):
    """What bash puts in place of the last word, as divided by readline; also without its package."""
    need("bash")
    words = re.findall(r"[=:]+|[^\s=:]+", line)
    if line.endswith(" "):
        words.append("")
    script = 'PATH=$PATH; source "$0"; COMP_LINE=$1 COMP_POINT=${#1}; COMP_WORDS=("${@:2}"); ' \
        '((COMP_CWORD = ${#COMP_WORDS[@]} - 1)); "_$2_complete" "$2"; printf "%s\\n" "${COMPREPLY[@]}"'
    if package:
        file = "/usr/share/bash-completion/bash_completion"
        if not os.path.exists(file):
            pytest.skip("bash-completion is not installed")
        script = "source %s; compopt() { :; }; " % file + script
    program = words[0]
    return completed(["bash", "--norc", "-c", script, str(made / (program + ".bash")), line, *words],
                     environment, cwd=folder)


def zsh(line, environment, folder, made=FOLDER):
    """All matches that zsh puts into the line: a real line editor, on a terminal of its own."""
    need("zsh")
    result = folder / "zsh.result"
    rc = folder / ".zshrc"
    rc.write_text(r"""
        fpath=(%s $fpath); autoload -Uz compinit; compinit -u -D
        all() { compstate[insert]=all; compstate[list]= }
        capture() { BUFFER=$LINE; CURSOR=$#BUFFER; comppostfuncs=(all); zle complete-word
            print -r -- "$BUFFER" >%s.new; mv %s.new %s; exit }
        zle -N capture; zle-line-init() { zle capture }; zle -N zle-line-init
        """ % (made, result, result, result))
    result.unlink(missing_ok=True)
    leader, terminal = pty.openpty()
    process = subprocess.Popen(["zsh", "-i"], stdin=terminal, stdout=terminal, stderr=terminal, cwd=folder,
                               env={**environment, "ZDOTDIR": str(folder), "LINE": line},
                               start_new_session=True)
    os.close(terminal)
    try:
        helpers.wait_for(result.exists, "zsh completes")
    finally:
        process.kill()
        process.wait()
        os.close(leader)
    begin = line[:len(line) - len(line.split(" ")[-1])]
    inserted = result.read_text("utf-8").rstrip("\n")
    assert inserted.startswith(begin)
    return [word.replace("\\", "") for word in inserted[len(begin):].split()]


def fish(line, environment, folder, made=FOLDER):
    need("fish")
    script = "set -g fish_complete_path %s $fish_complete_path; complete -C '%s'" % (made, line)
    return [found.split("\t")[0] for found in completed(["fish", "-N", "-c", script], environment, cwd=folder)]


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


@pytest.fixture
def complete(request, environment, tmp_path):
    (tmp_path / "a-file").write_text("")
    (tmp_path / "a-folder").mkdir()
    return lambda line, **more: SHELLS[request.param](line, environment, tmp_path, **more)


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
        re.search("_(at|in) %s'" % " ".join(path), line) if path
        else not re.search("_(at|in) [a-z]", line))]
    # What describes an option may name others.
    lines = [line.partition(" -d ")[0] for line in lines]
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


# --- in the shells -------------------------------------------------------------------

LINES = [
    ("juggle --pol", {"--policy"}),
    ("juggle --policy=", {"juggle", "static", "observe"}),
    ("juggle --policy=st", {"static"}),
    ("juggle -q -P o", {"observe"}),
    ("juggle --sampler t", {"taskstats"}),
    ("juggle --report a-", {"a-file", "a-folder"}),
    ("jugglectl pre", {"predict"}),
    ("jugglectl simulate ", {"juggle", "plb", "dplb"}),
    ("jugglectl simulate plb --cut ", {"1d", "2d"}),
    ("jugglectl simulate plb --mo", {"--mode"}),
    ("jugglectl simulate plb --mode s", {"sync", "ssync:"}),
    ("jugglectl simulate --he", {"--help"}),
    ("jugglectl --vers", {"--version"}),
    ("jugglectl replay a-fi", {"a-file"}),
    ("jugglectl replay --policy rea", {"reactive"}),
    ("ubench --barrier=sp", {"spin"}),
    ("jacobi --host ", {"self", "daemon"}),
]


@pytest.mark.parametrize("line, expected", LINES)
@pytest.mark.parametrize("complete", SHELLS, indirect=True)
def test_completes(complete, line, expected):
    found = values(complete(line))
    assert {word[:-1] if word.startswith("--") and word.endswith("=") else word for word in found} == expected


@pytest.mark.parametrize("line, expected", [
    ("juggle -c 0-1 ubench --barrier y", {"yield"}),
    ("juggle --policy static -- ubench --barrier y", {"yield"}),
    ("juggle -P static a-fi", set()),
    ("juggle jugglectl simulate d", {"dplb"}),
    ("juggle -q jugg", {"juggle", "jugglectl"}),
])
@pytest.mark.parametrize("complete", SHELLS, indirect=True)
def test_the_command_is_completed_as_if_alone(complete, line, expected, request):
    more = {"package": True} if request.node.callspec.params["complete"] == "bash" else {}
    found = values(complete(line, **more))
    if expected:
        assert expected <= set(found)
    else:
        assert "--policy" not in found


@pytest.mark.parametrize("complete", SHELLS, indirect=True)
def test_pids(complete):
    assert "1" in {word.split()[0] for word in complete("juggle -p 1")}


@pytest.mark.parametrize("line, expected", [
    ("jugglectl simulate plb --balance=none,j", "none,joint"),
    ("juggle --idle comm=x,ma", "x,main"),
])
def test_several_words_with_commas_in_bash(environment, tmp_path, line, expected):
    assert bash(line, environment, tmp_path) == [expected]


def test_several_words_with_commas_in_fish(environment, tmp_path):
    assert "--balance=none,joint" in fish("jugglectl simulate plb --balance=none,j", environment, tmp_path)


def test_no_value_is_invented(environment, tmp_path):
    assert bash("juggle --period ", environment, tmp_path) in ([], [""])


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


@pytest.fixture(scope="module")
def fake(tmp_path_factory, environment):
    """(environment, folder): completions of a program with all that is awkward, and a jugglectl that
    knows of two jobs."""
    folder = tmp_path_factory.mktemp("fake")
    for name, text in (("fake", FAKE), ("jugglectl", "#!/bin/sh\necho '{\"job\": 1, \"pid\": 4711}'\n"
                                                     "echo '{\"job\": 2, \"pid\":48}'\n")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    done = helpers.run([str(helpers.REPO / "tools/completions/generate"), str(folder), str(folder / "fake")])
    assert done.returncode == 0, done.stderr
    return {**environment, "PATH": "%s:%s" % (folder, environment["PATH"])}, folder


@pytest.mark.parametrize("line, expected", [
    ("fake ", {"4711", "48"}),
    ("fake --all 47", {"4711"}),
    ("fake --s", {"--sort"}),
    ("fake --sort s", {"speed"}),
    ("fake --sort name,h", {"name,hybrid:"}),
    ("fake --log a-f", {"a-folder"}),
    ("fake --ex", {"--extra-long-name"}),
])
@pytest.mark.parametrize("shell", SHELLS)
def test_another_program(shell, fake, tmp_path, line, expected):
    environment, made = fake
    (tmp_path / "a-file").write_text("")
    (tmp_path / "a-folder").mkdir()
    found = values(SHELLS[shell](line, environment, tmp_path, made=made))
    assert {word.rstrip("=") for word in found} == expected


def test_descriptions_come_through_as_they_are(fake, tmp_path):
    environment, made = fake
    need("fish")
    shown = completed(["fish", "-N", "-c", "set -g fish_complete_path %s; complete -C 'fake --lo'" % made],
                      environment, cwd=tmp_path)
    assert shown == ["--log\tdon't: [put] it `there`, $HOME \"or\" a\\b: so"]
