"""Record in a private git store what commands do to project files, so that a rewind can undo it.

The store is in clew's state folder, never in the project; the repository of the project is neither read nor written.
Only git plumbing is used: hooks, filters, settings and attributes of the project have no effect, and links are
stored as links. Large files and most ignored files are not stored (see `project_inventory`); a very large tree is
not examined at all.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from clew.chat.config.repository import git_environment
from clew.chat.rewind.command_effects import Effect, Effects, PathEffect, ProjectTree, compare
from clew.chat.rewind.path_state import ABSENT, PathState, read_path_state
from clew.chat.rewind.project_inventory import Survey
from clew.errors import ClewError
from clew.system.environment import state_home, user_home
from clew.system.subprocesses import find_program
from clew.wire.json_codec import decode
from clew.wire.session_writer import append, create, create_exactly

MOST_FILES = 20_000
MOST_BYTES = 512 << 20  # of all files together
SECONDS = 10.0  # for one step of git
DAYS = 60  # that a store is kept after the last look
_COMMAND = 120  # characters of a command that are recorded
_RECORDS = "records.jsonl"
_PLAIN = "* -text -eol -ident -filter -working-tree-encoding -diff -merge\n"
_CONFIG = """[core]
\trepositoryformatversion = 0
\tbare = false
\tfileMode = true
\tsymlinks = true
\tautocrlf = false
\tsafecrlf = false
\tignoreCase = false
\tprecomposeUnicode = false
\thooksPath = /dev/null
\tfsmonitor = false
\tuntrackedCache = false
\tlogAllRefUpdates = false
\tcompression = 1
\tfsync = none
[gc]
\tauto = 0
"""


class CannotWatch(ClewError):
    """The files cannot be watched; the text states why."""


class Shadow:
    """The shadow store of one project. Its methods wait for git: call them in a thread."""

    def __init__(self, project: Path, session_id: str, git: str | None = None) -> None:
        self.project = Path(os.path.realpath(project))
        self._store = store_of(self.project)
        self._index = self._store / f"index-{session_id}"
        self._git = git or find_program("git") or ""
        self._alone = threading.Lock()
        self._last: ProjectTree | None = None

    @property
    def exists(self) -> bool:
        """Return True if a command was ever watched in this project."""
        return (self._store / _RECORDS).is_file()

    def look(self) -> ProjectTree:
        """Return the present state of the files. Raises CannotWatch."""
        with self._alone:
            self._prepare()
            self._index.with_name(f"{self._index.name}.lock").unlink(missing_ok=True)  # of a git that was ended
            self._last = self._look()
            return self._last

    def record(
        self,
        prompt: str,
        call: str,
        before: ProjectTree,
        after: ProjectTree,
        *,
        command: str = "",
        is_sure: bool = True,
        is_running: bool = False,
    ) -> list[PathEffect]:
        """Record the changes between two snapshots for a rewind to a prompt; return what can be undone.

        `is_sure` is False if others had time to change files too; `is_running`: the command continues in the
        background.
        """
        listed = list(self._differences(before.id, after.id, before.modes, after.modes))
        effect = compare(before, after, listed, self.project)
        row: dict[str, Any] = {"prompt": prompt, "call": call, "command": _short(command)}
        row |= {"before": before.id, "after": after.id, "sure": is_sure, "running": is_running}
        row |= self._effect(effect, before, listed)
        self._note(row, sync=not effect.is_none)
        return effect.done

    def note_unseen(self, prompt: str, call: str, command: str, why: str) -> None:
        """Record that a command ran that could not be watched."""
        self._note({"prompt": prompt, "call": call, "command": _short(command), "unseen": why}, sync=False)

    def note_file(self, prompt: str, call: str, name: str, folders: Iterable[str]) -> None:
        """Record that a tool is about to create a file, and these folders for it."""
        created = dict.fromkeys(folders, (None, None))
        self._note({"prompt": prompt, "call": call, "file": name, "folders": created}, sync=False)

    def since(self, prompts: Iterable[str]) -> Effects:
        """Return what commands did after these prompts."""
        wanted, effects = set(prompts), Effects()
        rows = [row for row in self._rows() if row.get("prompt") in wanted]
        if not self._git and any("before" in row for row in rows):
            raise CannotWatch("What commands changed cannot be looked up: git is not installed.")
        for row in rows:
            call = str(row.get("call"))
            if "unseen" in row:
                effects.unseen[call] = str(row["unseen"])
                continue
            listed: list[PathEffect] = []
            if "before" in row:
                effects.calls.add(call)
                skipped = set(row.get("skipped", ()))
                listed = list(self._differences(row["before"], row["after"], row.get("modes", {}), {}))
                listed = [done for done in listed if done.name not in skipped]
            effects.add(row, listed, {name: self._kept(facts) for name, facts in row.get("kept", {}).items()})
        return effects

    # -- records

    def _effect(self, effect: Effect, before: ProjectTree, listed: Iterable[PathEffect]) -> dict[str, Any]:
        """Return the record of an effect. The content of ignored files is stored now."""
        by_tree = {done.name: done for done in listed}
        kept, afters = {}, {}
        for done in effect.done:
            was = by_tree.get(done.name)
            if was is None or was.before != done.before:
                kept[done.name] = self._keep(done.before) | {"after": done.after.digest, "ignored": done.is_ignored}
            elif was.after != done.after:
                afters[done.name] = done.after.digest
        names = {done.name for done in effect.done}
        row = {
            "modes": {name: before.modes[name] for name in sorted(names) if name in before.modes},
            "kept": kept,
            "afters": afters,
            "dropped": [name for name in by_tree if name not in names and name not in effect.unknown],
            "moved": effect.moved,
            "older": effect.older,
            "modes_only": effect.modes,
            "folders": effect.folders,
            "unkept": effect.unkept,
            "unchecked": effect.unchecked,
        }
        return {"unknown": effect.unknown} | {key: value for key, value in row.items() if value}

    def _keep(self, state: PathState) -> dict[str, Any]:
        """Store the content of an ignored file; return what a record needs to find it."""
        name = sha256(state.data).hexdigest()
        with suppress(FileExistsError):
            create_exactly(self._store / "ignored" / name, (state.data,))
        return {"kind": state.kind, "mode": state.mode, "content": name}

    def _kept(self, facts: Mapping[str, Any]) -> PathState:
        state = read_path_state(self._store / "ignored" / str(facts["content"]))
        if state.kind != "file":
            raise CannotWatch("What a command changed cannot be looked up: a part of clew's store is missing.")
        return PathState(facts["kind"], state.data, facts["mode"])

    # -- the store

    def _prepare(self) -> None:
        """Create the store if it is missing, without the templates of git."""
        if not self._git:
            raise CannotWatch("git is not installed, so what commands change cannot be undone.")
        if self.project in (Path("/"), Path(user_home()).resolve()):
            raise CannotWatch(
                f"{self.project} is not a project folder, so what commands change in it cannot be undone."
            )
        if not (self._store / "HEAD").is_file():
            inner = (self._store / name for name in ("objects", "refs", "info"))
            _make_private(self._store.parent, self._store, *inner)
            for name, text in (("config", _CONFIG), ("info/attributes", _PLAIN), ("HEAD", "ref: refs/heads/none\n")):
                with suppress(FileExistsError):  # another session may be making it too
                    create_exactly(self._store / name, (text.encode(),), sync=False)
            _remove_old_stores(self._store.parent)
        self._store.chmod(0o700)
        if not self._index.exists():
            with suppress(FileNotFoundError):  # another session may have forgotten its own meanwhile
                others = sorted(self._store.glob("index-*[!k]"), key=lambda path: path.stat().st_mtime)
                if others:
                    create_exactly(self._index, (others[-1].read_bytes(),), sync=False)  # it knows most files already

    def _note(self, row: dict[str, Any], *, sync: bool) -> None:
        path = self._store / _RECORDS
        _make_private(self._store.parent, self._store)
        try:
            create(path, [row])
        except FileExistsError:
            append(path, [row], sync=sync)

    def _rows(self) -> Iterator[dict[str, Any]]:
        try:
            lines = (self._store / _RECORDS).read_bytes().splitlines()
        except OSError:
            return
        for line in lines:
            try:
                row = decode(line)
            except ValueError:
                continue
            if isinstance(row, dict):
                yield row

    # -- looking

    def _look(self) -> ProjectTree:
        began = time.time()
        listed = self._listed()
        survey = Survey(self.project, map(os.fsdecode, listed), self._last.inventory if self._last else None)
        inventory = survey.take()
        if survey.total > MOST_BYTES:
            raise CannotWatch(_too_large(self.project, f"more than {MOST_BYTES >> 20} MB"))
        taken = [os.fsencode(name) for name in survey.taken]
        gone = sorted(set(listed) - set(taken))
        for words, which in ((("--force-remove",), gone), (("--add", "--remove", "--replace"), taken)):
            if which:
                self._run("update-index", *words, "-z", "--stdin", given=b"\0".join(which) + b"\0")
        return ProjectTree(self._run("write-tree").decode().strip(), survey.modes, inventory, began)

    def _listed(self) -> list[bytes]:
        """Return the names of all files that are not ignored, without those of nested repositories."""
        out = self._run("ls-files", "-z", "--cached", "--others", "--exclude-standard", most=MOST_FILES)
        return [name for name in dict.fromkeys(out.split(b"\0")) if name and not name.endswith(b"/")]

    def _differences(
        self, before: str, after: str, old_modes: Mapping[str, int], new_modes: Mapping[str, int]
    ) -> Iterator[PathEffect]:
        if before == after:
            return
        out = self._run("diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-ext-diff", before, after)
        parts = out.split(b"\0")
        pairs = zip(parts[::2], parts[1::2], strict=False)
        rows = [(head.decode().lstrip(":").split(), os.fsdecode(name)) for head, name in pairs]
        contents = self._contents({oid for (_, _, old, new, _), _ in rows for oid in (old, new) if oid.strip("0")})
        for (old_mode, new_mode, old, new, _), name in rows:
            yield PathEffect(
                name,
                _state(old_mode, contents.get(old), old_modes.get(name)),
                _state(new_mode, contents.get(new), new_modes.get(name)),
            )

    def _contents(self, ids: Iterable[str]) -> dict[str, bytes]:
        wanted = sorted(ids)
        if not wanted:
            return {}
        out = self._run("cat-file", "--batch", given="\n".join(wanted).encode() + b"\n")
        contents, at = {}, 0
        for oid in wanted:
            end = out.index(b"\n", at)
            head = out[at:end].split()
            if len(head) != 3:
                at = end + 1
                continue
            size = int(head[2])
            contents[oid] = out[end + 1 : end + 1 + size]
            at = end + 1 + size + 1
        return contents

    def _run(self, command: str, *words: str, given: bytes = b"", most: int = 0) -> bytes:
        """Run one git command, isolated from all settings of the user and the project."""
        own = {
            "GIT_DIR": str(self._store),
            "GIT_WORK_TREE": str(self.project),
            "GIT_INDEX_FILE": str(self._index),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_LITERAL_PATHSPECS": "1",
            "LC_ALL": "C",
        }
        try:
            done = subprocess.run(
                [self._git, "--no-pager", command, *words],
                cwd=self.project,
                env=git_environment() | own,
                input=given,
                capture_output=True,
                timeout=SECONDS,
                umask=0o077,
            )
        except subprocess.TimeoutExpired:
            raise CannotWatch(_too_large(self.project, "too much to look at")) from None
        except OSError as error:
            raise CannotWatch(
                f"git cannot be run, so what commands change cannot be undone: {error.strerror}."
            ) from None
        if done.returncode:
            messages = done.stderr.decode(errors="replace").strip().splitlines()
            raise CannotWatch(
                f"git {command} failed, so what a command changed cannot be undone: {' '.join(messages[-1:])}."
            )
        if most and done.stdout.count(b"\0") > most:
            raise CannotWatch(_too_large(self.project, f"more than {most:,} files"))
        return done.stdout


def store_of(project: Path) -> Path:
    """Return the store of a project, by its path."""
    return Path(state_home()) / "shadow" / sha256(os.fsencode(project)).hexdigest()[:24]


def _make_private(*folders: Path) -> None:
    for folder in folders:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.chmod(0o700)


def _short(command: str) -> str:
    return " ".join(command.split())[:_COMMAND]


def _remove_old_stores(stores: Path) -> None:
    """Remove the stores of projects that were not used for a long time."""
    oldest = time.time() - DAYS * 86_400
    for store in stores.iterdir():
        newest = max((path.stat().st_mtime for path in (store, *store.glob("index-*"))), default=0.0)
        if newest < oldest:
            shutil.rmtree(store, ignore_errors=True)


def _too_large(project: Path, why: str) -> str:
    return f"{project} has {why}, so what commands change in it cannot be undone."


def _state(mode: str, data: bytes | None, known: int | None) -> PathState:
    if mode == "000000" or data is None:
        return ABSENT
    if mode == "120000":
        return PathState("link", data)
    return PathState("file", data, known if known is not None else 0o755 if mode == "100755" else 0o644)
