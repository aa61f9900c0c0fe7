"""Options with which another program starts clew: restrictions, aliases, agents, and folders for the configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.chat.set_up import CLEW, Place, Ran
from tests.oracle.mock_api import Reply, text, tool_use

DONE = Reply([text("Done.")])
BASH = Reply([tool_use("Bash", command="echo hi", description="Try")])


def run(place: Place, *options: str, replies: tuple[Reply, ...] = (DONE,)) -> Ran:
    return place.run(CLEW, "go", "--output-format", "json", *options, replies=replies)


def policy(**settings: Any) -> tuple[str, str]:
    return "--managed-settings", json.dumps(settings)


def test_a_restriction_of_the_host_wins_over_what_is_allowed(tmp_path: Path) -> None:
    restricted = policy(permissions={"deny": ["Bash"], "allow": ["Write"]})
    place = Place(tmp_path)
    write = Reply([tool_use("Write", file_path=str(place.project / "x.txt"), content="x")])
    ran = run(place, *restricted, "--allowedTools", "Bash", replies=(BASH, write, DONE))
    assert "Bash" not in ran.tools
    assert len(json.loads(ran.stdout)["permission_denials"]) == 1  # of Write, which a host cannot allow
    assert not (place.project / "x.txt").exists()


def test_the_host_can_switch_hooks_off(tmp_path: Path) -> None:
    place = Place(tmp_path)
    mark = place.home / "ran"
    place.user({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": f"touch {mark}"}]}]}})
    run(place, *policy(disableAllHooks=True))
    assert not mark.exists()
    run(place)
    assert mark.exists()


def test_a_policy_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    ran = run(Place(tmp_path), "--managed-settings", "{nonsense")
    assert ran.rc == 2 and "--managed-settings is not JSON" in ran.stderr
    assert not ran.bodies


def test_the_main_conversation_can_be_an_agent(tmp_path: Path) -> None:
    place = Place(tmp_path)
    header = "---\ndescription: tells the time\ntools: Read\nmodel: haiku\n---\n"
    place.write(".claude/agents/clock.md", f"{header}You tell time.\n")
    ran = run(place, "--agent", "clock")
    assert ran.tools == ["Read"]
    assert (ran.main["system"][0]["text"], ran.main["model"]) == ("You tell time.", "claude-haiku-5-5")
    unknown = run(place, "--agent", "none")
    assert unknown.rc != 0 and "none" in unknown.stderr


def test_the_configuration_can_be_that_of_another_folder(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write("main/.claude/settings.json", {"permissions": {"deny": ["Bash"]}})
    ran = run(place, "--project-config-root", str(place.home / "main"))
    assert "Bash" not in ran.tools
    assert "Bash" in run(place).tools


def test_a_resume_that_would_drop_more_than_one_turn_is_refused(tmp_path: Path) -> None:
    place = Place(tmp_path)
    session = "5b5d0c1e-93a1-4c5e-8a4e-0d6f1d8f2a11"
    run(place, "--session-id", session)
    run(place, "--resume", session)
    (path,) = place.claude.glob("projects/*/*.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    reply = next(line["uuid"] for line in lines if line["type"] == "assistant")
    prompts = [line["uuid"] for line in lines if line["type"] == "user" and not line.get("isMeta")]
    resumed = ("--resume", session, "--resume-session-at", reply, "--resume-drops-turn")
    refused = run(place, *resumed, prompts[0])
    assert refused.rc != 0 and "Resume rejected by --resume-drops-turn" in refused.stderr
    assert run(place, *resumed, prompts[-1]).rc == 0


@pytest.mark.parametrize(("mode", "denials"), [("host", 1), ("none", 1)])
def test_nobody_is_asked_without_an_answering_program(tmp_path: Path, mode: str, denials: int) -> None:
    place = Place(tmp_path)
    write = Reply([tool_use("Write", file_path=str(place.project / "x.txt"), content="x")])
    ran = run(place, "--permission-prompts", mode, replies=(write, DONE))
    assert len(json.loads(ran.stdout)["permission_denials"]) == denials
