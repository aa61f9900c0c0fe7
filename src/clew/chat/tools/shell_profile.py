"""Read aliases, functions and options of the user's shell once for all commands of a session.

Commands run in bash. For a user of bash, ~/.bashrc gives aliases, functions and options; for a user of zsh or fish,
the configuration of that shell gives its aliases, since its functions are written in another language.

Commands that run without a prompt must mean what they say: no alias or function replaces a builtin or a command that
permission rules know by name, and options that change glob matching are left out. The configuration belongs to the
user, so it is read in every project, from the home folder. Variables are not taken from it: commands get those of clew.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from clew.chat.tools import process_group
from clew.system.environment import child_environment, login_shell
from clew.system.shell_quoting import quote
from clew.system.subprocesses import find_program

TIMEOUT = 5.0  # seconds that the configuration may take
MAX_BYTES = 4 << 20  # bytes
_END_MARK = b"# whole\n"
_PRINT_DEFINITIONS = """
exec 1>&{0} 2>/dev/null
unalias -- $(compgen -b) $(compgen -k) "$@"
unset -f -- $(compgen -b) $(compgen -k) "$@"
for __clew in extglob nocasematch lastpipe xpg_echo; do shopt -p $__clew; done
for __clew in noclobber pipefail; do shopt -po $__clew; done
for __clew in $(compgen -A function); do
  case $__clew in _[!_]*|*/*|command_not_found_handle) ;; *) declare -f -- "$__clew";; esac
done
alias -p
echo 'shopt -s expand_aliases'
printf '# whole\\n'
"""

_ALIAS_NAME = re.compile(r"[A-Za-z0-9_.@%+,!^:-]+")
_FISH_SYNTAX = re.compile(r"[()\\;]|\b(?:and|or|not|begin|set)\b")  # means something else in bash
_ZSH_OWN = frozenset({"run-help", "which-command"})  # aliases that zsh itself defines

# Each prints name and value of every alias, both ended by NUL, to descriptor {0}. Global and suffix aliases of zsh are
# not in `aliases`. An alias of fish is a function of one line that ends in $argv.
_PRINT_ZSH_ALIASES = r"""
for __clew in "${(@k)aliases}"; do printf '%s\0%s\0' "$__clew" "${aliases[$__clew]}" >&{0}; done
printf '# whole\n' >&{0}
"""
_PRINT_FISH_ALIASES = r"""
for __clew in (alias)
    set -l __clew_name (string split -m 2 ' ' -- $__clew)[2]
    set -l __clew_body (functions -- $__clew_name | string match -rv '^\s*(#.*|function .*|end|)$' | string trim)
    printf '%s\0%s\0' $__clew_name (string join \n -- $__clew_body) >&{0}
end
printf '# whole\n' >&{0}
"""


class ShellProfile:
    """Definitions that every command of a session starts with; read when the first command is about to run."""

    def __init__(
        self,
        home: Path,
        plain: Callable[[], Collection[str]],
        remark: Callable[[str], None],
        patience: float = TIMEOUT,
    ) -> None:
        """`plain` returns names that must always mean the command itself. `remark` is called if the profile cannot
        be read.
        """
        self._home = home
        self._plain = plain
        self._remark = remark
        self._patience = patience
        self._loading: asyncio.Task[bytes] | None = None

    async def open(self) -> int | None:
        """Return a new descriptor to read the profile from, without a path in the file system; None if it is empty."""
        if self._loading is None:
            self._loading = asyncio.create_task(self._load())
        text = await asyncio.shield(self._loading)
        if not text:
            return None
        file, name = tempfile.mkstemp(prefix="clew-")
        Path(name).unlink()
        remaining = memoryview(text)
        while remaining:
            remaining = remaining[os.write(file, remaining) :]
        os.lseek(file, 0, os.SEEK_SET)
        return file

    async def _load(self) -> bytes:
        bash = find_program("bash")
        kind = login_shell()
        own = find_program(kind) if kind in ("zsh", "fish") else None
        if bash is None:
            return b""
        try:
            if own:
                printed = await self._print(own, _PRINT_ZSH_ALIASES if kind == "zsh" else _PRINT_FISH_ALIASES)
                definitions = "\n".join(_translate_aliases(printed, kind))
                return await self._print(bash, f"{definitions}\n{_PRINT_DEFINITIONS}", "--norc")
            return await self._print(bash, _PRINT_DEFINITIONS) if (self._home / ".bashrc").is_file() else b""
        except (OSError, ValueError) as error:
            source = f"The aliases of {kind}" if own else "The aliases and functions of ~/.bashrc"
            self._remark(f"{source} are not known to commands: {error}.")
            return b""

    async def _print(self, shell: str, script: str, *options: str) -> bytes:
        """Let an interactive shell, which reads its configuration, run a script, and return what that prints to
        descriptor {0}. Raises ValueError if it is not complete.
        """
        with tempfile.TemporaryFile(prefix="clew-") as file:
            process = await asyncio.create_subprocess_exec(
                shell,
                *options,
                "-ic",
                script.replace("{0}", str(file.fileno())),
                shell,
                *sorted(self._plain()),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                cwd=self._home,
                env=child_environment(),
                start_new_session=True,
                pass_fds=(file.fileno(),),
            )
            try:
                await asyncio.wait_for(process.wait(), self._patience)
            except TimeoutError:
                raise ValueError(f"they were not read within {self._patience:g} seconds") from None
            finally:
                if process.returncode is None:
                    await process_group.kill(process)
            file.seek(0)
            text = file.read(MAX_BYTES)
        if not text.endswith(_END_MARK):
            raise ValueError("the shell ended before it printed them")
        return text


def _translate_aliases(printed: bytes, kind: str) -> Iterator[str]:
    """Yield definitions in bash for the aliases that another shell printed, without those that mean something else."""
    fields = printed.removesuffix(_END_MARK).decode("utf-8", "replace").split("\0")
    for name, value in zip(fields[::2], fields[1::2], strict=False):
        command = value.removesuffix("$argv").rstrip() if kind == "fish" else value
        is_foreign = kind == "fish" and _FISH_SYNTAX.search(command)
        if _ALIAS_NAME.fullmatch(name) and name not in _ZSH_OWN and "\n" not in command and not is_foreign:
            yield f"alias -- {name}={quote(command)}"
