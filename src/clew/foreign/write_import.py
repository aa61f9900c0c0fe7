"""Writing an imported session: checked before and after, whole or not at all, and once for each conversation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from unicodedata import normalize

from clew.api.lint import lint
from clew.conversation.load import request
from clew.conversation.session import Session
from clew.errors import Refused
from clew.foreign.conversation_steps import Conversation
from clew.foreign.json_values import changed, object_of
from clew.foreign.session_builder import ImportTarget, lines, session_id
from clew.wire.entry_types import ORIGIN_TYPE
from clew.wire.json_codec import decode, encode
from clew.wire.layout import SessionFile, Tree, session_at
from clew.wire.project_slug import slug
from clew.wire.session_writer import create

VERSIONS = ("2.1.325", "2.1.29")  # both ends of the format that was observed


@dataclass(frozen=True, slots=True)
class ImportDraft:
    """A session that could be written, or may not be: then `violations` say why."""

    talk: Conversation
    id: str
    cwd: str
    path: Path
    session: Session
    violations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class There:
    """The session of an earlier import. `is_behind`: the conversation was another one then."""

    file: SessionFile
    is_behind: bool


def draft(talk: Conversation, tree: Tree, cwd: str, *, again: bool = False) -> ImportDraft:
    """The session that a conversation becomes, in the project of a folder."""
    id = session_id(talk, again=again)
    where = normalize("NFC", cwd)
    source = Path(talk.path)
    now = datetime.now(UTC)
    start = next((step.time for step in talk.steps if step.time), None) or (changed(source) if source.exists() else now)
    made = lines(talk, ImportTarget(id, where, start.astimezone(UTC), now))
    session = Session(b"".join(encode(line) + b"\n" for line in made))
    path = tree.root / "projects" / slug(where) / f"{id}.jsonl"
    return ImportDraft(talk, id, where, path, session, _violations(session))


def there(talk: Conversation, tree: Tree, *, again: bool = False) -> There | None:
    """The session that was made of this conversation before, wherever it lies now."""
    name = f"{session_id(talk, again=again)}.jsonl"
    path = next((each for p in tree.projects() if (each := p.folder / name).is_file()), None)
    return There(session_at(path), _digest(path) not in ("", talk.digest)) if path else None


def write(made: ImportDraft) -> Path:
    """Make the file of a draft. Raises Refused if it would be unsound, or is not what it should be when read back."""
    if made.violations:
        raise Refused(made.violations)
    path = create(made.path, (item.raw for item in made.session.items))
    written = Session(path)
    if encode(request(written).messages) != encode(request(made.session).messages):
        path.unlink()
        raise Refused([f"{path.name} says otherwise than it should when it is read back"])
    return path


def _violations(session: Session) -> tuple[str, ...]:
    found = [f"line {damage.line.number} cannot be read" for damage in session.damage]
    found += [str(problem) for problem in session.graph.problems]
    found += [f"the call {call.id} would have no result" for call in session.pairing.open]
    found += [f"the result in line {entry.line.number} would answer no call" for entry in session.pairing.orphans]
    for version in VERSIONS:
        sent = request(session, version, "go on")
        if sent.refusal:
            found.append(f"a resume by {version} would be refused: {sent.refusal}")
        found += [f"the API would refuse {told}" for told in lint(sent.messages) if told.is_refused]
    return tuple(dict.fromkeys(found))


def _digest(path: Path) -> str:
    """The state of the conversation that a session was made of, as it says itself."""
    with path.open("rb") as file:
        for line in file:
            if ORIGIN_TYPE.encode() in line:
                try:
                    told = decode(line)
                except ValueError:
                    continue
                if isinstance(told, dict) and told.get("type") == ORIGIN_TYPE:
                    return str(object_of(told, "foreign").get("digest") or "")
    return ""
