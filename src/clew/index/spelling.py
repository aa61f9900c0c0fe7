"""Typing errors: when nothing is found, the words of the index that are nearest to those that were asked for."""

from __future__ import annotations

import time
from itertools import chain, islice

from clew.index.query_syntax import Clause, Query, Term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import apsw

BUDGET = 0.15  # seconds
MANY = 64
SHORTEST, LONGEST = 4, 40  # letters of a word that may be mistyped
_LETTERS = "etaoinsrhldcumfpgwybvkxjqz0123456789"
_CHANCE = {"said": 4, "done": 1}  # what people say is more likely meant than what tools say


def mended(shards: Sequence[apsw.Connection], query: Query) -> Query | None:
    """The query with every word that is nowhere in the index replaced by its nearest; None if there is none near."""
    deadline = time.monotonic() + BUDGET
    clauses, is_changed = [], False
    for clause in query.clauses:
        terms = []
        for term in clause.terms:
            words = list(term.words)
            for at, word in enumerate(words):
                is_prefix = term.is_prefix and at == len(words) - 1
                if clause.negated or is_prefix or _count(shards, word):
                    continue
                near = nearest(shards, word, deadline)
                if near is None:
                    return None
                words[at], is_changed = near, True
            terms.append(Term(" ".join(words), term.is_prefix))
        clauses.append(Clause(terms, clause.negated))
    return Query(_told(clauses, query), clauses, query.filters) if is_changed else None


def nearest(shards: Sequence[apsw.Connection], word: str, deadline: float) -> str | None:
    """The commonest word that is one slip away; else, for long words, one that is two away and begins alike."""
    if not SHORTEST <= len(word) <= LONGEST:
        return None
    best = _best(shards, _slips(word), deadline)
    if best is None and len(word) >= 2 * SHORTEST:
        deadline += BUDGET
        best = _best(shards, _alike(shards, word, deadline), deadline)
    return best


def _best(shards: Sequence[apsw.Connection], words: Iterable[str], deadline: float) -> str | None:
    """The commonest of some words; many are asked for at a time, as most are none."""
    best = (0, "")
    waiting = iter(words)
    while time.monotonic() < deadline and (several := list(islice(waiting, MANY))):
        if _count(shards, '" OR "'.join(several), 1):
            best = max(best, *((_count(shards, word), word) for word in several))
    return best[1] or None


def _count(shards: Sequence[apsw.Connection], word: str, most: int = 50) -> int:
    """How often a word occurs, up to a bound; 0 if it does not."""
    count = 0
    for shard in shards:
        for table, chance in _CHANCE.items():
            statement = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT ?)"
            count += chance * int(shard.execute(statement, (f'"{word}"', most)).get)
    return count


def _slips(word: str) -> Iterator[str]:
    """What one slip of the fingers makes of a word, as it is asked for: two letters swapped, one missing, another, or
    one too many."""
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    swapped = (a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1)
    missing = (a + b[1:] for a, b in cuts if b)
    other = (a + c + b[1:] for a, b in cuts if b for c in _LETTERS)
    added = (a + c + b for a, b in cuts for c in _LETTERS)
    seen = {word}
    for made in chain(swapped, missing, other, added):
        if made not in seen:
            seen.add(made)
            yield made


def _alike(shards: Sequence[apsw.Connection], word: str, deadline: float) -> list[str]:
    """Words of the index with the same three letters in front that are two slips away."""
    found: set[str] = set()
    for shard in shards:
        for table in _CHANCE:
            shard.execute(
                f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}_word USING fts5vocab(main, {table}, instance)"
            )
            statement = f"SELECT term FROM temp.{table}_word WHERE term >= ? AND term <= ? LIMIT 1"
            term = word[:3]
            while time.monotonic() < deadline:
                term = shard.execute(statement, (term + "\1", word[:3] + "\U0010ffff")).get
                if term is None:
                    break
                if abs(len(term) - len(word)) <= 2 and distance(term, word) <= 2:
                    found.add(term)
    return list(found)


def distance(one: str, two: str) -> int:
    """How many letters must be put in, taken out, changed or swapped with their neighbour."""
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


def _told(clauses: list[Clause], query: Query) -> str:
    """The query as it could have been typed."""
    parts = []
    for clause in clauses:
        terms = [f'"{term.text}"' if len(term.words) > 1 else term.text for term in clause.terms]
        parts.append(("-" if clause.negated else "") + " OR ".join(terms))
    parts += [f"{name}:{value}" for name, values in query.filters.items() for value in values]
    return " ".join(parts)
