"""Correct typing errors: replace words that are not in the index by the most similar ones."""

from __future__ import annotations

import time
from itertools import chain, islice

from clew.index.fts_match import match_counts
from clew.index.query_syntax import Clause, Query, Term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import apsw

BUDGET = 0.15  # seconds of CPU, so that a busy machine finds the same words
BATCH = 64
SHORTEST, LONGEST = 4, 40  # letters of a word that may be mistyped
_BY_FREQUENCY = "etaoinsrhldcumfpgwybvkxjqz0123456789"
_TABLE_WEIGHTS = {"said": 4, "done": 1}  # words of users and the model are likelier than those of tools


def correct_query(shards: Sequence[apsw.Connection], query: Query) -> Query | None:
    """Replace every word that is not in the index by the nearest one; None if a word has none or nothing changed."""
    deadline = time.thread_time() + BUDGET
    clauses, is_changed = [], False
    for clause in query.clauses:
        terms = []
        for term in clause.terms:
            words = list(term.words)
            for position, word in enumerate(words):
                is_prefix = term.is_prefix and position == len(words) - 1
                if clause.negated or is_prefix or _count_matches(shards, word):
                    continue
                near = nearest_word(shards, word, deadline)
                if near is None:
                    return None
                words[position], is_changed = near, True
            terms.append(Term(" ".join(words), term.is_prefix))
        clauses.append(Clause(terms, clause.negated))
    return Query(_format_query(clauses, query), clauses, query.filters) if is_changed else None


def nearest_word(shards: Sequence[apsw.Connection], word: str, deadline: float) -> str | None:
    """Return the commonest word one edit away; else, for long words, one two edits away with the same first letters."""
    if not SHORTEST <= len(word) <= LONGEST:
        return None
    best = _most_common(shards, _single_edits(word), deadline)
    if best is None and len(word) >= 2 * SHORTEST:
        deadline += BUDGET
        best = _most_common(shards, _similar_words(shards, word, deadline), deadline)
    return best


def _most_common(shards: Sequence[apsw.Connection], words: Iterable[str], deadline: float) -> str | None:
    """Return the commonest of some words. Queries many at a time, because most do not occur."""
    best = (0, "")
    candidates = iter(words)
    while time.thread_time() < deadline and (batch := list(islice(candidates, BATCH))):
        if _count_matches(shards, '" OR "'.join(batch), 1):
            best = max(best, *((_count_matches(shards, word), word) for word in batch))
    return best[1] or None


def _count_matches(shards: Sequence[apsw.Connection], word: str, limit: int = 50) -> int:
    """Return how often a word occurs, up to a limit for each table, by the weight of the table."""
    return sum(_TABLE_WEIGHTS[table] * count for table, count in match_counts(shards, f'"{word}"', limit))


def _single_edits(word: str) -> Iterator[str]:
    """Yield the words one edit away, likeliest first: two letters swapped, one missing, one replaced, one added."""
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    swapped = (a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1)
    missing = (a + b[1:] for a, b in cuts if b)
    replaced = (a + c + b[1:] for a, b in cuts if b for c in _BY_FREQUENCY)
    added = (a + c + b for a, b in cuts for c in _BY_FREQUENCY)
    yielded = {word}
    for variant in chain(swapped, missing, replaced, added):
        if variant not in yielded:
            yielded.add(variant)
            yield variant


def _similar_words(shards: Sequence[apsw.Connection], word: str, deadline: float) -> list[str]:
    """Return words of the index with the same first three letters that are two edits away."""
    words: set[str] = set()
    for shard in shards:
        for table in _TABLE_WEIGHTS:
            shard.execute(
                f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}_word USING fts5vocab(main, {table}, instance)"
            )
            statement = f"SELECT term FROM temp.{table}_word WHERE term >= ? AND term <= ? LIMIT 1"
            term = word[:3]
            while time.thread_time() < deadline:
                term = shard.execute(statement, (term + "\1", word[:3] + "\U0010ffff")).get
                if term is None:
                    break
                if abs(len(term) - len(word)) <= 2 and edit_distance(term, word) <= 2:
                    words.add(term)
    return list(words)


def edit_distance(one: str, two: str) -> int:
    """Return the number of insertions, deletions, replacements and swaps of neighbours that turn one word into the
    other.
    """
    before: list[int] = []
    row = list(range(len(two) + 1))
    for i, a in enumerate(one, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(two, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == two[j - 2] and one[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]


def _format_query(clauses: list[Clause], query: Query) -> str:
    """Return the query as it could have been typed."""
    parts = []
    for clause in clauses:
        terms = [f'"{term.text}"' if len(term.words) > 1 else term.text for term in clause.terms]
        parts.append(("-" if clause.negated else "") + " OR ".join(terms))
    parts += [f"{name}:{value}" for name, values in query.filters.items() for value in values]
    return " ".join(parts)
