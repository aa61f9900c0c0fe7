"""Plan a rewind: the files, the conversation, or both as they were before a prompt.

`plan` lists what would be changed, what cannot be restored, and (`PathChange.edits`) which files were changed by others
after the session wrote them. `clew.chat.rewind.carry_out` does it: it saves the current state first, and the plan of
`undo` brings that back. Nothing is deleted unless it is known to have been absent. The session's file only grows.

In a chat the engine does both: `engine.plan_rewind(place)`, and `await engine.rewind(plan, ...)`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from clew.chat.rewind.command_effects import Effects
from clew.chat.rewind.path_state import ABSENT, PathState, read_path_state, unified_diff
from clew.chat.rewind.protected_paths import is_protected_path, refuse_folder
from clew.chat.rewind.rewind_report import lost_by_commands, notes
from clew.chat.rewind.rewind_store import records
from clew.chat.rewind.saved_states import SavedStateFolders, real_path, saved_state, target_of
from clew.chat.rewind.shadow_git import Shadow
from clew.conversation.file_history import FileState, backups_to_restore, file_states
from clew.conversation.session import Session
from clew.conversation.turns import Turn
from clew.errors import NotFound
from clew.facts.file_changes import collect_changes as changed_by
from clew.system import shell_quoting
from clew.system.environment import state_home
from clew.system.plural import plural
from clew.wire.side_files import is_bare_name

Edits = Literal["refuse", "keep", "overwrite"]
_SHORTEST = 8  # characters of a uuid that stand for it; fewer digits are a number


class RewindPoint(Struct, frozen=True):
    """A prompt that can be rewound to. `uuid` is its line, `before` the line above it."""

    uuid: str
    number: int  # of its turn, counted from 1 along the path
    text: str
    time: datetime | None
    before: str | None
    has_files: bool  # whether the state of the files at it is known
    offset: int = 0  # of its line in the file


class PathChange(Struct, frozen=True):
    """One path: what exists there, what should exist, and what the session left there."""

    path: Path
    name: str  # as it is shown; that of a folder ends in a slash
    before: PathState
    after: PathState
    left: str | None = None  # the text that the session left, if it is known and differs from what exists
    is_edited: bool = False  # by someone else, after the session wrote it
    doubt: str = ""  # a reason not to delete it without asking

    @property
    def kind(self) -> str:
        if self.before.kind == "none":
            return "create"
        return "delete" if self.after.kind == "none" else "restore"

    @property
    def summary(self) -> str:
        """The change in one line: what happens, and to which path."""
        is_mode = self.before.kind == self.after.kind and self.before.data == self.after.data
        return f"{self.kind} {self.name}" + (f" (mode {self.after.mode:o})" if is_mode else "")

    @property
    def diff(self) -> str:
        """The planned change as a unified diff."""
        return unified_diff(self.before, self.after, self.name)

    @property
    def edits(self) -> str:
        """Changes by others as a unified diff; empty if there are none."""
        if not self.is_edited:
            return ""
        if self.left is None:
            return unified_diff(self.after, self.before, self.name)
        return unified_diff(PathState("file", self.left.encode("utf-8", "replace")), self.before, self.name)


class RewindPlan(Struct, frozen=True):
    """The changes of a rewind. The plan itself changes nothing."""

    session_id: str
    place: RewindPoint
    changes: tuple[PathChange, ...]  # of files and links
    lost: tuple[tuple[str, str], ...]  # names of what is not restored, and why
    turns: int  # that the conversation would lose
    store: Path  # where the state before is saved
    top: Path  # the folder that relative names start from
    has_conversation: bool = True  # whether it knows where the conversation continues
    folders: tuple[PathChange, ...] = ()  # folders that are made, removed if they are empty, or get their mode back
    notes: tuple[str, ...] = ()  # what cannot be known
    refused: str = ""  # why no file may be changed

    @property
    def edited(self) -> tuple[PathChange, ...]:
        return tuple(change for change in self.changes if change.is_edited)

    @property
    def deletions(self) -> tuple[PathChange, ...]:
        return tuple(change for change in self.changes if change.kind == "delete")

    @property
    def doubtful(self) -> tuple[PathChange, ...]:
        return tuple(change for change in self.changes if change.doubt)

    @property
    def shown(self) -> tuple[PathChange, ...]:
        """All changes except folders that follow from a file in them."""
        busy = {above for c in self.changes if c.kind != "restore" for above in c.path.parents}
        return *self.changes, *(c for c in self.folders if c.kind == "restore" or c.path not in busy)


class _LastContent:
    """What the session left at each path; any other content was written by others."""

    def __init__(self, session: Session, states: Mapping[str, FileState], ground: SavedStateFolders) -> None:
        top = Path(os.path.realpath(ground.cwd))
        self._texts = dict(_texts(session))
        self._digests: dict[Path, set[str]] = {}
        for name, (_, after) in _effects(session, ground, 0).files.items():
            if after is not None:
                self._digests[top / name] = {after}
        for record in records(ground.store):
            for step in record.steps:
                self._digests.setdefault(step.path, set()).add(step.after)
        newest = list(states.values())[-1].backups if states else {}
        backups = ((real_path(ground.cwd / name), backup) for name, backup in newest.items())
        self._newest = {path: backup for path, backup in backups if path is not None}
        self._ground = ground

    def text(self, path: Path) -> str | None:
        return self._texts.get(path)

    def is_ours(self, path: Path, now: PathState) -> bool:
        if now.digest in self._digests.get(path, ()):
            return True
        text = self._texts.get(path)
        if text is not None:
            return now.text is not None and now.text.removeprefix("\ufeff") == text.removeprefix("\ufeff")
        saved = saved_state(self._newest[path], self._ground) if path in self._newest else None
        return saved is not None and saved.digest == now.digest


def saved_folders(session: Session, claude: Path, roots: Sequence[Path] = ()) -> SavedStateFolders:
    """Return the folders of a session that is not open in a chat, of clew or of Claude Code."""
    cwd = Path(session.cwd or "/nowhere")
    shadow = Shadow(cwd, session.id) if real_path(cwd) else None
    return SavedStateFolders(claude / "file-history" / session.id, cwd, (cwd, *roots), store_of(session.id), shadow)


def store_of(session_id: str) -> Path:
    """Return the folder that stores what existed before the rewinds of a session."""
    return Path(state_home()) / "rewind" / (session_id if is_bare_name(session_id) else "unnamed")


# -- where to


def rewind_points(session: Session) -> tuple[RewindPoint, ...]:
    """Return the prompts on the active path of a session, oldest first."""
    known = file_states(session.entries)
    return tuple(_point(session, turn, known) for turn in session.turns if turn.prompt.uuid)


def find_point(session: Session, asked: str) -> RewindPoint:
    """Find a prompt by the uuid of its line, by a prefix of it, or by its turn number; -1 is the last one."""
    points = rewind_points(session)
    if asked.removeprefix("-").isdecimal() and len(asked) < _SHORTEST:
        number = int(asked) + len(points) + 1 if asked.startswith("-") else int(asked)
        here = [place for place in points if place.number == number]
    else:
        here = [place for place in points if place.uuid.startswith(asked) and len(asked) >= _SHORTEST]
    if len(here) == 1:
        return here[0]
    known = file_states(session.entries)
    for prompt in session.prompts:  # on a branch that was left
        if prompt.uuid == asked:
            return _point(session, session.turns_to(prompt)[-1], known)
    command = shell_quoting.session_command("show", session.id)
    hint = f"{session.id[:8]} has {plural(len(points), 'turn')}: {command}"
    raise NotFound(asked, kind="turn or prompt", hint=hint)


def _point(session: Session, turn: Turn, known: Mapping[str, FileState]) -> RewindPoint:
    uuid = turn.prompt.uuid or ""
    above = session.links.parent(turn.prompt)
    is_said = above is not None and any(e.type in ("user", "assistant") for e in session.links.path_from(above))
    return RewindPoint(
        uuid,
        turn.number,
        turn.text,
        turn.time,
        above.uuid if above and is_said else None,
        uuid in known,
        turn.prompt.offset,
    )


# -- what would be done


def plan(session: Session, asked: str, ground: SavedStateFolders) -> RewindPlan:
    """Return the changes of a rewind to a prompt. Raises NotFound if there is no such prompt."""
    place = find_point(session, asked)
    turns = sum(1 for turn in session.turns if turn.number >= place.number)
    refused = refuse_folder(str(ground.cwd))
    top = real_path(ground.cwd) or Path("/")
    if refused:
        return RewindPlan(session.id, place, (), (), turns, ground.store, top, refused=refused)
    effects = _effects(session, ground, place.offset)
    changes, lost = _changes(session, place, ground, effects)
    kept = [change for change in changes.values() if not change.before.is_like(change.after)]
    kept = [change for change in kept if (change.before.kind, change.after.kind) != ("folder", "none")]
    folders, kept, left = _folders(effects, kept, top)
    for change in [c for c in kept if _is_blocked(c, (*kept, *folders))]:
        kept.remove(change)
        is_folder = change.before.kind == "folder"
        why = "a folder with other files is in its place" if is_folder else "what is in its place cannot be read"
        lost.append((change.name, why))
    lost += [*left, *lost_by_commands(effects, top), *_emptied_parents(kept, folders, effects, top)]
    messages = [*notes(session, effects, place.offset, place.time, top), *_hard_links(kept)]
    return RewindPlan(
        session.id,
        place,
        tuple(_deletions_first(kept)),
        tuple(lost),
        turns,
        ground.store,
        top,
        folders=tuple(_deletions_first(folders)),
        notes=tuple(messages),
    )


def _changes(
    session: Session, place: RewindPoint, ground: SavedStateFolders, effects: Effects
) -> tuple[dict[Path, PathChange], list[tuple[str, str]]]:
    """Return the changes of files, from backups of file tools and records of commands, and what cannot be restored."""
    states = file_states(session.entries)
    left = _LastContent(session, states, ground)
    top = Path(os.path.realpath(ground.cwd))
    changes: dict[Path, PathChange] = {}
    lost: list[tuple[str, str]] = []
    for name, backup in backups_to_restore(states, place.uuid).items():
        if name in effects.unknown:
            continue
        known = effects.files.get(name)
        path, why = (top / name, "") if known else target_of(name, backup, ground)
        after = None if why else saved_state(backup, ground)
        if known and (after is None or after.digest == known[0].digest or is_protected_path(top / name)):
            after = known[0]  # it comes from the store, not from the transcript, and has the full mode
        if path is None or after is None:
            lost.append((name, why or "its backup is gone"))
        else:
            changes[path] = _change(path, name, after, left, top)
    for name, (before, _) in effects.files.items():
        if top / name not in changes:
            changes[top / name] = _change(top / name, name, before, left, top)
    for name, (old, new) in effects.modes.items():
        now = read_path_state(top / name, top)
        if top / name not in changes and now.kind in ("file", "other") and now.mode != old:
            if now.mode == new:
                changes[top / name] = PathChange(top / name, name, now, replace(now, mode=old))
            else:
                lost.append((name, "its mode was changed again since"))
    for name in effects.ignored:  # programs change these all the time: that must not stop a rewind
        if top / name in changes and changes[top / name].is_edited:
            del changes[top / name]
            lost.append((name, "ignored, and changed again since; it is left as it is"))
    for name in effects.older:
        change = changes.get(top / name)
        if change and change.kind == "delete":
            changes[top / name] = replace(change, doubt="it is older than the command: it may have been moved here")
    return changes, lost


def _folders(
    effects: Effects, files: list[PathChange], top: Path
) -> tuple[list[PathChange], list[PathChange], list[tuple[str, str]]]:
    """Return the changes of folders, the remaining changes of files, and what is not done."""
    changes: list[PathChange] = []
    lost: list[tuple[str, str]] = []
    by_path = {change.path: change for change in files}
    for name, (old, new) in sorted(effects.folders.items(), reverse=True):  # what is inside before what it is in
        path, shown = top / name, f"{name}/"
        now = read_path_state(path, top)
        if old is None:
            if now.kind == "folder" and path not in by_path:
                if _is_emptied(path, (*by_path.values(), *changes)):
                    changes.append(PathChange(path, shown, now, ABSENT))
                else:
                    lost.append((shown, "it is not empty"))
            continue
        wanted = PathState("folder", b"", old)
        if now.kind == "none":
            changes.append(PathChange(path, shown, now, wanted))
        elif now.kind == "folder" and now.mode != old:
            if new in (None, now.mode):
                changes.append(PathChange(path, shown, now, wanted))
            else:
                lost.append((shown, "its mode was changed again since"))
        elif path in by_path and by_path[path].kind == "delete":  # a command put a file in its place
            by_path[path] = replace(by_path[path], after=wanted)
    return changes, list(by_path.values()), lost


def _deletions_first(changes: Sequence[PathChange]) -> Iterator[PathChange]:
    """Sort the changes, deletions first."""
    yield from sorted((c for c in changes if c.kind == "delete"), key=lambda c: c.path)
    yield from sorted((c for c in changes if c.kind != "delete"), key=lambda c: c.path)


def _emptied_parents(
    files: Sequence[PathChange], folders: Sequence[PathChange], effects: Effects, top: Path
) -> Iterator[tuple[str, str]]:
    """Return folders that a deletion empties and that may not have existed before."""
    known = {top / name for name in (*effects.files, *effects.placed)}
    gone = {change.path for change in (*folders, *files) if change.before.kind == "folder"}
    unknown = [change for change in files if change.kind == "delete" and change.path not in known]
    parents = {above for change in unknown for above in change.path.parents}
    for folder in sorted(parents - gone):
        is_below = folder != top and folder.is_relative_to(top)
        if is_below and _is_emptied(folder, (*files, *folders), with_folders=False):
            yield f"{folder.relative_to(top)}/", "an empty folder that may have existed before; it is left as it is"


def _hard_links(files: Sequence[PathChange]) -> Iterator[str]:
    names = [c.name for c in files if c.before.kind == "file" and os.lstat(c.path).st_nlink > 1]
    if names:
        yield f"Other hard links to the same file keep their content: {', '.join(names[:3])}."


def _texts(session: Session) -> Iterator[tuple[Path, str]]:
    """Return the text that the session left in each file, according to its calls."""
    calls = [*session.calls, *(call for agent in session.agents for call in agent.session.calls)]
    calls.sort(key=lambda call: str(call.result_entry.timestamp if call.result_entry else ""))
    for name, change in changed_by(calls).items():
        if change.after.is_there and change.after.text is not None:
            path = real_path(Path(name))
            if path is not None:
                yield path, change.after.text.replace("\r\n", "\n")


def _is_blocked(change: PathChange, changes: Sequence[PathChange]) -> bool:
    """Return True if what exists in place of a file cannot be replaced."""
    if change.before.kind == "folder":
        return not _is_emptied(change.path, changes)
    return change.before.kind == "other" != change.after.kind


def _is_emptied(folder: Path, changes: Sequence[PathChange], *, with_folders: bool = True) -> bool:
    """Return True if everything in a folder is deleted."""
    gone = {change.path for change in changes if change.kind == "delete"}
    if not folder.is_dir():
        return False
    try:
        with os.scandir(folder) as entries:
            inside = list(entries)
    except OSError:
        return False
    for entry in inside:
        path = folder / entry.name
        if path in gone:
            continue
        if not entry.is_dir(follow_symlinks=False):
            return False
        if with_folders or not _is_emptied(path, changes, with_folders=False):
            return False
    return True


def _change(path: Path, name: str, after: PathState, left: _LastContent, top: Path) -> PathChange:
    now = read_path_state(path, top)
    is_free = now.kind in ("none", "folder", "other")
    if is_free or (now.kind, now.data) == (after.kind, after.data) or left.is_ours(path, now):
        return PathChange(path, name, now, after)
    return PathChange(path, name, now, after, left.text(path), True)


def _effects(session: Session, ground: SavedStateFolders, offset: int) -> Effects:
    """Return what commands did after the prompts from a position in the file on."""
    if ground.shadow is None or not ground.shadow.exists:
        return Effects()
    return ground.shadow.since(prompt.uuid for prompt in session.prompts if prompt.uuid and prompt.offset >= offset)
