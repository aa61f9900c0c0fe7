"""`clew completion`: print the completion script of a shell.

Each script calls `clew completion --complete WORDS` with the words before the cursor; the last one is incomplete. The
answer has one candidate per line, with a description after a tab, or `:files` or `:folders` for the shell's own paths.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from clew.cli.options import add_common_options
from clew.cli.output import print_json
from clew.errors import Refused

_BASH = r"""
# clew completion for bash. Add to ~/.bashrc:  eval "$(clew completion bash)"
_clew() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :files) COMPREPLY=(); return ;;
            :folders) compopt -o dirnames +o default 2>/dev/null; return ;;
            *) COMPREPLY+=("$(printf %q "${line%%$'\t'*}")") ;;
        esac
    done < <(clew completion --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _clew clew
"""
_ZSH = r"""
#compdef clew
# clew completion for zsh. Add to ~/.zshrc, after compinit:  eval "$(clew completion zsh)"
_clew() {
    local line
    local -a candidates
    while IFS= read -r line; do
        case $line in
            :files) _files; return ;;
            :folders) _files -/; return ;;
            *) candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        esac
    done < <(clew completion --complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)
    _describe -V clew candidates
}
if [[ $funcstack[1] == _clew ]]; then _clew "$@"; else compdef _clew clew; fi
"""
_FISH = r"""
# clew completion for fish. Save as ~/.config/fish/completions/clew.fish
function __clew_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (clew completion --complete $words[2..-1] 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path (commandline -ct)
            case :folders
                __fish_complete_directories (commandline -ct)
            case '*'
                echo $line
        end
    end
end
complete -c clew -f -k -a '(__clew_complete)'
"""
SCRIPTS = {"bash": _BASH.lstrip(), "zsh": _ZSH.lstrip(), "fish": _FISH.lstrip()}


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("shell", nargs="?", choices=SCRIPTS, help="the shell")
    command.add_argument(
        "--complete", metavar="WORD", nargs="*", help="print candidates for the last of these words; the scripts use it"
    )
    add_common_options(command)


def parse_arguments(command: ArgumentParser, arguments: Sequence[str]) -> Namespace:
    """Take everything after `--complete` as it is, options too."""
    is_completing = arguments[:1] == ["--complete"]
    options = command.parse_args([] if is_completing else arguments)
    if is_completing:
        options.complete = list(arguments[1:])
    return options


def run(options: Namespace) -> int:
    from clew.cli.help.complete_words import find_candidates

    if options.complete is not None:
        candidates = find_candidates(options.complete, options.claude_dir)
        for word, description in candidates:
            print(f"{word}\t{description}" if description else word)
        return 0 if candidates else 1
    if not options.shell:
        raise Refused(["name the shell: bash, zsh or fish"], hint='For example: eval "$(clew completion bash)"')
    if options.json:
        print_json([{"kind": "completion", "shell": options.shell, "script": SCRIPTS[options.shell]}])
    else:
        print(SCRIPTS[options.shell], end="")
    return 0
