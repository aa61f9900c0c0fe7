"""Search transcripts for substrings and regular expressions by scanning their bytes.

Only lines whose bytes contain a literal that every match must contain are decoded. The pattern is then matched
against the text of the entry, so JSON escapes do not matter and JSON syntax is never matched. Files are read in
chunks, newest session first.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from stringzilla import find

from clew.conversation.session_listing import Outline
from clew.errors import UNEXPECTED_ERRORS, BadQuery
from clew.facts.searchable_text import Words, words
from clew.index.fts_match import sessions_with_agents
from clew.index.index_files import IndexFiles
from clew.index.indexed_sessions import find_session
from clew.index.long_outputs import LongOutputs
from clew.index.query_syntax import COMPLEXITIES, INPUTS, ROUND_KINDS, Clause, Query, Term, round_range
from clew.index.results import SearchResult
from clew.index.session_facts import (
    IndexedEntry,
    SessionFacts,
    epoch_seconds,
    input_number,
    match_results,
    update_round,
)
from clew.index.snippet import BEFORE, WIDTH, Passage
from clew.index.sql_filters import build_conditions
from clew.index.work_items import SIDE_OFFSET, read_side_text
from clew.system.file_errors import ErrorCollector
from clew.system.regex_deadline import Pattern
from clew.wire.bulk_scan import scan
from clew.wire.layout import session_at
from clew.wire.line import pieces
from clew.wire.timestamps import parse_user_time
from clew.wire.tree_walk import TranscriptFile, list_side_files, list_transcripts

READ_SIZE = 1 << 18  # stays in the CPU cache while it is searched
MAX_PASSAGES = 3
MAX_PATTERN = 2000  # characters of a substring or an expression
_UNESCAPED = re.compile(r"[A-Za-z0-9 _,;:=()\[\]{}.+*!?@#$%^|`~-]+")  # JSON writes these as they are
_REGEX_SPECIAL = frozenset(r"\.^$*+?{}[]|()")


RoundInput = tuple[int, int, int]  # number and class of the round, and kind of input, as `update_round` sets them
_RESULT_INPUT: RoundInput = (0, 0, INPUTS.index("tool_result") + 1)


class ScanPattern(NamedTuple):
    """A compiled pattern, and the bytes (in lower case if `is_folded`) of which a matching line contains at least
    one.
    """

    pattern: Pattern
    needles: tuple[bytes, ...]
    is_folded: bool


def compile_pattern(pattern_text: str, regex: bool) -> ScanPattern:
    """Compile a substring or regular expression; it ignores case if it has no capitals. Raises BadQuery."""
    if not pattern_text:
        raise BadQuery(pattern_text, 0, "The pattern is empty")
    if len(pattern_text) > MAX_PATTERN:
        kind = "An expression" if regex else "A substring"
        reason = f"{kind} has at most {MAX_PATTERN} characters, and this one {len(pattern_text)}; use a part of it"
        raise BadQuery(pattern_text, MAX_PATTERN, reason)
    letters = re.sub(r"\\.", "", pattern_text) if regex else pattern_text
    is_folded = letters == letters.lower()
    flags = (re.IGNORECASE if is_folded else 0) | (re.MULTILINE if regex else 0)  # ^ and $ are those of a line
    pattern = Pattern(pattern_text if regex else re.escape(pattern_text), flags)
    return ScanPattern(
        pattern, find_needles(_required_literal(pattern_text) if regex else pattern_text, is_folded), is_folded
    )


def find_needles(text: str, is_folded: bool) -> tuple[bytes, ...]:
    """Return the longest part of a text that JSON never escapes; if there is none, all encodings of one character."""
    plain = max(_UNESCAPED.findall(text), key=len, default="")
    if len(plain) >= 2 or (plain and text == plain):
        return (plain.lower().encode() if is_folded else plain.encode(),)
    for character in text:
        if not character.isascii() and character == character.lower() == character.upper():
            code = character.encode("utf-16-be", "surrogatepass").hex()
            encodings = [
                character.encode("utf-8", "replace"),
                f"\\u{code[:4]}".encode(),
                f"\\u{code[:4].upper()}".encode(),
            ]
            return tuple(encoding.lower() for encoding in encodings[:2]) if is_folded else tuple(encodings)
    return ()


def _required_literal(expression: str) -> str:
    """Return a run of characters that every match of an expression contains; "" if that is not obvious."""
    if re.search(r"[|(\[]|\\[0-9xuUN]", expression):
        return ""
    runs, run = [], ""
    position = 0
    while position < len(expression):
        character = expression[position]
        is_escaped = character == "\\" and position + 1 < len(expression)
        literal = expression[position + 1] if is_escaped else character
        position += 1 + is_escaped
        if (is_escaped and literal.isalnum()) or (not is_escaped and character in _REGEX_SPECIAL):
            if character in "*?{":  # the character before is optional
                run = run[:-1]
            if character == "{":
                position = max(position, expression.find("}", position) + 1)
            runs.append(run)
            run = ""
        else:
            run += literal
    return max([*runs, run], key=len)


def grep(
    index: IndexFiles, pattern_text: str, regex: bool, query: Query, without: str | None, budget: float | None = None
) -> Iterator[SearchResult]:
    """Yield sessions with matches, newest first; matches of agents count for their session.

    No further session is scanned after `budget` seconds.
    """
    deadline = None if budget is None else time.monotonic() + budget
    pattern = compile_pattern(pattern_text, regex)
    allowed = _filtered_files(index, query)
    groups: dict[str, list[tuple[TranscriptFile, str]]] = {}
    side = [file for file in list_side_files(index.root) if file.session or allowed.get(file.path)]
    for file in (*list_transcripts(index.root), *side):
        session = file.session or allowed.get(file.path, "") or file.agent
        if (file.path in allowed or not query.filters) and session != without:
            groups.setdefault(session, []).append((file, session))
    titles = _list_titles(index) if "title" in query.fields and _is_in_round((0, 0, 0), query) else {}
    for session, files in sorted(groups.items(), key=lambda group: -max(file.mtime_ns for file, _ in group[1])):
        if deadline is not None and time.monotonic() > deadline:
            return
        files.sort(key=lambda each: (not each[0].path.endswith(".jsonl"), each[0].agent != "", -each[0].mtime_ns))
        try:
            result = _scan_session(index, session, [file for file, _ in files], pattern, query, titles)
        except BadQuery as error:
            raise BadQuery(pattern_text, 0, f"{error.reason} of session {session[:36]!r}", hint=error.hint) from None
        if result is not None:
            yield result


def _filtered_files(index: IndexFiles, query: Query) -> dict[str, str]:
    """Return {path: session} of the files that pass the filters on files; filters on passages are applied later."""
    with_words = Query("", [Clause([Term("a")])], query.filters)  # filters mean something else in a query without words
    filters = build_conditions(with_words, lambda: sessions_with_agents(index.shards))
    statement = f"SELECT f.path, f.session FROM file f WHERE {filters.on_files}"
    return {path: session for shard in index.shards for path, session in shard.execute(statement, filters.file_values)}


def _list_titles(index: IndexFiles) -> dict[str, tuple[str, int | None]]:
    """Return {path: (titles, time)} of the sessions that have titles."""
    statement = (
        "SELECT path, concat_ws(char(10), custom, made, summary), ended FROM file"
        " WHERE agent='' AND coalesce(custom, made, summary) IS NOT NULL"
    )
    return {path: (text, ended) for shard in index.shards for path, text, ended in shard.execute(statement)}


def _scan_session(
    index: IndexFiles,
    session: str,
    files: Sequence[TranscriptFile],
    pattern: ScanPattern,
    query: Query,
    titles: dict[str, tuple[str, int | None]],
) -> SearchResult | None:
    result = None
    for file in files:
        title, ended = titles.get(file.path, ("", None))
        in_title = _match_text(file, Words("title", title), (-1, 0), ended, (pattern, query)) if title else ()
        for passage in chain(in_title, scan_file(file, pattern, query)):
            if result is None:
                result = find_session(index.shards, session) or _unindexed_result(session, file)
                result.agents = set()
            result.matches += 1
            if file.agent:
                result.agents.add(file.agent)
            if len(result.passages) < MAX_PASSAGES:
                result.passages.append(passage)
        if result is not None:
            _set_rounds([passage for passage in result.passages if passage.path == file.path], file)
    return result


def _set_rounds(passages: Sequence[Passage], file: TranscriptFile) -> None:
    """Set the round and the kind of input of passages of a file, which is read up to the last of them."""
    offsets = {passage.offset for passage in passages}
    if not offsets or not file.path.endswith(".jsonl"):
        return
    facts = SessionFacts(file.session)
    rounds: dict[int, tuple[int, str]] = {}
    with ErrorCollector().catch(file.path):
        for piece in scan(file.path, finished=True, shape=IndexedEntry):
            for entry, offset in zip(piece.spoken, piece.offsets, strict=True):
                update_round(entry, facts, epoch_seconds(entry.timestamp), bool(file.agent))
                if offset in offsets:
                    number = input_number(entry)
                    rounds[offset] = facts.round, INPUTS[number - 1] if number else ""
            if len(rounds) == len(offsets):
                break
    for passage in passages:
        passage.round, passage.input = rounds.get(passage.offset, (0, ""))


def _unindexed_result(session: str, file: TranscriptFile) -> SearchResult:
    """Return a result for a session that is not indexed yet, described by its own file."""
    result = SearchResult(session)
    result.path, result.folder, result.ended = file.path, file.folder, file.mtime_ns // 10**9
    if not file.path.endswith(".jsonl"):
        return result
    with ErrorCollector().catch(file.path):
        outline = Outline(session_at(file.path))
        result.title, result.cwd, result.branch = outline.title, outline.cwd or "", outline.branch_name or ""
        result.ended = int(outline.when.timestamp())
    return result


def scan_file(file: TranscriptFile, pattern: ScanPattern, query: Query) -> Iterator[Passage]:
    """Yield a passage for each piece of a file whose text matches."""
    fields = set(query.fields)
    calls = SessionFacts(file.session)
    rounds: dict[int, RoundInput] = {}
    needs_all = any(
        name.lstrip("-") in ("tool", "round") for name in query.filters
    )  # lines without a match are needed as well
    if not file.path.endswith(".jsonl"):
        field = "plan" if file.folder == "plans" else "todo"
        if field in fields and _is_in_round((0, 0, 0), query):
            side_item = Words(field, read_side_text(file.path, field))
            yield from _match_text(file, side_item, (SIDE_OFFSET, 0), file.mtime_ns // 10**9, (pattern, query))
        return
    try:
        for buffer, at in pieces(file.path, size=READ_SIZE):
            for line, offset in [(buffer, at)] if needs_all else _candidate_lines(buffer, at, pattern):
                for piece in scan(line, finished=True, shape=IndexedEntry):
                    for entry, start in zip(piece.spoken, piece.offsets, strict=True):
                        yield from _scan_entry(file, entry, offset + start, (pattern, query, fields, calls, rounds))
        if "result" in fields:
            yield from _scan_long_outputs(file, pattern, query, rounds)
    except (OSError, *UNEXPECTED_ERRORS):  # deleted in the meantime, or not a transcript
        return


def _scan_long_outputs(
    file: TranscriptFile, pattern: ScanPattern, query: Query, rounds: dict[int, RoundInput]
) -> Iterator[Passage]:
    """Yield the matches in long outputs, which are stored next to the transcript."""
    calls = SessionFacts(file.session)
    outputs = LongOutputs(file.path, file.session) if file.session else None
    if outputs and pattern.needles and not outputs.contain(pattern.needles, pattern.is_folded):
        return
    for piece in scan(file.path, finished=True, shape=IndexedEntry, holding=b'"tool_use'):
        for entry, at in zip(piece.spoken, piece.offsets, strict=True):
            session = file.session or entry.session_id or ""
            outputs = outputs or LongOutputs(file.path, session)
            if not outputs.names:
                return
            tools = [name for name, _ in match_results(entry, calls, at)]
            results = [item for item in words(entry) if item.field == "result"]
            for position, part, text in outputs.pieces(entry):
                is_in_round = _is_in_round(rounds.get(at, _RESULT_INPUT), query)
                if is_in_round and position < len(results) and position < len(tools):
                    output = Words("result", text, tools[position], results[position].failed)
                    yield from _match_text(file, output, (at, part), epoch_seconds(entry.timestamp), (pattern, query))


def _candidate_lines(buffer: bytes, at: int, pattern: ScanPattern) -> Iterator[tuple[bytes, int]]:
    """Yield (line, offset) of the lines whose bytes contain a needle; without needles the whole buffer."""
    if not pattern.needles:
        yield buffer, at
        return
    haystack = buffer.lower() if pattern.is_folded else buffer
    end = 0
    while end < len(buffer):
        positions = [position for needle in pattern.needles if (position := find(haystack, needle, end)) >= 0]
        if not positions:
            return
        start = buffer.rfind(b"\n", 0, min(positions)) + 1
        end = buffer.find(b"\n", min(positions)) + 1 or len(buffer)
        yield buffer[start:end], at + start


def _scan_entry(
    file: TranscriptFile,
    entry: IndexedEntry,
    offset: int,
    scan_state: tuple[ScanPattern, Query, set[str], SessionFacts, dict[int, RoundInput]],
) -> Iterator[Passage]:
    pattern, query, fields, calls, rounds = scan_state
    update_round(entry, calls, epoch_seconds(entry.timestamp), bool(file.agent))
    round_input = rounds[offset] = (calls.round, calls.round_class, input_number(entry))
    called_tools = match_results(entry, calls, offset)
    tools = iter(called_tools)
    for part, item in enumerate(words(entry, [name for name, _ in called_tools])):
        tool = item.tool or (next(tools, ("", -1))[0] if item.field == "result" else "")
        if item.field not in fields:
            continue
        piece = Words(item.field, item.text, tool, item.failed)
        if _is_in_round(round_input, query):
            yield from _match_text(file, piece, (offset, part), epoch_seconds(entry.timestamp), (pattern, query))


def _match_text(
    file: TranscriptFile, item: Words, location: tuple[int, int], when: int | None, search: tuple[ScanPattern, Query]
) -> Iterator[Passage]:
    """Yield a passage if the text matches and passes the filters; `location` is its (offset, part)."""
    pattern, query = search
    match = pattern.pattern.search(item.text)
    if match and _passes_filters(item, item.tool, when, query):
        text, marks = cut_match(item.text, match.start(), match.end(), pattern)
        passage = Passage(
            file.path, location[0], item.field, text=text, marks=marks, tool=item.tool, failed=item.failed
        )
        passage.time, passage.agent, passage.part = when, file.agent, location[1]
        yield passage


def _passes_filters(item: Words, tool: str, when: int | None, query: Query) -> bool:
    """Return whether a piece passes the filters on passages."""
    for name, values in query.filters.items():
        plain = name.removeprefix("-")
        if plain in ("since", "until"):
            times = [parse_user_time(value).timestamp() for value in values]
            if when is None or not all(when >= t if plain == "since" else when < t for t in times):
                return False
        elif plain == "tool":
            if any(_matches_wildcard(value.lower(), tool.lower()) for value in values) == (name != plain):
                return False
        elif plain == "is" and "error" in values and item.failed == (name != plain):
            return False
    return True


def _is_in_round(round_input: RoundInput, query: Query) -> bool:
    """Return whether a piece passes the filters `round:` and `input:`."""
    number, kind, input_number = round_input
    for name, values in query.filters.items():
        plain = name.removeprefix("-")
        if plain == "input" and any(INPUTS.index(value) + 1 == input_number for value in values) == (name != plain):
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


def _matches_wildcard(pattern: str, name: str) -> bool:
    """Return whether a name matches a pattern in which `*` stands for any text."""
    first, *parts = pattern.split("*")
    if not parts:
        return name == first
    at, end = len(first), len(name) - len(parts[-1])
    if not name.startswith(first) or not name.endswith(parts[-1]) or end < at:
        return False
    for part in parts[:-1]:
        position = name.find(part, at, end)
        if position < 0:
            return False
        at = position + len(part)
    return True


def cut_match(text: str, start: int, stop: int, pattern: ScanPattern) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return one line of text around a match, and the spans of all matches in it."""
    first = max(0, start - BEFORE)
    last = max(min(stop, start + WIDTH), first + WIDTH)
    short = text[first:last].replace("\n", " ").replace("\r", " ").replace("\t", " ")
    front = "…" if first else ""
    marks = pattern.pattern.spans(text, first, last)
    shift = len(front) - first
    return front + short + ("…" if last < len(text) else ""), tuple((a + shift, b + shift) for a, b in marks[:20])
