"""Import libraries without the modules that they load and a command rarely needs: the one place that postpones those.

`POSTPONED` names each library, the modules that it imports, and what it gets for each of them while it is imported
itself: a stand-in, which loads the module when one of its names is first used, or None, as if the module were not
installed. `WHILE_LOADING` names what else it gets while it is imported: every module of ours a `re` whose expressions
are compiled when they are first used. It all applies to the process of a command only: `import clew` leaves the imports
of other programs alone.
"""

from __future__ import annotations

import _frozen_importlib_external as importing
import _thread
import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


def _translate(text: str, plural: str = "", count: int = 1) -> str:
    return text if count == 1 else plural


def _quote_from_bytes(*arguments: Any) -> str:
    from urllib.parse import quote_from_bytes

    return quote_from_bytes(*arguments)


class Expression:
    """A regular expression that is compiled when it is first used."""

    def __init__(self, *arguments: Any) -> None:
        self._arguments = arguments

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = vars(self)[name] = getattr(_real("re").compile(*self._arguments), name)
        return value


def _expression_types() -> dict[str, type]:
    """Return the types of expressions and matches without loading `re`: of the empty expression, compiled by hand."""
    try:
        import _sre  # type: ignore[import-not-found]

        empty = _sre.compile("", 0, [1], 0, {}, ())
    except (ImportError, RuntimeError, TypeError):  # a Python that compiles otherwise
        import re

        empty = re.compile("")
    return {"Pattern": type(empty), "Match": type(empty.match(""))}


class _Numbers(Expression):
    """The expressions that argparse compiles. It looks with one for negative numbers among all options."""

    def match(self, text: str) -> Any:
        return super().__getattr__("match")(text) if any(map(str.isdigit, text)) else None


_FLAGS = {"ASCII": 256, "DOTALL": 16, "IGNORECASE": 2, "MULTILINE": 8, "VERBOSE": 64}
# The groups of expressions by which argparse assigns arguments, written as "A": how many each takes at least and at most.
_ARGUMENTS = {
    "(-*A-*)": (1, 1),
    "(-*A?-*)": (0, 1),
    "(-*[A-]*)": (0, sys.maxsize),
    "(-*A[A-]*)": (1, sys.maxsize),
    "()": (0, 0),
    "(-*-*)": (0, 0),  # an argument that is left for later; "(-*)" since Python 3.12.7
    "(-*)": (0, 0),
    "(A)": (1, 1),
    "(A?)": (0, 1),
    "([A]*)": (0, sys.maxsize),
    "(A[A]*)": (1, sys.maxsize),
}


class _Assigned:
    """The match of such an expression."""

    def __init__(self, groups: list[str]) -> None:
        self._groups = groups

    def groups(self) -> list[str]:
        return self._groups

    def group(self, number: int) -> str:
        return self._groups[number - 1]


def _match_arguments(pattern: str, text: str) -> Any:
    """Match as `re.match` does, which is loaded for other patterns, and for a text with `--`, written as "-"."""
    counts = [_ARGUMENTS.get(f"({group}") for group in pattern.split("(")[1:]]
    if None in counts or "-" in text:
        return _real("re").match(pattern, text)
    left = len(text) - len(text.lstrip("A"))
    needed = sum(least for least, _ in filter(None, counts))
    if left < needed:
        return None
    groups = []
    for least, most in filter(None, counts):
        needed -= least
        groups.append("A" * min(most, left - needed))
        left -= len(groups[-1])
    return _Assigned(groups)


def _own(package: str, modules: str) -> dict[str, dict[str, Any]]:
    return {f"clew.{package}.{name}": {} for name in modules.split()}


# The names are what a library takes from the module, or calls, while it is imported.
POSTPONED: Mapping[str, Mapping[str, Mapping[str, Any] | None]] = {
    "argparse": {
        "gettext": {"gettext": _translate, "ngettext": _translate},  # clew is not translated
        "re": {"compile": _Numbers, "match": _match_arguments, **_FLAGS},
        "warnings": {},
    },
    "dataclasses": {"inspect": {}},  # describes classes without a docstring
    "httpx": {"click": None},  # with it httpx loads its command line, which takes longer than httpx itself
    "msgspec": {
        # Types of values that we neither decode nor encode.
        "decimal": {"Decimal": type("Decimal", (), {})},
        "enum": {"Enum": type("Enum", (), {}), "EnumMeta": type("EnumMeta", (type,), {})},
        "re": {"compile": Expression},
        "uuid": {"UUID": type("UUID", (), {}), "SafeUUID": type("SafeUUID", (), {"unknown": None})},
        "typing_extensions": None,  # an extra may have installed it; nothing of it is needed since Python 3.11
        "msgspec.inspect": {},
        "msgspec.msgpack": {},
        "msgspec.toml": {},
        "msgspec.yaml": {},
        "textwrap": {},
    },
    "msgspec._json_schema": {"re": {}},
    "pathlib": {
        "fnmatch": {},
        "ntpath": {},
        "re": {},
        "warnings": {},
        "urllib.parse": {"quote_from_bytes": _quote_from_bytes},
    },
    "typing": {"re": _expression_types(), "warnings": {}},
    "urllib.parse": {"ipaddress": {}},
    # Modules of ours with many functions, each of which needs others: they name what they import by its module.
    "clew.cli.select_session": {
        "heapq": {},
        **_own("collect.archive", "archive_view"),
        **_own("conversation", "session"),
        **_own("system", "shell_quoting"),
        **_own("wire", "content_time lookup"),
    },
    "clew.chat.rewind.watch_files": {"asyncio": {}},
    "clew.conversation.load": {
        **_own("conversation", "resume_request"),
        **_own("wire", "content_time lookup timestamps"),
    },
    "clew.conversation.session": {
        **_own("conversation", "active_path agent_sessions branches cli_version entry_graph parent_links"),
        **_own("conversation", "preserved_lines prompt_queue replies resume_request rounds speaker surroundings"),
        **_own("conversation", "titles turns"),
        **_own("wire", "entry_types overflow_files side_files"),
    },
    "clew.edit.copy_project": _own("edit", "plan write_plan"),
    "clew.edit.plan": {**_own("conversation", "load"), **_own("edit", "drop_turns plan_diff")},
    "clew.edit.verify": _own("api", "lint"),
    "clew.facts.tool_catalog": _own("facts", "unified_diff"),
    "clew.index.saved_searches": {
        "json": {},
        **_own("facts.secrets", "mask_secrets"),
        **_own("index", "gone_sessions results"),
        **_own("wire", "session_writer"),
    },
    "clew.report.rate_limits": {"json": {}},
    "clew.view.attachments": _own("facts", "token_usage"),
    "clew.view.rows": {**_own("facts", "searchable_text"), **_own("view", "diff_html")},
    "clew.wire.entry": _own("wire", "lenient salvage"),
    "clew.wire.layout": _own("wire", "line overflow_files side_files"),
    "clew.wire.side_files": _own("wire", "session_writer"),
    "uuid": {"platform": {"system": lambda: {"aix": "AIX", "linux": "Linux"}.get(sys.platform, "")}},
}


# What a module gets for names of another one only while it is loaded, whether that one is loaded or not.
WHILE_LOADING: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "clew": {"re": {"compile": Expression, **_FLAGS}},  # all modules of ours
    # It tries a call that compiles text. The first such call of a process creates the types of all syntax trees.
    "msgspec._utils": {"typing": {"ForwardRef": lambda *arguments, **named: None}},
}
_REPLACED = ("re", "typing")
# Python 3.11 defines these in Python, and then again in C. Later versions do not.
IN_C = {"datetime": "_datetime"} if sys.version_info < (3, 12) else {}


def install() -> None:
    """Postpone these modules in this process."""
    if PostponingFinder not in sys.meta_path:
        sys.meta_path.insert(0, PostponingFinder)


class PostponingFinder:
    """Finds modules as the other finders do, and replaces what they import while they are loaded.

    It does nothing once there are several threads: another one would see what is replaced.
    """

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if _thread._count():
            return None
        is_ours = name.startswith("clew.")
        postponed, brief = POSTPONED.get(name, {}), WHILE_LOADING.get("clew" if is_ours else name, {})
        if not (postponed or brief or name in IN_C or any(map(_is_stand_in, map(sys.modules.get, _REPLACED)))):
            return None
        spec = _find_compiled(name, path[0]) if is_ours and path else None
        if spec is None:
            others = (finder for finder in sys.meta_path if finder is not PostponingFinder)
            spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None and not isinstance(spec.loader, type):
            execute = _take_from_c if name in IN_C else _postponing(postponed, brief, spec.loader.exec_module)
            vars(spec.loader)["exec_module"] = execute
        return spec


def _find_compiled(name: str, folder: str) -> ModuleSpec | None:
    """Return a module of ours from its compiled file, if that is up to date.

    The other finders take three times as long, and a command loads up to a hundred modules of ours: as long as Python
    takes to start.
    """
    if sys.pycache_prefix or sys.flags.optimize:
        return None
    stem = name.rpartition(".")[2]
    for at, file, inside in (
        (folder, stem, None),
        (f"{folder}{os.sep}{stem}", "__init__", [f"{folder}{os.sep}{stem}"]),
    ):
        source = f"{at}{os.sep}{file}.py"
        compiled = f"{at}{os.sep}__pycache__{os.sep}{file}.{sys.implementation.cache_tag}.pyc"
        try:
            with open(compiled, "rb", 0) as stream:
                content = stream.read()
            state = os.stat(source)  # noqa: PTH116
        except OSError:
            continue
        header = b"%b\0\0\0\0%b%b" % (
            importing.MAGIC_NUMBER,
            (int(state.st_mtime) & 0xFFFFFFFF).to_bytes(4, "little"),
            (state.st_size & 0xFFFFFFFF).to_bytes(4, "little"),
        )
        if not content.startswith(header):
            return None
        loader = importing.SourceFileLoader(name, source)
        vars(loader)["exec_module"] = _executing(content)
        spec = type(__spec__)(name, loader, origin=source)
        spec.submodule_search_locations = inside
        spec.cached = compiled
        spec.has_location = True
        return spec
    return None


def _executing(content: bytes) -> Callable[[ModuleType], None]:
    return lambda module: exec(marshal.loads(memoryview(content)[16:]), vars(module))


def _take_from_c(module: ModuleType) -> None:
    names = vars(__import__(IN_C[module.__name__]))
    vars(module).update({name: value for name, value in names.items() if not name.startswith("__")})


def _postponing(
    postponed: Mapping[str, Mapping[str, Any] | None],
    brief: Mapping[str, Mapping[str, Any]],
    execute: Callable[[ModuleType], None],
) -> Callable[[ModuleType], None]:
    """Return `execute` as a function during which these modules are replaced: of `postponed` those that are not loaded
    yet. What was replaced for another module, which imports this one, is not replaced for it.
    """

    def execute_with_stand_ins(module: ModuleType) -> None:
        there = {name: sys.modules[name] for name in _REPLACED if name in sys.modules}
        outer = {name: known for name, known in there.items() if _is_stand_in(known)}
        for name, known in outer.items():
            _put(name, vars(known)["__wrapped__"])
        absent = {name: names for name, names in postponed.items() if name not in sys.modules}
        new: dict[str, Mapping[str, Any] | None] = {**absent, **brief}
        put = {name: None if names is None else _stand_in(name, names) for name, names in new.items()}
        sys.modules.update(put)  # type: ignore[arg-type]  # None makes `import` raise ModuleNotFoundError
        try:
            execute(module)
        finally:
            for name, stand_in in put.items():
                if sys.modules.get(name) is stand_in:
                    _put(name, stand_in and vars(stand_in)["__wrapped__"])
            for name, given in brief.items():
                for each in given:
                    vars(put[name]).pop(each, None)  # what a function compiles is compiled at once
            for name, known in outer.items():
                vars(known)["__wrapped__"] = sys.modules.get(name)
                sys.modules[name] = known

    return execute_with_stand_ins


def _put(name: str, module: ModuleType | None) -> None:
    """Make this the module of a name; None for none."""
    if module is None:
        sys.modules.pop(name, None)
    else:
        sys.modules[name] = module


def _is_stand_in(module: ModuleType | None) -> bool:
    return module is not None and "__wrapped__" in vars(module)


def _stand_in(name: str, names: Mapping[str, Any]) -> ModuleType:
    """Return a module that has these names, and takes all others from the real one."""

    def load(attribute: str) -> Any:
        if attribute.startswith("__"):  # as `__path__`, for which the import system asks
            raise AttributeError(attribute)
        value = getattr(_real(name), attribute)
        if not name.startswith("clew."):  # tests replace functions of ours
            vars(module)[attribute] = value
        return value

    module = type(sys)(name)
    vars(module).update(names, __getattr__=load, __wrapped__=sys.modules.get(name))
    return module


def _real(name: str) -> ModuleType:
    """Return a module itself, which is loaded if need be, also while a stand-in has its place."""
    there = sys.modules.get(name)
    if not _is_stand_in(there):
        __import__(name)
        return sys.modules[name]
    known = vars(there)
    if known["__wrapped__"] is None:
        del sys.modules[name]
        try:
            __import__(name)
            known["__wrapped__"] = sys.modules[name]
        finally:
            sys.modules[name] = there  # type: ignore[assignment]
    real: ModuleType = known["__wrapped__"]
    return real
