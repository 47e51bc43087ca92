# SPDX-License-Identifier: MIT
"""Completions for fish: a line for each option, with a condition that identifies the subcommand."""

from programs import JOBS

HELPERS = r'''
# Whether the line, up to the cursor, is of these subcommands and no other word yet: options apart.
function __@_at
	set -l words (string match --invert -- '-*' (commandline -opc)[2..-1])
	test "$words" = "$argv"
end

# Whether the line is of these subcommands.
function __@_in
	set -l words (string match --invert -- '-*' (commandline -opc)[2..-1])
	set -l n (count $argv)
	test (count $words) -ge $n; and test "$words[1..$n]" = "$argv"
end

# Where the command that it starts begins on the line, behind $argv[1] subcommands; the others are the
# options with a value. Fails when there is none yet.
function __@_command_at
	set -l tokens (commandline -opc)
	set -l subcommands $argv[1]
	set -l i 2
	while test $i -le (count $tokens)
		if test "$tokens[$i]" = --
			test $i -lt (count $tokens); or return 1
			echo (math $i + 1)
			return 0
		else if contains -- "$tokens[$i]" $argv[2..-1]
			set i (math $i + 1)
		else if not string match -q -- '-*' $tokens[$i]
			if test $subcommands -eq 0
				echo $i
				return 0
			end
			set subcommands (math $subcommands - 1)
		end
		set i (math $i + 1)
	end
	return 1
end

# That command completed as if it stood alone.
function __@_command
	set -l tokens (commandline -opc)
	set -l word (commandline -ct)
	if set -l at (__@_command_at $argv)
		complete -C (string join ' ' -- (string escape -- $tokens[$at..-1]) "$word")
	else if not string match -q -- '-*' "$word"
		complete -C "$word"
	end
end

function __@_jobs
	@JOBS@
end

# Several of the words with commas between.
function __@_list
	set -l before (commandline -ct | string replace -r '^-[^=]*=' '' | string replace -r '[^,]*$' '')
	printf '%s\n' "$before"$argv
end
'''


def quoted(text):
    return "'%s'" % text.replace("\\", "\\\\").replace("'", "\\'")


def value_of(kind, option, name):
    """The arguments of `complete` for a value: only of that kind, or a file."""
    if kind == "words":
        words = " ".join(option.words)
        return "-x -a " + quoted("(__%s_list %s)" % (name, words) if option.is_list else words)
    return {"file": "-r -F", "folder": "-x -a '(__fish_complete_directories)'",
            "pid": "-x -a '(__fish_complete_pids)'", "job": "-x -a '(__%s_jobs)'" % name,
            "user": "-x -a '(__fish_complete_users)'"}.get(kind, "-x")


def command_arguments(part):
    """The functions that look for the command that it starts."""
    return " ".join([str(len(part.path)), *(n for o in part.options if o.argument for n in o.names())])


def begin_of(part, conditions):
    """The arguments of `complete` for these conditions."""
    words = ["complete -c", part.name]
    return " ".join(words + ["-n", quoted("; and ".join(conditions))] if conditions else words)


def lines_of(part):
    conditions = []
    if part.path or part.subcommands:
        conditions = [" ".join(["__%s_%s" % (part.name, "at" if part.subcommands else "in"), *part.path])]
    begin_any = begin_of(part, conditions)
    if part.arguments == "command":
        # Options behind the command are the command's own.
        conditions += ["not __%s_command_at %s" % (part.name, command_arguments(part))]
    begin = begin_of(part, conditions)
    for word, (summary, _) in part.subcommands.items():
        yield "%s -a %s -d %s" % (begin, word, quoted(summary))
    for option in part.options:
        words = [begin]
        words += ["-s " + quoted(option.short)] if option.short else []
        words += ["-l " + option.long]
        words += [value_of(option.kind, option, part.name)] if option.argument else []
        yield " ".join([*words, "-d", quoted(option.text)])
    if part.arguments == "command":
        yield "%s -x -a %s" % (begin_any, quoted(
            "(__%s_command %s)" % (part.name, command_arguments(part))))
    elif part.arguments == "file":
        yield "%s -F" % begin
    elif part.arguments:
        yield "%s %s" % (begin, value_of(part.arguments, None, part.name).replace("-x ", ""))


def file_name(program):
    return program.name + ".fish"


def render(program):
    lines = ["# fish completion for %s, made from what it says of its options." % program.name,
             HELPERS.replace("@JOBS@", JOBS).replace("__@_", "__%s_" % program.name),
             "complete -c %s -f" % program.name]
    for part in program.all():
        lines += lines_of(part)
    return "\n".join(lines) + "\n"
