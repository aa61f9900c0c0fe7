"""Phrases that a reader had to read twice were replaced. They stay out of the source, the help and the docs."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PHRASES = (ROOT / "tests" / "glossary.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_replaced_phrase_does_not_return(phrase: str) -> None:
    """docs/cli.md contains the help of every command."""
    files = [*(ROOT / "src" / "clew").rglob("*.py"), *(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    assert phrase and not [
        str(path.relative_to(ROOT)) for path in files if phrase.lower() in path.read_text(encoding="utf-8").lower()
    ]
