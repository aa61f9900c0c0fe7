"""Sessions whose transcript is gone: the error that reports one, by its id or by a search."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from clew.cli.output import clean, one_line
from clew.collect.archive.archive_view import open_deleted_tree
from clew.collect.archive.archived_sessions import ArchivedSessions
from clew.errors import Ambiguous, TranscriptGone, quote_input
from clew.facts.secrets.mask_secrets import mask
from clew.index.results import SearchResult
from clew.system import shell_quoting
from clew.system.plural import plural
from clew.wire.known_sessions import HISTORY, SOURCE_NAMES, list_gone_sessions
from clew.wire.layout import Tree, claude_dir


def gone_by_id(options: Namespace, asked: str) -> TranscriptGone | None:
    """Return the error for the id of a session that only the index, the prompt history or the archive knows.

    None if none of them knows it. Raises `Ambiguous` if several ids begin so.
    """
    beginning = asked.lower().removesuffix(".jsonl")
    if not beginning:
        return None
    attic = open_deleted_tree(options.claude_dir)
    known = {each.session: each for each in list_gone_sessions(Tree(claude_dir(options.claude_dir)))}
    archived = attic.archived if attic else frozenset()
    matches = sorted(id for id in {*known, *archived} if id.lower().startswith(beginning))
    if len(matches) > 1:
        raise Ambiguous(asked, matches)
    if not matches:
        return None
    id = matches[0]
    listed = known.get(id)
    title = listed.title or listed.first_prompt if listed else ""
    kept = ArchivedSessions(options.claude_dir).find(id)[0]
    return _error(id, kept or (listed.source if listed else "archive"), title)


def gone_by_words(query: str, results: Sequence[SearchResult]) -> TranscriptGone:
    """Return the error for a search that matches only sessions whose transcript is gone."""
    if len(results) == 1:
        return _error(results[0].session, results[0].gone, results[0].title)
    sentence = f"{quote_input(query)} matches {plural(len(results), 'session')} whose transcripts are gone."
    return TranscriptGone(query, sentence, hint=f"List them with: {shell_quoting.clew_command('search', query)}")


def _error(id: str, source: str, title: str) -> TranscriptGone:
    name = one_line(mask(clean(title))[0], 60)
    about = f"{id[:8]} ({name})" if name else id[:8]
    if source == "reconstructed":
        sentence = f"The transcript of session {about} is gone; it was reconstructed from what was left."
        return TranscriptGone(id, sentence, hint=f"Read that: {shell_quoting.session_command('show', id)}")
    sentence = f"The transcript of session {about} is gone; only {SOURCE_NAMES[source]} has it."
    left = "Only its prompts are left" if source == HISTORY else "Only its title and first prompt are left"
    archived = f"Bring it back with: {shell_quoting.session_command('restore', id)}"
    return TranscriptGone(id, sentence, hint=archived if source == "archive" else f"{left}. Read: clew ls --gone")
