"""Settings: where they come from, how they merge, and what becomes of broken ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.chat.config.settings import Settings
from clew.wire.json_codec import Json


def write(path: Path, data: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data))


def load(root: Path, **more: object) -> Settings:
    given: Json = {"trusted": True, "managed": root / "managed", **more}
    return Settings.load(root / "project", root / "home", **given)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(
        tmp_path / "managed/managed-settings.json",
        {"model": "top", "list": ["m"], "permissions": {"deny": ["Bash(curl *)"]}},
    )
    write(
        tmp_path / "project/.claude/settings.local.json",
        {"model": "local", "a": 1, "list": ["l", "m"], "deep": {"x": 1}},
    )
    write(
        tmp_path / "project/.claude/settings.json",
        {"model": "project", "b": 2, "list": ["p"], "deep": {"x": 2, "y": 2}},
    )
    write(
        tmp_path / "home/settings.json",
        {"model": "user", "c": 3, "list": ["u"], "deep": {"z": 3}, "unknown": [None, {}]},
    )
    return tmp_path


def test_the_higher_overrides_and_lists_merge(root: Path) -> None:
    merged = load(root, cli='{"model": "cli", "d": 4, "list": ["c"]}').merged
    assert merged["model"] == "top"
    assert merged["list"] == ["m", "c", "l", "p", "u"]
    assert merged["deep"] == {"x": 1, "y": 2, "z": 3}
    assert (merged["a"], merged["b"], merged["c"], merged["d"]) == (1, 2, 3, 4)
    assert merged["unknown"] == [None, {}]
    (root / "managed/managed-settings.json").unlink()
    assert load(root, cli={"model": "cli"}).merged["model"] == "cli"
    assert load(root).merged["model"] == "local"


def test_only_the_named_sources_are_read(root: Path) -> None:
    assert load(root, sources=("user",)).merged["list"] == ["m", "u"]
    assert load(root, sources=()).merged["list"] == ["m"]
    assert [source.scope for source in load(root).sources] == ["managed", "local", "project", "user"]


def test_rules_keep_where_they_stand(root: Path) -> None:
    write(root / "home/settings.json", {"permissions": {"allow": ["Read(/a)", 5, None], "deny": "nonsense"}})
    found = load(root)
    assert [(text, source.scope, source.root) for text, source in found.rules("allow")] == [
        ("Read(/a)", "user", root / "home")
    ]
    assert [text for text, _ in found.rules("deny")] == ["Bash(curl *)"]
    managed = {"allowManagedPermissionRulesOnly": True, "permissions": {"allow": ["Read"]}}
    write(root / "managed/managed-settings.json", managed)
    assert [text for text, _ in load(root).rules("allow")] == ["Read"]


@pytest.mark.parametrize("text", ["{", "[1]", '"x"', "null", "{'a': 1}", '{"a": 1,}'])
def test_what_is_broken_is_named_once_and_the_rest_still_works(root: Path, text: str) -> None:
    write(root / "project/.claude/settings.json", text)
    found = load(root)
    assert len(found.notices) == 1 and "settings.json" in found.notices[0] and "\n" not in found.notices[0]
    assert found.merged["a"] == 1 and found.merged["c"] == 3


def test_bytes_that_are_no_text_and_folders_are_named_too(root: Path) -> None:
    (root / "home/settings.json").write_bytes(b"\xff\xfe{")
    (root / "project/.claude/settings.json").unlink()
    (root / "project/.claude/settings.json").mkdir()
    assert len(load(root).notices) == 2 and load(root).merged["a"] == 1


def test_settings_of_the_command_line(root: Path) -> None:
    write(root / "mine.json", {"e": 5})
    assert load(root, cli=str(root / "mine.json")).merged["e"] == 5
    assert "There is no settings file" in load(root, cli=str(root / "none.json")).notices[0]
    assert "What --settings says is not JSON" in load(root, cli="{x").notices[0]


def test_nothing_at_all_is_fine(tmp_path: Path) -> None:
    found = load(tmp_path)
    assert found.merged == {} and found.notices == () and found.sources == ()
