"""Rewinding: the files, the conversation, or both as they were before a prompt.

It is done in two steps. `plan` says what would be changed, and shows by `Change.edits` where a person changed a file after
the session had left it. `carry_out` (in `clew.chat.rewinding`) does it, saves first what stands there, and can be taken
back by the plan of `undo`. Nothing is ever taken out of the session's file.

In a chat the engine does both: `engine.plan_rewind(place)`, and `await engine.rewind(plan, ...)`.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from clew.chat.held import ABSENT, Held, difference, held
from clew.chat.rewind_store import records
from clew.chat.shadow import Shadow
from clew.conversation.files import FileState, file_states, restoration
from clew.conversation.session import Session
from clew.conversation.turn import Turn
from clew.errors import NotFound
from clew.facts.change import changes as changed_by
from clew.wire import shell
from clew.wire.detail import Backup
from clew.wire.home import state_home
from clew.wire.sidecar import is_plain
from clew.wire.time import instant

Edits = Literal["refuse", "keep", "overwrite"]
_AT_ONCE = 2.0  # seconds
_SHORTEST = 8  # characters of a uuid that stand for it; fewer digits are a number


@dataclass(frozen=True, slots=True)
class Place:
    """A prompt that can be gone back to. `uuid` is its line, `before` the line that it hangs below."""

    uuid: str
    number: int  # of its turn, counted from 1 along the path
    text: str
    time: datetime | None
    before: str | None
    has_files: bool  # whether the state of the files at it is known
    offset: int = 0  # of its line in the file


@dataclass(frozen=True, slots=True)
class Change:
    """One path: what stands there, what is to stand there, and what the session left there."""

    path: Path
    name: str  # as people are told it
    before: Held
    after: Held
    left: str | None = None  # the text that the session left, if that is known and is not what stands there
    is_edited: bool = False  # by somebody else, after the session had left it

    @property
    def kind(self) -> str:
        if self.before.kind == "none":
            return "create"
        return "delete" if self.after.kind == "none" else "restore"

    @property
    def diff(self) -> str:
        """What would be done to it, as a unified diff."""
        return difference(self.before, self.after, self.name)

    @property
    def edits(self) -> str:
        """What somebody else did to it, as a unified diff; empty if nobody did."""
        if not self.is_edited:
            return ""
        if self.left is None:
            return difference(self.after, self.before, self.name)
        return difference(Held("file", self.left.encode("utf-8", "replace")), self.before, self.name)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a rewind would do. It changes nothing by itself."""

    session_id: str
    place: Place
    changes: tuple[Change, ...]
    lost: tuple[tuple[str, str], ...]  # names of files that cannot be brought back, and why
    turns: int  # that the conversation would lose
    store: Path  # where the state before is saved
    top: Path  # the folder that relative names start from
    has_conversation: bool = True  # whether it says where the conversation goes on

    @property
    def edited(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.is_edited)


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a session's files are, and where their saved states are. Nothing outside of `roots` is touched."""

    backups: Path  # `file-history/<session>`
    cwd: Path  # that relative names start from
    roots: tuple[Path, ...]
    store: Path
    shadow: Shadow | None = None  # what commands did


class _Left:
    """What the session left at each path: only what stands there besides is somebody else's."""

    def __init__(self, session: Session, states: Mapping[str, FileState], ground: Ground) -> None:
        top = Path(os.path.realpath(ground.cwd))
        self._texts = dict(_texts(session))
        self._digests: dict[Path, set[str]] = {}
        for name, (_, after) in _commanded(session, ground, 0).items():
            if after is not None:
                self._digests[top / name] = {after.digest}
        for record in records(ground.store):
            for step in record.steps:
                self._digests.setdefault(step.path, set()).add(step.after)
        newest = list(states.values())[-1].backups if states else {}
        self._newest = {Path(os.path.realpath(ground.cwd / name)): backup for name, backup in newest.items()}
        self._ground = ground

    def text(self, path: Path) -> str | None:
        return self._texts.get(path)

    def is_ours(self, path: Path, now: Held) -> bool:
        if now.digest in self._digests.get(path, ()):
            return True
        text = self._texts.get(path)
        if text is not None:
            return now.text is not None and now.text.removeprefix("\ufeff") == text.removeprefix("\ufeff")
        saved = _saved(self._newest[path], self._ground) if path in self._newest else None
        return saved is not None and saved.digest == now.digest


def ground_of(session: Session, claude: Path, roots: Sequence[Path] = ()) -> Ground:
    """The ground of a session that nobody holds open, ours or the real program's."""
    cwd = Path(session.cwd or "/nowhere")
    return Ground(
        claude / "file-history" / session.id, cwd, (cwd, *roots), store_of(session.id), Shadow(cwd, session.id)
    )


def store_of(session_id: str) -> Path:
    """Where what stood there before the rewinds of a session is kept."""
    return Path(state_home()) / "rewind" / session_id


# -- where to


def places(session: Session) -> tuple[Place, ...]:
    """The prompts of the path that a session goes on from, oldest first."""
    known = file_states(session.entries)
    return tuple(_place(session, turn, known) for turn in session.turns if turn.prompt.uuid)


def place_of(session: Session, asked: str) -> Place:
    """A prompt by the uuid of its line, by the beginning of it, or by the number of its turn; -1 is the last one."""
    found = places(session)
    if asked.removeprefix("-").isdecimal() and len(asked) < _SHORTEST:
        number = int(asked) + len(found) + 1 if asked.startswith("-") else int(asked)
        here = [place for place in found if place.number == number]
    else:
        here = [place for place in found if place.uuid.startswith(asked) and len(asked) >= _SHORTEST]
    if len(here) == 1:
        return here[0]
    known = file_states(session.entries)
    for prompt in session.prompts:  # on a branch that was left
        if prompt.uuid == asked:
            return _place(session, session.turns_to(prompt)[-1], known)
    missing = NotFound(asked, kind="turn or prompt")
    missing.hint = f"{session.id[:8]} has {len(found)} turns: {shell.on('show', session.id)}"
    raise missing


def _place(session: Session, turn: Turn, known: Mapping[str, FileState]) -> Place:
    uuid = turn.prompt.uuid or ""
    above = session.links.parent(turn.prompt)
    is_said = above is not None and any(e.type in ("user", "assistant") for e in session.links.up(above))
    return Place(
        uuid,
        turn.number,
        turn.text,
        turn.time,
        above.uuid if above and is_said else None,
        uuid in known,
        turn.prompt.offset,
    )


# -- what would be done


def plan(session: Session, asked: str, ground: Ground) -> Plan:
    """What going back to a prompt would change. Raises NotFound if there is no such prompt."""
    place = place_of(session, asked)
    states = file_states(session.entries)
    wanted = dict(restoration(states, place.uuid))
    made: dict[Path, Change] = {}
    lost: list[tuple[str, str]] = []
    left = _Left(session, states, ground)
    top = Path(os.path.realpath(ground.cwd))
    commanded = _commanded(session, ground, place.offset)
    for name, backup in wanted.items():
        path, why = (top / name, "") if name in commanded else _target(name, backup, ground)
        after = None if why else _saved(backup, ground)
        if path is None or after is None:
            lost.append((name, why or "its backup is gone"))
        else:
            made[path] = _change(path, name, after, left, top)
    for name, (before, _) in commanded.items():
        if top / name not in made:
            made[top / name] = _change(top / name, name, before, left, top)
    kept = [change for change in made.values() if not change.before.is_like(change.after)]
    for change in [c for c in kept if c.before.kind == "other" and not _is_emptied(c.path, kept)]:
        kept.remove(change)
        lost.append((change.name, "what stands there is no file that could be read"))
    turns = sum(1 for turn in session.turns if turn.number >= place.number)
    return Plan(session.id, place, tuple(_ordered(kept)), tuple(lost), turns, ground.store, top)


def _ordered(found: Sequence[Change]) -> Iterator[Change]:
    """Removals first: a file may stand where a folder is to be, and the other way round."""
    yield from sorted((c for c in found if c.kind == "delete"), key=lambda c: c.path)
    yield from sorted((c for c in found if c.kind != "delete"), key=lambda c: c.path)


def _target(name: str, backup: Backup, ground: Ground) -> tuple[Path | None, str]:
    """The path that a name stands for, no link left in it; or why it may not be touched."""
    path = Path(os.path.normpath(ground.cwd / name))
    real = Path(os.path.realpath(path))
    if ".git" in (*path.parts, *real.parts):
        return None, "it belongs to git"
    roots = [Path(os.path.realpath(root)) for root in ground.roots]
    if not any(real.is_relative_to(root) for root in roots):
        return None, f"it lies outside of {ground.cwd}"
    if backup.name is None and backup.content is None and path.is_symlink():
        return Path(os.path.realpath(path.parent)) / path.name, ""  # the link itself was not there
    return real, ""


def _saved(backup: Backup, ground: Ground) -> Held | None:
    """The state that a backup stands for; None if its file is gone or the name leads elsewhere."""
    if backup.content is not None:
        return Held("file", backup.content.encode("utf-8", "surrogatepass"))
    if backup.name is None:
        return ABSENT
    if not is_plain(backup.name):
        return None
    found = held(ground.backups / backup.name)
    return found if found.kind == "file" else _astray(backup, ground)


def _astray(backup: Backup, ground: Ground) -> Held | None:
    """A backup that lies under another session's id, where 2.1.29 puts it when it resumes to print. Its time tells it from
    others of that name: the program writes both at once."""
    when = instant(backup.time)
    if when is None:
        return None
    near = [
        path
        for path in ground.backups.parent.glob(f"*/{glob.escape(str(backup.name))}")
        if abs(path.stat().st_mtime - when.timestamp()) <= _AT_ONCE
    ]
    states = {state.digest: state for state in map(held, near) if state.kind == "file"}
    return next(iter(states.values())) if len(states) == 1 else None


def _texts(session: Session) -> Iterator[tuple[Path, str]]:
    """The text that the session left in each file, as far as the records of its calls tell."""
    calls = [*session.calls, *(call for agent in session.agents for call in agent.session.calls)]
    calls.sort(key=lambda call: str(call.result_entry.timestamp if call.result_entry else ""))
    for name, change in changed_by(calls).items():
        if change.after.is_there and change.after.text is not None:
            yield Path(os.path.realpath(name)), change.after.text.replace("\r\n", "\n")


def _is_emptied(folder: Path, changes: Sequence[Change]) -> bool:
    """Whether all that is in a folder goes."""
    gone = {change.path for change in changes if change.kind == "delete"}
    return folder.is_dir() and all(Path(at, name) in gone for at, _, names in os.walk(folder) for name in names)


def _change(path: Path, name: str, after: Held, left: _Left, top: Path) -> Change:
    now = held(path, top)
    if now.kind in ("none", "other") or (now.kind, now.data) == (after.kind, after.data) or left.is_ours(path, now):
        return Change(path, name, now, after)
    return Change(path, name, now, after, left.text(path), True)


def _commanded(session: Session, ground: Ground, offset: int) -> Mapping[str, tuple[Held, Held | None]]:
    """What commands changed behind the prompts from a place of the file on."""
    if ground.shadow is None or not ground.shadow.exists:
        return {}
    return ground.shadow.since(prompt.uuid for prompt in session.prompts if prompt.uuid and prompt.offset >= offset)
