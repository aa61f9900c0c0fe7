"""Substrings and regular expressions: what words cannot find, by a scan over the bytes of the transcripts.

A line is decoded only if its bytes hold what every match must hold; what counts is the text of its pieces, so escapes are
understood and nothing else of a line is found. Files are read a piece at a time, newest session first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from clew.conversation.session_listing import Outline
from clew.errors import UNEXPECTED_ERRORS, BadQuery
from clew.facts.searchable_text import Words, words
from clew.index.assemble import facts
from clew.index.fts_match import parents
from clew.index.long_outputs import LongOutputs
from clew.index.query_syntax import COMPLEXITIES, INPUTS, ROUND_KINDS, Clause, Query, Term, round_range
from clew.index.results import SearchResult
from clew.index.session_facts import Indexed, SessionFacts, input_number, note_round, seconds, tools_of
from clew.index.session_index import Index
from clew.index.snippet import BEFORE, WIDTH, Passage
from clew.index.sql_filters import conditions
from clew.index.work_items import OFFSET, side_text
from clew.system.file_errors import ErrorCollector
from clew.system.regex_deadline import Pattern
from clew.wire.bulk_scan import scan
from clew.wire.layout import session_at
from clew.wire.line import pieces
from clew.wire.timestamps import moment
from clew.wire.tree_walk import TranscriptFile, walk, walk_side

PIECE = 1 << 20
PASSAGES = 3
LONGEST = 2000  # characters of a substring or an expression
_PLAIN = re.compile(r"[A-Za-z0-9 _,;:=()\[\]{}.+*!?@#$%^|`~-]+")  # JSON writes these as they are
_SPECIAL = frozenset(r"\.^$*+?{}[]|()")


Asked = tuple[
    int, int, int
]  # the round of a piece, the class of the round and the kind of input, as `learn` notes them
_RESULT: Asked = (0, 0, INPUTS.index("tool_result") + 1)


class Sought(NamedTuple):
    """What is looked for in text, and the bytes (in small letters if `is_folded`) that a line must hold for it."""

    pattern: Pattern
    needles: tuple[bytes, ...]
    is_folded: bool


def sought(asked: str, regex: bool) -> Sought:
    """Understand a substring or an expression. Without capitals case does not matter. Raises BadQuery."""
    if not asked:
        raise BadQuery(asked, 0, "There is nothing to look for")
    if len(asked) > LONGEST:
        kind = "An expression" if regex else "A substring"
        reason = f"{kind} has at most {LONGEST} characters, and this one {len(asked)}; use a part of it"
        raise BadQuery(asked, LONGEST, reason)
    letters = re.sub(r"\\.", "", asked) if regex else asked
    is_folded = letters == letters.lower()
    pattern = Pattern(asked if regex else re.escape(asked), re.IGNORECASE if is_folded else 0)
    return Sought(pattern, needles_of(_literal(asked) if regex else asked, is_folded), is_folded)


def needles_of(text: str, is_folded: bool) -> tuple[bytes, ...]:
    """The longest part of a text that JSON writes in one way only; or, if there is none, all the ways of one character."""
    plain = max(_PLAIN.findall(text), key=len, default="")
    if len(plain) >= 2 or (plain and text == plain):
        return (plain.lower().encode() if is_folded else plain.encode(),)
    for character in text:
        if not character.isascii() and character == character.lower() == character.upper():
            code = character.encode("utf-16-be", "surrogatepass").hex()
            ways = [character.encode("utf-8", "replace"), f"\\u{code[:4]}".encode(), f"\\u{code[:4].upper()}".encode()]
            return tuple(way.lower() for way in ways[:2]) if is_folded else tuple(ways)
    return ()


def _literal(expression: str) -> str:
    """A run of characters that every match must hold; nothing if that cannot be told at a glance."""
    if re.search(r"[|(\[]|\\[0-9xuUN]", expression):
        return ""
    runs, run = [], ""
    at = 0
    while at < len(expression):
        character = expression[at]
        is_escaped = character == "\\" and at + 1 < len(expression)
        literal = expression[at + 1] if is_escaped else character
        at += 1 + is_escaped
        if (is_escaped and literal.isalnum()) or (not is_escaped and character in _SPECIAL):
            if character in "*?{":  # what stood before need not be there
                run = run[:-1]
            if character == "{":
                at = max(at, expression.find("}", at) + 1)
            runs.append(run)
            run = ""
        else:
            run += literal
    return max([*runs, run], key=len)


def grep(index: Index, asked: str, regex: bool, query: Query, without: str | None) -> Iterator[SearchResult]:
    """Sessions with matches, newest first, those of their agents included."""
    wanted = sought(asked, regex)
    allowed = _allowed(index, query)
    groups: dict[str, list[tuple[TranscriptFile, str]]] = {}
    side = [found for found in walk_side(index.root) if found.session or allowed.get(found.path)]
    for found in (*walk(index.root), *side):
        session = found.session or allowed.get(found.path, "") or found.agent
        if (found.path in allowed or not query.filters) and session != without:
            groups.setdefault(session, []).append((found, session))
    for session, files in sorted(groups.items(), key=lambda group: -max(found.mtime_ns for found, _ in group[1])):
        files.sort(key=lambda each: (not each[0].path.endswith(".jsonl"), each[0].agent != "", -each[0].mtime_ns))
        try:
            result = _result(index, session, [found for found, _ in files], wanted, query)
        except BadQuery as late:
            named = BadQuery(asked, 0, f"{late.reason} of session {session[:36]!r}")
            named.hint = late.hint
            raise named from None
        if result is not None:
            yield result


def _allowed(index: Index, query: Query) -> dict[str, str]:
    """The files that pass the filters, with their sessions; the filters on passages are left for later."""
    as_words = Query("", [Clause([Term("a")])], query.filters)  # filters beside something to look for
    made = conditions(as_words, lambda: parents(index.shards))
    statement = f"SELECT f.path, f.session FROM file f WHERE {made.on_files}"
    return {path: session for shard in index.shards for path, session in shard.execute(statement, made.file_values)}


def _result(
    index: Index, session: str, files: Sequence[TranscriptFile], wanted: Sought, query: Query
) -> SearchResult | None:
    result = None
    for found in files:
        for passage in matches(found, wanted, query):
            if result is None:
                result = facts(index.shards, session) or _unknown(session, found)
                result.agents = set()
            result.matches += 1
            if found.agent:
                result.agents.add(found.agent)
            if len(result.passages) < PASSAGES:
                result.passages.append(passage)
        if result is not None:
            _number([passage for passage in result.passages if passage.path == found.path], found)
    return result


def _number(passages: Sequence[Passage], found: TranscriptFile) -> None:
    """Set the round and the kind of input of these passages of a file. It is read as far as the last of them."""
    wanted = {passage.offset for passage in passages}
    if not wanted or not found.path.endswith(".jsonl"):
        return
    facts = SessionFacts(found.session)
    asked: dict[int, tuple[int, str]] = {}
    with ErrorCollector().catch(found.path):
        for piece in scan(found.path, finished=True, shape=Indexed):
            for entry, at in zip(piece.spoken, piece.offsets, strict=True):
                note_round(entry, facts, bool(found.agent))
                if at in wanted:
                    number = input_number(entry)
                    asked[at] = facts.round, INPUTS[number - 1] if number else ""
            if len(asked) == len(wanted):
                break
    for passage in passages:
        passage.round, passage.input = asked.get(passage.offset, (0, ""))


def _unknown(session: str, found: TranscriptFile) -> SearchResult:
    """A session that the index has not read yet: what its own file says."""
    result = SearchResult(session)
    result.path, result.folder, result.ended = found.path, found.folder, found.mtime_ns // 10**9
    if not found.path.endswith(".jsonl"):
        return result
    with ErrorCollector().catch(found.path):
        outline = Outline(session_at(found.path))
        result.title, result.cwd, result.branch = outline.title, outline.cwd or "", outline.branch_name or ""
    return result


def matches(found: TranscriptFile, wanted: Sought, query: Query) -> Iterator[Passage]:
    """Every piece of a file whose text matches, as a passage."""
    places = set(query.places)
    calls = SessionFacts(found.session)
    rounds: dict[int, Asked] = {}
    needs_all = any(name.lstrip("-") in ("tool", "round") for name in query.filters)  # lines without a match count too
    if not found.path.endswith(".jsonl"):
        field = "plan" if found.folder == "plans" else "todo"
        if field in places and _is_in_round((0, 0, 0), query):
            said = Words(field, side_text(found.path, field))
            yield from _passage(found, said, (OFFSET, 0), found.mtime_ns // 10**9, (wanted, query))
        return
    try:
        for buffer, at in pieces(found.path, size=PIECE):
            for line, offset in [(buffer, at)] if needs_all else _lines(buffer, at, wanted):
                for piece in scan(line, finished=True, shape=Indexed):
                    for entry, start in zip(piece.spoken, piece.offsets, strict=True):
                        yield from _matching(found, entry, offset + start, (wanted, query, places, calls, rounds))
        if "result" in places:
            yield from _in_outputs(found, wanted, query, rounds)
    except (OSError, *UNEXPECTED_ERRORS):  # it has gone since, or is not what it seems
        return


def _in_outputs(found: TranscriptFile, wanted: Sought, query: Query, rounds: dict[int, Asked]) -> Iterator[Passage]:
    """The matches in long outputs, which lie beside the transcript."""
    calls = SessionFacts(found.session)
    outputs: LongOutputs | None = None
    for piece in scan(found.path, finished=True, shape=Indexed, holding=b'"tool_use'):
        for entry, at in zip(piece.spoken, piece.offsets, strict=True):
            session = found.session or entry.session_id or ""
            outputs = outputs or LongOutputs(found.path, session)
            if not outputs.names:
                return
            tools = [name for name, _ in tools_of(entry, calls, at)]
            said = [each for each in words(entry) if each.field == "result"]
            for place, part, text in outputs.pieces(entry):
                is_in_round = _is_in_round(rounds.get(at, _RESULT), query)
                if is_in_round and place < len(said) and place < len(tools):
                    whole = Words("result", text, tools[place], said[place].failed)
                    yield from _passage(found, whole, (at, part), seconds(entry.timestamp), (wanted, query))


def _lines(buffer: bytes, at: int, wanted: Sought) -> Iterator[tuple[bytes, int]]:
    """The lines that may match, as far as their bytes tell."""
    if not wanted.needles:
        yield buffer, at
        return
    sea = buffer.lower() if wanted.is_folded else buffer
    end = 0
    while end < len(buffer):
        found = [place for needle in wanted.needles if (place := sea.find(needle, end)) >= 0]
        if not found:
            return
        start = buffer.rfind(b"\n", 0, min(found)) + 1
        end = buffer.find(b"\n", min(found)) + 1 or len(buffer)
        yield buffer[start:end], at + start


def _matching(
    found: TranscriptFile,
    entry: Indexed,
    offset: int,
    how: tuple[Sought, Query, set[str], SessionFacts, dict[int, Asked]],
) -> Iterator[Passage]:
    wanted, query, places, calls, rounds = how
    note_round(entry, calls, bool(found.agent))
    asked = rounds[offset] = (calls.round, calls.round_class, input_number(entry))
    called_tools = tools_of(entry, calls, offset)
    tools = iter(called_tools)
    for part, said in enumerate(words(entry, [name for name, _ in called_tools])):
        tool = said.tool or (next(tools, ("", -1))[0] if said.field == "result" else "")
        if said.field not in places:
            continue
        one = Words(said.field, said.text, tool, said.failed)
        if _is_in_round(asked, query):
            yield from _passage(found, one, (offset, part), seconds(entry.timestamp), (wanted, query))


def _passage(
    found: TranscriptFile, said: Words, place: tuple[int, int], when: int | None, how: tuple[Sought, Query]
) -> Iterator[Passage]:
    """A passage for a text that matches and passes the filters; `place` is its offset and its part."""
    wanted, query = how
    match = wanted.pattern.search(said.text)
    if match and _passes(said, said.tool, when, query):
        text, marks = cut_match(said.text, match.start(), match.end(), wanted)
        made = Passage(found.path, place[0], said.field, text=text, marks=marks, tool=said.tool, failed=said.failed)
        made.time, made.agent, made.part = when, found.agent, place[1]
        yield made


def _passes(said: Words, tool: str, when: int | None, query: Query) -> bool:
    """Whether a piece passes the filters on passages."""
    for name, values in query.filters.items():
        plain = name.removeprefix("-")
        if plain in ("since", "until"):
            times = [moment(value).timestamp() for value in values]
            if when is None or not all(when >= t if plain == "since" else when < t for t in times):
                return False
        elif plain == "tool":
            if any(_fits(value.lower(), tool.lower()) for value in values) == (name != plain):
                return False
        elif plain == "is" and "error" in values and said.failed == (name != plain):
            return False
    return True


def _is_in_round(asked: Asked, query: Query) -> bool:
    """Whether a piece passes the filters `round:` and `input:`."""
    number, kind, given = asked
    for name, values in query.filters.items():
        plain = name.removeprefix("-")
        if plain == "input" and any(INPUTS.index(value) + 1 == given for value in values) == (name != plain):
            return False
        if plain == "round" and any(_has_round(value, number, kind) for value in values) == (name != plain):
            return False
    return True


def _has_round(value: str, number: int, kind: int) -> bool:
    if value in ROUND_KINDS:
        return kind // 4 == ROUND_KINDS.index(value) + 1
    if value in COMPLEXITIES:
        return kind % 4 == COMPLEXITIES.index(value) + 1
    first, last = round_range(value) or (0, 0)
    return first <= number <= last


def _fits(wanted: str, name: str) -> bool:
    """Whether a name fits a text in which `*` stands for anything."""
    first, *parts = wanted.split("*")
    if not parts:
        return name == first
    at, end = len(first), len(name) - len(parts[-1])
    if not name.startswith(first) or not name.endswith(parts[-1]) or end < at:
        return False
    for part in parts[:-1]:
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def cut_match(text: str, start: int, stop: int, wanted: Sought) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A stretch around a match on one line, with every match in it marked."""
    first = max(0, start - BEFORE)
    last = max(min(stop, start + WIDTH), first + WIDTH)
    short = text[first:last].replace("\n", " ").replace("\r", " ").replace("\t", " ")
    front = "…" if first else ""
    marks = wanted.pattern.spans(text, first, last)
    shift = len(front) - first
    return front + short + ("…" if last < len(text) else ""), tuple((a + shift, b + shift) for a, b in marks[:20])
