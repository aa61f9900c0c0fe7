"""The MCP tool `search_sessions`: search by words or meaning, for a substring, or for a regular expression."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from clew.collect.archive.archived_sessions import ArchivedSessions
from clew.errors import NotFound
from clew.index.gone_sessions import add_gone, add_gone_matches
from clew.index.query_syntax import parse_query
from clew.index.results import SearchResults
from clew.index.saved_searches import SavedResult, save_result
from clew.index.session_index import Index
from clew.mcp import tool_arguments
from clew.mcp.quoted_text import LONGEST, quote, safe, text
from clew.system.environment import current_session
from clew.system.plural import noun, plural
from clew.view.sanitize import clean, one_line
from clew.wire.layout import Tree

BUDGET = 10.0  # seconds for indexing new lines before a search
EMBED_BUDGET = 20.0  # seconds for embedding new texts before a search by meaning
_HINTS = {
    "words": 'Try fewer or other words, in:all, or mode="substring" for a part of a word.',
    "semantic": 'Describe it in other words, or try mode="words".',
    "substring": 'Try mode="words", or write the text in lower case to ignore case.',
    "regex": 'Try mode="substring" for plain text, or write the pattern in lower case to ignore case.',
}


def search_sessions(tree: Tree, asked: tool_arguments.SearchSessions) -> str:
    with Index.open(tree.root) as index:
        done = index.refresh(None if index.is_new else BUDGET)
        unembedded = index.embed(EMBED_BUDGET).left if asked.mode == "semantic" else 0
        is_scan = asked.mode in ("substring", "regex")
        found = _scan(tree, index, asked) if is_scan else _search_words(tree, index, asked)
    wanted = asked.cursor + asked.limit
    results = [save_result(result, clean) for result in found[asked.cursor : wanted]]
    if not results:
        kind = "further session" if asked.cursor else "session"
        raise NotFound(asked.query, kind, hint=_HINTS[asked.mode])
    tail = []
    if found.instead:
        tail.append(f"Nothing matches the query itself; these are results for {safe(found.instead)!r}.")
    if done.left:
        them = noun(done.left, "it", "them")
        tail.append(f"{plural(done.left, 'changed file')} not searched yet; search again to include {them}.")
    if unembedded:
        tail.append(f"{plural(unembedded, 'text')} not compared by meaning yet; search again to include more.")
    total = f"{found.total}" if found.is_total_exact else f"at least {found.total}"
    order = "newest" if is_scan else "best"
    heading = f"Sessions {{}} of {total} that match {safe(asked.query)!r}, {order} first."
    blocks = [_block(result) for result in results]
    return list_blocks(heading, blocks, asked, len(found) > wanted, tail)


def _search_words(tree: Tree, index: Index, asked: tool_arguments.SearchSessions) -> SearchResults:
    """Search for words. The size of a page is fixed, so that the list does not depend on the limit of a call."""
    query, without = parse_query(f"{asked.query} {asked.filters}"), current_session()
    limit = asked.cursor + asked.limit + 1
    is_semantic, page_size = asked.mode == "semantic", tool_arguments.MAX_RESULTS
    results = index.search(query, limit, without=without, semantic=is_semantic, page_size=page_size)
    archive = ArchivedSessions(tree.root)
    add_gone(index, query, results, limit, archive=archive, without=without, semantic=is_semantic)
    if is_semantic:
        results.total, results.is_total_exact = len(results), len(results) < limit
    return results


def _scan(tree: Tree, index: Index, asked: tool_arguments.SearchSessions) -> SearchResults:
    """Search for a substring or a regular expression; only the sessions up to the next page are counted."""
    filters, without, is_regex = parse_query(asked.filters), current_session(), asked.mode == "regex"
    limit = asked.cursor + asked.limit + 1
    matches = index.grep(asked.query, regex=is_regex, filters=filters, without=without)
    archive = ArchivedSessions(tree.root)
    results = SearchResults(
        add_gone_matches(
            index,
            asked.query,
            filters,
            list(islice(matches, limit)),
            limit,
            regex=is_regex,
            archive=archive,
            without=without,
        )
    )
    results.total, results.is_total_exact = len(results), len(results) < limit
    return results


def _block(result: SavedResult) -> list[str]:
    """Describe a result in a few lines: how to resume it, its facts, and its passages."""
    dates = " to ".join(dict.fromkeys(f"{t:%Y-%m-%d}" for t in (result.started, result.ended) if t))
    branch = result.branch and f"branch {result.branch}"
    facts = (result.project, branch, plural(result.messages, "message"), dates, result.looseness)
    way_on = one_line(result.note) if result.gone else f"resume: {result.command}"
    block = [f"session {one_line(result.session)}  ({way_on})"]
    block += quote(f"title: {result.title}")
    block += quote(" · ".join(fact for fact in facts if fact))
    for each in result.quotes:
        if each.field == "title" and each.text == result.title:
            continue
        kind = f"{'agent ' if each.agent else ''}{each.tool} {each.field}".replace("  ", " ").strip()
        block += quote(f"{kind}: {each.text}".replace("\n", " "))
        if result.gone:
            continue  # there is no transcript to read
        place = f'path="{each.path}"' if each.agent else f'id="{result.session}"'
        block.append(f"  more: context({one_line(place)}, offset={each.offset})")
    return block


def list_blocks(
    heading: str,
    blocks: list[list[str]],
    asked: tool_arguments.SearchSessions | tool_arguments.ListSessions,
    more: bool,
    tail: Iterable[str] = (),
) -> str:
    """Return as many blocks as fit into an answer, and the cursor of the next ones."""
    room, shown = LONGEST, 0
    body: list[str] = []
    for block in blocks:
        size = sum(len(line) + 1 for line in block)
        if shown and size > room:
            break
        body += ["", *block] if body else block
        room -= size
        shown += 1
    stop = asked.cursor + shown
    following = [f"There is more: ask again with cursor={stop}."] if more or shown < len(blocks) else []
    return text([heading.replace("{}", f"{asked.cursor + 1}-{stop}", 1)], body, [*following, *tail])
