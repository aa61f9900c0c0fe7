"""The door to the browser."""

from __future__ import annotations

import importlib.util

import pytest

from clew.cli.read.browse import browse


def test_without_textual_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert browse(None) == 2
    told = capsys.readouterr()
    assert told.out == ""
    needed, installed_by = told.err.splitlines()
    assert needed == "clew: the browser needs the package textual." and "[tui]" in installed_by
