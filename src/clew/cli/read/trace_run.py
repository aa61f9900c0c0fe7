"""Run `clew trace`: draw the shape of a session."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from clew.cli.output import clean_name, is_terminal, one_line, print_json, print_message
from clew.conversation.session import Session
from clew.facts.secrets.mask_secrets import mask
from clew.system.environment import terminal_columns
from clew.system.plural import plural
from clew.system.terminal_style import HEADING, stdout_style
from clew.view.sanitize import columns, format_duration, format_tokens
from clew.view.tree_row import TreeRow
from clew.view.turn_tree import count_rows, tree_rows
from clew.wire.entry import Entry
from clew.wire.timestamps import format_timestamp

Group = tuple[TreeRow, ...]  # a turn and what hangs below it; before the first turn, what hangs below none
Line = list[tuple[str, str]]  # pieces of text with their looks

LONG = 16  # turns in a row that nothing tells apart: more of them are not drawn one by one
EDGE = 3  # turns shown at either end
FEW = 5  # problems of one turn that are named
LANES = 16  # lanes that are drawn; deeper ones lie over the last
LONGEST = 300  # characters of a text in JSON
NARROW, NARROWEST = 76, 56  # columns of the terminal below which some numbers, or all, are left out


def draw_session(session: Session, options: Namespace) -> int:
    if not session.items:
        if not options.quiet:
            print_message(f"The session {session.id} is empty.")
        return 1
    rows = list(tree_rows(session))
    counts = count_rows(rows)
    groups = _groups(entry_rows(session, options.full) if options.entries else rows)
    if options.active:
        groups = _only_active(groups)
    if not options.reveal:
        groups = [tuple(replace(row, text=mask(row.text)[0]) for row in group) for group in groups]
    title = one_line(session.title if options.reveal else mask(session.title)[0], LONGEST)
    if options.json:
        print_json(_json(session, title, groups, counts))
        return 0
    if not options.full:
        groups = _collapsed([_few(group) for group in groups])
    width = terminal_columns(100)
    picture = _picture([row for group in groups for row in group], width)
    _print([*_header(session, title, width), *picture, *_footer(counts)], options.ascii)
    return 0


def _json(session: Session, title: str, groups: Iterable[Group], counts: dict[str, int]) -> Iterator[dict[str, Any]]:
    yield {"kind": "session", "id": session.id, "title": title, "cwd": session.cwd}
    for row in (row for group in groups for row in group):
        yield {
            "kind": row.kind,
            "text": one_line(row.text, LONGEST),
            "lane": max(0, len(row.rails) - 1),
            "level": len(row.twigs),
            "active": row.is_active,
            "number": row.number,
            "branch": row.branch,
            "time": format_timestamp(row.time) if row.time else None,
            "line": row.line,
            **row.facts,
        }
    yield {"kind": "totals", **counts}


# -- less of it


def _groups(rows: Iterable[TreeRow]) -> list[Group]:
    groups: list[list[TreeRow]] = []
    for row in rows:
        if row.kind in ("turn", "run") or not groups:
            groups.append([])
        groups[-1].append(row)
    return [tuple(group) for group in groups]


def _only_active(groups: Sequence[Group]) -> list[Group]:
    """Return the active branch on a lane of its own; its turns say how many others leave them."""
    kept = [list(group) for group in groups if group[0].is_active or not group[0].rails]
    for rows in kept:
        if forks := rows[0].facts.get("forks"):
            rows[0] = replace(rows[0], facts={**rows[0].facts, "hidden": forks})
    if kept and (ends := [i for i, row in enumerate(kept[-1]) if not row.twigs]):
        kept[-1] = [replace(row, rails=(*row.rails[:-1], i < ends[-1])) for i, row in enumerate(kept[-1])]
    return [tuple(rows) for rows in kept]


def _few(group: Group) -> Group:
    """Return the same with no more than a few problems, and a count of the others."""
    problems = [row for row in group if row.kind == "problem"]
    if len(problems) <= FEW + 1:
        return group
    gone = {id(row) for row in problems[FEW:-1]}
    more = replace(problems[-1], kind="more", text="", facts={"problems": len(problems) - FEW})
    return tuple(more if row is problems[-1] else row for row in group if id(row) not in gone)


def _collapsed(groups: Sequence[Group]) -> list[Group]:
    """Long runs of turns on one lane that nothing tells apart, as a count."""
    groups_left: list[Group] = []
    run: list[Group] = []
    for group in (*groups, ()):
        if group and _is_plain(group):
            run.append(group)
            continue
        groups_left += [*run[:EDGE], (_gap(run[EDGE:-EDGE]),), *run[-EDGE:]] if len(run) > LONG else run
        run = []
        if group:
            groups_left.append(group)
    return groups_left


def _is_plain(group: Group) -> bool:
    turn = group[0]
    if turn.kind != "turn" or turn.begins or turn.facts["is_end"]:
        return False
    is_told = turn.facts["forks"] or turn.facts["rewound_to"] is not None
    return not is_told and all(row.kind in ("turn", "agent", "queued") for row in group)


def _gap(run: Sequence[Group]) -> TreeRow:
    turns = [group[0] for group in run]
    facts = {key: sum(turn.facts[key] or 0 for turn in turns) for key in ("replies", "calls", "failures", "seconds")}
    spent = [turn.facts["output_tokens"] for turn in turns]
    agents = sum(row.kind == "agent" for group in run for row in group)
    facts |= {"output_tokens": None if None in spent else sum(spent), "agents": agents, "turns": len(turns)}
    return replace(turns[0], kind="gap", text="", time=None, number=None, facts=facts)


# -- the entries


def entry_rows(session: Session, full: bool = False) -> Iterator[TreeRow]:
    """Yield the graph as the file has it: runs of entries with one child each, and where they fork.

    Results, progress and attachments that lead nowhere are what parallel calls leave: they are counted, but are not forks.
    """
    graph = session.graph
    active = {entry.uuid for entry in session.active}
    walk = list(graph.roots)
    for uuid in walk:
        walk += graph.children.get(uuid, ())
    newest: dict[str, int] = {}
    loose: dict[str, int] = {}
    for uuid in reversed(walk):
        children = graph.children.get(uuid, [])
        newest[uuid] = max([graph.position[uuid], *(newest[child] for child in children)])
        if not full and all(child in loose for child in children) and _is_aside(graph.nodes[uuid]):
            loose[uuid] = 1 + sum(loose[child] for child in children)

    def below(uuid: str) -> tuple[str | None, list[str], int]:
        children = sorted(graph.children.get(uuid, ()), key=lambda u: (u in active, newest[u]))
        sides = children[:-1]
        main = children[-1] if children else None
        return main, [u for u in sides if u not in loose], sum(loose.get(u, 0) for u in sides)

    todo: list[tuple[str, tuple[bool, ...], bool]] = [(root, (), True) for root in reversed(graph.roots)]
    while todo:
        start, outer, begins = todo.pop()
        run = [start]
        main, forks, aside = below(start)
        while main and not forks and not full:
            run.append(main)
            main, forks, more = below(main)
            aside += more
        row = _run_row([graph.nodes[uuid] for uuid in run], aside, session)
        yield replace(row, rails=(*outer, main is not None), begins=begins, is_active=not active.isdisjoint(run))
        todo += [(main, outer, False)] if main else []
        todo += [(fork, (*outer, True), True) for fork in reversed(forks)]
    if beside := Counter(entry.type or "?" for entry in session.entries if not entry.uuid):
        yield TreeRow("beside", _counted(beside))


def _is_aside(entry: Entry) -> bool:
    return entry.type in ("progress", "attachment") or bool(entry.results)


def _run_row(run: Sequence[Entry], aside: int, session: Session) -> TreeRow:
    first, last = run[0], run[-1]
    facts = {
        "entries": len(run),
        "aside": aside,
        "first": first.uuid,
        "last": last.uuid,
        "last_line": last.line.number,
        "parent": first.parent,
        "missing": bool(first.parent) and first.parent not in session.graph.nodes,
        "logical_parent": first.logical_parent,
        "sidechain": first.is_sidechain,
    }
    kinds = Counter(f"{e.type} {e.subtype}" if e.subtype else e.type or "?" for e in run)
    return TreeRow("run", _counted(kinds), time=first.time, line=first.line.number, facts=facts)


def _counted(kinds: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" if count > 1 else kind for kind, count in kinds.items())


# -- the picture

_MARKS = {"turn": "●○", "run": "●○", "compaction": "◆◇", "gap": "⋮⋮"}  # on the active branch, and on others
_ASCII = str.maketrans("●○◆◇⋮│├╰─…←→·–", "*oXx:||`-~<>--")
_COLUMNS = (("replies", 8), ("calls", 6), ("failed", 7), ("took", 7), ("output", 8))
_LOOKS = {"problem": "bad", "more": "bad", "compaction": "warn", "waiting": "warn"}
_LOOKS |= {"agent": "code-keyword", "queued": "bold", "pin": "link"}
_TEXT = 16  # columns of a prompt that a suffix leaves, if it can


def _header(session: Session, title: str, width: int) -> Iterator[Line]:
    id = session.id if width >= NARROWEST else session.id[:8]
    yield [(id, "link"), (f"  {one_line(title, max(8, width - len(id) - 2))}", "bold")]
    times = [t.astimezone() for t in (session.started, session.ended) if t]
    days = {t.date() for t in times}
    when = [f"{t:%H:%M}" if index and len(days) == 1 else f"{t:%Y-%m-%d %H:%M}" for index, t in enumerate(times)]
    about = [session.cwd or "", " – ".join(when), ", ".join(session.programs)]
    text = " · ".join(part for part in about if part)
    yield [(one_line(text, width) if is_terminal() else text, "quiet")]


def _footer(counts: dict[str, int]) -> Iterator[Line]:
    parts = [plural(counts["turns"], "turn") + " on " + plural(counts["branches"], "branch")]
    parts += [plural(counts[key], key[:-1]) for key in ("agents", "compactions", "problems")]
    yield []
    yield [(", ".join(parts), "")]


def _picture(rows: Sequence[TreeRow], width: int) -> Iterator[Line]:
    numeric = _COLUMNS if width >= NARROW else _COLUMNS[1:4] if width >= NARROWEST else ()
    turns = [row for row in rows if row.kind == "turn"]
    branches = sum(row.facts["is_end"] for row in turns)
    days = {row.time.astimezone().date() for row in turns if row.time}
    clock = "%d %b %H:%M" if len(days) > 1 else "%H:%M"
    digits = max((len(str(row.number)) for row in turns), default=1)
    if turns and numeric:
        names = "".join(name.rjust(size) for name, size in numeric)
        yield [(" " * max(0, width - len(names)) + names, HEADING)]
    for index, row in enumerate(rows):
        if index and row.begins and len(row.rails) == 1:
            yield []
        rail = _rail(row)
        if len(rail) > width // 2:
            rail = f"…{rail[1 - width // 2 :]}"
        head = ""
        if row.kind == "turn":
            when = row.time.astimezone().strftime(clock) if row.time else "?".rjust(5)
            head = f"{row.number:>{digits}}  {when}  "
        numbers = _numbers(row, numeric)
        room = width - len(rail) - len(head) - sum(len(text) for text, _ in numbers)
        look = "" if row.is_active or row.twigs else "quiet"
        text, after = _fit(one_line(_said(row)), _suffixes(row, branches), room)
        gap = " " * (room - columns(text + after)) if numbers else ""
        rail_look = "accent" if row.is_active and row.kind == "turn" else "quiet"
        yield [(rail, rail_look), (head, "quiet"), (text, _LOOKS.get(row.kind, look)), (after + gap, "quiet"), *numbers]


def _rail(row: TreeRow) -> str:
    """Return the lanes left of a row, its mark on its own lane, and the twig that it hangs on."""
    lanes = row.rails[-LANES:]
    drawn = ["│ " if goes_on else "  " for goes_on in lanes[:-1]]
    if row.begins and drawn:
        drawn[-1] = "├─" if lanes[-2] else "╰─"
    if not row.twigs:
        mark = _MARKS.get(row.kind, "  ")[0 if row.is_active else 1]
        return "".join(drawn) + mark + " "
    own = ["│ " if lanes[-1] else "  "] if lanes else ["  "]
    twigs = ["│ " if follows else "  " for follows in row.twigs[:-1]]
    return "".join([*drawn, *own, " ", *twigs, "├ " if row.twigs[-1] else "╰ "])


def _fit(text: str, suffixes: Sequence[str], room: int) -> tuple[str, str]:
    """Return a text and the first suffix that leaves enough of it, both in at most `room` columns."""
    least = min(_TEXT, columns(text))
    suffix = next((f"  {one}" for one in suffixes if one and columns(one) + 2 + least <= room), "")
    return one_line(text, max(1, room - columns(suffix))), suffix


def _said(row: TreeRow) -> str:
    facts = row.facts
    match row.kind:
        case "turn":
            return row.text or "(no text)"
        case "agent":
            return f"agent {facts['type']}: {row.text}" if facts["type"] else f"agent: {row.text}"
        case "compaction":
            sizes = [format_tokens(size) for size in (facts["before"], facts["after"]) if size is not None]
            return f"compacted ({facts['trigger'] or '?'})" + (f": {' → '.join(sizes)} tokens" if sizes else "")
        case "queued":
            return f"queued: {row.text}" if facts["sent"] else f"queued and never sent: {row.text}"
        case "pin" if facts["missing"]:
            return f"! line {row.line}: the pinned entry {facts['leaf'][:8]} is not in the file"
        case "pin":
            return f"pinned{' by hand' if facts['explicit'] else ''}: a resume continues from here"
        case "problem":
            return f"! line {row.line}: {row.text}"
        case "waiting":
            return f"line {row.line}: {row.text} yet"
        case "more":
            return f"! … {plural(facts['problems'], 'more problem')}"
        case "gap":
            agents = f", {plural(facts['agents'], 'agent')}" if facts["agents"] else ""
            return f"… {plural(facts['turns'], 'turn')}{agents} …"
        case "beside":
            return f"without a place in the graph: {row.text}"
    return " · ".join(part for part in _told(row) if part)


def _told(row: TreeRow) -> Iterator[str]:
    """Yield a run of entries: their names, their lines, what they hang below, and what they are."""
    facts = row.facts
    is_one = facts["entries"] == 1
    yield facts["first"][:8] if is_one else f"{facts['first'][:8]} … {facts['last'][:8]}"
    yield f"line {row.line}" if is_one else f"lines {row.line}–{facts['last_line']}"
    if facts["parent"]:
        yield f"below {facts['parent'][:8]}" + (" (not in the file)" if facts["missing"] else "")
    elif facts["logical_parent"]:
        yield f"a root, logically below {facts['logical_parent'][:8]}"
    yield ("sidechain: " if facts["sidechain"] else "") + row.text
    yield f"{facts['aside']} aside" if facts["aside"] else ""


def _suffixes(row: TreeRow, branches: int) -> tuple[str, str]:
    """Return what a turn is besides its prompt: where it went back to, and which branch ends with it; and the same in
    few words.
    """
    if row.kind != "turn":
        return "", ""
    back, images, hidden = row.facts["rewound_to"], row.facts["images"], row.facts.get("hidden")
    parts = [(f"[{plural(images, 'image')}]", "[image]")] if images else []
    if back is not None:
        parts.append((f"← back to {back or 'the start'}", f"← {back or 'start'}"))
    if hidden:
        parts.append((f"(+ {plural(hidden, 'branch')})", f"(+{hidden})"))
    if row.facts["is_end"] and branches > 1:
        parts.append((f"(branch {row.branch}{', active' if row.is_active else ''})", f"(b{row.branch})"))
    full, short = (" ".join(words) for words in zip(*parts, strict=True)) if parts else ("", "")
    return full, short


def _numbers(row: TreeRow, shown_columns: Sequence[tuple[str, int]]) -> Line:
    if "replies" not in row.facts:
        return []
    facts = row.facts
    spent = "?" if facts["output_tokens"] is None else format_tokens(facts["output_tokens"])
    shown = {
        "replies": str(facts["replies"]),
        "calls": str(facts["calls"] or ""),
        "failed": str(facts["failures"] or ""),
        "took": format_duration(facts["seconds"]) if facts["seconds"] else "",
        "output": spent if facts["replies"] else "",
    }
    return [(shown[name].rjust(size), "bad" if name == "failed" else "quiet") for name, size in shown_columns]


def _print(lines: Iterable[Line], is_ascii: bool) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    is_poor = is_ascii or not encoding.lower().replace("-", "").startswith("utf")
    style = stdout_style()
    for line in lines:
        print("".join(style(_worded(text, encoding, is_poor), look) for text, look in line).rstrip())


def _worded(text: str, encoding: str, is_poor: bool) -> str:
    plain = clean_name(text)
    return plain.translate(_ASCII).encode(encoding, "replace").decode(encoding) if is_poor else plain
