"""An index that was refreshed is the same as a new one, whatever happened to the files in between."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.index.helper import NOW, Claude, append, contents, custom, fresh, ident, prompt, reply

WORDS = ["apple", "valve", "tideGauge", "café", "rewinding", "日本", "v1.2.3", "harbour"]
STEPS = 12
HISTORIES = 40
FOUND = (1067,)  # a title before the first message


class History:
    """Random changes of a tree."""

    def __init__(self, claude: Claude, aside: Path, seed: int) -> None:
        self.claude, self.aside, self.rng = claude, aside, random.Random(seed)
        aside.mkdir()

    @property
    def files(self) -> list[Path]:
        return sorted(self.claude.root.rglob("*.jsonl"))

    def text(self) -> str:
        return " ".join(self.rng.choices(WORDS, k=6))

    def change(self) -> str:
        """Change something and return what was done."""
        steps: list[Callable[[], object]] = [self.create, self.restore]
        if self.files:
            steps += [self.grow, self.grow, self.cut, self.replace, self.rename, self.move, self.edit, self.edit_back]
            steps += [self.delete, self.put_aside, self.touch, self.retitle]
        step = self.rng.choice(steps)
        step()
        return step.__name__

    def create(self) -> None:
        name = str(self.rng.randrange(12))
        if not self.claude.path(name).exists():
            self.claude.write(name, prompt(self.text()), reply(self.text()))

    def grow(self) -> None:
        append(self.rng.choice(self.files), reply(self.text()))

    def retitle(self) -> None:
        append(self.rng.choice(self.files), custom(self.text()))

    def cut(self) -> None:
        path = self.rng.choice(self.files)
        os.truncate(path, self.rng.randrange(path.stat().st_size + 1))

    def replace(self) -> None:
        path = self.rng.choice(self.files)
        new = path.with_suffix(".new")
        new.write_bytes(prompt(self.text()))
        new.replace(path)

    def rename(self) -> None:
        path = self.rng.choice(self.files)
        path.rename(path.with_name(f"{ident(str(self.rng.randrange(12, 24)))}.jsonl"))

    def move(self) -> None:
        path = self.rng.choice(self.files)
        folder = path.parent.parent / f"-work-{self.rng.randrange(3)}"
        folder.mkdir(exist_ok=True)
        path.rename(folder / path.name)

    def edit(self) -> None:
        """Replace a word by another one of the same length in place, as a tool that masks does."""
        path = self.rng.choice(self.files)
        data = path.read_bytes()
        old, new = self.rng.choice([(b"apple", b"grape"), (b"valve", b"XXXXX"), (b"harbour", b"station")])
        with path.open("r+b") as file:
            file.write(data.replace(old, new))

    def edit_back(self) -> None:
        """The same, with the time of the file set back."""
        states = {path: path.stat() for path in self.files}
        self.edit()
        for path, state in states.items():
            os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))

    def touch(self) -> None:
        moment = NOW + self.rng.randrange(-(10**6), 10**6)
        os.utime(self.rng.choice(self.files), (moment, moment))

    def delete(self) -> None:
        self.rng.choice(self.files).unlink()

    def put_aside(self) -> None:
        path = self.rng.choice(self.files)
        shutil.copy2(path, self.aside / path.name)

    def restore(self) -> None:
        saved = sorted(self.aside.iterdir())
        if saved:
            path = self.rng.choice(saved)
            shutil.copy2(path, self.claude.path("0").parent / path.name)


@pytest.mark.parametrize("seed", [*range(HISTORIES), *FOUND])
def test_a_refreshed_index_is_the_same_as_a_new_one(tmp_path: Path, seed: int) -> None:
    claude = Claude(tmp_path)
    claude.write("0", prompt("an apple"), reply("a valve"))
    history = History(claude, tmp_path / "aside", seed)
    done = []
    with claude.open() as index:
        for number in range(STEPS):
            done += [history.change() for _ in range(history.rng.randint(1, 3))]
            assert index.refresh().is_complete
            assert contents(index) == fresh(claude, tmp_path / f"fresh-{number}"), done


def test_a_link_that_leads_to_itself_is_left_out(tmp_path: Path) -> None:
    claude = Claude(tmp_path)
    claude.write("0", prompt("an apple"))
    (claude.root / "projects" / "loop").symlink_to("loop")
    with claude.open() as index:
        index.refresh()
        assert [one.session for one in index.search("apple")] == [ident("0")]
