"""Measure how easy a tree of clew is to navigate: `python -m tests.measure_code [TREE ...]` prints one column for each."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

VAGUE = ("found", "told", "made", "said")


def _shared(names: Iterable[str]) -> str:
    counts = Counter(names)
    return f"{sum(count for count in counts.values() if count > 1)} of {counts.total()}"


def _dotted(path: Path, source: Path) -> str:
    return ".".join(path.relative_to(source.parent).with_suffix("").parts).removesuffix(".__init__")


def _import_depth(trees: dict[str, ast.Module]) -> int:
    """Return the length of the longest chain of imports at the top of modules."""

    @cache
    def depth(name: str) -> int:
        imported = set()
        for node in trees[name].body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("clew"):
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    imported.add(full if full in trees else str(node.module))
        return 1 + max((depth(other) for other in imported & trees.keys() - {name}), default=0)

    return max(map(depth, trees))


def measure(root: Path) -> dict[str, str]:
    """Return the measures of a tree by name."""
    source = root / "src" / "clew"
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(source.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    lines = sum(text.count("\n") for text in texts.values())
    comments = sum(
        token.type == tokenize.COMMENT
        for text in texts.values()
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
    )
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    hidden = sum(isinstance(node, ast.Import | ast.ImportFrom) for one in functions for node in ast.walk(one))
    stores = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    folders = Counter(str(path.parent.relative_to(source)) for path in texts if path.stem != "__init__")
    folder, largest = folders.most_common(1)[0]
    modules = [path.stem for path in texts if path.stem not in ("__init__", "__main__")]
    classes = [node.name for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef)]
    return {
        "source lines": f"{lines:,}",
        "files": str(len(texts)),
        "modules that share their name": _shared(modules),
        "classes that share their name": _shared(classes),
        "imports inside functions, per 1,000 lines": f"{1000 * hidden / lines:.1f}",
        "comments, share of lines": f"{100 * comments / lines:.1f} %",
        "modules in the largest folder": f"{largest} ({folder})",
        "longest chain of imports": str(_import_depth({_dotted(path, source): tree for path, tree in trees.items()})),
        f"assignments to {', '.join(VAGUE)}": ", ".join(str(stores[name]) for name in VAGUE),
        "assert … is not None": str(sum(text.count(" is not None\n") for text in _asserts(texts.values()))),
    }


def _asserts(texts: Iterable[str]) -> Iterable[str]:
    return (f"{line.rstrip()}\n" for text in texts for line in text.splitlines() if line.strip().startswith("assert "))


def main(roots: list[Path]) -> None:
    columns = [measure(root) for root in roots]
    for name in columns[0]:
        print(f"{name:44}" + "".join(f"{column[name]:>20}" for column in columns))


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]] or [Path(__file__).parent.parent])
