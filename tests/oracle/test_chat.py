"""Sessions that clew held are resumed by the real Claude Code, and the other way round: what is sent is what was said."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.api.mock.scripts import Fault, ScriptRule, ScriptStep
from clew.chat.engine import Engine
from clew.chat.events import BlockCompleted
from clew.chat.session_spec import SessionSpec
from clew.conversation.load import read, request
from tests.chat.chat_fixture import MODEL, SAVE, World, limited, open_engine, use, waiting, world
from tests.oracle.claude import LATEST
from tests.oracle.conftest import Claude
from tests.oracle.judge import PROMPT, bench, shown
from tests.oracle.verbatim import comparable, without_clew_opening

SUMMARY = ScriptRule(prompt="Sum up this conversation", steps=["All that was said."])
INNER = ScriptRule(prompt="inner", steps=[[use("Echo", text="inside")], "Inner."])


def plain(*prompts: str, **more: Any) -> Callable[[World], object]:
    return lambda made: made.run(*prompts, **more)


def broken_off_in_a_text(made: World) -> None:
    async def drive(engine: Engine) -> None:
        turn = asyncio.create_task(engine.submit("go"))
        while len(made.of(BlockCompleted)) < 1:
            await asyncio.sleep(0)
        engine.interrupt()
        await turn
        await engine.submit("more")

    made.drive(drive)


def broken_off_in_a_tool(made: World) -> None:
    async def drive(engine: Engine) -> None:
        turn = asyncio.create_task(engine.submit("go"))
        await begun.wait()
        engine.interrupt()
        await turn

    begun = asyncio.Event()
    made.drive(drive, tools=(waiting(asyncio.Event(), begun), SAVE))


def compacted(*after: str) -> Callable[[World], object]:
    def run(made: World) -> None:
        async def drive(engine: Engine) -> None:
            await engine.submit("go")
            await engine.compact()
            for prompt in after:
                await engine.submit(prompt)

        made.drive(drive)

    return run


def killed(behind: bytes) -> Callable[[World], None]:
    """Killed in the middle of the line that follows the first one with these words."""

    def drive(made: World) -> None:
        made.run("go")
        lines = made.path().read_bytes().splitlines(keepends=True)
        at = next(i for i, line in enumerate(lines) if behind in line)
        made.path().write_bytes(b"".join(lines[: at + 1]) + lines[at + 1][:50])

    return drive


TWO: list[str | dict[str, Any]] = [{"thinking": "Hm."}, "Look:", use("Echo", text="a"), use("Save", path="x", text="y")]
MORE = ScriptRule(prompt="more", steps=[["Again:", use("Echo", text="c")], "Two."])
SCENARIOS: dict[str, tuple[list[ScriptRule], Callable[[World], object]]] = {
    "two turns with parallel calls": ([ScriptRule(prompt="go", steps=[TWO, "One."]), MORE], plain("go", "more")),
    "agents": (
        [
            INNER,
            ScriptRule(
                prompt="go",
                steps=[
                    [use("Task", description="d", prompt="inner 1"), use("Task", description="d", prompt="inner 2")],
                    "One.",
                ],
            ),
        ],
        plain("go"),
    ),
    "compacted": ([SUMMARY, ScriptRule(prompt="go", steps=[TWO, "One."]), MORE], compacted("more")),
    "compacted at the end": ([SUMMARY, ScriptRule(prompt="go", steps=[TWO, "One."])], compacted()),
    "broken off in a text": (
        [ScriptRule(prompt="go", steps=[ScriptStep(content=["One.", "Two and more."], pace=0.05, chunk=1)]), MORE],
        broken_off_in_a_text,
    ),
    "broken off in a tool": (
        [ScriptRule(prompt="go", steps=[[use("Wait"), use("Save", path="x", text="y")]])],
        broken_off_in_a_tool,
    ),
    "failed": (
        [ScriptRule(prompt="go", steps=[TWO, ScriptStep(content="x", fault=Fault(status=400))]), MORE],
        plain("go", "more"),
    ),
    "too many turns": ([ScriptRule(prompt="go", steps=[TWO, TWO, TWO])], plain("go", change=limited(turns=1))),
    "asked again": (
        [ScriptRule(prompt="go", steps=[ScriptStep(content=TWO, fault=Fault(status=529, times=2)), "One."])],
        plain("go"),
    ),
    "killed behind a thought": ([ScriptRule(prompt="go", steps=[TWO, "One."])], killed(b'"thinking":')),
    "killed behind a call": ([ScriptRule(prompt="go", steps=[TWO, "One."])], killed(b'"tool_use","id"')),
    "killed behind a result": ([ScriptRule(prompt="go", steps=[TWO, "One."])], killed(b'"tool_result"')),
}
OLD = (
    *("two turns with parallel calls", "agents", "compacted", "broken off in a tool"),
    *("killed behind a thought", "killed behind a result"),
)
SAID = {
    "compacted": ("more",),
    "compacted at the end": (),
    "two turns with parallel calls": ("go", "more"),
    "failed": ("go", "more"),
}


def written(folder: Path, name: str) -> bytes:
    rules, drive = SCENARIOS[name]
    with world(folder, rules=rules) as made:
        drive(made)
        return made.path().read_bytes()


@pytest.mark.oracle
@pytest.mark.req("R256", "R265")
@pytest.mark.parametrize(("version", "names"), [(LATEST, tuple(SCENARIOS)), ("2.1.29", OLD)])
def test_the_real_program_goes_on_with_what_clew_wrote(
    claude: Claude, version: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    good, wrong = 0, []
    with bench(claude, version) as boxes:
        judged = {}
        for number, name in enumerate(names):
            data = written(tmp_path / str(number), name)
            judged[name] = boxes.judge(data, f"00000000-0000-4000-8000-{number:012}")
        for name, future in judged.items():
            verdict = future.result()
            try:
                verdict.check()
                assert verdict.theirs is not None
                said = str(comparable(verdict.theirs.messages))
                assert all(f"'text': '{prompt}'" in said for prompt in SAID.get(name, ("go",)))
                good += 1
            except AssertionError as error:
                wrong.append(f"{name}: {error}")
    print(f"{version} goes on with {good} of {len(names)} sessions that clew wrote")
    assert not wrong, "\n".join(wrong)


def resumed(path: Path, made: World, prompt: str = PROMPT) -> tuple[Any, Any]:
    """What clew sends when it goes on with a file, and what was said that it would."""
    expected = request(read(path), prompt=prompt)

    async def run() -> None:
        claude = made.root / "claude"
        spec = SessionSpec(cwd=made.project, claude=claude, endpoint=made.endpoint, resume=str(path), durability="off")
        async with open_engine(made, spec) as engine:
            await engine.submit(prompt)

    made.project.mkdir(parents=True, exist_ok=True)
    asyncio.run(run())
    return without_clew_opening(made.sent[-1]["messages"]), comparable(expected.messages)


@pytest.mark.shared
@pytest.mark.req("R256")
def test_clew_goes_on_with_what_the_real_program_wrote(shared: Path, tmp_path: Path) -> None:
    samples = sorted((shared / "oracle" / "samples").glob("*/*/.claude/projects/*/*.jsonl"))
    samples = [path for path in samples if not path.name.startswith("agent-") and path.stat().st_size]
    good, wrong, refused = 0, [], 0
    with world(tmp_path, rules=[ScriptRule(prompt=PROMPT, steps=["ok"])], strict=False) as made:
        for number, sample in enumerate(samples):
            if not request(read(sample)).is_resumable:
                refused += 1
                continue
            copy = tmp_path / str(number) / sample.name
            copy.parent.mkdir()
            copy.write_bytes(sample.read_bytes())
            sent, said = resumed(copy, made)
            if sent == said:
                good += 1
            else:
                wrong.append(f"{sample}\nsent: {shown(sent)}\nsaid: {shown(said)}")
    print(f"clew goes on with {good} of {len(samples) - refused} sessions; {refused} hold no conversation")
    assert len(samples) > 100
    assert not wrong, "\n\n".join(wrong[:5]) + f"\n{len(wrong)} wrong"


@pytest.mark.oracle
@pytest.mark.req("R256")
def test_a_session_is_handed_to_and_fro(claude: Claude, tmp_path: Path) -> None:
    data = written(tmp_path / "begun", "two turns with parallel calls")
    session = "00000000-0000-4000-8000-000000000002"
    path = tmp_path / f"{session}.jsonl"
    for number, version in enumerate((LATEST, "2.1.29")):
        with claude(version) as box:
            theirs = box.write(session, data)
            assert box.resume(session, f"theirs {number}").rc == 0
            path.write_bytes(theirs.read_bytes())
        with world(tmp_path / version, rules=[ScriptRule(prompt="ours", steps=[TWO, "Ours."])]) as made:
            sent, said = resumed(path, made, f"ours {number}")
            assert sent[: len(said)] == said
        data = path.read_bytes()
    assert [turn.text for turn in read(path).turns] == ["go", "more", "theirs 0", "ours 0", "theirs 1", "ours 1"]


def test_the_model_is_the_one_that_was_spoken_to(tmp_path: Path) -> None:
    data = written(tmp_path, "two turns with parallel calls")
    path = tmp_path / "00000000-0000-4000-8000-000000000001.jsonl"
    path.write_bytes(data)
    assert request(read(path)).model == MODEL
