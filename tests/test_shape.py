"""The shape of the package: what may import what, how large things may be, and the list of public names."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import clew

SOURCE = Path(clew.__file__).parent
LAYERS = (
    ("errors", "model_table", "models", "version"),
    ("system",),
    ("wire",),
    ("conversation",),
    ("facts", "api"),
    ("index", "view", "report", "edit", "collect", "chat", "demo", "foreign"),
    ("browse", "provenance"),
    ("tui", "web", "mcp", "acp", "console"),
    ("cli",),
)
# The sub-packages and modules of chat, low to high. Names in one row do not import each other.
CHAT_LAYERS = (
    ("config",),
    ("permission",),
    ("tools",),
    ("events", "cost", "mcp", "hooks"),
    ("store", "deps"),
    ("rewind", "input", "turn", "session_spec"),
    ("loop", "open_conversation"),
    ("agents",),
    ("engine", "session_config", "session_hooks"),
    ("session_factory",),
    ("sdk", "replay"),
)
CHAT_LEVEL = {name: level for level, names in enumerate(CHAT_LAYERS) for name in names}
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
INDEPENDENT = (LAYERS[5], LAYERS[7])  # uses and front ends: packages of one row do not import each other
LONGEST = 400
TALLEST = 60


def modules() -> list[Path]:
    doors = (SOURCE / "__init__.py", SOURCE / "__main__.py")
    return [p for p in sorted(SOURCE.rglob("*.py")) if p not in doors]


def part(path: Path) -> str:
    """The folder (or top-level module) that a file belongs to."""
    inside = path.relative_to(SOURCE)
    return inside.parts[0].removesuffix(".py")


def dotted(path: Path) -> str:
    """The name by which a module is imported."""
    return ".".join(("clew", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


MODULES = {dotted(path): path for path in modules()}


def imported_modules(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every module of clew that is imported, with the line; also imports inside functions and for types."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in MODULES else node.module for name in inside]
        else:
            continue
        yield from ((name, node.lineno) for name in dict.fromkeys(names) if name.startswith("clew."))


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """Every part of clew that a module imports, with the line; also imports inside functions and for types."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    yield from ((name.split(".")[1], line) for name, line in imported_modules(tree))


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_upward(path: Path) -> None:
    mine = part(path)
    assert mine in LEVEL, f"{mine} has no place in the layers"
    for other, line in imported(path):
        assert other in LEVEL, f"{path}:{line} imports the unknown part {other}"
        assert LEVEL[other] <= LEVEL[mine], f"{path}:{line}: {mine} may not import {other}"
        if any(mine in row and other in row for row in INDEPENDENT):
            assert other == mine, f"{path}:{line}: {mine} and {other} may not import each other"


CHAT = SOURCE / "chat"


@pytest.mark.parametrize("path", sorted(CHAT.rglob("*.py")), ids=lambda p: str(p.relative_to(CHAT)))
def test_parts_of_chat_import_from_lower_parts_only(path: Path) -> None:
    if path == CHAT / "__init__.py":
        return  # it only offers names of the parts
    mine = dotted(path).split(".")[2]
    assert mine in CHAT_LEVEL, f"{mine} has no place in CHAT_LAYERS"
    for name, line in imported_modules(ast.parse(path.read_text(encoding="utf-8"))):
        if name.startswith("clew.chat."):
            other = name.split(".")[2]
            is_allowed = other == mine or CHAT_LEVEL[other] < CHAT_LEVEL[mine]
            assert is_allowed, f"{path}:{line}: chat/{mine} may not import chat/{other}"


def test_no_import_cycle_hides_in_functions() -> None:
    """Imports inside functions count; imports for types alone do not."""
    edges = {
        name: {other for other, _ in imported_modules(_without_type_imports(path))} for name, path in MODULES.items()
    }
    while leaves := {name for name, others in edges.items() if not (others & edges.keys()) - {name}}:
        edges = {name: others for name, others in edges.items() if name not in leaves}
    while tops := edges.keys() - {other for name, others in edges.items() for other in others - {name}}:
        edges = {name: others for name, others in edges.items() if name not in tops}
    assert not edges, f"modules that import each other: {sorted(edges)}"


def _without_type_imports(path: Path) -> ast.AST:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    return tree


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_modules_and_functions_stay_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= LONGEST, f"{path} has grown to {text.count(chr(10))} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            height = (node.end_lineno or node.lineno) - node.lineno
            assert height <= TALLEST, f"{path}:{node.lineno} {node.name} has {height} lines"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_nothing_catches_everything(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ExceptHandler):
            names = {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)} if node.type else {"everything"}
            assert not names & {"Exception", "BaseException", "everything"}, f"{path}:{node.lineno}"


def test_no_optional_is_asserted_away() -> None:
    """A value that is there only sometimes is two types, or is passed as an argument where it is there."""
    allowed = {"chat/tools/builtin/grep_files.py"}  # the standard library declares the pipes of a process as optional
    asserting = {
        str(path.relative_to(SOURCE))
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assert) and "is not None" in ast.unparse(node.test)
    }
    assert asserting <= allowed


@pytest.mark.req("R349")
def test_only_wire_write_opens_files_for_writing_below_the_claude_folder() -> None:
    """Whoever else opens a file for writing is listed here, with what it may write."""
    allowed = {
        "wire/session_writer.py": "session files and side files",
        "cli/output.py": "a new file that the user names",
        "cli/keep/sql.py": "a new file that the user names",
        "cli/serve/mock.py": "a ledger, in a file that the user names",
        "cli/run_command.py": "the null device, when the reader of stdout has gone",
        "index/index_schema.py": "the index, in the cache folder",
        "report/usage_summary.py": "the summary of usage, in the cache folder",
        "report/rate_limits.py": "the limits that were seen last, in the state folder",
        "collect/archive/archive_schema.py": "the archive and its key, in the data folder",
        "collect/archive/archive_upgrade.py": "a copy of the archive, next to it or where the user says",
        "collect/collector_lock.py": "the lock of the archive",
        "collect/mirror/store_tree.py": "the lock of a mirror, in the cache folder",
        "chat/store/session_lock.py": "the lock of a session",
        "chat/mcp/mcp_transport.py": "the null device, for what servers say beside their answers",
        "collect/sinks/jsonl.py": "a file of records that the user names",
        "chat/tools/atomic_files.py": "files of the project that the model changes, and outputs of commands",
        "system/scratch_folder.py": "the lock of a temporary folder, inside of it",
        "system/private_file.py": "files of clew's own, in the state folder",
        "web/server_record.py": "the lock of a web server, in the state folder",
        "demo/line_script.py": "a made-up tree in a folder of its own",
    }
    found = {str(p.relative_to(SOURCE)) for p in modules() for _ in _writes(p)}
    assert found <= set(allowed), f"{found - set(allowed)} write files"


def _writes(path: Path) -> Iterator[int]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr in (
            "write_text",
            "write_bytes",
            "O_WRONLY",
            "O_RDWR",
            "O_CREAT",
        ):
            yield node.lineno
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open":
            modes = [a.value for a in node.args[1:2] if isinstance(a, ast.Constant)]
            if any(isinstance(m, str) and set(m) & set("wax+") for m in modes):
                yield node.lineno


def test_public_names_are_sorted_and_real() -> None:
    assert clew.__all__ == sorted(clew.__all__)
    for name in clew.__all__:
        assert getattr(clew, name) is not None


@pytest.mark.parametrize("statement", ["import clew", "import clew.cli; clew.cli.main(['--version'])"])
def test_importing_loads_nothing_heavy(statement: str) -> None:
    script = f"{statement}\nimport sys\nprint(sorted(m for m in sys.modules if m.split('.')[0] in {HEAVY!r}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


HEAVY = ("msgspec", "rich", "json", "argparse", "asyncio", "sqlite3", "dataclasses", "typing_extensions", "httpx")


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_the_hint_of_an_error_is_an_argument(path: Path) -> None:
    """An error is complete when it is raised: `NotFound(asked, hint=…)`, not an assignment afterwards."""
    if path.name == "errors.py":
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    targets = [
        target
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AugAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    assert not [t.lineno for t in targets if isinstance(t, ast.Attribute) and t.attr == "hint"]
