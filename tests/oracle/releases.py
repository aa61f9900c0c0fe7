"""Compare two releases of Claude Code, for whoever adds an era to clew.

    python -m tests.oracle.releases 2.1.200 2.1.325 > report.md
    python -m tests.oracle.releases 2.1.325 2.1.340 --cases '^bridging/' --every 3

Both releases record the same conversations and resume the same hand-made sessions, against the mock API. The report says:
which names of lines and fields appeared or disappeared in the files, what changed in the requests apart from the messages,
which cases are resumed differently, and where clew's prediction for the newer release is wrong.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from clew.facts.format_drift import known_names
from tests.oracle.cases import CASES, session_of
from tests.oracle.claude import Box
from tests.oracle.judge import WORKERS, Verdict, bench, shown
from tests.oracle.mock_api import Json, Reply, text, thinking, tool_use
from tests.oracle.script import told
from tests.oracle.verbatim import without_context

DONE = Reply([text("Done.")])
TASK = tool_use("Task", description="Look", prompt="Look around.", subagent_type="general-purpose")
CONVERSATIONS: dict[str, list[Reply]] = {
    "text": [Reply([thinking("Hm."), text("Hello.")])],
    "commands": [
        Reply([tool_use("Bash", command="echo hi", description="Say hi")]),
        Reply([tool_use("Bash", command="exit 3", description="Fail"), tool_use("Glob", pattern="*.md")]),
        DONE,
    ],
    "files": [
        Reply([tool_use("Write", file_path="a.txt", content="one\n")]),
        Reply([tool_use("Read", file_path="a.txt")]),
        Reply([tool_use("Edit", file_path="a.txt", old_string="one", new_string="two")]),
        DONE,
    ],
    "agent": [Reply([TASK]), Reply([text("Nothing.")]), DONE],
    "unknown tool": [Reply([tool_use("Nope", x=1)]), DONE],
    "cut off": [Reply([text("Half")], stop_reason="max_tokens"), DONE],
}
COMPACTION = Reply([text("<summary>All in all.</summary>")])
_LONGEST = 60  # letters of a name that is reported


@dataclass
class Release:
    """What was seen of one release."""

    version: str
    names: set[str] = field(
        default_factory=set
    )  # types of lines and their fields, such as `user .toolUseResult.stdout`
    requests: dict[str, set[str]] = field(default_factory=dict)  # values of the fields beside the messages
    verdicts: dict[str, Verdict] = field(default_factory=dict)


# -- what a release writes and sends


def observe(version: str, cases: Sequence[str]) -> Release:
    """Record the conversations, and resume the cases."""
    release = Release(version)
    for name, replies in CONVERSATIONS.items():
        with Box(version) as box:
            _record(box, release, name, replies)
    with bench(Box, version) as judges:
        futures = {name: judges.judge(told(CASES[name], session_of(name)), session_of(name)) for name in cases}
        release.verdicts = {name: future.result() for name, future in futures.items()}
    return release


def _record(box: Box, release: Release, name: str, replies: Iterable[Reply]) -> None:
    recorded = box.record("Go", "--permission-mode", "bypassPermissions", replies=replies)
    if name == "text":
        box.api.replies.append(COMPACTION)
        box.run("-r", recorded.session_id, "-p", "/compact")
        box.resume(recorded.session_id)
    for path in (box.home / ".claude" / "projects").rglob("*.jsonl"):
        for line in path.read_bytes().splitlines():
            release.names.update(_names(json.loads(line)))
    for received in box.api.received:
        if received.path == "/v1/messages" and received.body.get("tools"):
            for key, value in _settings(received.headers, received.body):
                release.requests.setdefault(key, set()).add(value)


def _names(entry: Json) -> Iterator[str]:
    """The type of a line and each of its fields, two levels deep."""
    kind = str(entry.get("type"))
    detail = entry.get("subtype") or entry.get("operation") or _type_of(entry.get("attachment"))
    line = f"{kind}/{detail}" if detail else kind
    yield line
    for key, value in entry.items():
        yield f"{line} .{key}"
        if isinstance(value, dict):
            yield from (f"{line} .{key}.{inner}" for inner in value if _is_name(inner))


def _type_of(value: object) -> str:
    return str(value.get("type") or "") if isinstance(value, dict) else ""


def _is_name(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) is not None and len(text) <= _LONGEST


def _settings(headers: Mapping[str, str], body: Json) -> Iterator[tuple[str, str]]:
    """What a request holds beside messages and system prompt; of its tools the names."""
    for key, value in body.items():
        if key not in ("messages", "system", "metadata", "tools"):
            yield key, json.dumps(value)
    yield "tools", ", ".join(sorted(str(tool.get("name")) for tool in body["tools"]))
    for beta in headers.get("anthropic-beta", "").split(","):
        yield "anthropic-beta", beta.strip()


# -- the report


def report(old: Release, new: Release) -> Iterator[str]:
    yield f"# Claude Code {new.version}, compared with {old.version}\n"
    yield "## Lines and fields\n"
    yield from _listed("appeared", new.names - old.names)
    yield from _listed("disappeared", old.names - new.names)
    yield from _listed("unknown to clew (add them to facts/known.json)", _unknown(new.names))
    yield "\n## Requests, apart from the messages\n"
    for key in sorted(old.requests.keys() | new.requests.keys()):
        before, after = old.requests.get(key, set()), new.requests.get(key, set())
        if before != after:
            yield f"- `{key}`: {_values(before)} → {_values(after)}"
    yield from _moved(old, new)
    yield from _wrong(new)


def _listed(title: str, names: Iterable[str]) -> Iterator[str]:
    found = sorted(names)
    yield f"- {title}: {', '.join(f'`{name}`' for name in found) if found else 'none'}"


def _unknown(names: Iterable[str]) -> set[str]:
    table = known_names().fields
    found = set()
    for name in names:
        line, _, path = name.partition(" .")
        kind, first = line.split("/")[0], path.partition(".")[0]
        fields = table.get(kind)
        if kind not in table or (first and fields is not None and first not in fields):
            found.add(f"{kind} .{first}" if first else kind)
    return found


def _values(values: Iterable[str]) -> str:
    return " or ".join(f"`{value}`" for value in sorted(values)) or "absent"


def _moved(old: Release, new: Release) -> Iterator[str]:
    """The cases that the two releases resume differently: a rule moved, or is new."""
    both = [name for name in new.verdicts if name in old.verdicts]
    moved = [name for name in both if _sent(old.verdicts[name]) != _sent(new.verdicts[name])]
    yield f"\n## Cases that are resumed differently: {len(moved)} of {len(both)}\n"
    for name in moved:
        yield f"### {name}\n"
        for release in (old, new):
            yield f"- {release.version}: {_shown(release.verdicts[name])}"
        yield ""


def _wrong(new: Release) -> Iterator[str]:
    """The cases for which clew's prediction is wrong: these need an era, or a correction."""
    wrong = {name: reason for name, verdict in new.verdicts.items() if (reason := _failure(verdict))}
    yield f"\n## Cases that clew predicts wrongly for {new.version}: {len(wrong)} of {len(new.verdicts)}\n"
    for name, reason in wrong.items():
        yield f"### {name}\n\n{reason}\n"


def _failure(verdict: Verdict) -> str:
    try:
        verdict.check()
    except AssertionError as error:
        return str(error).strip() or "the model differs"
    return ""


def _sent(verdict: Verdict) -> list[Json]:
    """The conversation as it was sent, without what each release says about itself and the machine."""
    theirs = verdict.theirs
    return without_context(theirs.messages) if theirs and theirs.rc == 0 else []


def _shown(verdict: Verdict) -> str:
    messages = _sent(verdict)
    return shown(messages) if messages else "refused"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.releases", description=__doc__.split("\n\n")[0])
    parser.add_argument("old", help="a release that clew knows")
    parser.add_argument("new", help="the release to compare with it")
    parser.add_argument("--cases", default="", metavar="REGEX", help="only the cases whose names match")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth case")
    options = parser.parse_args(arguments)
    cases = [name for name in CASES if re.search(options.cases, name)][:: options.every]
    try:
        with ThreadPoolExecutor(2 if WORKERS > 3 else 1) as pool:
            old, new = pool.map(lambda version: observe(version, cases), (options.old, options.new))
    except subprocess.TimeoutExpired as late:
        parser.error(f"a release did not end in time: {late}")
    for line in report(old, new):
        print(line)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
