"""Read aliases, functions and options of the user's ~/.bashrc once for all commands of a session.

Commands that run without a prompt must mean what they say: no alias or function replaces a builtin or a command that
permission rules know by name, and options that change glob matching are left out. ~/.bashrc belongs to the user, so
it is read in every project, from the home folder. Variables are not taken from it: commands get those of clew.
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

TIMEOUT = 5.0  # seconds that ~/.bashrc may take
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
        shell = find_program("bash")
        if shell is None or not (self._home / ".bashrc").is_file():
            return b""
        try:
            return await self._read(shell)
        except (OSError, ValueError) as error:
            self._remark(f"The aliases and functions of ~/.bashrc are not known to commands: {error}.")
            return b""

    async def _read(self, shell: str) -> bytes:
        """Let an interactive shell, which reads ~/.bashrc, print its definitions. Raises ValueError if it does not."""
        with tempfile.TemporaryFile(prefix="clew-") as file:
            script = _PRINT_DEFINITIONS.replace("{0}", str(file.fileno()))
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
            text = file.read(MAX_BYTES)
        if not text.endswith(_END_MARK):
            raise ValueError("it ended before it could tell them")
        return text
