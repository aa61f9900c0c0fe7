"""Import libraries without the parts that a command does not need and that take longer to load than it runs.

Both apply to the process of a command only: `import clew` leaves the imports of other programs alone.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType


def import_argparse() -> None:
    """Import argparse without gettext: clew is not translated, and loading gettext takes longer than parsing."""
    if "gettext" not in sys.modules and "argparse" not in sys.modules:
        untranslated = sys.modules["gettext"] = type(sys)("gettext")
        vars(untranslated).update(gettext=str, ngettext=lambda one, many, count: one if count == 1 else many)
        import argparse  # noqa: F401

        del sys.modules["gettext"]


def trim_msgspec() -> None:
    """Let msgspec, when it is first imported, use `typing` instead of `typing_extensions`.

    It prefers the latter where an extra has installed it, but needs nothing of it since Python 3.11. Loading it and
    `inspect` takes as long as loading msgspec.
    """
    if "msgspec" not in sys.modules:
        sys.meta_path.insert(0, _WithoutTypingExtensions)


class _WithoutTypingExtensions:
    """Hides `typing_extensions` while msgspec is being imported, and from nothing else."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        if name == "typing_extensions" and getattr(
            getattr(sys.modules.get("msgspec"), "__spec__", None), "_initializing", False
        ):
            raise ModuleNotFoundError(name)
