"""Write the files that recorded sessions changed, with the owner of each line, to judge blame by.

It shares no code with what it judges: a call is applied to the text that its record names, and difflib says which
lines it kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from pathlib import Path

from clew.conversation.replies import Call
from clew.conversation.session import Session


def session_calls(session: Session) -> list[Call]:
    calls = {call.id: call for each in (session, *(agent.session for agent in session.agents)) for call in each.calls}
    done = [call for call in calls.values() if call.result_entry is not None and not call.failed]
    return sorted(done, key=lambda call: str(call.result_entry.timestamp if call.result_entry else ""))


def replay_files(sessions: Iterable[Session]) -> dict[str, list[tuple[str, str | None]]]:
    """Return the last lines of each file with the call that wrote each; files with a doubtful step are left out."""
    files: dict[str, list[tuple[str, str | None]]] = {}
    doubtful: set[str] = set()
    calls = {call.id: call for session in sessions for call in session_calls(session)}
    for call in sorted(calls.values(), key=lambda call: str(call.result_entry.timestamp if call.result_entry else "")):
        path = call.input.get("file_path")
        if call.name not in ("Write", "Edit") or not isinstance(path, str) or not path.startswith("/"):
            continue
        detail = call.detail if isinstance(call.detail, dict) else {}
        before = detail.get("originalFile")
        if before is None:
            before = "".join(line + "\n" for line, _ in files.get(path, []))
        if call.name == "Edit" and before.count(call.input["old_string"]) != 1:
            doubtful.add(path)
            continue
        old = call.input.get("old_string", "")
        after = call.input["content"] if call.name == "Write" else before.replace(old, call.input["new_string"])
        owned = _owned(files.get(path, []), before.splitlines(), None)
        files[path] = _owned(owned, after.splitlines(), call.id)
    return {path: lines for path, lines in files.items() if path not in doubtful}


def _owned(old: list[tuple[str, str | None]], new: list[str], owner: str | None) -> list[tuple[str, str | None]]:
    result: list[tuple[str, str | None]] = []
    matcher = SequenceMatcher(None, [line for line, _ in old], new, autojunk=False)
    for tag, i, _, k, m in matcher.get_opcodes():
        for offset, line in enumerate(new[k:m]):
            result.append((line, old[i + offset][1] if tag == "equal" else owner))
    return result


def write_files(
    folder: Path, files: dict[str, list[tuple[str, str | None]]]
) -> dict[Path, list[tuple[str, str | None]]]:
    """Write the files below a folder, as if their projects had been moved there."""
    written = {}
    for path, lines in files.items():
        target = folder / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes("".join(line + "\n" for line, _ in lines).encode())
        written[target] = lines
    return written
