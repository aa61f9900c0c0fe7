"""Bash and what runs in the background: real shells, real groups of processes."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from clew.chat.tools.builtin.background import BASH_OUTPUT, KILL_SHELL, TASK_OUTPUT, TASK_STOP, stop_all
from clew.chat.tools.builtin.bash import BASH
from clew.chat.tools.builtin.edit_file import EDIT
from clew.chat.tools.exit_codes import explain_exit_code, is_stopped_when_late, viewed_file
from clew.chat.tools.tool import CallResult, ToolContext
from clew.facts.tool_catalog import result_kind
from clew.wire.json_codec import Json
from tests.chat.tools.tool_fixture import call, good, misuse, run, stage, trouble

T = TypeVar("T")


@pytest.fixture
def scene(tmp_path: Path) -> ToolContext:
    return stage(tmp_path)


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A pipe: a command that reads it waits until it is opened for writing, and one that writes says that it runs."""
    path = tmp_path / "gate"
    os.mkfifo(path)
    return path


async def passed(gate: Path) -> str:
    """Wait for what a command writes into the gate."""
    return await asyncio.to_thread(gate.read_text)


async def opened(gate: Path) -> None:
    """Let a command pass that reads the gate."""
    await asyncio.to_thread(gate.write_text, "go\n")


@asynccontextmanager
async def closing(scene: ToolContext) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await stop_all(scene.state)


def settle(scene: ToolContext, what: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a test, and stop what it left in the background."""

    async def both() -> T:
        async with closing(scene):
            return await what()

    return asyncio.run(both())


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and that nobody has asked about does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_output_comes_in_order_and_without_its_last_newline(scene: ToolContext) -> None:
    result = run(BASH, scene, command="echo out; echo err >&2; printf 'more\\n\\n'", description="say it")
    assert result.content == "out\nerr\nmore"
    assert result.detail == {"stdout": "out\nerr\nmore", "stderr": "", "interrupted": False, "isImage": False}
    assert result_kind(result.detail) == "Bash"
    assert run(BASH, scene, command="true").content == ""
    assert not scene.folder.exists()


def test_a_failure_tells_its_code(scene: ToolContext) -> None:
    assert trouble(run(BASH, scene, command="echo out; echo err >&2; exit 3")) == "Exit code 3\nout\nerr"
    assert trouble(run(BASH, scene, command="false")) == "Exit code 1"
    assert trouble(run(BASH, scene, command="kill -9 $$")).startswith("Exit code 137")
    assert trouble(run(BASH, scene, command="nosuchprogram")).startswith("Exit code 127\n")
    assert trouble(run(BASH, scene, command="echo 'open")).startswith("Exit code ")
    assert "control characters" in trouble(run(BASH, scene, command="echo \0"))
    assert trouble(run(BASH, scene, command="true " + "x" * 200_000)).startswith("The command could not be begun")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("grep nothing /dev/null", "No matches found"),
        ("echo x | rg nothing", "No matches found"),
        ("A=1 /bin/grep nothing /dev/null", "No matches found"),
        ("cd . && test 1 = 2", "Condition is false"),
        ("[ 1 = 2 ]", "Condition is false"),
        ("true\ndiff /dev/null - <<< x", "Files differ"),
    ],
)
def test_exit_one_of_some_is_no_failure(scene: ToolContext, command: str, told: str) -> None:
    result = run(BASH, scene, command=command)
    assert not result.is_error
    assert result.detail["returnCodeInterpretation"] == told


@pytest.mark.parametrize("command", ["grep x /no/such/file", "test 1 = 2 || false", "echo grep; false", "'grep x"])
def test_other_failures_are_failures(scene: ToolContext, command: str) -> None:
    assert run(BASH, scene, command=command).is_error


def test_words_of_commands() -> None:
    assert explain_exit_code("ls | grep 'a|b;c'", 1) == "No matches found"
    assert explain_exit_code("ls | grep x", 2) == ""
    assert explain_exit_code("grep x > out.txt", 1) == "No matches found"
    assert is_stopped_when_late("git fetch")
    assert is_stopped_when_late("sleep 5")
    assert is_stopped_when_late("echo 'open")
    assert not is_stopped_when_late("make test")
    assert viewed_file("cat a.txt") == "a.txt"
    assert viewed_file("head -n 5 'a b.txt'") == "a b.txt"
    assert viewed_file("tail -20 a.txt") == "a.txt"
    assert viewed_file("sed -n 1,5p a.txt") == "a.txt"
    for command in ("cat a b", "cat a | head", "cat $A", "cat *", "cat -n a", "head", "echo a", "", "cat a; rm a"):
        assert viewed_file(command) == ""


def test_nothing_is_read_from_the_terminal_and_nothing_of_the_shell_leaks(scene: ToolContext) -> None:
    assert good(run(BASH, scene, command="cat; read x; echo end$1$#")) == "end0"
    run(BASH, scene, command="export LEFT=1")
    assert good(run(BASH, scene, command="echo [$LEFT]")) == "[]"
    assert good(run(BASH, scene, command="cat <<'E'\n$a 'b'\nE")) == "$a 'b'"


def test_the_folder_is_carried_over_inside_the_project(scene: ToolContext) -> None:
    inner = scene.state.cwd / "in ner"
    inner.mkdir()
    project = scene.state.project
    assert good(run(BASH, scene, command="cd 'in ner'; exit 0")) == ""
    assert good(run(BASH, scene, command="pwd")) == str(inner)
    trouble(run(BASH, scene, command="cd ..; false"))
    assert scene.state.cwd == project
    result = run(BASH, scene, command="cd / && echo there")
    assert result.content == f"there\nShell cwd was reset to {project}"
    assert result.detail["stderr"] == f"Shell cwd was reset to {project}"
    assert result.detail["stdout"] == "there"
    assert good(run(BASH, scene, command="(cd /); pwd")) == str(project)
    (project / "out").symlink_to("/usr")
    assert good(run(BASH, scene, command="cd out")) == f"Shell cwd was reset to {project}"
    run(BASH, scene, command="mkdir gone && cd gone")
    (project / "gone").rmdir()
    assert good(run(BASH, scene, command="pwd")) == str(project)


def test_other_roots_count_as_the_project(scene: ToolContext, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    scene.state.roots += (other,)
    assert good(run(BASH, scene, command=f"cd {other}")) == ""
    assert scene.state.cwd == other


def test_30000_characters_are_told_and_more_are_kept(scene: ToolContext) -> None:
    assert len(good(run(BASH, scene, command="printf '%030000d' 0"))) == 30_000
    result = run(BASH, scene, command="printf '%030001d' 0")
    path = scene.folder / "tool-results" / "toolu_01.txt"
    assert good(result) == (
        f"<persisted-output>\nOutput too large (29.3KB). Full output saved to: {path}\n\n"
        f"Preview (first 2KB):\n{'0' * 2000}\n...\n</persisted-output>"
    )
    assert result.detail["persistedOutputPath"] == str(path)
    assert result.detail["persistedOutputSize"] == 30_001
    assert result.detail["stdout"] == "0" * 30_000
    assert path.read_text() == "0" * 30_001
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_long_failure_tells_its_ends(scene: ToolContext) -> None:
    text = trouble(run(BASH, scene, command="echo BEGIN; printf '%020000d\\n' 0; echo END; exit 2"))
    assert text.startswith("Exit code 2\nBEGIN\n000")
    assert text.endswith("000\nEND")
    assert "... [cut: the full output is in " in text
    assert len(text) < 10_300
    assert (scene.folder / "tool-results" / "toolu_01.txt").stat().st_size == 20_000 + 11


def test_output_that_is_no_text_is_told_as_well_as_can_be(scene: ToolContext) -> None:
    assert good(run(BASH, scene, command="printf 'a\\377b'")) == "a\ufffdb"
    data = base64.b64encode(b"GIF89a").decode()
    result = run(BASH, scene, command=f"echo data:image/gif;base64,{data}".replace(";", "\\;"))
    assert result.detail["isImage"] is True
    assert result.content == [{"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": data}}]


def test_a_file_that_a_command_showed_may_be_edited(scene: ToolContext) -> None:
    path = scene.state.cwd / "a"
    path.write_text("x")
    assert run(EDIT, scene, file_path="a", old_string="x", new_string="y").is_error
    run(BASH, scene, command="cat a")
    assert good(run(EDIT, scene, file_path="a", old_string="x", new_string="y"))


def test_a_command_in_the_background(scene: ToolContext, gate: Path) -> None:
    async def story() -> None:
        result = await call(BASH, scene, command=f"echo one; cat {gate}; echo two", run_in_background=True)
        name = result.detail["backgroundTaskId"]
        assert good(result).startswith(f"Command running in background with ID: {name}. Output is being written to: ")
        assert {k: v for k, v in result.detail.items() if k != "stdout"} == {
            "stderr": "",
            "interrupted": False,
            "isImage": False,
            "backgroundTaskId": name,
        }
        waiting = await call(TASK_OUTPUT, scene, task_id=name, block=False)
        assert waiting.detail["retrieval_status"] == "not_ready"
        assert (await call(TASK_OUTPUT, scene, task_id=name, timeout=1)).detail["retrieval_status"] == "timeout"
        await opened(gate)
        result = await call(TASK_OUTPUT, scene, task_id=name)
        about = result.detail["task"]
        assert result.detail["retrieval_status"] == "success"
        assert (about["status"], about["exitCode"], about["output"]) == ("completed", 0, "one\ngo\ntwo")
        assert about["task_type"] == "local_bash"
        assert "<status>completed</status>" in good(result)
        result = await call(BASH_OUTPUT, scene, bash_id=name)
        assert result.detail["stdout"] == "one\ngo\ntwo"
        assert result.detail["stdoutLines"] == 3
        assert "<exit_code>0</exit_code>" in good(result)
        assert (await call(BASH_OUTPUT, scene, bash_id=name)).detail["stdout"] == ""
        assert misuse(await call(TASK_STOP, scene, task_id=name)) == f"Task {name} is not running (status: completed)"

    settle(scene, story)


def test_news_of_a_command_come_once_and_may_be_chosen(scene: ToolContext, gate: Path) -> None:
    async def story() -> None:
        result = await call(
            BASH, scene, command=f"printf 'a1\\nb1\\nc\\303' && echo > {gate}; cat {gate}", run_in_background=True
        )
        name = result.detail["backgroundTaskId"]
        await passed(gate)
        result = await call(BASH_OUTPUT, scene, bash_id=name, filter="^a")
        assert (result.detail["stdout"], result.detail["status"]) == ("a1", "running")
        assert result.detail["exitCode"] is None
        await opened(gate)
        await call(TASK_OUTPUT, scene, task_id=name)
        assert (await call(BASH_OUTPUT, scene, bash_id=name)).detail["stdout"] == "\ufffdgo"
        assert "regex parse error" in misuse(await call(BASH_OUTPUT, scene, bash_id=name, filter="("))

    settle(scene, story)


@pytest.mark.parametrize("tool", ["KillShell", "TaskStop"])
def test_a_stopped_command_leaves_no_process(scene: ToolContext, gate: Path, tool: str) -> None:
    async def story() -> None:
        deaf = f"trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > {gate}; while :; do read x < {gate}; done' & wait"
        result = await call(BASH, scene, command=deaf, run_in_background=True)
        name = result.detail["backgroundTaskId"]
        child = int(await passed(gate))
        assert is_alive(child)
        if tool == "KillShell":
            result = await call(KILL_SHELL, scene, shell_id=name)
        else:
            result = await call(TASK_STOP, scene, task_id=name)
        assert good(result) == f"Successfully stopped task: {name} ({deaf})"
        assert result.detail == {"message": result.content, "task_id": name, "task_type": "local_bash"}
        assert not is_alive(child)
        result = await call(BASH_OUTPUT, scene, bash_id=name)
        assert (result.detail["status"], result.detail["exitCode"]) == ("killed", 137)

    settle(scene, story)


def test_tasks_that_are_not_there(scene: ToolContext) -> None:
    assert misuse(run(BASH_OUTPUT, scene, bash_id="b0")) == "No task found with ID: b0"
    assert misuse(run(TASK_OUTPUT, scene, task_id="b0")) == "No task found with ID: b0"
    assert misuse(run(KILL_SHELL, scene, shell_id="b0")) == "No task found with ID: b0"


def test_the_end_of_a_conversation_ends_its_commands(scene: ToolContext, gate: Path) -> None:
    async def story() -> None:
        result = await call(BASH, scene, command=f"echo $$ > {gate}; cat {gate}", run_in_background=True)
        output = scene.folder / "tool-results" / f"{result.detail['backgroundTaskId']}.output"
        assert good(result).endswith(f" Output is being written to: {output}")
        assert output.stat().st_mode & 0o777 == 0o600
        shell = int(await passed(gate))
        await stop_all(scene.state)
        assert not is_alive(shell)
        assert not output.exists()
        assert scene.state.background == {}

    asyncio.run(story())


def test_a_late_command_goes_on_in_the_background(scene: ToolContext, gate: Path) -> None:
    async def story() -> str:
        result = await call(BASH, scene, command=f"echo begun; cat {gate}", timeout="300")
        name: str = result.detail["backgroundTaskId"]
        assert good(result).startswith(f"Command running in background with ID: {name}. It has not ended within 0.3s.")
        await opened(gate)
        assert (await call(TASK_OUTPUT, scene, task_id=name)).detail["task"]["output"] == "begun\ngo"
        return name

    name = settle(scene, story)
    assert (scene.folder / "tool-results" / f"{name}.output").read_text() == "begun\ngo\n"  # the session keeps it


def test_a_late_sleep_is_stopped(scene: ToolContext) -> None:
    text = trouble(run(BASH, scene, command="sleep 600", timeout=50))
    assert text == "Exit code 143\nCommand timed out after 0.05s and was stopped."
    assert scene.state.background == {}


def test_the_person_sends_a_command_aside(scene: ToolContext, gate: Path) -> None:
    async def story() -> None:
        aside = asyncio.Event()
        running = asyncio.ensure_future(call(BASH, replace(scene, aside=aside), command=f"echo > {gate}; cat {gate}"))
        await passed(gate)
        aside.set()
        assert good(await running).startswith("Command running in background with ID: b")

    settle(scene, story)


async def broken_off(
    scene: ToolContext, gate: Path, how: Callable[[asyncio.Task[CallResult]], object]
) -> tuple[CallResult | None, int]:
    """A command that is broken off while it and its child run: its result, and the child."""
    command = f"echo partial; sh -c 'echo $$ > {gate}; read x < {gate}' & wait"
    running = asyncio.ensure_future(call(BASH, scene, command=command))
    child = int(await passed(gate))
    assert is_alive(child)
    how(running)
    try:
        return await running, child
    except asyncio.CancelledError:
        return None, child


def test_a_command_that_is_broken_off_tells_what_there_is(scene: ToolContext, gate: Path) -> None:
    result, child = asyncio.run(broken_off(scene, gate, lambda running: scene.stopped.set()))
    assert result is not None
    assert trouble(result) == "Exit code 137\n[Request interrupted by user for tool use]\npartial"
    assert not is_alive(child)


def test_a_call_that_is_cancelled_leaves_no_process(scene: ToolContext, gate: Path) -> None:
    async def story() -> None:
        result, child = await broken_off(scene, gate, lambda running: running.cancel())
        assert result is None
        while is_alive(child):  # the signal is on its way
            await asyncio.sleep(0)

    asyncio.run(story())


def test_progress_is_told_once_a_second_from_the_second_on(scene: ToolContext, gate: Path) -> None:
    told: list[Json] = []

    async def progress(data: Json) -> None:
        told.append(data)
        if len(told) == 2:
            await opened(gate)

    command = f"seq 1 3000; cat {gate}"
    result = run(BASH, replace(scene, progress=progress), command=command)
    assert good(result).endswith("3000\ngo")
    first, second = (data["elapsedTimeSeconds"] for data in told[:2])
    assert 2 <= first < second
    assert set(told[0]) == {"type", "output", "fullOutput", "elapsedTimeSeconds", "totalLines"}
    assert told[0]["type"] == "bash_progress"
    assert told[0]["output"] == "2996\n2997\n2998\n2999\n3000"
    assert told[0]["totalLines"] == 3000
    assert len(told[0]["fullOutput"]) == 10_000


def test_a_flood_is_stopped(scene: ToolContext) -> None:
    text = trouble(run(BASH, scene, command="yes"))
    assert "Command was stopped: it put out more than 256 MB." in text
    kept = scene.folder / "tool-results" / "toolu_01.txt"
    assert kept.stat().st_size == 256 << 20
    kept.unlink()


def test_a_child_that_outlives_its_shell_does_not_hold_the_call(scene: ToolContext, gate: Path) -> None:
    async def story() -> None:
        assert good(await call(BASH, scene, command=f"(cat {gate}; echo late) & echo now")) == "now"
        await opened(gate)

    asyncio.run(story())


def test_a_flood_in_the_background_is_stopped(scene: ToolContext) -> None:
    async def story() -> None:
        result = await call(BASH, scene, command="yes", run_in_background=True)
        name = result.detail["backgroundTaskId"]
        result = await call(TASK_OUTPUT, scene, task_id=name)
        assert result.detail["task"]["status"] == "killed"
        result = await call(BASH_OUTPUT, scene, bash_id=name)
        assert len(good(result)) < 31_000
        assert "left out" in good(result)

    settle(scene, story)
