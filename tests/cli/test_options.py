"""What commands read from their options: only names that a parser sets. mypy does not see them."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from pathlib import Path

import clew
from clew.cli.commands import COMMANDS
from clew.cli.run_command import build_parser, command_parser

SOURCE = Path(clew.__file__).parent


def destinations(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the names that a parser and its sub-commands set."""
    yield from parser._defaults
    for action in parser._actions:
        yield action.dest
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from destinations(inner)


def assigned(tree: ast.AST) -> Iterator[str]:
    """Yield the attributes that a module sets itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            yield from (target.attr for target in node.targets if isinstance(target, ast.Attribute))


def read_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the attributes read from parameters that are a Namespace, with their lines."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        parameters = (*function.args.args, *function.args.kwonlyargs)
        options = {each.arg for each in parameters if each.annotation and "Namespace" in ast.unparse(each.annotation)}
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in options:
                yield node.attr, node.lineno


def test_commands_read_only_options_that_a_parser_sets() -> None:
    parsers = [build_parser(), *map(command_parser, COMMANDS)]
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    trees = {path: ast.parse(text) for path, text in texts.items() if "Namespace" in text}
    known = {name for parser in parsers for name in destinations(parser)}
    known |= {name for tree in trees.values() for name in assigned(tree)}
    found = [(path, name, line) for path, tree in trees.items() for name, line in read_names(tree)]
    assert len(found) > 100
    unknown = [f"{path.relative_to(SOURCE)}:{line}: {name}" for path, name, line in found if name not in known]
    assert not unknown
