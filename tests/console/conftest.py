"""The console needs its extra, and a system with terminals."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("prompt_toolkit")
pytest.importorskip("pyte")
if sys.platform == "win32":
    pytest.skip("there are no terminals of this kind", allow_module_level=True)
