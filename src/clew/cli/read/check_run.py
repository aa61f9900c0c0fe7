"""Run `clew check`: report on one session, or on all."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import to_builtins
from msgspec.structs import asdict

from clew.cli.output import describe_left_out, format_size, one_line, print_json, print_message
from clew.cli.progress import ProgressLine
from clew.cli.read.check_print import (
    Line,
    describe_missing_fields,
    format_table,
    print_lines,
)
from clew.cli.read.check_workers import map_files
from clew.cli.select_session import open_tree, session_files
from clew.conversation.session import Session
from clew.errors import READ_ERRORS
from clew.facts.health import (
    BAD_TEXT,
    BROKEN,
    DAMAGED,
    LOSES,
    SOUND,
    VERDICTS,
    VERSIONS,
    Damage,
    Flaw,
    Health,
    ResumeVerdict,
    health,
)
from clew.system import shell_quoting
from clew.system.file_errors import describe_error
from clew.system.plural import plural
from clew.wire.layout import session_at

_SHOWN = 10  # damaged lines and line numbers to show; the others are counted
_STYLES = {SOUND: "bold good", DAMAGED: "bold warn", LOSES: "bold bad", BROKEN: "bold bad"}


def check_sessions(options: Namespace) -> int:
    if options.inventory:
        from clew.cli.read import check_inventory

        code = check_inventory.run(options)
        return _report_no_session(options) if code is None else code
    if options.drift:
        from clew.cli.read import check_drift

        code = check_drift.run(options)
        return _report_no_session(options) if code is None else code
    return _check_all(options)


def _report_no_session(options: Namespace) -> int:
    if not options.quiet:
        print_message(f"No sessions in {open_tree(options).root}. Name another folder with --claude-dir.")
    return 1


# -- one session


def check_session(options: Namespace, session: Session | None) -> int:
    if session is None:
        return _report_no_session(options)
    report = health(session, options.versions or VERSIONS)
    if options.json:
        print_json([_health_json(report, session)])
    else:
        print_lines(_report_lines(report))
    return 0 if report.verdict == SOUND else 2


def _health_json(report: Health, session: Session) -> dict[str, Any]:
    value = {"kind": "health", "path": str(session.path) if session.path else None, **to_builtins(report)}
    shares = {"reachable_share": report.prompts.reachable_share, "context_share": report.prompts.context_share}
    value["prompts"] |= {name: round(share, 4) for name, share in shares.items()}
    value["inventory"]["result_share"] = round(report.inventory.result_share, 4)
    value["resumes"] = [{**asdict(r), "resumable": r.is_resumable, "share": round(r.share, 4)} for r in report.resumes]
    return value


def _report_lines(report: Health) -> Iterator[Line]:
    yield _STYLES[report.verdict], one_line(f"{report.id} {verdict(report)}")
    if step := _next_step(report):
        yield "", f"  {step}"
    for damage in report.damage[:_SHOWN]:
        yield "", _indent_sentence(_describe_line(damage))
    if len(report.damage) > _SHOWN:
        yield "", f"  … and {plural(len(report.damage) - _SHOWN, 'more damaged line')}; --json lists them."
    for kind, sentence in _FLAWS.items():
        if kind == "field":
            yield from (("", _indent_sentence(text)) for text in describe_missing_fields(report.of(kind)))
        elif flaws := report.of(kind):
            yield "", _indent_sentence(_describe_flaws(flaws, sentence))
    yield "", _describe_prompts(report)
    if report.resumes:
        yield from format_table(("VERSION", "RESUMES", "MESSAGES", "PROMPTS"), map(_resume_row, report.resumes))
    yield from (("quiet", one_line(line)) for line in _inventory_lines(report))


def verdict(report: Health) -> str:
    """Return the verdict as the remainder of a sentence about the session."""
    if report.verdict == SOUND and not report.is_conversation:
        return "is sound: it has no messages, so there is nothing to resume."
    if report.verdict == BROKEN:
        why = report.refusal or "nothing in it can be read"
        return f"is broken: {report.judged} cannot resume it, because {why}."
    lost = report.prompts.lost
    if report.verdict == LOSES:
        return f"loses {plural(len(lost), 'prompt')} when {report.judged} resumes it: {_line_numbers(lost)}."
    if report.verdict == DAMAGED:
        return f"is damaged but resumable: {_describe_complete(report)} in spite of {_describe_damage(report)}."
    return f"is sound: {_describe_complete(report)}."


def _next_step(report: Health) -> str:
    """Return the command that restores lost prompts (except torn lines) or replaces blank texts, as a sentence."""
    torn = {damage.line for damage in report.damage if damage.prompt and not damage.agent}
    if {*report.prompts.lost} - torn:
        return f"Restore them with: {shell_quoting.session_command('repair', report.id)}"
    return (
        f"Replace the blank texts with: {shell_quoting.session_command('repair', report.id)}"
        if report.of("blank")
        else ""
    )


def _describe_complete(report: Health) -> str:
    """Return what a resume restores completely."""
    if not report.resumes:
        return "a complete transcript of a sub-agent"
    due = report.resumes[-1].due
    prompts = f"all {due:,} prompts" if due > 1 else "its prompt"
    return f"{report.judged} restores {prompts}" if due else f"{report.judged} resumes it; it has no prompts"


def _describe_damage(report: Health) -> str:
    """Summarise the damage in a few words."""
    parts = [plural(len(report.damage), "damaged line")] if report.damage else []
    counts = Counter(flaw.kind for flaw in report.flaws)
    nouns = {
        "dangling": "missing parent",
        "gap": "parent of an unknown type",
        "cycle": "cycle",
        "duplicate": "repeated uuid",
        "blank": "blank text",
    }
    parts += [plural(counts[kind], word, _PLURAL.get(kind, "")) for kind, word in nouns.items() if counts[kind]]
    bad = sum(flaw.text == BAD_TEXT for flaw in report.of("lenient"))
    parts += [f"{plural(bad, 'line')} of invalid UTF-8"] if bad else []
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


_PLURAL = {"gap": "parents of an unknown type"}
_DAMAGE = {
    "joined": "several entries on one line",
    "spliced": "one entry written over another",
    "nul": "filled with NUL bytes",
    "torn": "cut off at the end of the file",
    "unreadable": "not JSON",
}


def _describe_line(damage: Damage) -> str:
    where = f"line {damage.line}, byte {damage.offset}" + (f", of the agent {damage.agent}" if damage.agent else "")
    saved = f"{plural(damage.saved, 'entry', 'entries')} saved" if damage.saved else "nothing saved"
    guess = "; it looks like a prompt" if damage.prompt else ""
    return f"{where}: {_DAMAGE.get(damage.kind, damage.reason)}, {saved}{guess}."


_BRIDGE = (
    "versions from 2.1.100 continue with a line at most 5 seconds older, or lose what came before, as older ones do"
)
_FLAWS = {
    "cycle": "cycles of entries are their own ancestors",
    "dangling": f"parents are not in the file; {_BRIDGE}",
    "gap": f"parents are not part of the conversation; {_BRIDGE}",
    "duplicate": "uuids occur more than once; the last one counts",
    "call": "calls have no result",
    "result": "results answer no call",
    "extra": "results repeat the result of a call; the first one counts",
    "agent": "agents have no call",
    "name": "agent files are named differently from their entries",
    "lenient": "lines had to be read leniently",
    "blank": "texts consist of white space only, which the API refuses",
    "field": "lines lack required fields",
}


def _describe_flaws(flaws: Sequence[Flaw], sentence: str) -> str:
    if len(flaws) == 1:
        where = f"line {flaws[0].line}: " if flaws[0].line else ""
        return f"{where}{flaws[0].text}."
    if not flaws[0].line:
        more = f" … and {len(flaws) - _SHOWN} more" if len(flaws) > _SHOWN else ""
        return f"{len(flaws)} {sentence}: {'; '.join(flaw.text for flaw in flaws[:_SHOWN])}{more}."
    return f"{len(flaws)} {sentence}: {_line_numbers([flaw.line for flaw in flaws])}."


def _line_numbers(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:_SHOWN]))
    more = f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
    return f"{'line' if len(numbers) == 1 else 'lines'} {shown}{more}"


def _describe_prompts(report: Health) -> str:
    prompts = report.prompts
    aside = {"on branches that were left": prompts.left, "before a compaction": prompts.compacted}
    others = ", ".join(f"{count} {where}" for where, count in aside.items() if count)
    path = f"{prompts.reachable} on the active path ({prompts.reachable_share:.0%})"
    context = f"{prompts.context} in the context ({prompts.context_share:.0%})"
    return f"Prompts: {prompts.total} in the file, {path}, {context}{'; ' + others if others else ''}."


def _resume_row(resume: ResumeVerdict) -> tuple[str, ...]:
    if resume.refusal:
        return resume.version, "no", "", resume.refusal
    complete = resume.due - len(resume.lost)
    more = f", {resume.kept - complete} of other branches" if resume.kept > complete else ""
    return (
        resume.version,
        "yes",
        str(resume.messages),
        f"{complete} of {resume.due} ({resume.share:.0%}){more}{describe_left_out(resume.left_out)}",
    )


def _inventory_lines(report: Health) -> Iterator[str]:
    inventory = report.inventory
    agents = f"; {plural(report.agents, 'agent')}" if report.agents else ""
    yield f"Lines: {inventory.lines} ({format_size(inventory.size)}): {_format_counts(inventory.types)}{agents}"
    if inventory.types.get("user"):
        yield (
            f"Turns: {inventory.human_turns} by the user, {plural(inventory.calls, 'call')}; "
            f"{inventory.result_share:.0%} of the user entries are results"
        )
    named = {"Versions": inventory.versions, "Blocks": inventory.blocks, "Stop reasons": inventory.stop_reasons}
    yield from (f"{name}: {_format_counts(counts)}" for name, counts in named.items() if counts)
    if report.backward:
        yield f"Times: {plural(report.backward, 'entry is', 'entries are')} earlier than the one before"


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name or '(none)'} {count}" for name, count in counts.items())


# -- every session


def _check_all(options: Namespace) -> int:
    """Print one line for each session that is not sound, as soon as it has been checked."""
    selected = list(islice(session_files(options), options.limit))
    versions = options.versions or (VERSIONS if options.json else VERSIONS[-1:])
    totals: Counter[str] = Counter()
    progress = ProgressLine(1.0, quiet=options.quiet)
    reports = map_files(prepare_check, (list(versions), bool(options.json)), selected, options.jobs)
    for file, (verdict, value, why) in zip(progress.count(selected, "sessions"), reports, strict=True):
        totals[verdict] += 1
        if options.json:
            print_json([{**value, "path": str(file.path)}])
        elif verdict != SOUND:
            progress.erase()
            print_lines([("", f"{one_line(file.id[:8])}  {verdict.ljust(7)}  {one_line(why)}")])
    if not totals:
        return _report_no_session(options)
    from clew.cli.read.check_index import report_indexes

    report_indexes(options)
    if not options.json:
        parts = ", ".join(f"{totals[verdict]} {_TOTAL[verdict]}" for verdict in VERDICTS if totals[verdict])
        print_lines([("bold", f"{plural(len(selected), 'session')}: {parts}.")])
    return 0 if set(totals) == {SOUND} else 2


_TOTAL = {SOUND: "sound", DAMAGED: "damaged but resumable", LOSES: "losing prompts", BROKEN: "broken"}


def prepare_check(settings: tuple[list[str], bool]) -> Callable[[str], tuple[str, dict[str, Any], str]]:
    """Return the function that checks one file, for a worker process."""
    versions, with_json = settings
    return lambda path: _check_file(path, versions, with_json)


def _check_file(path: str, versions: Sequence[str], with_json: bool) -> tuple[str, dict[str, Any], str]:
    """Return the verdict on a file, its report as JSON, and the reason. A file that cannot be read is broken."""
    try:
        file = session_at(path)
        session = Session(file.path, file=file)
        report = health(session, versions)
    except READ_ERRORS as error:
        why = describe_error(error)
        value = {"kind": "health", "path": path, "id": Path(path).stem, "verdict": BROKEN, "error": why}
        return BROKEN, value, f"It cannot be read: {why}."
    return report.verdict, _health_json(report, session) if with_json else {}, _summary(report)


def _summary(report: Health) -> str:
    why = _describe_damage(report)
    if report.verdict == BROKEN:
        return f"{report.judged} cannot resume it: {report.refusal or 'nothing in it can be read'}."
    if report.verdict == LOSES:
        lost = report.prompts.lost
        losses = f"{plural(len(lost), 'prompt')} lost ({_line_numbers(lost)})" + (f"; {why}." if why else ".")
        return f"{losses} {_next_step(report)}".rstrip()
    return f"{why[:1].upper()}{why[1:]}."


# -- text


def _indent_sentence(text: str) -> str:
    text = one_line(text)
    return f"  {text[:1].upper()}{text[1:]}"
