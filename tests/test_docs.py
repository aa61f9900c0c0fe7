"""The documentation is true: its commands and examples run on the demo tree, and what they show is what comes.

In a `console` block each `$ ` line is run by bash as it is written, all of a page in one go, in an empty home folder, and
compared with what stands below it; a command with nothing below it is only run. A page that says "needs the extra" gets all
extras; for the others clew is installed without any. `…` stands for anything, on a separate line for any lines; dates and
times of day differ from day to day and are not compared. A `pycon` block is a doctest.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import distribution, requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import clew
from clew.cli.commands import COMMANDS
from clew.demo.demo_tree import write_demo
from tests.build_site import anchor, broken_links, build
from tests.generate_docs import DOCS, ROOT, SOURCE, cli, first_sentence, packages
from tests.requirements import proofs, requirements

TOP = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
PAGES = [*TOP, *sorted(DOCS.glob("*.md"))]
LONGEST = 110  # lines of a page about a task: two screens
REFERENCES = {
    "sdk",
    *(
        "benchmarks",
        "cli",
        "design",
        "format",
        "mock",
        "python",
        "rounds",
        "security",
        "seeds",
        "sql",
        "tools",
        "usage",
        "web",
    ),
}
HOME = "/home/ada"  # how the documents name the home folder

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TIME = re.compile(r"\b\d{4}-\d\d-\d\d\b|\b\d\d:\d\d(:\d\d(\.\d+Z?)?)?\b")


def blocks(page: Path, language: str) -> Iterator[tuple[int, str]]:
    """The fenced blocks of a page in one language, with the line that each begins on."""
    text = page.read_text(encoding="utf-8")
    for found in _BLOCK.finditer(text):
        if found[1] == language:
            yield text.count("\n", 0, found.start(2)) + 1, found[2]


def names(pages: list[Path]) -> list[str]:
    return [page.relative_to(ROOT).as_posix() for page in pages]


# -- what is typed


@dataclass(frozen=True, slots=True)
class Typed:
    """A command in a document and what it is said to print."""

    line: int
    command: str
    shown: str


def typed(page: Path) -> list[Typed]:
    found: list[Typed] = []
    for start, block in blocks(page, "console"):
        for offset, line in enumerate(block.splitlines()):
            if line.startswith("$ "):
                found.append(Typed(start + offset, line[2:], ""))
            elif found:
                last = found[-1]
                found[-1] = Typed(last.line, last.command, f"{last.shown}{line}\n")
    return found


def run(commands: list[str], home: Path, programs: Path = Path(sys.executable).parent) -> list[str]:
    """Type commands one after the other into one shell; what each of them printed, remarks included."""
    mark = "\x1e"
    script = ["code=0", "exec 2>&1"]
    for command in commands:
        script += [f"printf '{mark}'; (exit $code)", command, "code=$?"]
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=home,
        env=environment(home, programs),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=250,
    )
    printed = done.stdout.decode().replace(str(home), HOME)
    return printed.split(mark)[1:]


def environment(home: Path, programs: Path) -> dict[str, str]:
    """A separate home and no colours; the hour is always 18, so that no session of the demo crosses midnight."""
    ahead = (18 - datetime.now(UTC).hour) % 24
    return {
        "HOME": str(home),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "TZ": f"DEMO-{ahead}" if ahead <= 12 else f"DEMO+{24 - ahead}",
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "PYTHONUTF8": "1",
    }


def pattern(shown: str) -> re.Pattern[str]:
    """What a document shows, as something to compare with."""
    lines = _TIME.sub("<time>", shown).splitlines()
    parts = (r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*?") + r"[ ]*\n" for line in lines)
    return re.compile("".join(parts))


def differs(each: Typed, printed: str) -> str:
    """Empty if a document shows what was printed, else both."""
    told = _TIME.sub("<time>", printed)
    told = told if told.endswith("\n") or not told else f"{told}\n"
    if not each.shown or pattern(each.shown).fullmatch(told):
        return ""
    return f"line {each.line}: $ {each.command}\n--- shown\n{each.shown}--- printed\n{printed}"


CONSOLES = [page for page in PAGES if any(blocks(page, "console"))]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with clew and the packages that it requires, and no extras."""
    root = tmp_path_factory.mktemp("bare")
    venv.create(root)
    site = next(root.glob("lib/python*/site-packages"))
    for name in {"clew", *required("clew")}:
        installed = distribution(name)
        for part in {Path(str(file)).parts[0] for file in installed.files or ()} - {"..", "__pycache__"}:
            (site / part).symlink_to(Path(str(installed.locate_file(part))))
    program = root / "bin" / "clew"
    program.write_text(f"#!{root}/bin/python\nimport sys\nfrom clew.cli import main\nsys.exit(main())\n")
    program.chmod(0o755)
    return program.parent


def required(name: str) -> set[str]:
    """The packages that a package requires without extras, and those that they require."""
    wishes = (Requirement(text) for text in requires(name) or ())
    direct = {wish.name for wish in wishes if wish.marker is None or wish.marker.evaluate({"extra": ""})}
    return direct.union(*map(required, direct))


def test_the_bare_environment_has_no_extras(bare: Path, tmp_path: Path) -> None:
    code = "import clew, rich; print([n for n in ('httpx', 'textual', 'uvicorn', 'numpy') if find_spec(n)])"
    [printed] = run([f'python -c "from importlib.util import find_spec; {code}"'], tmp_path, bare)
    assert printed == "[]\n"


@pytest.mark.parametrize("page", CONSOLES, ids=names(CONSOLES))
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path, bare: Path) -> None:
    found = typed(page)
    needs_extra = re.search(r"needs?\s+the\s+\[extra\]", page.read_text(encoding="utf-8"))
    programs = Path(sys.executable).parent if needs_extra else bare
    printed = run([each.command for each in found], tmp_path, programs)
    assert len(printed) == len(found)
    assert not "\n".join(filter(None, map(differs, found, printed)))


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\n", "a\n", True),
        ("a\n", "a\nb\n", False),
        ("a\n…\nd\n", "a\nb\nc\nd\n", True),
        ("a … d\n", "a b c d\n", True),
        ("a\n…\n", "b\n", False),
        ("at 10:30 on 2026-01-02\n", "at 11:45 on 2026-02-03\n", True),
        ("a.c\n", "abc\n", False),
        ("", "anything\n", True),
    ],
)
def test_what_is_shown_is_compared(shown: str, printed: str, same: bool) -> None:
    assert (not differs(Typed(1, "", shown), printed)) is same


# -- Python


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "claude"
    write_demo(root, datetime.now(UTC))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(root))
    monkeypatch.chdir(tmp_path)
    return root


PYTHONS = [page for page in PAGES if any(blocks(page, "pycon"))]


@pytest.mark.parametrize("page", PYTHONS, ids=names(PYTHONS))
def test_python_examples_give_what_the_page_shows(page: Path, demo: Path) -> None:
    """All of a page in one namespace, so that an example may go on with the one before it."""
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    names: dict[str, object] = {}
    told: list[str] = []
    for line, block in blocks(page, "pycon"):
        test = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), line - 1)
        runner.run(test, out=told.append, clear_globs=False)
        names = test.globs
    assert runner.summarize(verbose=False).failed == 0, "".join(told)


def test_python_example_of_the_readme(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [(_, block)] = blocks(ROOT / "README.md", "python")
    exec(compile(block, "README.md", "exec"), {})
    assert "> The till says 2.68 and the invoice says 2.67." in capsys.readouterr().out


def test_the_readme_shows_at_least_six_commands_with_their_output() -> None:
    shown = [each for each in typed(ROOT / "README.md") if each.shown]
    assert len({each.command.split()[1] for each in shown}) >= 6


def test_public_names_are_told() -> None:
    text = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    assert [name for name in clew.__all__ if f"`{name}" not in text] == []


# -- what the pages say of the commands, the tree and each other


def test_the_reference_of_commands_is_up_to_date() -> None:
    assert (ROOT / "docs/cli.md").read_text(encoding="utf-8") == cli(), "run: make docs"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_told_of(command: str) -> None:
    assert f"## clew {command}\n" in (DOCS / "cli.md").read_text(encoding="utf-8")
    assert any(f"clew {command}" in each.command for page in CONSOLES for each in typed(page)), (
        f"no page runs clew {command}"
    )


def test_the_readme_and_the_index_link_to_every_page() -> None:
    for start in (ROOT / "README.md", DOCS / "README.md"):
        linked = set(re.findall(r"\]\((?:docs/)?([a-z-]+)\.md", start.read_text(encoding="utf-8")))
        assert {page.stem for page in DOCS.glob("*.md")} - {"README"} <= linked, start


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_a_page_about_a_task_has_at_most_two_screens(page: Path) -> None:
    assert page.stem in REFERENCES or page.read_text(encoding="utf-8").count("\n") <= LONGEST


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        other = (page.parent / name).resolve() if name else page
        assert other.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(other), f"{page.name} links to {target}"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as they are made on the web."""
    return set(map(anchor, re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)))


def test_the_site_is_built_without_a_broken_link(tmp_path: Path) -> None:
    assert build(tmp_path / "site") == []
    found = (tmp_path / "site" / "find.html").read_text(encoding="utf-8")
    assert '<a href="search.html">search</a>' in found and "<h1 id=" in found
    (tmp_path / "site" / "extra.html").write_text('<a href="find.html#nowhere">x</a> <img src="no.png">')
    assert broken_links(tmp_path / "site") == {"extra.html: find.html#nowhere", "extra.html: no.png"}


@pytest.mark.parametrize("path", packages(), ids=lambda path: str(path.parent.relative_to(SOURCE)))
def test_each_package_lists_its_modules(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == packages()[path], "run: make docs"


def design_names() -> list[str]:
    """The modules and functions that docs/design.md names, such as `wire/entry.read` or `index/snippet`."""
    text = (DOCS / "design.md").read_text(encoding="utf-8")
    names = re.findall(r"`((?:[a-z_]+/)+[a-z_]+(?:\.\w+)*)`", text)
    return sorted({name for name in names if not name.startswith("tests/") and (SOURCE / name.split("/")[0]).is_dir()})


@pytest.mark.parametrize("name", design_names())
def test_names_in_the_design_exist(name: str) -> None:
    module, _, attributes = name.partition(".")
    value: object = import_module(f"clew.{module.replace('/', '.')}")
    for attribute in filter(None, attributes.split(".")):
        value = getattr(value, attribute)


def test_the_design_names_functions() -> None:
    assert len([name for name in design_names() if "." in name]) > 40


def test_every_module_says_what_it_is() -> None:
    silent = [str(p.relative_to(SOURCE)) for p in SOURCE.rglob("*.py") if p.stem != "version" and not first_sentence(p)]
    assert silent == []


def test_the_readme_is_two_screens() -> None:
    assert (ROOT / "README.md").read_text(encoding="utf-8").count("\n") <= LONGEST


def test_every_make_target_that_is_told_of_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        told = set(re.findall(r"`make ([a-z-]+)`|^    make ([a-z-]+)", text, re.MULTILINE))
        assert {a or b for a, b in told} <= targets, page.name


# -- the project


def test_the_version_is_said_once() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dynamic = ["version"]' in text and 'path = "src/clew/version.py"' in text
    assert not re.search(r'^version = "', text, re.MULTILINE)
    assert re.fullmatch(r"\d+\.\d+\.\d+", clew.__version__)
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## Unreleased$", log, re.MULTILINE)
    released = re.findall(r"^## (\d+\.\d+\.\d+)", log, re.MULTILINE)
    assert released[:1] in ([], [clew.__version__]), "the newest release in CHANGELOG.md is another version"


def test_the_workflow_and_the_hook_test_what_the_project_claims() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    claimed = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    jobs = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))["jobs"]
    for job in jobs.values():
        assert job["strategy"]["matrix"]["python"] == claimed
    assert [step["run"] for step in jobs["all"]["steps"] if "run" in step] == ["make check", "make test"]
    [repository] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert [hook["entry"] for hook in repository["hooks"]] == ["make check"]


def test_every_requirement_that_a_test_names_exists() -> None:
    known = {each.number for each in requirements()}
    assert sorted({f"{p.number} ({p.test})" for p in proofs() if p.number not in known}) == []
    assert len(known) == len(requirements()) >= 260


_MACHINE = re.compile(r"(?<![\w./~-])/(?:root|work|tmp)(?=/|\b)")
_REGISTRY = re.compile(r"registry\.|pypi\.|npmjs\.|pythonhosted|artifactory|-index-url", re.IGNORECASE)
_MADE_UP = (  # what transcripts may say
    "src/clew/demo/",
    "benchmarks/corpus/",
    "tests/facts/test_mask_secrets.py",
    "tests/view/snapshots/",
)


def tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout")
    return [path for name in done.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]


def test_no_file_names_a_machine() -> None:
    """Neither the folders of the machine that it was written on, nor the hosts that packages came from."""
    found: list[str] = []
    for path in tracked():
        name = path.relative_to(ROOT).as_posix()
        text = path.read_bytes().decode("utf-8", "replace")
        places = [] if name.startswith(_MADE_UP) or path == Path(__file__) else _MACHINE.findall(text)
        hosts = [] if path == Path(__file__) else _REGISTRY.findall(text)
        found += [f"{name}: {each}" for each in (*places, *hosts)]
    assert found == []
