# SPDX-License-Identifier: MIT
"""Completions for zsh: a function for each subcommand, which passes specifications to
_arguments."""

from programs import JOBS

HELPERS = r'''
# Words of which those that end in = or : are followed by no space; with -l, several of them with
# commas between.
_@_words() {
	[[ $1 == -l ]] && { shift; compset -P '*,'; compset -S ',*' }
	local expl
	local -a open=(${(M)@:#*[=:]}) closed=(${@:#*[=:]})
	_wanted values expl value compadd -a closed
	(( $#open == 0 )) || _wanted values expl value compadd -S '' -a open
}

# A command from its name on, completed as if it stood alone.
_@_command() {
	# _arguments leaves this when no option comes before it.
	[[ $words[1] != -- ]] || { shift words; (( CURRENT-- )) }
	_normal
}

_@_jobs() {
	local expl
	local -a pids
	pids=($(@JOBS@))
	_wanted jobs expl job compadd -a pids
}
'''


def quoted(text):
    return "'%s'" % text.replace("'", "'\\''")


def escaped(text, characters):
    return "".join("\\" + c if c in characters + "\\" else c for c in text)


def action(kind, option, name):
    if kind == "words":
        words = " ".join(escaped(word, ":") for word in option.words)
        return " _%s_words %s%s" % (name, "-l " if option.is_list else "", words)
    return {"file": "_files", "folder": "_files -/", "pid": "_pids", "job": " _%s_jobs" % name,
            "user": "_users"}.get(kind, " ")


def specifications(part):
    found = []
    for option in part.options:
        names = option.names()
        group = "*" if option.is_list else "(%s)" % " ".join(names)
        text = "[%s]" % escaped(option.text or option.long, "[]")
        value = ""
        if option.argument:
            value = ":%s:%s" % (escaped(option.argument, ":[]"), action(option.kind, option, part.name))
        for name in names:
            mark = ("=" if name.startswith("--") else "+") if option.argument else ""
            found.append(quoted(group + escaped(name, "?") + mark + text + value))
    return found


def function(part):
    name = "_" + "-".join((part.name, *part.path))
    if part.subcommands:
        # Not in an array called commands: that one is zsh's own, which completes the names of
        # commands.
        rows = [quoted("%s:%s" % (word, escaped(summary, ":")))
                for word, (summary, _) in part.subcommands.items()]
        cases = ["\t%s) _%s ;;" % (word, "-".join((part.name, *part.path, word)))
                 for word in part.subcommands]
        return [name + "() {", "\tlocal curcontext=$curcontext state state_descr line",
                "\tlocal -A opt_args", "\tlocal -a subcommands", "\tsubcommands=(",
                *("\t\t" + r for r in rows),
                "\t)", "\t_arguments -C -S -A '-*' \\", *("\t\t%s \\" % s for s in specifications(part)),
                "\t\t'*::command:->command' && return", "\t[[ -n $state ]] || return",
                "\t(( CURRENT > 1 )) || { _describe command subcommands; return }",
                "\tcase $words[1] in", *cases, "\tesac", "}"]
    arguments = []
    flags = "-s -S"
    if part.arguments == "command":
        # Options after it are the command's own.
        flags += " -A '-*'"
        arguments = ["'(-):command: _command_names -e'", quoted("*::arguments: _%s_command" % part.name)]
    elif part.arguments:
        arguments = [quoted("*:%s:%s" % (part.argument_name, action(part.arguments, None, part.name)))]
    return [name + "() {", " \\\n".join(
        "\t" + ("\t" if i else "") + s
        for i, s in enumerate(["_arguments " + flags, *specifications(part), *arguments])), "}"]


def file_name(program):
    return "_" + program.name


def render(program):
    lines = ["#compdef " + program.name,
             "# zsh completion for %s, made from what it says of its options." % program.name,
             HELPERS.replace("@JOBS@", JOBS).replace("_@_", "_%s_" % program.name)]
    for part in program.all():
        lines += [*function(part), ""]
    return "\n".join(lines) + '\n_%s "$@"\n' % program.name
