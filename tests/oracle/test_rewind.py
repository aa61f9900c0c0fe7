"""The rewind matrix: clew takes back what the real Claude Code did, and the real one takes back what clew did.

Six kinds of change by three things that can go back, for each version and in both directions. What a command of the real
program did to a file that it does not track is known to nobody: the new name of a renamed file stays there.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage

from clew.api.mock.scripts import AnyStep, ScriptRule
from clew.chat.engine import Engine
from clew.chat.rewind.path_state import PathState
from clew.chat.rewind.rewind_plan import rewind_points
from clew.cli import main
from clew.conversation.load import read
from tests.chat.chat_fixture import SESSION, use, world
from tests.chat.test_rewind_plan import drive, tree
from tests.oracle.claude import LATEST, Box
from tests.oracle.conftest import Claude
from tests.oracle.mock_api import Reply, text, tool_use

pytestmark = pytest.mark.oracle

VERSIONS = (LATEST, "2.1.29")
KINDS = {
    "created": ["created.txt"],
    "edited": ["edited.txt"],
    "deleted": ["deleted.txt"],
    "binary": ["binary.txt"],
    "symlinked": ["link.txt", "target.txt"],
    "renamed": ["renamed.txt"],
}
WHAT = ("code", "conversation", "both")
BYTES = {LATEST: b"\xff\xfe\x00\x01", "2.1.29": b"\x00\x01\x02 text"}  # the old one saves files as if they were UTF-8
COMMAND = "rm deleted.txt; mv renamed.txt name.txt; echo over > binary.txt"
SECONDS = 120

Cells = dict[tuple[str, str], bool]
State = dict[str, PathState]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


class Stage:
    """A session in a box, its project before the second turn and behind it, and how to begin again."""

    def __init__(self, box: Box, session_id: str, before: State) -> None:
        self.box = box
        self.session_id = session_id
        self.before = before
        self.after = tree(box.project)
        self.path = box.sessions / f"{session_id}.jsonl"
        self.session = read(self.path)
        self._kept = box.home / "kept"
        shutil.copytree(box.project, self._kept, symlinks=True)

    def reset(self) -> None:
        for path in self.box.project.iterdir():
            path.unlink()
        shutil.copytree(self._kept, self.box.project, symlinks=True, dirs_exist_ok=True)

    def cells(self, what: str, sent: str) -> Cells:
        """How each kind of change fared, with the conversation that was sent afterwards."""
        files = tree(self.box.project)
        is_cut = "FIRST" in sent and "NEXT" in sent and "SECOND" not in sent
        found: Cells = {}
        for kind, names in KINDS.items():
            was, is_, old = ([state.get(name) for name in names] for state in (self.after, files, self.before))
            assert was != old
            is_code = is_ == (was if what == "conversation" else old)
            found[what, kind] = is_code and (what == "code" or is_cut)
        return found


def fill(project: Path, binary: bytes) -> None:
    for name, content in {"edited": "one\n", "deleted": "gone\n", "target": "aim\n", "renamed": "named\n"}.items():
        (project / f"{name}.txt").write_text(content)
    (project / "link.txt").symlink_to("target.txt")
    (project / "binary.txt").write_bytes(binary)


def judge(whose: str, version: str, cells: Cells) -> None:
    good = sum(cells.values())
    print(f"{whose}, {version}: {good} of {len(cells)}")
    assert len(cells) == len(WHAT) * len(KINDS)
    assert [cell for cell, is_good in cells.items() if not is_good] == []


def driven(box: Box, talk: Callable[[ClaudeSDKClient], Awaitable[None]], **more: Any) -> None:
    """The real program behind its SDK, which saves files."""

    async def run() -> None:
        chosen = ClaudeAgentOptions(
            cli_path=box.command[-1],
            cwd=str(box.project),
            enable_file_checkpointing=True,
            permission_mode="bypassPermissions",
            env=box._environment(),
            **more,
        )
        async with ClaudeSDKClient(options=chosen) as client:
            await talk(client)

    asyncio.run(asyncio.wait_for(run(), SECONDS))


# -- clew on what the program did


def recorded(box: Box, binary: bytes) -> Stage:
    """Two turns of the real program. Its commands change what it tracks already."""
    project, shown = box.project, "".join(f"\\{byte:03o}" for byte in binary)
    fill(project, b"text")
    known: dict[str, Any] = {}

    async def turn(client: ClaudeSDKClient, prompt: str, *replies: list[Any]) -> None:
        box.api.replies.extend(Reply(content) for content in [*replies, [text("Done.")]])
        await client.query(prompt)
        async for message in client.receive_response():
            if isinstance(message, ResultMessage):
                assert not message.is_error, message
                known["session"] = message.session_id

    def edits(*names: str) -> list[list[Any]]:
        paths = {name: str(project / name) for name in names}
        olds = {name: (project / name).read_text().strip() for name in names}
        looks = [tool_use("Read", file_path=path) for path in paths.values()]
        made = [tool_use("Edit", file_path=paths[n], old_string=olds[n], new_string=f"new {olds[n]}") for n in names]
        return [looks, made]

    def bash(command: str) -> list[Any]:
        return [tool_use("Bash", command=command, description="Do it")]

    async def talk(client: ClaudeSDKClient) -> None:
        tracked = edits("deleted.txt", "renamed.txt", "binary.txt")
        await turn(client, "FIRST", *tracked, bash(f"printf '{shown}' > binary.txt"))
        known["before"] = tree(project)
        way = "link.txt" if box.version == "2.1.29" else "target.txt"  # the new one refuses to write through links
        new = [tool_use("Write", file_path=str(project / "created.txt"), content="new\n")]
        await turn(client, "SECOND", *edits("edited.txt", way), new, bash(COMMAND))

    driven(box, talk)
    return Stage(box, known["session"], known["before"])


@pytest.mark.parametrize("version", VERSIONS)
def test_clew_takes_back_what_the_program_did(claude: Claude, version: str, capsys: pytest.CaptureFixture[str]) -> None:
    with claude(version) as box:
        made = recorded(box, BYTES[version])
        cells: Cells = {}
        original, home = made.path.read_bytes(), str(box.home / ".claude")
        rewind = ["rewind", made.session_id, "--to", "2", "--claude-dir", home]
        assert main([*rewind, "--code"]) == 2  # what a command did is known to nobody: it is shown first
        assert "Changed by someone else since: binary.txt" in capsys.readouterr().out
        assert tree(box.project) == made.after
        for what in WHAT:
            made.reset()
            assert main([*rewind, f"--{what}", "--edits", "overwrite", "--json", "--yes"]) == 0
            told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
            copies = [row["id"] for row in told if row["kind"] == "edit"]
            assert len(copies) == (what != "code")
            cells |= made.cells(what, json.dumps([box.resume(copy).messages for copy in copies]))
            assert made.path.read_bytes() == original
        assert main(["rewind", made.session_id, "--undo", "--claude-dir", home, "--quiet"]) == 0
        assert tree(box.project) == made.after
    judge("clew on what the program did", version, cells)


# -- the program on what clew did


def held_by_clew(box: Box, binary: bytes) -> Stage:
    """Two turns of clew's. Its commands change what nobody tracks."""
    project = box.project
    fill(project, binary)
    changes: list[Any] = [
        use("Edit", file_path=str(project / name), old_string=old, new_string="new")
        for name, old in {"edited.txt": "one", "link.txt": "aim"}.items()
    ]
    second: list[AnyStep] = [
        [use("Read", file_path=str(project / name)) for name in ("edited.txt", "link.txt")],
        [*changes, use("Write", file_path=str(project / "created.txt"), content="new\n")],
        [use("Bash", command=COMMAND)],
        "Done.",
    ]
    rules = [ScriptRule(prompt="FIRST", steps=["Hello."]), ScriptRule(prompt="SECOND", steps=second)]
    before = tree(project)

    async def talk(engine: Engine) -> None:
        for prompt in ("FIRST", "SECOND"):
            await engine.submit(prompt)

    (box.home / ".claude").mkdir()
    (box.home / "claude").symlink_to(".claude")
    with world(box.home, rules=rules) as made:
        drive(made, talk, session_id=SESSION, watches_commands=True)
    return Stage(box, SESSION, before)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_program_takes_back_what_clew_did(claude: Claude, version: str) -> None:
    with claude(version) as box:
        made = held_by_clew(box, BYTES[version])
        cells: Cells = {}
        prompt = rewind_points(made.session)[1].uuid
        last = next(e for e in reversed(made.session.turns[0].entries) if e.type == "assistant").uuid

        async def back(client: ClaudeSDKClient) -> None:
            await client.rewind_files(prompt)

        for what in WHAT:
            made.reset()
            sent = ""
            if what != "conversation":
                driven(box, back, resume=SESSION)
                assert tree(box.project) == made.before  # also the new name of the renamed file is gone
            if what != "code":
                sent = json.dumps(
                    box.resume(SESSION, "NEXT", "--fork-session", "--resume-session-at", str(last)).messages
                )
            cells |= made.cells(what, sent)
    judge("the program on what clew did", version, cells)


def test_the_program_goes_on_where_clew_went_back_to(claude: Claude) -> None:
    """Right behind the rewind for the new one, which heeds pins; behind the next prompt for the old one too."""
    rules = [ScriptRule(prompt=prompt, steps=["Hello."]) for prompt in ("FIRST", "SECOND", "THIRD")]

    async def back(engine: Engine) -> None:
        for prompt in ("FIRST", "SECOND"):
            await engine.submit(prompt)
        await engine.rewind(engine.plan_rewind("2"))

    async def on(engine: Engine) -> None:
        await engine.submit("THIRD")

    with claude(LATEST) as box, claude("2.1.29") as older:
        for each in (box, older):
            (each.home / ".claude").mkdir()
            (each.home / "claude").symlink_to(".claude")
            with world(each.home, rules=rules) as made:
                drive(made, back, session_id=SESSION)
                if each is older:
                    drive(made, on, resume=SESSION)
        sent = json.dumps(box.resume(SESSION).messages)
        assert "FIRST" in sent and "NEXT" in sent and "SECOND" not in sent
        sent = json.dumps(older.resume(SESSION).messages)
        assert "FIRST" in sent and "THIRD" in sent and "NEXT" in sent and "SECOND" not in sent
