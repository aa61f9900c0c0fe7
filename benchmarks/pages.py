"""Pages in Chromium, as a person meets them: when the first turn or row can be seen, long tasks while scrolling to the end,
each key of a search, ten windows of a session that grows; agentsview on the same trees where it can do the same.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import httpx

from benchmarks import browser, peer
from benchmarks.corpus import generate
from benchmarks.load import grown
from benchmarks.measure import Line, Note, transcripts
from benchmarks.served import serving
from clew.demo.talk import talk
from clew.index.session_index import Index

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

LARGE = 60_000_000
SESSIONS = 3_000
WINDOWS = 10
ROUNDS = 3
QUERY = "valve"
WORDS = (
    "valve",
    "pump",
    "feed",
    "menu",
    "oven",
    "gauge",
    "tide",
    "clock",
    "price",
    "cent",
    "order",
    "report",
    "sensor",
)
# Notes when an element first has a size, the tasks that hold up the page, and from each key to the next list.
WATCH = """(() => {
    const seen = window.benchmark = { first: {}, tasks: [], keys: [], wanted: %s };
    new PerformanceObserver(list => seen.tasks.push(...list.getEntries().map(entry => entry.duration)))
        .observe({ type: "longtask", buffered: true });
    const look = () => {
        for (const name of seen.wanted) {
            if (!(name in seen.first) && document.querySelector(name)?.getBoundingClientRect().height) {
                seen.first[name] = performance.now();
            }
        }
        requestAnimationFrame(look);
    };
    look();
    let typed = 0;
    document.addEventListener("input", () => { typed = performance.now(); }, true);
    const isList = node => node.nodeType === 1 && (node.matches("li, ol, ul, [role=option]") || node.querySelector("li"));
    new MutationObserver(changes => {
        if (typed && changes.some(change => [...change.addedNodes].some(isList))) {
            seen.keys.push(performance.now() - typed);
            typed = 0;
        }
    }).observe(document, { childList: true, subtree: true });
})()"""
# Scrolls to the bottom of what is loaded; the number of the last page, and whether another one follows it.
DOWN = """() => {
    window.scrollTo(0, document.documentElement.scrollHeight);
    const last = [...document.querySelectorAll(".page")].pop();
    return [Number(last.dataset.page), Boolean(last.querySelector(".later"))];
}"""


@dataclass(frozen=True)
class Site:
    """A program that serves sessions: where its pages are, and what can be seen on them."""

    name: str
    base: str
    process: int
    entrance: str
    list: str
    row: str
    turn: str
    session: str = "/session/"


def measure(scratch: Path, compares: bool) -> Iterator[Line | Note]:
    """What `make bench` says of the pages."""
    path = browser.program()
    if path is None:
        yield Note("the pages were not measured: Chromium is not installed")
        return
    large, many = large_tree(scratch / "pages-large"), many_sessions(scratch / "pages-many")
    with browser.browsing(path) as chromium:
        yield from reading(chromium, large, scratch)
        yield from listing(chromium, many, scratch)
        yield from windows(chromium, scratch)
        if compares:
            yield from beside(chromium, (large, many), scratch)


def large_tree(home: Path) -> Path:
    """A home with one session of 60 MB."""
    generate(home / "all" / ".claude", LARGE + 2_000_000, 1, LARGE)
    largest = Path(max(transcripts(home / "all" / ".claude"), key=lambda name: Path(name).stat().st_size))
    folder = home / ".claude" / "projects" / largest.parent.name
    folder.mkdir(parents=True)
    shutil.move(largest, folder / largest.name)
    shutil.rmtree(home / "all")
    return home


def many_sessions(home: Path) -> Path:
    """A home with 3,000 short sessions in 20 projects."""
    chance = random.Random(7)
    for number in range(SESSIONS):
        told = talk(seed=f"many {number}", cwd=f"/home/ada/{WORDS[number % 13]}-{number % 20}", branch="main")
        for _ in range(1 + number % 3):
            told = told.user(f"{' '.join(chance.choices(WORDS, k=9))}?").reply(" ".join(chance.choices(WORDS, k=60)))
        told.write(home / ".claude")
    return home


@contextmanager
def clew(home: Path, cache: Path) -> Iterator[Site]:
    with serving(home / ".claude", cache, "--port", "0") as served:
        yield Site(
            "clew", served.base, served.process.pid, served.entrance, "/sessions", "li.session", "section.turn .prompt"
        )


def visit(chromium: Browser, site: Site) -> BrowserContext:
    """A browser that has been let in."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script(WATCH % json.dumps([site.row, site.turn]))
    if site.entrance:
        page = context.new_page()
        page.goto(site.entrance)
        page.close()
    return context


def first(page: Page, address: str, selector: str) -> float:
    """From the address to the frame that shows an element, in ms."""
    page.goto(address, wait_until="commit")
    page.wait_for_function("name => name in window.benchmark.first", arg=selector, timeout=60_000)
    return float(page.evaluate("name => window.benchmark.first[name]", selector))


def reading(chromium: Browser, home: Path, scratch: Path) -> Iterator[Line | Note]:
    """A large session: by a server that has just started, again, and on to its end."""
    session = Path(transcripts(home / ".claude")[0])
    with Index.open(home / ".claude", scratch / "pages-cache" / "clew") as index:
        index.refresh()
    cold: list[float] = []
    warm: list[float] = []
    memory: list[float] = []
    for number in range(ROUNDS):
        with clew(home, scratch / "pages-cache") as site, visit(chromium, site) as context:
            page = context.new_page()
            for times in (cold, warm):
                times.append(first(page, f"{site.base}{site.session}{session.stem}", site.turn))
            if number == ROUNDS - 1:
                count, took, tasks, long = scroll(chromium, page)
            memory.append(peak(site.process))
    size = session.stat().st_size / 1e6
    yield Line(f"{size:.0f} MB: first turn seen, just started", min(cold), "ms", "≤ 400", min(cold) <= 400)
    yield Line(f"{size:.0f} MB: first turn seen, once it was read", min(warm), "ms", "≤ 300", min(warm) <= 300)
    if not count:
        yield Note("the end was not reached within four minutes", is_met=False)
    yield Line(f"{size:.0f} MB: scrolled to its end, {count} pages", took, "s")
    worst = max(tasks)
    yield Line(f"{size:.0f} MB: longest task on the way, CPU", worst, "ms", "≤ 100", worst <= 100)
    yield Line(f"{size:.0f} MB: longest task on the way, by the clock", max(long, default=0.0), "ms")
    yield Line(f"{size:.0f} MB: memory of the server", max(memory), "MB", "≤ 300", max(memory) <= 300)


def scroll(chromium: Browser, page: Page) -> tuple[int, float, list[float], list[float]]:
    """Go to the end, page after page. Return how many there are (0 if the end was not reached in four minutes), the
    seconds that it took, and the tasks of the page in ms: all by CPU time, and the long ones by the clock.

    On a busy machine a task waits for a processor; that is not the fault of the page.
    """
    page.wait_for_load_state("load")
    page.evaluate("() => { window.benchmark.tasks.length = 0; }")
    chromium.start_tracing(page=page, categories=["toplevel"])
    started, number, is_more = time.perf_counter(), 0, True
    while is_more and time.perf_counter() - started < 240:
        page.wait_for_timeout(50)  # as fast as somebody who holds the key for the end
        number, is_more = page.evaluate(DOWN)
    took = time.perf_counter() - started
    events = json.loads(chromium.stop_tracing())["traceEvents"]
    mains = {(e["pid"], e["tid"]) for e in events if (e.get("args") or {}).get("name") == "CrRendererMain"}
    tasks = [e["tdur"] / 1000 for e in events if "tdur" in e and (e["pid"], e["tid"]) in mains]
    return 0 if is_more else number, took, tasks, page.evaluate("() => window.benchmark.tasks")


def listing(chromium: Browser, home: Path, scratch: Path) -> Iterator[Line | Note]:
    """The list of many sessions, and a search in them key by key."""
    with Index.open(home / ".claude", scratch / "pages-many-cache" / "clew") as index:
        index.refresh()
    with clew(home, scratch / "pages-many-cache") as site, visit(chromium, site) as context:
        page = context.new_page()
        rows = [first(page, site.base + site.list, site.row) for _ in range(ROUNDS + 1)][1:]
        page.wait_for_load_state("load")
        keys = typed(page, "input[name=q]")
        held = peak(site.process)
    yield Line(f"list of {SESSIONS:,}: first row seen", median(rows), "ms", "≤ 150", median(rows) <= 150)
    if keys:
        yield Line("search, each key: median", median(keys), "ms")
        yield Line("search, each key: slowest", max(keys), "ms", "≤ 100", max(keys) <= 100)
    else:
        yield Note("search: no list changed while typing", is_met=False)
    yield Line(f"list of {SESSIONS:,}: memory of the server", held, "MB", "≤ 300", held <= 300)


def typed(page: Page, field: str) -> list[float]:
    """Type a query. Return the ms from each key to the list that it makes; a key that changes no list is left out."""
    page.locator(field).first.click()
    for count, key in enumerate(QUERY, 1):
        page.keyboard.press(key)
        deadline = time.perf_counter() + 2
        while page.evaluate("() => window.benchmark.keys.length") < count and time.perf_counter() < deadline:
            page.wait_for_timeout(20)
    return [float(spent) for spent in page.evaluate("() => window.benchmark.keys")]


def windows(chromium: Browser, scratch: Path) -> Iterator[Line | Note]:
    """Ten windows of a session that grows: until the last of them shows what was written."""
    told = talk(seed="windows", cwd="/home/ada/windows")
    for number in range(20):
        told = told.user(f"prompt {number}").reply("word " * 50)
    _, turns = grown(told, 5)
    path = told.write(scratch / "pages-windows" / ".claude")
    with clew(path.parents[3], scratch / "pages-windows-cache") as site, visit(chromium, site) as context:
        pages = [context.new_page() for _ in range(WINDOWS)]
        for page in pages:
            first(page, f"{site.base}{site.session}{path.stem}", site.turn)
        spent = []
        for number, turn in enumerate(turns, 1):
            started = time.perf_counter()
            with path.open("ab") as file:
                file.write(turn)
            for page in pages:
                page.get_by_text(f"mark {number} of the session").first.wait_for(state="attached", timeout=20_000)
            spent.append(time.perf_counter() - started)
    worst = max(spent) * 1000
    yield Line(f"{WINDOWS} windows: from written to seen in the last", worst, "ms", "≤ 2000", worst <= 2000)


def beside(chromium: Browser, homes: tuple[Path, Path], scratch: Path) -> Iterator[Line | Note]:
    """The same by agentsview, after it has read everything."""
    folder = scratch / "pages-agentsview"
    try:
        version = peer.install("agentsview", folder, homes[0])
        name = f"agentsview {version}"
        with agentsview(folder, homes[0], name) as site, visit(chromium, site) as context:
            page, session = context.new_page(), Path(transcripts(homes[0] / ".claude")[0])
            times = [first(page, f"{site.base}{site.session}{session.stem}", site.turn) for _ in range(ROUNDS)]
            held = peak(site.process)
        yield Line(f"{name}, {LARGE / 1e6:.0f} MB: first message seen, once it was read", min(times), "ms")
        yield Line(f"{name}, {LARGE / 1e6:.0f} MB: memory of the server", held, "MB")
        with agentsview(folder, homes[1], name) as site, visit(chromium, site) as context:
            page = context.new_page()
            times = [first(page, site.base + site.list, site.row) for _ in range(ROUNDS + 1)][1:]
            held = peak(site.process)
        yield Line(f"{name}, list of {SESSIONS:,}: first row seen", median(times), "ms")
        yield Line(f"{name}, list of {SESSIONS:,}: memory of the server", held, "MB")
    except (OSError, subprocess.SubprocessError, httpx.HTTPError) as error:
        yield Note(f"agentsview: not compared: {error}")


@contextmanager
def agentsview(folder: Path, home: Path, name: str) -> Iterator[Site]:
    """Its server, once it has read the tree."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(folder / "bin" / "agentsview"), "serve", "--no-browser", "--no-update-check", "--port", str(port)]
    given = {**peer.surroundings(home), "AGENTSVIEW_NO_DAEMON": "1", "DO_NOT_TRACK": "1"}
    subprocess.run([command[0], "sync"], env=given, check=True, capture_output=True, timeout=peer.PATIENCE)
    process = subprocess.Popen(command, env=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    base = f"http://127.0.0.1:{port}"
    try:
        wait_for(base)
        yield Site(name, base, process.pid, "", "/", ".session-item", ".message", "/sessions/")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


def wait_for(address: str) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            httpx.get(address, trust_env=False).raise_for_status()
            return
        except httpx.HTTPError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def peak(process: int) -> float:
    """The most memory that a process has held, in MB."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
