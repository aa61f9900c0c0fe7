"""Run the same script with the same set-up on the published Claude Code and on clew, and compare what can be observed.

Compared are the requests (without system prompts and what each program adds for the model), the session file, the frames,
the files of the project, and the exit code. `python -m tests.oracle.differential` runs all scripts with all set-ups and
prints the differences.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from clew.api.mock.scripts import MockScript, ScriptRule
from clew.api.mock.server import running
from tests.oracle.claude import LATEST, command
from tests.oracle.differential_cases import INNER, SCRIPTS, SET_UPS, settings_text
from tests.oracle.stream_talk import environment

Json = dict[str, Any]
AGENT = [str(Path(sys.executable).with_name("clew-agent"))]
LIMIT = 120  # seconds for one run
PASSED_OVER = ("thinking_tokens", "status", "notification", "informational", "task_progress")
REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_SERIAL = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22,}\b|\ba[0-9a-f]{16}\b")


def observe(program: Sequence[str], script: str, set_up: str, folder: Path) -> Json:
    """Run one program and return what can be observed of it."""
    project, home = folder / "project", folder / "home"
    project.mkdir(parents=True)
    for name, content in {"a.txt": "one\ntwo\n", "b.txt": "three\n", **SET_UPS[set_up].files}.items():
        (project / name).write_text(content)
    inner = ScriptRule(prompt=INNER, steps=[[{"type": "text", "text": "Inner done."}]])
    rules = [inner, ScriptRule(prompt="go", steps=SCRIPTS[script](project))]
    options = ["-p", "go", "--output-format", "stream-json", "--verbose", *SET_UPS[set_up].options]
    with running(MockScript(rules=rules), keeps_bodies=True) as server:
        env = environment(home, server.url)
        (home / ".claude" / "settings.json").write_text(settings_text(SET_UPS[set_up]))
        done = subprocess.run(
            [*program, *options], cwd=project, env=env, input=b"", capture_output=True, timeout=LIMIT, check=False
        )
        bodies = [row["body"] for row in server.rows if row["path"] == "/v1/messages" and row.get("body")]
    frames = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]
    return {
        "exit": done.returncode,
        "requests": [_describe_request(body) for body in bodies if body.get("tools")],
        "frames": [word for frame in frames if (word := _describe_frame(frame))],
        "session": [*_describe_session(home / ".claude")],
        "files": {path.name: path.read_text() for path in sorted(folder.glob("*.txt"))}
        | {path.name: path.read_text() for path in sorted(project.iterdir()) if path.is_file()},
    }


def compare(script: str, set_up: str) -> dict[str, tuple[Any, Any]]:
    """Return what differs between the programs, as pairs of (real, clew)."""
    with tempfile.TemporaryDirectory(prefix="clew-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary).resolve()
        with ThreadPoolExecutor() as pool:
            theirs = pool.submit(observe, command(LATEST), script, set_up, folder / "real")
            ours = observe(AGENT, script, set_up, folder / "clew")
            real = theirs.result()
    return {name: (real[name], ours[name]) for name in real if real[name] != ours[name]}


# -- requests


def _describe_request(body: Json) -> list[str]:
    """Return the messages of a request as words, without what a program says to the model by itself."""
    words = []
    for message in body["messages"]:
        if message["role"] == "system":
            continue
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        words += [f"{message['role']} {word}" for block in blocks if (word := _describe_block(block))]
    return words


def _describe_block(block: Json) -> str:
    match block["type"]:
        case "text":
            text = REMINDER.sub("", str(block["text"])).strip()
            return f"text {text}" if text and not _is_addition(text) else ""
        case "tool_use":
            given = {name: value for name, value in block["input"].items() if name != "replace_all"}
            paths = {name: Path(value).name if "file" in name else value for name, value in given.items()}
            name = {"Task": "Agent"}.get(block["name"], block["name"])  # the same tool by its two names
            return f"call {name} {json.dumps(paths, sort_keys=True)}"
        case "tool_result":
            return f"result {'failed' if block.get('is_error') else 'ok'}"
    return str(block["type"])


def _is_addition(text: str) -> bool:
    """Return whether a program wrote a text by itself: only prompts and replies of the script count."""
    return text not in ("go", INNER, "Hello.", "Done.", "One.", "Two.", "I look.", "Inner done.")


# -- frames


def _describe_frame(frame: Json) -> str:
    kind = frame["type"]
    if kind == "system":
        subtype = frame["subtype"]
        about = {"task_notification": "status", "task_updated": "patch"}.get(subtype)
        value = frame.get(about or "") if about != "patch" else frame["patch"].get("status")
        return "" if subtype in PASSED_OVER else f"system {subtype} {value or ''}".strip()
    if kind in ("assistant", "user"):
        content = frame["message"]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        place = "agent " if frame.get("parent_tool_use_id") else ""
        return f"{place}{kind} " + ", ".join(_describe_content(block) for block in blocks)
    if kind == "result":
        told = ("subtype", "is_error", "num_turns", "stop_reason", "terminal_reason", "result", "api_error_status")
        facts = {name: frame.get(name) for name in told}
        if frame["is_error"]:
            facts.pop("result")  # each says it in its own words
        denied = [denial["tool_name"] for denial in frame["permission_denials"]]
        usage = {name: frame["usage"].get(name) for name in ("output_tokens", "cache_read_input_tokens")}
        return f"result {json.dumps(facts)} {denied} {usage}"
    return ""


def _describe_content(block: Json) -> str:
    match block["type"]:
        case "text":
            return f"text {block['text'] if not _is_addition(block['text']) else '…'}"
        case "tool_use":
            return f"call {block['name'].replace('Task', 'Agent')}"
        case "tool_result":
            return f"result {block.get('is_error')}"
    return str(block["type"])


# -- session files


def _describe_session(claude: Path) -> Iterator[str]:
    """Yield the lines of the conversation: who speaks, and what of."""
    for path in sorted((claude / "projects").rglob("*.jsonl"), key=lambda path: ("subagents" in path.parts, path.name)):
        yield "agent:" if "subagents" in path.parts else "session:"
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            if entry["type"] in ("user", "assistant") and not entry.get("isMeta"):
                content = entry["message"]["content"]
                blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
                yield f"{entry['type']} " + ", ".join(_describe_content(block) for block in blocks)


# -- all of them


# Differences that are meant, or that do not matter: the script, the set-up ("" for all), what differs, and why.
KNOWN: tuple[tuple[str, str, tuple[str, ...], str], ...] = (
    ("two texts", "", ("frames",), "the real result is the last text of a reply; that of clew has all of them"),
    ("refused request", "", ("requests", "frames"), "clew sends a request that is invalid once, and calls it an error"),
    ("parallel reads", "deny rules", ("requests", "frames", "session"), "clew sends results in the order of the calls"),
    *(
        (
            "mixed calls",
            set_up,
            ("requests", "frames", "session"),
            "the real program runs calls while a reply still arrives",
        )
        for set_up in ("deny rules", "hooks", "denied tools")
    ),
    *(
        (
            "parallel commands",
            set_up,
            ("frames", "session"),
            "the real program runs calls while a reply still arrives",
        )
        for set_up in ("deny rules", "denied tools")
    ),
    (
        "agent",
        "planning",
        ("requests", "frames", "session"),
        "clew lets an agent look in plan mode, which holds for it too",
    ),
    *(
        (script, "", ("files", "frames", "requests", "session"), "clew changes no file that the model has not read")
        for script in ("write over", "edit unread")
    ),
)


def unexpected(script: str, set_up: str, found: dict[str, tuple[Any, Any]]) -> dict[str, tuple[Any, Any]]:
    """Return the differences that KNOWN does not name."""
    known = {part for name, where, parts, _ in KNOWN if name == script and where in ("", set_up) for part in parts}
    return {name: pair for name, pair in found.items() if name not in known}


def main(names: Sequence[str]) -> int:
    """Try every script (or those that are named) with every set-up, and print each difference with its first place."""
    counts: Counter[str] = Counter()
    for script in names or SCRIPTS:
        for set_up in SET_UPS:
            found = compare(script, set_up)
            left = unexpected(script, set_up, found)
            counts.update({"tried": 1, "alike": not found, "known differences": bool(found) and not left})
            for name, (real, ours) in left.items():
                counts["unexpected differences"] += 1
                print(f"{script} × {set_up}: {_summary(name, real, ours)}", flush=True)
    print(dict(counts))
    return 1 if counts["unexpected differences"] else 0


def _summary(name: str, real: Any, ours: Any) -> str:
    """Return the first place at which two observations differ."""
    if isinstance(real, list) and isinstance(ours, list):
        for theirs, mine in zip(real, ours, strict=False):
            if theirs != mine:
                return _summary(name, theirs, mine)
        return f"{name}: {len(real)} and {len(ours)} long: {[*real[len(ours) :], *ours[len(real) :]][:1]}"
    return _SERIAL.sub("ID", f"{name}:\n    real {real}\n    clew {ours}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
