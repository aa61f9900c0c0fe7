"""Write an imported session atomically, verified before and after, once per conversation."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from unicodedata import normalize

from msgspec import Struct

from clew.api.lint import lint
from clew.conversation.load import request
from clew.conversation.session import Session
from clew.errors import Refused
from clew.foreign.conversation_steps import Conversation
from clew.foreign.json_values import get_object, modification_time
from clew.foreign.session_builder import ImportTarget, build_lines, session_id
from clew.wire.entry_types import ORIGIN_TYPE
from clew.wire.json_codec import decode, encode
from clew.wire.layout import SessionFile, Tree, session_at
from clew.wire.project_slug import slug
from clew.wire.session_writer import create

CHECKED_VERSIONS = ("2.1.325", "2.1.29")  # the newest and the oldest supported format


class ImportDraft(Struct, frozen=True):
    """A session that is ready to be written, or `violations` that say why it must not be."""

    conversation: Conversation
    id: str
    cwd: str
    path: Path
    session: Session
    violations: tuple[str, ...]


class ExistingImport(Struct, frozen=True):
    """The session of an earlier import. `is_behind`: the conversation has changed since."""

    file: SessionFile
    is_outdated: bool


def draft_import(conversation: Conversation, tree: Tree, cwd: str, *, again: bool = False) -> ImportDraft:
    """Build the session for a conversation, in the project of a folder."""
    id = session_id(conversation, again=again)
    folder = normalize("NFC", cwd)
    source = Path(conversation.path)
    now = datetime.now(UTC)
    start = next((step.time for step in conversation.steps if step.time), None) or (
        modification_time(source) if source.exists() else now
    )
    session_lines = build_lines(conversation, ImportTarget(id, folder, start.astimezone(UTC), now))
    session = Session(b"".join(encode(line) + b"\n" for line in session_lines))
    path = tree.root / "projects" / slug(folder) / f"{id}.jsonl"
    return ImportDraft(conversation, id, folder, path, session, _violations(session))


def find_existing(conversation: Conversation, tree: Tree, *, again: bool = False) -> ExistingImport | None:
    """Find the session that was imported from this conversation before, in any project."""
    name = f"{session_id(conversation, again=again)}.jsonl"
    path = next((candidate for p in tree.projects() if (candidate := p.folder / name).is_file()), None)
    return ExistingImport(session_at(path), _read_digest(path) not in ("", conversation.digest)) if path else None


def write_draft(draft: ImportDraft) -> Path:
    """Create the file of a draft. Raises Refused if it is invalid, or reads back differently."""
    if draft.violations:
        raise Refused(draft.violations)
    path = create(draft.path, (item.raw for item in draft.session.items))
    written = Session(path)
    if encode(request(written).messages) != encode(request(draft.session).messages):
        path.unlink()
        raise Refused([f"{path.name} does not read back as it was written"])
    return path


def _violations(session: Session) -> tuple[str, ...]:
    problems = [f"line {damage.line.number} cannot be read" for damage in session.damage]
    problems += [str(problem) for problem in session.graph.problems]
    problems += [f"the call {call.id} would have no result" for call in session.pairing.open]
    problems += [f"the result in line {entry.line.number} would answer no call" for entry in session.pairing.orphans]
    for version in CHECKED_VERSIONS:
        sent = request(session, version, "go on")
        if sent.refusal:
            problems.append(f"a resume by {version} would be refused: {sent.refusal}")
        problems += [f"the API would refuse {violation}" for violation in lint(sent.messages) if violation.is_refused]
    return tuple(dict.fromkeys(problems))


def _read_digest(path: Path) -> str:
    """Return the digest of the conversation that a session was imported from, as recorded in it."""
    with path.open("rb") as file:
        for line in file:
            if ORIGIN_TYPE.encode() in line:
                try:
                    entry = decode(line)
                except ValueError:
                    continue
                if isinstance(entry, dict) and entry.get("type") == ORIGIN_TYPE:
                    return str(get_object(entry, "foreign").get("digest") or "")
    return ""
