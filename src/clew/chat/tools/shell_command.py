"""Commands: one process each, in a group of its own, with nothing to read and all output in one file."""

from __future__ import annotations

import asyncio
import codecs
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from clew.chat.tools import process_group
from clew.chat.tools.atomic_files import MOST_KEPT, scratch
from clew.chat.tools.command_environment import command_environment
from clew.chat.tools.command_output import INLINE, end
from clew.chat.tools.tool import ToolFailed
from clew.system.environment import child_environment
from clew.system.subprocesses import find_program
from clew.wire.json_codec import Json

_MOST_NEWS = 1 << 20  # bytes
_GUARDED = 1.0  # seconds between two looks at how much a command in the background has put out
# The folder that the command ends in comes back through a descriptor of its own; the profile comes in through another.
_SCRIPT = "trap 'pwd -P >&{} 2>/dev/null' EXIT\n{}__clew=$1; shift; eval \"$__clew\""
_PROFILE = ". /dev/fd/{0} 2>/dev/null; exec {0}<&-\n"


@dataclass(eq=False)
class ShellCommand:
    """A command that runs or has run."""

    id: str
    command: str
    path: Path  # of its output
    process: asyncio.subprocess.Process
    folder_pipe: int
    title: str = ""
    kind: str = "local_bash"
    is_killed: bool = False
    is_kept: bool = False
    _told: int = 0
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
        """As shells tell it: 128 and the number of the signal for a command that one ended."""
        code = self.process.returncode
        return code if code is None or code >= 0 else 128 - code

    @property
    def status(self) -> str:
        if self.process.returncode is None:
            return "running"
        return "killed" if self.is_killed else "failed" if self.process.returncode else "completed"

    @property
    def size(self) -> int:
        """How many bytes it has put out."""
        return self.path.stat().st_size

    def news(self) -> str:
        is_over = self.process.returncode is not None
        left_out = max(0, self.size - self._told - _MOST_NEWS)
        with open(self.path, "rb") as file:
            file.seek(self._told + left_out)
            data = file.read()
        self._told += left_out + len(data)
        text = self._decoder.decode(data, final=is_over)
        return f"[{left_out} bytes before this are left out]\n{text}" if left_out else text

    def output(self) -> str:
        return end(self.path, INLINE)

    def leave(self, folder: Path) -> None:
        """Let it run by itself, and stop it if it puts out too much. Its output moves to this folder and stays there."""
        with suppress(OSError):  # on another disk it stays where it is, and goes with the conversation
            self.path = self.path.rename(folder / f"{self.id}.output")
            self.is_kept = True
        self._guard = asyncio.ensure_future(self._guarded())

    async def _guarded(self) -> None:
        while self.process.returncode is None:
            if self.size > MOST_KEPT:
                await self.stop()
            await asyncio.wait({asyncio.ensure_future(self.process.wait())}, timeout=_GUARDED)

    async def wait(self) -> None:
        await self.process.wait()

    async def stop(self) -> None:
        """End the command and all that it began."""
        self.is_killed = True
        await process_group.end(self.process)

    async def kill(self) -> None:
        """The same at once."""
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
        """Remove what it put out, unless the session keeps it."""
        if not self.is_kept or self.size == 0:
            self.path.unlink(missing_ok=True)
        self.last_folder()

    def last_folder(self) -> Path | None:
        """The folder that an ended command left the shell in, if it told; asked once."""
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


async def begin(
    command: str, cwd: Path, folder: Path | None = None, profile: int | None = None, *, is_trusted: bool = False
) -> ShellCommand:
    """Start a command in a shell of its own, which reads the profile first. Its output goes to this folder, or else to a
    temporary one. `is_trusted` is about the project: it decides the environment."""
    beginning = asyncio.ensure_future(_begun(command, cwd, folder, profile, is_trusted))
    try:
        return await asyncio.shield(beginning)
    except asyncio.CancelledError:  # the command may already run and have begun others
        made = await beginning
        await made.kill()
        made.discard()
        raise


async def _begun(command: str, cwd: Path, folder: Path | None, profile: int | None, is_trusted: bool) -> ShellCommand:
    shell = find_program("bash") or find_program("sh")
    if shell is None:
        raise ToolFailed("There is no shell (bash or sh) to run the command with.", is_misuse=False)
    if "\0" in command:
        raise ToolFailed("A command cannot hold a null character.")
    output, path = scratch(folder)
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    passed = (writer,) if profile is None else (writer, profile)
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
            env=command_environment(child_environment(), is_trusted=is_trusted),
            start_new_session=True,
            pass_fds=passed,
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
