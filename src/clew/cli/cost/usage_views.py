"""The views of `clew usage`: blocks, context, turns, waste, and a comparison with what Claude Code counted itself."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path

from clew.cli.cost.usage_request import UsageOptions, collect_usage, print_csv, print_json, terminal_width
from clew.cli.output import clean_name, one_line, print_message
from clew.cli.select_session import newest_session
from clew.conversation.session import Session
from clew.errors import READ_ERRORS
from clew.facts.prices import Prices, dollars, micros
from clew.facts.removed_thinking import replies_without_thinking
from clew.facts.secrets.mask_secrets import mask
from clew.report.activity_totals import TOTALS, compare_activity
from clew.report.collect_buckets import CollectedBuckets
from clew.report.context_history import KINDS, ContextPoint, context_points, context_window
from clew.report.cost_by_turn import cost_by_turn
from clew.report.five_hour_blocks import group_into_blocks
from clew.report.outline_store import OutlineStore
from clew.report.reconcile import CountDifference, compare_agents, compare_cost_state, compare_stats
from clew.report.text_table import block_lines, short_number, table_lines
from clew.report.timezone import Zone
from clew.report.usage_table import UsageTable, select_buckets
from clew.report.waste import find_waste
from clew.system.environment import cache_home, claude_home
from clew.system.file_errors import ErrorCollector
from clew.system.plural import noun, plural
from clew.system.terminal_style import HEADING, stdout_style
from clew.view.sanitize import columns
from clew.wire.content_time import last_used
from clew.wire.layout import Project, SessionFile, Tree, claude_dir, session_at
from clew.wire.lookup import find_session
from clew.wire.side_files import read_stats

_NAMED = 5  # replies and turns that a warning names


def view(plan: UsageOptions, prices: Prices) -> int:
    if plan.has("reconcile"):
        return _reconcile(plan, prices)
    if plan.view == "waste":
        return _waste(plan, prices)
    file = _file(plan)
    session = Session(file.path, file=file)
    warn_inaccurate(plan, session)
    return _context(plan, session) if plan.view == "context" else _turns(plan, session, prices)


def _file(plan: UsageOptions) -> SessionFile:
    place = Tree(claude_dir(plan.claude_dir))
    return find_session(place, plan.session) if plan.session else newest_session(place)


def _context(plan: UsageOptions, session: Session) -> int:
    points = context_points(session)
    if not points:
        if not plan.is_quiet:
            print_message(f"No reply in {session.id} says how large the window was.")
        return 1
    if plan.plot is not None:
        from clew.cli.cost.usage_plot import draw_context

        return draw_context(plan, points, context_window(session, points))
    rows = [_point(point) for point in points]
    if plan.has("json"):
        print_json({"kind": "context", "session": session.id, **row} for row in rows)
    elif plan.has("csv"):
        print_csv(rows)
    else:
        _print_points(points)
    return 0


def _point(point: ContextPoint) -> dict[str, object]:
    parts = {kind.replace(" ", "_"): point.parts[kind] for kind in KINDS}
    return {"turn": point.number, "tokens": point.tokens, **parts, "compacted": point.is_compacted}


def _print_points(points: list[ContextPoint]) -> None:
    style = stdout_style()
    print(style("TURN    TOKENS  " + "  ".join(kind.upper().rjust(11) for kind in KINDS) + "  PROMPT", HEADING))
    for point in points:
        if point.is_compacted:
            print(style("      ── compacted ──", "warn"))
        parts = style("  ".join(short_number(point.parts[kind]).rjust(11) for kind in KINDS), "quiet")
        print(f"{point.number:>4}  {short_number(point.tokens):>8}  {parts}  {one_line(mask(point.text)[0], 40)}")


def _turns(plan: UsageOptions, session: Session, prices: Prices) -> int:
    table = cost_by_turn(session, prices, by_model=plan.plot is not None)
    if plan.plot is not None and table.rows:
        from clew.cli.cost.usage_plot import draw_turns

        return draw_turns(plan, _masked(table))
    lost = _lost_thinking(session)
    turns = [[reply.id for reply in turn.replies if reply.id in lost] for turn in session.turns]
    _masked(table)
    if plan.has("json"):
        lists = chain(turns, repeat([]))  # the last row may be that of other branches
        values = (
            {"kind": "usage", "by": "turn", **row.to_json(), "name": row.name.strip(), "replies_without_thinking": ids}
            for row, ids in zip(table.rows, lists, strict=False)
        )
        total = {"without_thinking": len(lost), "replies_without_thinking": lost}
        print_json([*values, {"kind": "total", **table.total.to_json(), **total}])
    elif plan.has("csv"):
        print_csv(row.to_json() for row in table.rows)
    else:
        is_short = plan.has("compact")
        for line in table_lines(
            table, "TURN", prices, terminal_width(), compact=is_short, measure=columns, style=stdout_style()
        ):
            print(line)
    return 0 if table.rows else 1


def _masked(table: UsageTable) -> UsageTable:
    """Mask and shorten the prompts in the names of turns."""
    for row in table.rows:
        row.name = one_line(mask(row.name)[0], 46) if row.name[:4].strip().isdigit() else row.name
    return table


def warn_of_session(plan: UsageOptions) -> None:
    """Warn about the session that `--session` names."""
    file = find_session(Tree(claude_dir(plan.claude_dir)), plan.query.session)
    warn_inaccurate(plan, Session(file.path, file=file))


def warn_inaccurate(plan: UsageOptions, session: Session) -> None:
    """Warn about replies of a session whose tokens still count thinking that was removed."""
    lost = [] if plan.is_quiet else _lost_thinking(session)
    if lost:
        ids = set(lost)
        print_message(
            _inaccurate(lost, [t.number for t in session.turns if any(reply.id in ids for reply in t.replies)])
        )


def _lost_thinking(session: Session) -> list[str]:
    return replies_without_thinking(chain(session.entries, *(agent.session.entries for agent in session.agents)))


def _inaccurate(replies: list[str], turns: list[int]) -> str:
    """Return the warning about replies whose tokens still count thinking that was removed."""
    count = plural(len(replies), "reply counts", "replies count")
    names = ", ".join(one_line(id, 40) for id in replies[:_NAMED]) + (", …" if len(replies) > _NAMED else "")
    where = f", in {noun(len(turns), 'turn')} {', '.join(map(str, turns[:_NAMED]))}" if turns else ""
    where += ", …" if len(turns) > _NAMED else ""
    return f"{count} thinking that is not in the file: tokens and text do not agree{where} ({names})."


def _waste(plan: UsageOptions, prices: Prices) -> int:
    fence = ErrorCollector() if plan.is_quiet else ErrorCollector(print_message)
    waste = find_waste(_chosen(plan), prices, fence)
    if plan.plot is not None:
        from clew.cli.cost.usage_plot import draw_waste

        return draw_waste(plan, waste) or (1 if fence.problems else 0)
    if plan.has("json"):
        print_json(
            {"kind": "waste", "what": w.kind, "times": w.times, "tokens": w.tokens, "cost_micros": micros(w.cost)}
            for w in waste
        )
        return 1 if fence.problems else 0
    style, width = stdout_style(), terminal_width()
    print(style("WASTE         TIMES      TOKENS        COST", HEADING))
    for each in waste:
        numbers = f"{each.kind:<10}  {each.times:>7,}  {each.tokens:>10,}  {dollars(each.cost):>10}"
        gap = f"\n{' ' * 4}" if 0 < width < len(numbers) + 2 + len(each.meaning) else "  "
        print(f"{numbers}{gap}{style(each.meaning, 'quiet')}")
    return 1 if fence.problems else 0


def _chosen(plan: UsageOptions) -> Iterator[Session]:
    if plan.session:
        file = _file(plan)
        session = Session(file.path, file=file)
        warn_inaccurate(plan, session)
        yield session
        return
    query = plan.query
    for project in Tree(claude_dir(plan.claude_dir)).projects():
        if query.project and project.name != query.project:
            continue
        for file in project.sessions():
            late = query.since is None or last_used(file).timestamp() >= query.since
            if late and not file.is_empty and (not query.session or file.id == query.session):
                yield Session(file.path, file=file)


def show_blocks(plan: UsageOptions, collected: CollectedBuckets, prices: Prices) -> int:
    query = plan.query
    blocks = collected.read(lambda each: group_into_blocks(select_buckets(each, query), prices, time.time()))
    blocks = blocks if query.limit is None else blocks[-query.limit :] if query.limit else []
    zone = Zone(query.zone)
    for block in blocks:
        block.row.name = zone.minute(block.start)
    if plan.plot is not None and blocks:
        from clew.cli.cost.usage_plot import draw_blocks

        return draw_blocks(plan, blocks, zone)
    if plan.has("json"):
        print_json({"kind": "block", **block.to_json()} for block in blocks)
    elif plan.has("csv"):
        print_csv(block.to_json() for block in blocks)
    else:
        for line in block_lines(blocks, zone, terminal_width(), plan.has("compact"), stdout_style()):
            print(line)
    return 0 if blocks else 1


def readable(plan: UsageOptions, table: UsageTable, collected: CollectedBuckets) -> dict[str, str]:
    """Names that people know, for those of folders and files."""
    names = [row.name for row in table.rows]
    if table.by == "project":
        return {name: clean_name(_project_path(plan, name)) for name in names}
    paths = {file.session: file.path for file in collected.files if not file.agent}
    with OutlineStore(claude_home(plan.claude_dir), cache_home()) as store:
        return {name: f"{name[:8]}  {_title(store, paths[name])}" for name in names if name in paths}


def _project_path(plan: UsageOptions, name: str) -> str:
    """Return the path of a project; of one that is gone as the archive has it, or marked as a guess."""
    path = Project(Path(claude_home(plan.claude_dir)) / "projects" / name).path()
    if path.source == "guess":
        from clew.collect.archive.archive_view import open_deleted_tree

        deleted = open_deleted_tree(plan.claude_dir)
        path = Project(deleted.folder / "projects" / name).path() if deleted else path
    return f"{path.path} (a guess)" if path.source == "guess" else path.path


def _title(store: OutlineStore, path: str) -> str:
    try:
        title = store.outline(session_at(path)).title
    except READ_ERRORS:
        return ""
    return one_line(mask(title or "")[0], 40)


def _reconcile(plan: UsageOptions, prices: Prices) -> int:
    place = Tree(claude_dir(plan.claude_dir))
    collected = collect_usage(plan, str(place.root), per_reply=False)
    differences: list[CountDifference] = []
    stats = read_stats(place.stats)
    if stats is not None:
        differences += compare_activity(stats, _chosen(plan), Zone(plan.query.zone))
        differences += compare_stats(stats, collected.buckets, Zone(plan.query.zone))
    for session in _chosen(plan):
        differences += compare_cost_state(session, prices)
        differences += compare_agents(session)
    if plan.has("json"):
        print_json({"kind": "difference", **each._asdict(), "agree": not each.why} for each in differences)
        return 0 if differences else 1
    agreed = sum(not each.why for each in differences)
    for each in differences:
        if each.why or each.source == TOTALS:
            why = f": {each.why}" if each.why else ""
            print(clean_name(f"{each.source}: {each.what}: theirs {each.theirs}, ours {each.ours}{why}."))
    if not differences:
        if not plan.is_quiet:
            print_message("Claude Code wrote down no totals here to compare with.")
        return 1
    print(f"{agreed} of {len(differences)} numbers agree.")
    return 0
