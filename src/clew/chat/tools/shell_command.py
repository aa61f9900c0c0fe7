"""Run a command in a process group of its own, without stdin and with all output in one file."""

from __future__ import annotations

import asyncio
import codecs
import os
import secrets
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field

from clew.chat.tools import process_group
from clew.chat.tools.atomic_files import MAX_OUTPUT_BYTES, create_output_file
from clew.chat.tools.command_environment import command_environment
from clew.chat.tools.command_output import INLINE_LIMIT, read_end
from clew.chat.tools.tool import ToolFailed
from clew.system.environment import child_environment
from clew.system.subprocesses import find_program
from clew.wire.json_codec import Json

_MAX_NEW_BYTES = 1 << 20  # bytes
_LIMIT_INTERVAL = 1.0  # seconds between two checks of the output size of a background command
# The final folder of the shell comes back through a separate descriptor; the profile is read from another.
_SCRIPT = "trap 'pwd -P >&{} 2>/dev/null' EXIT\n{}__clew=$1; shift; eval \"$__clew\""
_PROFILE = ". /dev/fd/{0} 2>/dev/null; exec {0}<&-\n"


class ShellCommand(Struct, eq=False):
    """A running or finished command."""

    id: str
    command: str
    path: Path  # of its output
    process: asyncio.subprocess.Process
    folder_pipe: int
    title: str = ""
    kind: str = "local_bash"
    is_killed: bool = False
    is_kept: bool = False
    _reported_bytes: int = 0
    _guard: asyncio.Future[None] | None = None
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )

    @property
    def description(self) -> str:
        return self.command

    @property
    def result(self) -> str:
        return ""

    @property
    def usage(self) -> Json:
        return {}

    @property
    def exit_code(self) -> int | None:
        """The exit code as shells report it: 128 plus the signal number for a killed command."""
        code = self.process.returncode
        return code if code is None or code >= 0 else 128 - code

    @property
    def status(self) -> str:
        if self.process.returncode is None:
            return "running"
        return "killed" if self.is_killed else "failed" if self.process.returncode else "completed"

    @property
    def size(self) -> int:
        """The number of output bytes so far."""
        return self.path.stat().st_size

    def news(self) -> str:
        is_over = self.process.returncode is not None
        left_out = max(0, self.size - self._reported_bytes - _MAX_NEW_BYTES)
        with open(self.path, "rb") as file:
            file.seek(self._reported_bytes + left_out)
            data = file.read()
        self._reported_bytes += left_out + len(data)
        text = self._decoder.decode(data, final=is_over)
        return f"[{left_out} bytes before this are left out]\n{text}" if left_out else text

    def output(self) -> str:
        return read_end(self.path, INLINE_LIMIT)

    def leave(self, folder: Path) -> None:
        """Continue in the background, and stop the command if its output gets too large. The output moves to this
        folder.
        """
        with suppress(OSError):  # on another disk it stays where it is, and goes with the conversation
            self.path = self.path.rename(folder / f"{self.id}.output")
            self.is_kept = True
        self._guard = asyncio.ensure_future(self._limit_output())

    async def _limit_output(self) -> None:
        while self.process.returncode is None:
            if self.size > MAX_OUTPUT_BYTES:
                await self.stop()
            await asyncio.wait({asyncio.ensure_future(self.process.wait())}, timeout=_LIMIT_INTERVAL)

    async def wait(self) -> None:
        await self.process.wait()

    async def stop(self) -> None:
        """Terminate the command and all processes it started."""
        self.is_killed = True
        await process_group.terminate(self.process)

    async def kill(self) -> None:
        """Kill the command and all processes it started immediately."""
        self.is_killed = True
        await process_group.kill(self.process)

    async def close(self) -> None:
        if self.process.returncode is None:
            await self.stop()
        if self._guard is not None:
            self._guard.cancel()
            await asyncio.wait({self._guard})
        self.discard()

    def discard(self) -> None:
        """Remove the output, unless the session keeps it."""
        if not self.is_kept or self.size == 0:
            self.path.unlink(missing_ok=True)
        self.last_folder()

    def last_folder(self) -> Path | None:
        """Return the folder in which the ended command left the shell, if known; can be read once."""
        if self.folder_pipe < 0:
            return None
        try:
            data = os.read(self.folder_pipe, 1 << 16)
        except BlockingIOError:
            data = b""
        finally:
            os.close(self.folder_pipe)
            self.folder_pipe = -1
        name = os.fsdecode(data).removesuffix("\n")
        return Path(name) if name.startswith("/") else None


async def start_command(
    command: str,
    cwd: Path,
    folder: Path | None = None,
    profile: int | None = None,
    *,
    is_trusted: bool = False,
    variables: Mapping[str, str] | None = None,
) -> ShellCommand:
    """Start a command in a new shell, which reads the profile first. The output goes to this folder, or to a
    temporary one.

    `is_trusted` is about the project: it decides the environment, to which `variables` are added.
    """
    environment = command_environment(child_environment(**(variables or {})), is_trusted=is_trusted)
    starting = asyncio.ensure_future(_start(command, cwd, folder, profile, environment))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:  # the command may already run and have started others
        started = await starting
        await started.kill()
        started.discard()
        raise


async def _start(
    command: str, cwd: Path, folder: Path | None, profile: int | None, environment: Mapping[str, str]
) -> ShellCommand:
    shell = find_program("bash") or find_program("sh")
    if shell is None:
        raise ToolFailed("There is no shell (bash or sh) to run the command with.", is_misuse=False)
    if "\0" in command:
        raise ToolFailed("A command cannot hold a null character.")
    if sys.platform == "win32":
        raise ToolFailed("clew cannot run commands on Windows yet.", is_misuse=False)
    output, path = create_output_file(folder)
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    inherited = (writer,) if profile is None else (writer, profile)
    try:
        process = await asyncio.create_subprocess_exec(
            shell,
            "-c",
            _SCRIPT.format(writer, "" if profile is None else _PROFILE.format(profile)),
            shell,
            command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=cwd,
            env=environment,
            start_new_session=True,
            pass_fds=inherited,
        )
    except OSError as error:
        os.close(reader)
        path.unlink()
        raise ToolFailed(f"The command could not be begun: {error.strerror}.", is_misuse=False) from error
    finally:
        os.close(output)
        os.close(writer)
        if profile is not None:
            os.close(profile)
    return ShellCommand(f"b{secrets.token_hex(3)}", command, path, process, reader)
