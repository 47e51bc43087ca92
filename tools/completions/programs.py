# SPDX-License-Identifier: MIT
"""What the command lines of the programs accept, from their own output: --help, and the message for
a wrong value, which names the right ones. So completions need no list of their own."""

import os
import re
import subprocess

# What a word in capitals stands for; others stand for text that cannot be completed.
KINDS = {"FILE": "file", "TRACE": "file", "DIR": "folder", "FOLDER": "folder", "PID": "pid",
         "JOB": "job", "USER": "user", "COMMAND": "command"}

# Prints the pids of the jobs that jugglectl stat would accept: those that run and can be read.
JOBS = r"""jugglectl list --json 2>/dev/null |
		sed -n '/"state": *"runs"/s/.*"pid": *\([0-9][0-9]*\).*/\1/p'"""
WORD = r"[a-z0-9]+(?:-[a-z0-9]+)*(?:[:=][A-Z]+)?"


class Option:
    """short and argument are None without one; kind is one of KINDS, "words" or None."""

    def __init__(self, long, short, argument, text):
        self.long, self.short, self.argument, self.text = long, short, argument, text
        self.words = []
        self.kind = KINDS.get(argument or "")
        self.is_list = bool(argument) and ("LIST" in argument or "[," in argument)

    def names(self):
        return (["-" + self.short] if self.short else []) + ["--" + self.long]


class Program:
    """path: () or the words of a subcommand; subcommands: {word: (summary, Program)}."""

    def __init__(self, name, path):
        self.name, self.path = name, path
        self.options, self.subcommands = [], {}
        self.arguments = None  # as Option.kind
        self.argument_name = ""

    def all(self):
        """This program, and all subcommands below it."""
        found = [self]
        for _, below in self.subcommands.values():
            found += below.all()
        return found


def run(command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60, check=False, env={**os.environ, "LC_ALL": "C", "COLUMNS": "80"})


def options_of_help(text):
    """The options that a --help lists."""
    found, words = [], None
    for line in text.splitlines():
        option = re.match(r"  (?:-(\S), |    )--([a-z0-9-]+)(?:\[?=(\S+))?(?:\s+(.*))?$", line)
        if option:
            words = [option.group(4) or ""]
            found.append((option.group(2), option.group(1), option.group(3), words))
        elif words and line.startswith(" " * 20):
            words.append(line)
        else:
            words = None
    return [Option(long, short, argument, " ".join(" ".join(words).split()))
            for long, short, argument, words in found]


def words_of_refusal(text):
    """The words in `...: expected a, b or c:N, as c:8`: [a, b, c:]."""
    expected = re.search(r": expected (?:at most \d+ of )?(.*)", text)
    if not expected:
        return []
    parts = re.split(r", (?:or |and )?| or | and ", expected.group(1))
    words = [part for part in parts if re.fullmatch(WORD, part)]
    if len(words) < 2 or not re.fullmatch(WORD, parts[0]) or len(words) * 2 < len(parts):
        return []
    return [re.sub(r"[A-Z]+$", "", word) for word in words]


def argument_of_usage(text):
    """The last word in capitals of the usage that is not an option's, such as [JOB...]; "" without
    one."""
    usage = re.match(r"Usage: (.*(?:\n  or:  .*)*)", text)
    for line in usage.group(1).split("\n") if usage else []:
        line = re.sub(r"\[OPTION\.\.\.\]|(?<!\S)--?[a-z][^\s=]*(=\S+| [A-Z]+)?", "", line)
        names = re.findall(r"(?<![\w=])[A-Z]+\b", line)
        if names:
            return names[0]
    return ""


def read(executable, path=()):
    """The Program for an executable, or for a subcommand of it."""
    command = [executable, *path]
    shown = run([*command, "--help"])
    if shown.returncode != 0 or not shown.stdout.startswith("Usage: "):
        raise RuntimeError("%s --help: exit status %d\n%s" % (
            " ".join(command), shown.returncode, shown.stdout + shown.stderr))
    program = Program(os.path.basename(executable), path)
    program.options = options_of_help(shown.stdout)
    if program.options:
        program.argument_name = argument_of_usage(shown.stdout)
        # An unknown word may well be a file.
        program.arguments = KINDS.get(program.argument_name, program.argument_name and "file") or None
    else:
        rows = re.findall(r"^  ([a-z][a-z0-9-]*) {2,}(\S.*)$", shown.stdout, re.MULTILINE)
        program.subcommands = {word: (summary, read(executable, (*path, word))) for word, summary in rows}
        if not rows:
            raise RuntimeError("%s --help: neither options nor subcommands" % " ".join(command))
        program.options = [Option(name, None, None, text)
                           for name, text in (("help", "Print this help"), ("version", "Print the version"))
                           if run([*command, "--" + name]).returncode == 0]
    for option in program.options:
        if option.argument and not option.kind:
            # With --help nothing is run, in case the value is accepted.
            option.words = words_of_refusal(run([*command, "--%s=?" % option.long, "--help"]).stderr)
            option.kind = "words" if option.words else None
    return program
