# SPDX-License-Identifier: MIT
"""Completions for bash: tables of what a program accepts, and a function that walks along the line.
It also works without the package bash-completion."""

from programs import JOBS

ENGINE = r'''
_@_jobs() {
	@JOBS@
}

# Candidates for the text in $2, of the kind in $1: a word, which others follow for "words" and for
# "list", several of them with commas between.
_@_candidates() {
	local text=$2
	case ${1%% *} in
	file | folder)
		compopt -o filenames 2>/dev/null
		if [[ $1 == file ]]; then mapfile -t COMPREPLY < <(compgen -f -- "$text")
		else mapfile -t COMPREPLY < <(compgen -d -- "$text"); fi
		;;
	pid) mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [0-9]*)" -- "$text") ;;
	job) mapfile -t COMPREPLY < <(compgen -W "$(_@_jobs)" -- "$text") ;;
	user) mapfile -t COMPREPLY < <(compgen -u -- "$text") ;;
	list)
		local before=
		[[ $text == *,* ]] && before=${text%,*},
		mapfile -t COMPREPLY < <(compgen -P "$before" -W "${1#list }" -- "${text##*,}")
		;;
	words) mapfile -t COMPREPLY < <(compgen -W "${1#words }" -- "$text") ;;
	esac
}

# The command that a program starts, from the word $1 of the line: completed as if it stood alone.
_@_command() {
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif ((COMP_CWORD == $1)); then
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
	else
		_@_candidates file "${COMP_WORDS[COMP_CWORD]}"
	fi
}

_@_complete() {
	local subcommands options valued argument value
	local path= wants= end= word line=${COMP_LINE:0:COMP_POINT} i j
	local -a words=() at=()

	# bash divides words at = and : as well; put them together, and remember where they were.
	for ((i = 0; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ ${#words[@]} -eq 0 || $line == [[:space:]]* ]]; then
			line=${line#"${line%%[![:space:]]*}"}
			words+=('') at+=("$i")
		fi
		((i < COMP_CWORD)) || word=$line
		words[-1]+=$word
		line=${line:${#word}}
	done

	COMPREPLY=()
	_@_about ''
	for ((i = 1; i < ${#words[@]} - 1; i++)); do
		word=${words[i]}
		if [[ -n $wants ]]; then
			wants=
		elif [[ -z $end && $word == -- ]]; then
			end=1
		elif [[ -z $end && $word == --* ]]; then
			[[ " $valued " != *" $word "* ]] || wants=$word
		elif [[ -z $end && $word == -?* ]]; then
			for ((j = 1; j < ${#word}; j++)); do
				[[ " $valued " == *" -${word:j:1} "* ]] || continue
				((j + 1 < ${#word})) || wants=-${word:j:1}
				break
			done
		elif [[ -n $subcommands ]]; then
			path=${path:+$path }$word
			_@_about "$path"
		elif [[ $argument == command ]]; then
			_@_command "${at[i]}"
			return
		fi
	done

	word=${words[-1]}
	if [[ -n $wants ]]; then
		_@_value "$path" "$wants"
		_@_candidates "$value" "$word"
	elif [[ -z $end && $word == --*=* ]]; then
		_@_value "$path" "${word%%=*}"
		_@_candidates "$value" "${word#*=}"
		COMPREPLY=("${COMPREPLY[@]/#/${word%%=*}=}")
	elif [[ -z $end && $word == -* ]]; then
		_@_candidates "words $options" "$word"
	elif [[ -n $subcommands ]]; then
		_@_candidates "words $subcommands" "$word"
	elif [[ $argument == command ]]; then
		_@_command "${at[-1]}"
		return
	elif [[ -n $argument ]]; then
		_@_candidates "$argument" "$word"
	fi

	# Only what follows the last divider is replaced on the line.
	local divided=${word%"${word##*["${COMP_WORDBREAKS//[!=:]/}"]}"}
	[[ -n ${COMP_WORDBREAKS//[!=:]/} ]] || divided=
	((${#COMPREPLY[@]})) || return 0
	[[ ${COMPREPLY[0]} != *[=:] || ${#COMPREPLY[@]} -gt 1 ]] || compopt -o nospace 2>/dev/null
	COMPREPLY=("${COMPREPLY[@]#"$divided"}")
}
complete -F _@_complete @
'''


def quoted(text):
    return "'%s'" % text.replace("'", "'\\''")


def value_of(option):
    if option.kind == "words":
        return " ".join(["list" if option.is_list else "words", *option.words])
    return option.kind or ""


def tables(program):
    about, values = [], []
    for part in program.all():
        path = " ".join(part.path)
        about += ["\t%s)" % quoted(path),
                  "\t\tsubcommands=%s" % quoted(" ".join(part.subcommands)),
                  "\t\toptions=%s" % quoted(" ".join(n for o in part.options for n in o.names())),
                  "\t\tvalued=%s" % quoted(
                      " ".join(n for o in part.options if o.argument for n in o.names())),
                  "\t\targument=%s" % quoted(part.arguments or ""), "\t\t;;"]
        values += ["\t%s) value=%s ;;" % (
            " | ".join(quoted("%s %s" % (path, name)) for name in option.names()), quoted(value_of(option)))
                   for option in part.options if option.kind]
    return about, values


def file_name(program):
    return program.name + ".bash"


def render(program):
    about, values = tables(program)
    lines = ["# bash completion for %s, made from what it says of its options." % program.name, "",
             "# Sets what the subcommand $1 takes.", "_@_about() {",
             "\tsubcommands= options= valued= argument=", '\tcase $1 in', *about, "\tesac", "}", "",
             "# Sets value to what the option $2 of the subcommand $1 takes.", "_@_value() {", "\tvalue=",
             '\tcase "$1 $2" in', *values, "\tesac", "}"]
    return ("\n".join(lines) + "\n" + ENGINE).replace("@JOBS@", JOBS).replace(
        "_@_", "_%s_" % program.name).replace(
        "_complete @\n", "_complete %s\n" % program.name)
