# SPDX-License-Identifier: MIT
"""Completions for fish: a line for each option, with a condition that tells the subcommand."""

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

# Where the command that it starts begins on the line; fails when there is none yet.
function __@_command_at
	set -l tokens (commandline -opc)
	set -l i 2
	while test $i -le (count $tokens)
		if test "$tokens[$i]" = --
			test $i -lt (count $tokens); or return 1
			echo (math $i + 1)
			return 0
		else if contains -- "$tokens[$i]" $argv
			set i (math $i + 1)
		else if not string match -q -- '-*' $tokens[$i]
			echo $i
			return 0
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
	set -l pids (jugglectl list --json 2>/dev/null | string match -ar '"pid": *[0-9]+' | string replace -r '.* ?(?<![0-9])([0-9]+)$' '$1')
	if set -q pids[1]
		printf '%s\n' $pids
	else
		__fish_complete_pids
	end
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
    """The arguments of `complete` for a value: of that kind only, or a file."""
    if kind == "words":
        words = " ".join(option.words)
        return "-x -a " + quoted("(__%s_list %s)" % (name, words) if option.is_list else words)
    return {"file": "-r -F", "folder": "-x -a '(__fish_complete_directories)'",
            "pid": "-x -a '(__fish_complete_pids)'", "job": "-x -a '(__%s_jobs)'" % name}.get(kind, "-x")


def condition(part):
    """When the options of a subcommand are wanted, as arguments of `complete`."""
    if part.arguments == "command":
        valued = " ".join(n for o in part.options if o.argument for n in o.names())
        return "-n %s" % quoted("not __%s_command_at %s" % (part.name, valued))
    if part.subcommands:
        return "-n %s" % quoted(" ".join(["__%s_at" % part.name, *part.path]))
    if part.path:
        return "-n %s" % quoted(" ".join(["__%s_in" % part.name, *part.path]))
    return ""


def lines_of(part):
    begin = " ".join(filter(None, ["complete -c", part.name, condition(part)]))
    for word, (summary, _) in part.subcommands.items():
        yield "%s -a %s -d %s" % (begin, word, quoted(summary))
    for option in part.options:
        words = [begin]
        words += ["-s " + quoted(option.short)] if option.short else []
        words += ["-l " + option.long]
        words += [value_of(option.kind, option, part.name)] if option.argument else []
        yield " ".join([*words, "-d", quoted(option.text)])
    if part.arguments == "command":
        valued = " ".join(n for o in part.options if o.argument for n in o.names())
        yield "complete -c %s -x -a %s" % (part.name, quoted("(__%s_command %s)" % (part.name, valued)))
    elif part.arguments == "file":
        yield "%s -F" % begin
    elif part.arguments:
        yield "%s %s" % (begin, value_of(part.arguments, None, part.name).replace("-x ", ""))


def file_name(program):
    return program.name + ".fish"


def render(program):
    lines = ["# fish completion for %s, made from what it says of its options." % program.name,
             HELPERS.replace("__@_", "__%s_" % program.name), "complete -c %s -f" % program.name]
    for part in program.all():
        lines += lines_of(part)
    return "\n".join(lines) + "\n"
