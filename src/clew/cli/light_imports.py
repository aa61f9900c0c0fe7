"""Import libraries without the modules that they load and a command rarely needs: the one place that postpones those.

`POSTPONED` names each library, the modules that it imports, and what it gets for each of them while it is imported
itself: a stand-in, which loads the module when one of its names is first used, or None, as if the module were not
installed. It applies to the process of a command only: `import clew` leaves the imports of other programs alone.
"""

from __future__ import annotations

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


# The names are what a library takes from the module, or calls, while it is imported.
POSTPONED: Mapping[str, Mapping[str, Mapping[str, Any] | None]] = {
    "argparse": {"gettext": {"gettext": _translate, "ngettext": _translate}},  # clew is not translated
    "dataclasses": {"inspect": {}},  # describes classes without a docstring
    "httpx": {"click": None},  # with it httpx loads its command line, which takes longer than httpx itself
    "msgspec": {
        "typing_extensions": None,  # an extra may have installed it; nothing of it is needed since Python 3.11
        "msgspec.inspect": {},
        "msgspec.msgpack": {},
        "msgspec.toml": {},
        "msgspec.yaml": {},
        "textwrap": {},
    },
    "pathlib": {"urllib.parse": {"quote_from_bytes": _quote_from_bytes}},
    "urllib.parse": {"ipaddress": {}},
    "uuid": {"platform": {"system": lambda: {"aix": "AIX", "linux": "Linux"}.get(sys.platform, "")}},
}


def install() -> None:
    """Postpone these modules in this process."""
    if PostponingFinder not in sys.meta_path:
        sys.meta_path.insert(0, PostponingFinder)


class PostponingFinder:
    """Finds the libraries of `POSTPONED` as the other finders do, and replaces modules while they are loaded."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in POSTPONED:
            return None
        others = (finder for finder in sys.meta_path if finder is not PostponingFinder)
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            vars(spec.loader)["exec_module"] = _postponing(POSTPONED[name], spec.loader.exec_module)
        return spec


def _postponing(
    modules: Mapping[str, Mapping[str, Any] | None], execute: Callable[[ModuleType], None]
) -> Callable[[ModuleType], None]:
    """Return `execute` as a function during which the modules that are not loaded yet are replaced."""

    def execute_with_stand_ins(module: ModuleType) -> None:
        absent = {name: names for name, names in modules.items() if name not in sys.modules}
        put = {name: None if names is None else _stand_in(name, names) for name, names in absent.items()}
        sys.modules.update(put)  # type: ignore[arg-type]  # None makes `import` raise ModuleNotFoundError
        try:
            execute(module)
        finally:
            for name, stand_in in put.items():
                if sys.modules[name] is stand_in:  # not the real one, which was needed at once
                    del sys.modules[name]

    return execute_with_stand_ins


def _stand_in(name: str, names: Mapping[str, Any]) -> ModuleType:
    """Return a module that has these names, and takes all others from the real one."""

    def load(attribute: str) -> Any:
        if attribute.startswith("__"):  # as `__path__`, for which the import system asks
            raise AttributeError(attribute)
        if sys.modules.get(name) is module:
            del sys.modules[name]
        __import__(name)
        return getattr(sys.modules[name], attribute)

    module = type(sys)(name)
    vars(module).update(names, __getattr__=load)
    return module
