#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write what completes the command line of `teamster` in bash, zsh and fish, out of what
it prints with --help, and of its tables.

usage: completion.py TEAMSTER FOLDER

Writes FOLDER/teamster.bash, FOLDER/_teamster (zsh) and FOLDER/teamster.fish.
"""
import pathlib
import re
import shlex
import string
import sys

import help_text

JOBS = "teamster ps 2>/dev/null | awk '$1 ~ /^[0-9]+$/ { print $1 }'"
LONGEST = 70  # of a description

# What an argument or a word of the usage is, as each shell completes it.
KINDS = {"FILE": "file", "PROFILE": "file", "DIR": "folder", "JOB": "job",
         "HOST": "host", "LIST": "host", "PROGRAM": "program",
         "COMMAND": "program"}
TABLED = ("run", "simulate")  # their options take the words of the tables


def kind_of(word):
    return next((kind for name, kind in KINDS.items()
                 if name in re.findall("[A-Z]+", word or "")), "")


def tables(program):
    """@return {option: [words]}"""
    return {line.split()[0]: line.split()[1:]
            for line in help_text.said(program, "tables").splitlines()}


class Option:
    def __init__(self, option, words):
        self.names = [f"--{option.name}"]
        self.letter = option.letter
        self.name = option.name
        self.argument = option.argument
        self.words = words
        self.kind = kind_of(option.argument)
        text = " ".join(line.strip() for line in option.lines)
        text = re.split(r"[:;\[(]", text)[0].strip().rstrip(",")
        self.summary = text[:LONGEST].rsplit(" ", 1)[0] \
            if len(text) > LONGEST else text


class Command:
    def __init__(self, program, name, summary, words):
        text = help_text.of_command(program, name)
        self.name, self.summary = name, summary
        found = text.options()
        if not any(option.name == "help" for option in found):
            found.append(help_text.Option("h", "help", None, ["print this"]))
        self.options = [Option(option, words.get(option.name, []))
                        for option in found]
        for option in self.options:
            if name == "plan" and option.name == "policy":
                option.words = policies(text)
        # The first word behind the options; `run` goes on with the program's own.
        places = [word.strip("[].") for word in text.usage[0].split()[2:]]
        self.places = [kind_of(word) for word in places if word != "OPTION"
                       and word.isupper()]


def policies(text):
    at = text.parts.index(("title", "Policies"))
    return [line.split()[0] for line in text.parts[at + 1][1]] + ["all"]


# ---- bash

BASH = string.Template(r"""# SPDX-License-Identifier: BSD-3-Clause
# bash: completion of teamster; made by tools/manual/completion.py

_teamster_words() { # WORD... that begin with what is there
    local IFS=$$'\n'
    COMPREPLY+=($$(compgen -W "$$(printf '%s\n' "$$@")" -- "$$current"))
}

_teamster_kind() { # file, folder, job, host, program: the same
    local IFS=$$'\n'
    case $$1 in
    file) COMPREPLY=($$(compgen -f -- "$$current")) && compopt -o filenames ;;
    folder) COMPREPLY=($$(compgen -d -- "$$current")) && compopt -o filenames ;;
    job) _teamster_words $$($jobs) ;;
    host) COMPREPLY=($$(compgen -A hostname -- "$$current")) ;;
    program) COMPREPLY=($$(compgen -c -f -- "$$current")) && compopt -o filenames ;;
    esac
}

# What completes the value of an option, to $$value. @return 1 if it takes none
_teamster_value() { # COMMAND OPTION
    case $$1,$$2 in
$values
    *) return 1 ;;
    esac
}

_teamster_options() { # COMMAND
    case $$1 in
$options
    esac
    [[ $${#COMPREPLY[@]} == 1 && $${COMPREPLY[0]} == *= ]] && compopt -o nospace
}

_teamster_place() { # COMMAND, how many words are before
    case $$1,$$2 in
$places
    esac
}

# Goes through the words as teamster does: options first, then the others.
_teamster() {
    local current=$${COMP_WORDS[COMP_CWORD]} command=$${COMP_WORDS[1]}
    local i word value has_value='' n_words=0
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _teamster_words $commands --help --version
        return
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do
        word=$${COMP_WORDS[i]}
        if [[ $$word == = ]]; then
            :
        elif [[ -n $$has_value ]]; then
            has_value=''
        elif [[ $$word == -* ]]; then
            _teamster_value "$$command" "$$word" && has_value=1
        else
            ((n_words += 1))
        fi
    done
    [[ $$current == = ]] && current=''
    if [[ -n $$has_value ]]; then
        $$value
    elif [[ $$current == -* && ($$command != run || $$n_words == 0) ]]; then
        _teamster_options "$$command"
    else
        _teamster_place "$$command" "$$n_words"
    fi
    return 0
}

complete -F _teamster teamster
""")


def bash_value(option):
    if option.words:
        value = "_teamster_words " + " ".join(option.words)
    else:
        value = f"_teamster_kind {option.kind}" if option.kind else ":"
    return f"value={shlex.quote(value)}"


def bash(commands):
    values, options, places = [], [], []
    for command in commands:
        words = []
        for option in command.options:
            names = [f"{command.name},--{option.name}"]
            if option.letter:
                names.append(f"{command.name},-{option.letter}")
            if option.argument:
                values.append(f"    {' | '.join(names)}) {bash_value(option)} ;;")
            words.append(f"--{option.name}{'=' if option.argument else ''}")
        options.append(f"    {command.name}) _teamster_words {' '.join(words)} ;;")
        for i, kind in enumerate(command.places):
            if kind:
                places.append(f"    {command.name},{i}) _teamster_kind {kind} ;;")
        if command.name == "run":
            places.append("    run,*) _teamster_kind file ;;")
    return BASH.substitute(
        commands=" ".join(command.name for command in commands), jobs=JOBS,
        values="\n".join(values), options="\n".join(options),
        places="\n".join(places))


# ---- zsh

ZSH_KINDS = {"file": "_files", "folder": "_files -/", "host": "_hosts",
             "program": "_teamster_program", "job": "_teamster_jobs", "": " "}
ZSH = string.Template(r"""#compdef teamster
# SPDX-License-Identifier: BSD-3-Clause
# zsh: completion of teamster; made by tools/manual/completion.py

_teamster_jobs() {
    local -a jobs
    jobs=($${(f)"$$($jobs)"})
    compadd -a jobs
}

_teamster_program() {
    _alternative 'files:file:_files' 'commands:command:_command_names -e'
}

_teamster() {
    local context state line
    local -a commands
    commands=(
$commands
    )
    _arguments -C '(-h --help)'{-h,--help}'[print help]' \
        '(-V --version)'{-V,--version}'[print the version]' \
        '1: :->command' '*:: :->rest' && return
    case $$state in
    command) _describe command commands ;;
    rest)
        case $$words[1] in
$cases
        esac
        ;;
    esac
}

_teamster "$$@"
""")


def zsh_quoted(text):
    return text.replace("'", "'\\''").replace(":", "\\:").replace("[", "\\[") \
        .replace("]", "\\]")


def zsh_option(option):
    action = f"({' '.join(option.words)})" if option.words \
        else ZSH_KINDS[option.kind]
    value = f":{option.name}:{action}" if option.argument else ""
    mark = "=" if option.argument else ""
    text = f"[{zsh_quoted(option.summary)}]{value}"
    if not option.letter:
        return f"'--{option.name}{mark}{text}'"
    plus = "+" if option.argument else ""
    return (f"'(-{option.letter} --{option.name})'{{-{option.letter}{plus},"
            f"--{option.name}{mark}}}'{text}'")


def zsh(commands):
    cases = []
    for command in commands:
        specs = [zsh_option(option) for option in command.options]
        if command.name == "run":
            specs += ["'(-)1:program:_teamster_program'", "'*:argument:_files'"]
        else:
            specs += [f"':word:{ZSH_KINDS[kind]}'" for kind in command.places]
        text = " \\\n                ".join(["_arguments -S", *specs])
        cases.append(f"        {command.name})\n            {text} ;;")
    listed = [f"        '{command.name}:{zsh_quoted(command.summary)}'"
              for command in commands]
    return ZSH.substitute(commands="\n".join(listed), cases="\n".join(cases),
                          jobs=JOBS)


# ---- fish

FISH_KINDS = {"file": "-r -F", "folder": "-x -a '(__fish_complete_directories)'",
              "host": "-x -a '(__fish_print_hostnames)'", "program": "-r -F",
              "job": f"-x -a '({JOBS})'".replace("'$1", "\\'$1")
              .replace("}')", "}\\')"), "": "-x"}


def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish(commands):
    names = " ".join(command.name for command in commands)
    none = f"-n 'not __fish_seen_subcommand_from {names}'"
    lines = ["# SPDX-License-Identifier: BSD-3-Clause",
             "# fish: completion of teamster; made by tools/manual/completion.py",
             "complete -c teamster -e",
             f"complete -c teamster {none} -f",
             f"complete -c teamster {none} -s h -l help -d 'print help'",
             f"complete -c teamster {none} -s V -l version -d 'print the version'"]
    for command in commands:
        lines.append(f"complete -c teamster {none} -a {command.name} "
                     f"-d {fish_quoted(command.summary)}")
    for command in commands:
        seen = f"complete -c teamster -n '__fish_seen_subcommand_from {command.name}'"
        for option in command.options:
            letter = f" -s {option.letter}" if option.letter else ""
            value = ""
            if option.words:
                value = f" -x -a {fish_quoted(' '.join(option.words))}"
            elif option.argument:
                value = f" {FISH_KINDS[option.kind]}"
            lines.append(f"{seen}{letter} -l {option.name}{value} "
                         f"-d {fish_quoted(option.summary)}")
        kind = command.places[0] if command.places else ""
        lines.append(f"{seen} {FISH_KINDS[kind] if kind == 'job' else '-f'}"
                     if kind in ("", "job") else f"{seen} -F")
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    words = tables(program)
    commands = [Command(program, name, summary, words if name in TABLED else {})
                for name, summary in help_text.commands(program).items()]
    folder.mkdir(parents=True, exist_ok=True)
    for name, write in (("teamster.bash", bash), ("_teamster", zsh),
                        ("teamster.fish", fish)):
        (folder / name).write_text(write(commands))
    print(f"completion of {len(commands)} commands for bash, zsh and fish")


if __name__ == "__main__":
    main()
