"""Modes, answers that are remembered, and what is suggested for them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from clew.chat.config.permission_mode import parse_mode
from clew.chat.config.settings import Settings, SettingsSource
from clew.chat.permission.decide import Permissions
from clew.chat.permission.suggest_rules import as_permission_updates
from clew.errors import Refused
from tests.chat.permission.workplace import Workplace


def test_reading_is_free_and_writing_is_asked(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    assert place.call("Read", file_path="x").kind == "allow"
    asked = place.call("Write", file_path="x")
    assert asked.kind == "ask"
    path = place.project / "x"
    assert asked.message == f"Claude requested permissions to write to {path}, but you haven't granted it yet."


def test_accept_edits_writes_here_and_nowhere_else(tmp_path: Path) -> None:
    place = Workplace(tmp_path, mode="acceptEdits")
    for command in (
        "mkdir -p a/b",
        "touch y",
        "rm x",
        "rm -rf src",
        "mv x y",
        "cp -r src src2",
        *(["sed -i 's/a/b/g' x"] if sys.platform == "linux" else []),
        "rmdir a",
        "echo x > y",
    ):
        assert place.bash(command).kind == "allow", command
    for command in (
        "rm -rf .", "rm -rf ..", "rm -rf /", "rm -rf ~", "rm -rf ../elsewhere", "rm link/file", "mv x ../x",
        "cp ../outside .git", "cp -t /etc x", "mv x link", "touch .bashrc", "cp src/a.py .bashrc", "mkdir .git/x",
        "sed -i 's/a/b/e' x",
        "sed -i 'w y' x", "sed -i s/a/b/ ../outside",
        "rm $X", "rm *", "rm -rf {project}", "npm install",
        "mkdir a && cd a && rm -rf ..", "mv .. x",
        "cp evil/.bashrc .",
    ):  # fmt: skip
        assert place.bash(command.replace("{project}", str(place.project))).kind == "ask", command
    assert place.call("Write", file_path="new").kind == "allow"
    assert place.call("mcp__x__y").kind == "ask"


def test_a_copy_is_no_way_to_keys(tmp_path: Path) -> None:
    place = Workplace(tmp_path, mode="acceptEdits", deny=["Read(./denied)"])
    for name in ("keys/id_rsa", "denied", "plain/x"):
        (place.project / name).parent.mkdir(exist_ok=True)
        (place.project / name).write_text("x\n")
    for command in (
        "cp keys/id_rsa y",
        "mv keys/id_rsa y",
        "cp -r keys y",
        "cp x keys/id_rsa src",
        "cp x src -v",
        "mv x src -f",
    ):
        assert place.bash(command).kind == "ask", command
    assert place.bash("cp denied y").kind == "deny"
    assert place.bash("cp -r plain y").kind == "allow"


def test_plan_mode_writes_nothing_whatever_the_rules_say(tmp_path: Path) -> None:
    place = Workplace(tmp_path, allow=["Bash", "Edit", "mcp__x__y"], mode="plan")
    assert place.call("Write", file_path="x").kind == "deny"
    assert place.call("NotebookEdit", notebook_path="x.ipynb").kind == "deny"
    assert place.bash("npm test").kind == "ask"
    assert place.bash("echo x > y").kind == "ask"
    assert place.call("mcp__x__y").kind == "ask"
    assert place.bash("git log --oneline | head -5").kind == "allow"
    assert place.call("Read", file_path="x").kind == "allow"
    assert place.call("Write", file_path=str(place.home / ".claude/plans/a-plan.md")).kind == "allow"
    assert place.call("Write", file_path=str(place.home / ".claude/plans/../settings.json")).kind == "deny"


def test_who_may_not_be_asked_is_refused(tmp_path: Path) -> None:
    place = Workplace(tmp_path, allow=["Bash(npm test)"], mode="dontAsk")
    assert place.bash("npm test").kind == "allow"
    refused = place.bash("npm publish")
    assert refused.kind == "deny" and "does not prompt" in refused.message
    assert place.call("Write", file_path="x").kind == "deny"


def test_an_administrator_may_forbid_to_skip_questions(tmp_path: Path) -> None:
    top = SettingsSource("managed", tmp_path, {"permissions": {"disableBypassPermissionsMode": "disable"}})
    known = Permissions(Settings((top,)), tmp_path, tmp_path / "home")
    assert known.decide("Bash", {"command": "npm test"}, tmp_path, "bypassPermissions").kind == "ask"


def test_modes_that_we_do_not_have() -> None:
    assert parse_mode("acceptEdits") == ("acceptEdits", "")
    assert parse_mode("auto")[0] == "default" and "auto" in parse_mode("auto")[1]
    assert parse_mode("nonsense")[0] == "default" and "nonsense" in parse_mode("nonsense")[1]


@pytest.mark.parametrize(
    ("command", "suggested"),
    [
        ("npm run build --watch", ("Bash(npm run build:*)",)),
        ("git push origin main", ("Bash(git push:*)",)),
        ("make", ("Bash(make)",)),
        ("timeout 5 npm publish", ("Bash(npm publish:*)",)),
        ("npm publish && ./deploy.sh now", ("Bash(npm publish:*)", "Bash(./deploy.sh now)")),
        ("python script.py", ("Bash(python script.py)",)),
        ("bash -c 'rm x'", ("Bash(bash -c 'rm x')",)),
        ("echo $(date)", ("Bash(echo $(date))",)),
        ("rm *", ()),
        ("a\nb <<EOF\nEOF", ()),
    ],
)
def test_what_is_suggested_is_no_wider_than_the_question(
    tmp_path: Path, command: str, suggested: tuple[str, ...]
) -> None:
    place = Workplace(tmp_path)
    assert place.bash(command).suggestions == suggested
    for rule in suggested:
        place.permissions.remember(rule, "session")
    assert place.bash(command).kind == ("allow" if suggested else "ask")
    assert place.bash("rm -rf /").kind == "ask" and place.bash(command + "; curl evil").kind == "ask"


def test_an_answer_is_kept_in_the_local_settings_and_all_else_in_them(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    file = place.project / ".claude" / "settings.local.json"
    file.write_text(json.dumps({"mine": {"ü": 1}, "permissions": {"allow": ["Read"], "other": 2}}))
    place.permissions.remember("Bash(npm test:*)", "local")
    place.permissions.remember("Bash(npm test:*)", "local")
    assert json.loads(file.read_text()) == {
        "mine": {"ü": 1},
        "permissions": {"allow": ["Read", "Bash(npm test:*)"], "other": 2},
    }
    assert file.stat().st_mode & 0o777 == 0o600
    assert place.bash("npm test").kind == "allow"
    read = Settings.load(place.project, tmp_path / "none", trusted=True, managed=tmp_path / "none")
    assert (
        Permissions(read, place.project, place.home)
        .decide("Bash", {"command": "npm test"}, place.project, "default")
        .kind
        == "allow"
    )


def test_settings_that_are_not_ours_to_write_are_left_alone(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    file = place.project / ".claude" / "settings.local.json"
    file.write_text("{ broken")
    with pytest.raises(Refused):
        place.permissions.remember("Bash(ls)", "local")
    assert file.read_text() == "{ broken"
    with pytest.raises(Refused):
        place.permissions.remember("Bash(", "session")
    file.unlink()
    (place.project / ".claude").rmdir()
    (place.project / ".claude").symlink_to(place.root / "elsewhere")
    with pytest.raises(Refused):
        place.permissions.remember("Bash(ls)", "local")
    assert not (place.root / "elsewhere" / "settings.local.json").exists()


def test_updates_of_an_sdk(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    suggested = as_permission_updates(place.bash("npm publish").suggestions, "session")
    assert suggested == [
        {
            "type": "addRules",
            "rules": [{"toolName": "Bash", "ruleContent": "npm publish:*"}],
            "behavior": "allow",
            "destination": "session",
        }
    ]
    place.permissions.apply(suggested[0])
    assert place.bash("npm publish").kind == "allow"
    place.permissions.apply({**suggested[0], "type": "removeRules"})
    assert place.bash("npm publish").kind == "ask"
    place.permissions.apply({**suggested[0], "behavior": "deny"})
    assert place.bash("npm publish").kind == "deny"
    assert (
        place.permissions.apply({"type": "setMode", "mode": "acceptEdits", "destination": "session"}) == "acceptEdits"
    )


def test_updates_of_an_sdk_are_kept_in_the_file_of_their_scope(tmp_path: Path) -> None:
    place = Workplace(tmp_path)

    def kept(scope: str) -> Any:
        path = place.project / ".claude" / scope
        return json.loads(path.read_text())["permissions"] if path.exists() else None

    rule = {"rules": [{"toolName": "Bash", "ruleContent": "npm publish"}], "behavior": "allow"}
    other = {"rules": [{"toolName": "WebSearch"}], "behavior": "allow"}
    place.permissions.apply({"type": "addRules", "destination": "projectSettings", **rule})
    place.permissions.apply({"type": "addRules", "destination": "localSettings", **rule})
    assert kept("settings.json") == kept("settings.local.json") == {"allow": ["Bash(npm publish)"]}
    place.permissions.apply({"type": "removeRules", "destination": "projectSettings", **rule})
    assert kept("settings.json") == {"allow": []}
    assert place.bash("npm publish").kind == "allow"
    place.permissions.apply({"type": "replaceRules", "destination": "localSettings", **other})
    assert kept("settings.local.json") == {"allow": ["WebSearch"]}
    assert place.bash("npm publish").kind == "ask"
    further = {"directories": [str(tmp_path / "elsewhere")], "destination": "localSettings"}
    place.permissions.apply({"type": "addDirectories", **further})
    assert kept("settings.local.json")["additionalDirectories"] == further["directories"]
    assert tmp_path / "elsewhere" in place.permissions.roots
    place.permissions.apply({"type": "removeDirectories", **further})
    assert kept("settings.local.json")["additionalDirectories"] == []
    assert place.permissions.roots == [place.project]
    place.permissions.apply({"type": "addRules", "rules": "Bash", "destination": "localSettings"})
    place.permissions.apply({"type": "unheardOf"})
    assert kept("settings.local.json")["allow"] == ["WebSearch"]


def test_what_a_skill_grants_ends_with_it(tmp_path: Path) -> None:
    place = Workplace(tmp_path, deny=["Bash(git push *)"])
    wider = place.permissions.with_granted_rules(["Bash(git push:*)", "Bash(npm test)"])
    assert wider.decide("Bash", {"command": "npm test"}, place.project, "default").kind == "allow"
    assert wider.decide("Bash", {"command": "git push x"}, place.project, "default").kind == "deny"
    assert place.bash("npm test").kind == "ask"
    place.permissions.apply(
        {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "npm test"}], "behavior": "deny"}
    )
    assert wider.decide("Bash", {"command": "npm test"}, place.project, "default").kind == "deny"
