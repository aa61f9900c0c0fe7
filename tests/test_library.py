"""The public names of `import clew`: documented, present, and sufficient for everyday programs."""

from __future__ import annotations

import inspect
import re
import threading
from pathlib import Path

import pytest

import clew
from clew.demo.talk import bash, talk
from tests.generate_docs import DOCS

PROGRAM = "## Twelve small programs"
ID = "0b0d0000-0000-4000-8000-00000000000a"


def reference() -> dict[str, str]:
    """Each name in the reference of docs/python.md with its description."""
    section = (DOCS / "python.md").read_text(encoding="utf-8").partition("## Reference\n")[2]
    rows = re.findall(r"^\| (`.+?`) \| (.*) \|$", section, re.MULTILINE)
    return {name: text for names, text in rows for name in re.findall(r"`(\w+)", names)}


def test_the_reference_names_every_public_name_and_no_other() -> None:
    assert set(reference()) == set(clew.__all__)


def members(text: str) -> list[str]:
    """The attributes that a description lists: `id, title; turns_of()` has three."""
    listed = re.sub(r"\([^)]+\)|: see .*| and more", "", text.rpartition(": ")[2] if ": see" not in text else text)
    return [part.strip().removesuffix("()") for part in re.split("[,;]", listed) if part.strip()]


@pytest.mark.parametrize("name", [n for n in clew.__all__ if inspect.isclass(getattr(clew, n))])
def test_every_attribute_in_the_reference_exists(name: str) -> None:
    value = getattr(clew, name)
    fields = {f for base in value.__mro__ for f in (*getattr(base, "__annotations__", ()), *_slots(base))}
    source = inspect.getsource(value)
    for member in members(reference()[name]):
        if member.isidentifier() and member.islower():
            has_it = (
                hasattr(value, member) or member in fields or re.search(rf"self\.{member}\b.* = |, {member}: ", source)
            )
            assert has_it, f"{name}.{member} is documented and does not exist"


def _slots(base: type) -> tuple[str, ...]:
    slots = getattr(base, "__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def test_the_reference_is_read_as_it_is_written() -> None:
    assert members("id, path; turns_of(), calls (of the session): see [x](y)") == ["id", "path", "turns_of", "calls"]
    assert members("the API message of an entry: role, model") == ["role", "model"]
    assert sum(len(members(text)) for name, text in reference().items() if name[0].isupper()) > 150


def test_the_twelve_programs_are_short_and_use_public_names_only() -> None:
    text = (DOCS / "python.md").read_text(encoding="utf-8").partition(PROGRAM)[2].partition("\n## ")[0]
    programs = re.findall(r"```pycon\n(.*?)```", text, re.DOTALL)
    assert len(programs) == 12
    for program in programs:
        lines = [line for line in program.splitlines() if line.startswith((">>>", "..."))]
        assert len(lines) < 15 and "from clew" not in program


# -- what the new names do


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = talk(ID, cwd="/home/ada/garden").user("Why does the pump stop?").reply("I look.", call=bash("pump --log"))
    return made.result("stopped: no water").reply("The well is dry.").write(tmp_path / "claude")


def test_a_session_is_found_by_what_was_said(path: Path) -> None:
    [best] = clew.search("well dry")
    assert best.session == ID
    assert clew.search("elephant") == []
    with pytest.raises(clew.BadQuery):
        clew.search("since:never")


def test_costs_add_up_and_name_models_without_a_price(path: Path) -> None:
    session = clew.read(path)
    cost = clew.cost(session)
    assert cost.micros > 0 and str(cost).startswith("$") and cost.dollars == cost.micros / 1e6
    assert clew.cost(clew.usage(session)) == cost == clew.cost(session.entries)
    assert sum([cost, clew.Cost(1_500_000, ("other",))], clew.Cost(0)) == (cost.micros + 1_500_000, ("other",))
    assert str(clew.Cost(2_234_999)) == "$2.23"


def test_an_export_masks_secrets_unless_told_otherwise(path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    other = talk(cwd="/home/ada/garden").user(f"Use {secret}").reply("Done.").write(path.parents[2])
    session = clew.read(other)
    for form in ("markdown", "html", "json"):
        assert secret not in clew.export(session, form)
        assert secret in clew.export(session, form, reveal=True).replace("\\_", "_")
    assert clew.export(session, "jsonl", reveal=True).encode() == other.read_bytes()
    with pytest.raises(ValueError, match="reveal=True"):
        clew.export(session, "jsonl")


def test_a_follower_sees_lines_as_they_are_completed(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]))
    seen: list[str | None] = []
    has_begun = threading.Event()

    def collect_entries() -> None:
        for entry in clew.follow(path, interval=0.01, until_idle=30, from_start=True):
            seen.append(entry.uuid)
            has_begun.set()
            if len(seen) == len(lines):
                return

    follower = threading.Thread(target=collect_entries)
    follower.start()
    assert has_begun.wait(30)
    with open(path, "ab") as file:
        for line in lines[2:]:
            file.write(line[:10])
            file.flush()
            file.write(line[10:])
            file.flush()
    follower.join(30)
    assert seen == [entry.uuid for entry in clew.read(path).entries]


def test_archived_lines_are_read_again_after_the_file_is_gone(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    assert clew.archive(tmp_path / "archive.db").lines == data.count(b"\n")
    assert clew.archive(tmp_path / "archive.db").lines == 0
    path.unlink()
    with clew.Archive.open(tmp_path / "archive.db") as archive:
        assert archive.read(archive.find(ID)) == data


def test_two_sessions_are_compared(path: Path, tmp_path: Path) -> None:
    fork = clew.plan(clew.read(path)).write()
    assert clew.diff(clew.read(path), clew.read(fork.path)).shared == 1
