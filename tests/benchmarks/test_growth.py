"""Curves of growth: what is too steep or too large is found, the plot names every command, and trees have their size."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.growth import BULK, judge
from benchmarks.growth_plot import Curve, Point, growth_plot
from benchmarks.growth_trees import files_of, tree_of
from benchmarks.measure import transcripts
from benchmarks.process_tree import INTERVAL, measure_command, pause_after
from clew.conversation.load import read

LINEAR = Curve("linear", [Point(10**6, 1.0, 1.0, 50), Point(10**7, 10.0, 10.0, 60)])
SQUARE = Curve("square", [Point(10**6, 1.0, 1.0, 50), Point(10**7, 100.0, 100.0, 600)])


def test_a_command_that_grows_faster_than_its_input_is_found() -> None:
    assert [line.is_met for line in judge([LINEAR, SQUARE], True)] == [True, True, False, False]


def test_the_plot_names_every_command_and_its_labels_do_not_overlap() -> None:
    curves = [LINEAR, SQUARE, *(Curve(f"copy {number}", LINEAR.points) for number in range(6))]
    root = ET.fromstring(growth_plot(curves, "cpu", "bytes"))
    texts = [(float(node.get("y", 0)), node.text) for node in root.iter("{http://www.w3.org/2000/svg}text")]
    labels = sorted(y for y, text in texts if text in {curve.name for curve in curves})
    assert len(labels) == len(curves)
    assert all(after - before >= 15.9 for before, after in pairwise(labels))


def test_the_trees_have_what_was_asked_for(tmp_path: Path) -> None:
    small = transcripts(files_of(tmp_path / "files", 5))
    assert len(small) == 5
    assert [len(read(path).turns) for path in small] == [1] * 5
    assert (
        abs(sum(Path(path).stat().st_size for path in transcripts(tree_of(tmp_path / "tree", 2_000_000))) - 2e6) < 2e5
    )


def test_a_large_tree_has_the_files_of_a_small_one_and_no_session_twice(tmp_path: Path) -> None:
    small, large = (tree_of(tmp_path / f"{size}", size, 500_000) for size in (500_000, 1_000_000))
    files = {Path(path).stat().st_ino: Path(path) for path in transcripts(large)}
    assert {Path(path).stat().st_ino for path in transcripts(small)} < files.keys()
    names = [path.stem for path in files.values()]
    assert len(names) == len(set(names))
    lines = [line for path in files.values() for line in path.read_bytes().splitlines() if b'"uuid"' in line]
    assert len(set(lines)) > 0.9 * len(lines)


def test_a_run_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    """Sizes that are in the results are not measured again: their trees are not even there."""
    points = {size: {name: [int(size) / 1e6, 1.0, 50.0] for name in BULK} for size in ("1000000", "10000000")}
    (tmp_path / "results.json").write_text(json.dumps({"trees": points}))
    sizes = ["--only", "trees", "--trees", "1M", "10M", "--keep", str(tmp_path), "--plots", str(tmp_path)]
    command = [sys.executable, "-m", "benchmarks.growth", *sizes]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("exponent of the last step") == len(BULK)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "growth-trees-cpu.svg",
        "growth-trees-memory.svg",
        "results.json",
    ]


def test_the_memory_and_the_time_of_all_processes_are_counted() -> None:
    child = "x = bytearray(40 << 20); import time; t = time.process_time()\nwhile time.process_time() - t < 0.2: pass"
    both = f"import subprocess, sys; [p.wait() for p in [subprocess.Popen([sys.executable, '-c', {child!r}]) for _ in '12']]"
    run = measure_command([sys.executable, "-c", both], {})
    assert run.cpu > 0.4
    assert run.total_mb > (60 if sys.platform == "linux" else 40)
    with pytest.raises(RuntimeError):
        measure_command([sys.executable, "-c", "raise SystemExit(2)"], {})


def test_a_look_at_much_memory_is_repeated_less_often() -> None:
    """At 2 GB the looks took as much CPU as the command that they measured."""
    assert pause_after(0.0005) == INTERVAL
    for taken in (0.01, 0.04, 1.0):
        assert taken / (taken + pause_after(taken)) < 0.2, "share of a core"


@pytest.mark.soak
def test_every_curve_is_measured(tmp_path: Path) -> None:
    sizes = ["--trees", "200K", "400K", "--sessions", "100K", "200K", "--files", "2", "4"]
    sizes += ["--plots", str(tmp_path), "--keep", str(tmp_path / "kept")]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.growth", *sizes], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    assert len(list(tmp_path.glob("*.svg"))) == 6
