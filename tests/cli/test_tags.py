"""A tag can be seen and searched, and is gone when it is removed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import clew as library
from clew.demo.demo_tree import DemoSummary

pytestmark = pytest.mark.portable

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cache", "data"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))


def test_a_tag_is_shown_and_found_until_it_is_removed(clew: Run, demo: DemoSummary, claude: Path) -> None:
    rows = [json.loads(line) for line in clew("ls", "--json", "--quiet")[1].splitlines()]
    one, other, *_ = [row["id"] for row in rows if row["path"]]
    assert clew("tag", one, "money")[0] == 0
    assert clew("tag", other, "two words")[0] == 0

    def found(query: str) -> list[str]:
        return [result.session for result in library.search(query, 50, claude=claude)]

    assert f"#money {rows[0]['title']}" in clew("ls")[1]
    assert json.loads(clew("ls", "--json", "-n", "1")[1])["tag"] == "money"
    assert "#money" in clew("show", one)[1]
    assert library.find(one, claude=claude).tag == "money"
    code, out, _ = clew("search", "tag:money")
    assert code == 0 and out.count("#money") == 1
    assert [json.loads(line)["tag"] for line in clew("search", "tag:MON*", "--json")[1].splitlines()] == ["money"]
    assert found('tag:"two words"') == [other] and found("tag:two") == []
    assert one not in found("-tag:money") and other in found("-tag:money")
    assert clew("tag", one, "plans")[0] == 0
    assert found("tag:money") == [] and found("tag:plans") == [one]
    assert clew("tag", one, "--clear")[0] == 0
    assert found("tag:plans") == [] and "#" not in clew("ls", "-n", "1")[1]


def test_a_tag_filter_needs_a_value(clew: Run, demo: DemoSummary) -> None:
    code, _, err = clew("search", "tag:")
    assert code == 2 and "tag:money" in err
