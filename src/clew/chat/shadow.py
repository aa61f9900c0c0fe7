"""The shadow: what commands do to the files of a project, kept in a git store of clew's own, so that it can be taken back.

The store lies in clew's state folder and never in the project; the project's own repository is neither read nor written.
Git is used for its plumbing alone: no hooks, no filters, no settings and no attributes of the project count, and links are
kept as links. What its ignore files name is left out, and so are large files; a large tree is not looked at at all.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from clew.chat.held import ABSENT, Held
from clew.chat.repository import git_surroundings
from clew.errors import ClewError
from clew.wire.encode import decode
from clew.wire.home import state_home, user_home
from clew.wire.spawn import find_program
from clew.wire.write import append, create, place

MOST_FILES = 20_000
MOST_BYTES = 512 << 20  # of all files together
LARGEST = 8 << 20  # bytes of one file
SECONDS = 10.0  # for one step of git
DAYS = 60  # that a store is kept after the last look
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


class Unseen(ClewError):
    """The files cannot be watched; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The files of a project at a time: a tree of the store, the modes that git does not keep, and what is left out."""

    id: str
    modes: Mapping[str, int] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """What a command did to one path."""

    name: str
    before: Held
    after: Held


class Shadow:
    """The shadow of one project. Its calls wait for git: make them in a thread."""

    def __init__(self, project: Path, session_id: str, git: str | None = None) -> None:
        self._project = Path(os.path.realpath(project))
        self._store = store_of(self._project)
        self._index = self._store / f"index-{session_id}"
        self._git = git or find_program("git") or ""
        self._alone = threading.Lock()

    @property
    def exists(self) -> bool:
        """Whether a command was ever watched in this project."""
        return (self._store / _RECORDS).is_file()

    def look(self) -> Tree:
        """The files as they are now. Raises Unseen."""
        with self._alone:
            self._prepare()
            self._index.with_name(f"{self._index.name}.lock").unlink(missing_ok=True)  # of a git that was ended
            return self._look()

    def record(self, prompt: str, line: str, before: Tree, after: Tree, *, is_sure: bool = True) -> list[Done]:
        """Note what happened between two looks, for the rewind to a prompt; what it was.

        It is not sure that a command did it if others had time to do it too.
        """
        skipped = {*before.left_out, *after.left_out}
        done = [d for d in self._differences(before.id, after.id, before.modes, after.modes) if d.name not in skipped]
        if done:
            row = {
                "prompt": prompt,
                "call": line,
                "before": before.id,
                "after": after.id,
                "modes": {d.name: before.modes[d.name] for d in done if d.name in before.modes},
                "skipped": sorted(skipped),
                "sure": is_sure,
            }
            self._note(row)
        return done

    def since(self, prompts: Iterable[str]) -> dict[str, tuple[Held, Held | None]]:
        """Each path that commands changed behind these prompts: before the first of them, and after the last.

        The second is None where it is not sure that a command did it.
        """
        wanted = set(prompts)
        found: dict[str, tuple[Held, Held | None]] = {}
        rows = [row for row in self._rows() if row.get("prompt") in wanted]
        if rows and not self._git:
            raise Unseen("What commands changed cannot be looked up: there is no git here.")
        for row in rows:
            skipped = set(row["skipped"])
            for done in self._differences(row["before"], row["after"], row["modes"], {}):
                if done.name not in skipped:
                    earlier = found.get(done.name)
                    found[done.name] = (earlier[0] if earlier else done.before, done.after if row["sure"] else None)
        return found

    # -- the store

    def _prepare(self) -> None:
        """Make the store if there is none. Nothing of git's own templates comes into it."""
        if not self._git:
            raise Unseen("There is no git here, so what commands change cannot be taken back.")
        if self._project in (Path("/"), Path(user_home()).resolve()):
            raise Unseen(f"{self._project} is no project folder, so what commands change in it cannot be taken back.")
        if not (self._store / "HEAD").is_file():
            for folder in (self._store.parent, *(self._store / name for name in ("objects", "refs", "info"))):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                folder.chmod(0o700)
            for name, text in (("config", _CONFIG), ("info/attributes", _PLAIN), ("HEAD", "ref: refs/heads/none\n")):
                with suppress(FileExistsError):  # another session may be making it too
                    place(self._store / name, (text.encode(),), sync=False)
            _forget_old(self._store.parent)
        self._store.chmod(0o700)
        if not self._index.exists():
            with suppress(FileNotFoundError):  # another session may have forgotten its own meanwhile
                others = sorted(self._store.glob("index-*[!k]"), key=lambda path: path.stat().st_mtime)
                if others:
                    place(self._index, (others[-1].read_bytes(),), sync=False)  # it knows most files already

    def _note(self, row: dict[str, Any]) -> None:
        path = self._store / _RECORDS
        try:
            create(path, [row])
        except FileExistsError:
            append(path, [row], sync=True)

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

    def _look(self) -> Tree:
        names, left_out = self._listed()
        modes: dict[str, int] = {}
        straight: dict[bytes, bool] = {b"": True}
        total, taken, gone = 0, [], []
        for name in names:
            facts = self._facts(name) if self._is_straight(os.path.dirname(name), straight) else None
            shown = os.fsdecode(name)
            if facts is None or stat.S_ISDIR(facts.st_mode):
                gone.append(name)
            elif facts.st_size > LARGEST or not (stat.S_ISREG(facts.st_mode) or stat.S_ISLNK(facts.st_mode)):
                left_out.append(shown)
                gone.append(name)
            else:
                taken.append(name)
                total += facts.st_size
                if stat.S_ISREG(facts.st_mode):
                    modes[shown] = stat.S_IMODE(facts.st_mode)
        if total > MOST_BYTES:
            raise Unseen(_too_large(self._project, f"more than {MOST_BYTES >> 20} MB"))
        for words, which in ((("--force-remove",), gone), (("--add", "--remove", "--replace"), taken)):
            if which:
                self._run("update-index", *words, "-z", "--stdin", given=b"\0".join(which) + b"\0")
        return Tree(self._run("write-tree").decode().strip(), modes, tuple(sorted(left_out)))

    def _facts(self, name: bytes) -> os.stat_result | None:
        try:
            return os.lstat(os.path.join(os.fsencode(self._project), name))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _is_straight(self, folder: bytes, known: dict[bytes, bool]) -> bool:
        """Whether no part of a folder's name is a link, which would lead elsewhere."""
        if folder not in known:
            facts = self._facts(folder) if self._is_straight(os.path.dirname(folder), known) else None
            known[folder] = facts is not None and stat.S_ISDIR(facts.st_mode)
        return known[folder]

    def _listed(self) -> tuple[list[bytes], list[str]]:
        """The names of all files that are not ignored, and the repositories inside, whose files are their own."""
        out = self._run("ls-files", "-z", "--cached", "--others", "--exclude-standard", most=MOST_FILES)
        names = [name for name in dict.fromkeys(out.split(b"\0")) if name]
        inner = [os.fsdecode(name) for name in names if name.endswith(b"/")]
        return [name for name in names if not name.endswith(b"/")], inner

    def _differences(
        self, before: str, after: str, old_modes: Mapping[str, int], new_modes: Mapping[str, int]
    ) -> Iterator[Done]:
        if before == after:
            return
        out = self._run("diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-ext-diff", before, after)
        parts = out.split(b"\0")
        pairs = zip(parts[::2], parts[1::2], strict=False)
        rows = [(head.decode().lstrip(":").split(), os.fsdecode(name)) for head, name in pairs]
        contents = self._contents({oid for (_, _, old, new, _), _ in rows for oid in (old, new) if oid.strip("0")})
        for (old_mode, new_mode, old, new, _), name in rows:
            yield Done(
                name,
                _state(old_mode, contents.get(old), old_modes.get(name)),
                _state(new_mode, contents.get(new), new_modes.get(name)),
            )

    def _contents(self, ids: Iterable[str]) -> dict[str, bytes]:
        wanted = sorted(ids)
        if not wanted:
            return {}
        out = self._run("cat-file", "--batch", given="\n".join(wanted).encode() + b"\n")
        found, at = {}, 0
        for oid in wanted:
            end = out.index(b"\n", at)
            head = out[at:end].split()
            if len(head) != 3:
                at = end + 1
                continue
            size = int(head[2])
            found[oid] = out[end + 1 : end + 1 + size]
            at = end + 1 + size + 1
        return found

    def _run(self, command: str, *words: str, given: bytes = b"", most: int = 0) -> bytes:
        """One step of git, with nothing of the person's or the project's that could change what it does."""
        own = {
            "GIT_DIR": str(self._store),
            "GIT_WORK_TREE": str(self._project),
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
                cwd=self._project,
                env=git_surroundings() | own,
                input=given,
                capture_output=True,
                timeout=SECONDS,
                umask=0o077,
            )
        except subprocess.TimeoutExpired:
            raise Unseen(_too_large(self._project, "too much to look at")) from None
        except OSError as error:
            raise Unseen(
                f"git cannot be run, so what commands change cannot be taken back: {error.strerror}."
            ) from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise Unseen(
                f"git {command} failed, so what a command changed cannot be taken back: {' '.join(said[-1:])}."
            )
        if most and done.stdout.count(b"\0") > most:
            raise Unseen(_too_large(self._project, f"more than {most:,} files"))
        return done.stdout


def store_of(project: Path) -> Path:
    """The store of a project, by its path."""
    return Path(state_home()) / "shadow" / sha256(os.fsencode(project)).hexdigest()[:24]


def _forget_old(stores: Path) -> None:
    """Remove the stores of projects that nobody worked in for long."""
    oldest = time.time() - DAYS * 86_400
    for store in stores.iterdir():
        newest = max((path.stat().st_mtime for path in (store, *store.glob("index-*"))), default=0.0)
        if newest < oldest:
            shutil.rmtree(store, ignore_errors=True)


def _too_large(project: Path, why: str) -> str:
    return f"{project} has {why}, so what commands change in it cannot be taken back."


def _state(mode: str, data: bytes | None, told: int | None) -> Held:
    if mode == "000000" or data is None:
        return ABSENT
    if mode == "120000":
        return Held("link", data)
    return Held("file", data, told if told is not None else 0o755 if mode == "100755" else 0o644)
