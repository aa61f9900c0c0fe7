"""The person's own shell: aliases, functions and options out of ~/.bashrc, taken once for all commands of a session.

What may run unasked runs as it is: no alias and no function takes the place of a builtin or of a command that permissions
know by its name, and options that change which files a pattern stands for are left out. ~/.bashrc is the person's, so it is
read in every project, from their home folder, and variables are not taken out of it: commands have those of the program.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path

from clew.chat.tools import process_group
from clew.system.environment import child_environment
from clew.system.subprocesses import find_program

PATIENCE = 5.0  # seconds that ~/.bashrc may take
LARGEST = 4 << 20  # bytes
_WHOLE = b"# whole\n"
_TAKE = """
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


class ShellProfile:
    """What the commands of a session begin with; taken when the first of them is about to run."""

    def __init__(
        self,
        home: Path,
        plain: Callable[[], Collection[str]],
        remark: Callable[[str], None],
        patience: float = PATIENCE,
    ) -> None:
        """`plain` gives names that always stand for the command itself. `remark` is told if there is no profile."""
        self._home = home
        self._plain = plain
        self._remark = remark
        self._patience = patience
        self._taking: asyncio.Task[bytes] | None = None

    async def open(self) -> int | None:
        """A descriptor of its own to read the profile from, which no path leads to; None if there is nothing in it."""
        if self._taking is None:
            self._taking = asyncio.create_task(self._taken())
        text = await asyncio.shield(self._taking)
        if not text:
            return None
        file, name = tempfile.mkstemp(prefix="clew-")
        Path(name).unlink()
        rest = memoryview(text)
        while rest:
            rest = rest[os.write(file, rest) :]
        os.lseek(file, 0, os.SEEK_SET)
        return file

    async def _taken(self) -> bytes:
        shell = find_program("bash")
        if shell is None or not (self._home / ".bashrc").is_file():
            return b""
        try:
            return await self._read(shell)
        except (OSError, ValueError) as error:
            self._remark(f"The aliases and functions of ~/.bashrc are not known to commands: {error}.")
            return b""

    async def _read(self, shell: str) -> bytes:
        """Let an interactive shell, which reads ~/.bashrc, tell what it knows. Raises ValueError if it does not."""
        with tempfile.TemporaryFile(prefix="clew-") as file:
            script = _TAKE.replace("{0}", str(file.fileno()))
            process = await asyncio.create_subprocess_exec(
                shell,
                "-ic",
                script,
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
                raise ValueError(f"it was not read within {self._patience:g} seconds") from None
            finally:
                if process.returncode is None:
                    await process_group.kill(process)
            file.seek(0)
            text = file.read(LARGEST)
        if not text.endswith(_WHOLE):
            raise ValueError("it ended before it could tell them")
        return text
