"""Measuring an export: a large session as a page and as Markdown, beside reading it and beside claude-code-log.

python -m benchmarks.export [--big 50M] [--keep DIR] [--alone]

The peer is run as its users run it, on the same file. First paint is Chromium's own word for it, on the page from a file.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks import peer
from benchmarks.corpus import generate, parse_size
from benchmarks.measure import Line, Note, interleaved, print_lines, transcripts
from benchmarks.usage import run

SMALL = 2_000_000  # bytes of other sessions, which nothing is measured on
FORMS = ("terminal", "html", "revealed.html", "md")
PEER = "claude-code-log"
EVERYTHING = ("--depth", "full", "--thinking")  # as the peer shows it
PAINT = "performance.getEntriesByName('first-contentful-paint').map(e => e.startTime)[0]"


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure exports of a generated session.")
    parser.add_argument("--big", type=parse_size, default=50_000_000)
    parser.add_argument("--keep", type=Path, help="keep the tree there, and use it again if it is there")
    parser.add_argument("--alone", action="store_true", help="without the peer")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = options.keep or Path(scratch) / "claude"
        if not (root / "projects").exists():
            print(f"Writing a session of {options.big / 1e6:.0f} MB …", file=sys.stderr)
            generate(root, SMALL, 1, options.big)
        return print_lines(measure(root, Path(scratch), None if options.alone else root))


def measure(root: Path, scratch: Path, compared: Path | None) -> Iterator[Line | Note]:
    """The largest session of a tree in each form, and that of the tree `compared` beside the peer, which takes minutes for a
    large one.
    """
    path = largest_session(root)
    size = Path(path).stat().st_size / 1e6
    jobs = [("export", path, form, str(scratch)) for form in FORMS]
    turns, shown, page, revealed, text = interleaved(("open_to_turns", path), *jobs)
    ratio = page.cpu / turns.cpu
    yield Line(f"a page of {size:.0f} MB ÷ reading it to its turns", ratio, "×", "≤ 2", ratio <= 2)
    yield Line("the same without masking", revealed.cpu / turns.cpu, "×")
    ratio = page.cpu / shown.cpu
    yield Line("a page ÷ reading it in the terminal (show --full)", ratio, "×", "≤ 2", ratio <= 2)
    yield Line("Markdown ÷ reading it in the terminal", text.cpu / shown.cpu, "×")
    memory = page.rss_mb / turns.rss_mb
    yield Line("a page: peak memory ÷ that of reading", memory, "×", "≤ 1.5", memory <= 1.5)
    yield Line("a page: size", page.result / 1e6, "MB")
    yield from _painted("a page", scratch / "export.html", 1000)
    if compared:
        try:
            yield from _beside(largest_session(compared), scratch)
        except (OSError, subprocess.SubprocessError, RuntimeError) as error:
            yield Note(f"{PEER}: not compared: {peer.reason(error) if not isinstance(error, RuntimeError) else error}")


def largest_session(root: Path) -> str:
    return max(transcripts(root), key=lambda path: Path(path).stat().st_size)


def _beside(path: str, scratch: Path) -> Iterator[Line | Note]:
    """Both as processes, on a folder that holds this session alone."""
    home, folder = scratch / "home", scratch / PEER
    copy = home / ".claude" / "projects" / "one" / Path(path).name
    copy.parent.mkdir(parents=True)
    shutil.copy(path, copy)
    version = peer.install(PEER, folder, home)
    target = scratch / "peer.html"
    environment = peer.surroundings(home)
    theirs = run([str(folder / "bin" / PEER), str(copy), "-o", str(target)], environment)
    (scratch / "export.html").unlink()
    clew = str(Path(sys.executable).with_name("clew"))
    ours = run([clew, "export", str(copy), "-q", "-o", str(scratch / "export.html"), *EVERYTHING], environment)
    made = sum(file.stat().st_size for file in scratch.glob("peer*.html"))
    size = copy.stat().st_size / 1e6
    yield Line(f"{PEER} {version} ÷ clew: CPU of a page of {size:.0f} MB", theirs.cpu / ours.cpu, "×")
    yield Line(f"{PEER} ÷ clew: peak memory", theirs.rss_mb / ours.rss_mb, "×")
    yield Line(f"{PEER}: peak memory", theirs.rss_mb, "MB")
    yield Line(f"{PEER}: size", made / 1e6, "MB")
    yield from _painted(PEER, target)


def _painted(name: str, page: Path, limit: int = 0) -> Iterator[Line | Note]:
    """When Chromium first shows something of a page, in the middle of three."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        program = None
    if program is None:
        yield Note("first paint was not measured: there is no chromium, or no playwright")
        return
    times = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            for _ in range(3):
                tab = browser.new_page()
                tab.goto(page.as_uri(), wait_until="load", timeout=300_000)
                times.append(float(tab.evaluate(PAINT)))
                tab.close()
        except Error as error:
            yield Note(f"first paint of {name} was not measured: {error.message.splitlines()[0]}")
            return
        finally:
            browser.close()
    value = median(times)
    yield Line(f"{name}: first paint", value, "ms", f"≤ {limit}" if limit else "", not limit or value <= limit)


if __name__ == "__main__":
    sys.exit(main())
