"""`clew check`: say what is damaged or lost, and what each version would resume."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

from clew.cli.output import common, one_line, own_words, print_json, remark, size
from clew.cli.read.check_index import report_indexes
from clew.cli.read.check_print import Line, erase, lacking_fields, print_lines, table, watched
from clew.cli.select_session import files, tree
from clew.cli.select_session import session as chosen
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
from clew.wire.layout import SessionFile

_SHOWN = 10  # damaged lines, and line numbers, before the rest is only counted
_STYLES = {SOUND: "bold green", DAMAGED: "bold yellow", LOSES: "bold red", BROKEN: "bold red"}


def arguments(command: ArgumentParser) -> None:
    which = command.add_mutually_exclusive_group()
    which.add_argument(
        "id", nargs="?", help="a session: its id, the beginning of it, or a path (default: the newest here)"
    )
    which.add_argument("--all", action="store_true", help="every session; only those that are not sound are listed")
    command.add_argument(
        "--drift", action="store_true", help="names that are new, in all sessions unless one is given; safe to share"
    )
    command.add_argument(
        "--inventory",
        action="store_true",
        help="count what sessions hold in one table, all of them unless one is given",
    )
    command.add_argument(
        "--as",
        dest="versions",
        metavar="VERSION",
        type=_version,
        action="append",
        help="judge by what this version of Claude Code would resume (may be repeated)",
    )
    common(command, lists=True)


def _version(text: str) -> str:
    if not re.fullmatch(r"\d{1,5}(\.\d{1,5}){1,3}", text):
        raise ArgumentTypeError(f"{text!r} is no version: write 2.1.29")
    return text


def call(options: Namespace) -> int:
    if options.inventory:
        from clew.cli.read import check_inventory

        code = check_inventory.call(options)
        return _nothing(options) if code is None else code
    if options.drift:
        from clew.cli.read import check_drift

        code = check_drift.call(options)
        return _nothing(options) if code is None else code
    return _check_all(options) if options.all else _check_one(options)


def _one(options: Namespace) -> Session | None:
    """The session asked for; without an id the newest that the other options leave."""
    if options.id or not (options.project or options.since or options.until):
        return chosen(options, options.id, archived=True)
    file = next(files(options), None)
    return Session(file.path, file=file) if file else None


def _nothing(options: Namespace) -> int:
    if not options.quiet:
        remark(f"No session here. The folder is {tree(options).root}; name another with --claude-dir.")
    return 1


# -- one session


def _check_one(options: Namespace) -> int:
    session = _one(options)
    if session is None:
        return _nothing(options)
    found = health(session, options.versions or VERSIONS)
    if options.json:
        print_json([_json(found, session)])
    else:
        print_lines(_report(found))
    return 0 if found.verdict == SOUND else 2


def _json(found: Health, session: Session) -> Mapping[str, Any]:
    made = {"kind": "health", "path": str(session.path) if session.path else None, **asdict(found)}
    shares = {"reachable_share": found.prompts.reachable_share, "context_share": found.prompts.context_share}
    made["prompts"] |= {name: round(share, 4) for name, share in shares.items()}
    made["inventory"]["result_share"] = round(found.inventory.result_share, 4)
    made["resumes"] = [{**asdict(r), "resumable": r.is_resumable, "share": round(r.share, 4)} for r in found.resumes]
    return made


def _report(found: Health) -> Iterator[Line]:
    yield _STYLES[found.verdict], one_line(f"{found.id} {verdict(found)}")
    if step := _next_step(found):
        yield "", f"  {step}"
    for damage in found.damage[:_SHOWN]:
        yield "", _sentence(_damage(damage))
    if len(found.damage) > _SHOWN:
        yield "", f"  … and {plural(len(found.damage) - _SHOWN, 'more damaged line')}; --json lists them."
    for kind, sentence in _FLAWS.items():
        if kind == "field":
            yield from (("", _sentence(text)) for text in lacking_fields(found.of(kind)))
        elif flaws := found.of(kind):
            yield "", _sentence(_flaws(flaws, sentence))
    yield "", _prompts(found)
    if found.resumes:
        yield from table(("VERSION", "RESUMES", "MESSAGES", "PROMPTS"), map(_resume, found.resumes))
    yield from (("dim", one_line(line)) for line in _inventory(found))


def verdict(found: Health) -> str:
    """The verdict as the rest of a sentence about the session."""
    if found.verdict == SOUND and not found.is_conversation:
        return "is sound: nobody says anything in it, so there is nothing to resume."
    if found.verdict == BROKEN:
        why = found.refusal or "nothing in it can be read"
        return f"is broken: {found.judged} cannot resume it, because {why}."
    lost = found.prompts.lost
    if found.verdict == LOSES:
        return f"loses {plural(len(lost), 'prompt')} when {found.judged} resumes it: {_lines(lost)}."
    if found.verdict == DAMAGED:
        return f"is damaged but resumable: {_whole(found)} in spite of {_why(found)}."
    return f"is sound: {_whole(found)}."


def _next_step(found: Health) -> str:
    """How to get the lost prompts back, except what is left of a torn line, and how to get rid of blank texts."""
    torn = {damage.line for damage in found.damage if damage.prompt and not damage.agent}
    if {*found.prompts.lost} - torn:
        return f"Bring them back with: {shell_quoting.session_command('repair', found.id)}"
    return (
        f"Replace the blank texts with: {shell_quoting.session_command('repair', found.id)}"
        if found.of("blank")
        else ""
    )


def _whole(found: Health) -> str:
    """What is there, all of it."""
    if not found.resumes:
        return "an agent's own talk, all of it there"
    due = found.resumes[-1].due
    prompts = f"all {due:,} prompts" if due > 1 else "its prompt"
    return f"{found.judged} brings back {prompts}" if due else f"{found.judged} resumes it, with no prompt in it"


def _why(found: Health) -> str:
    """What is damaged, in few words."""
    parts = [plural(len(found.damage), "damaged line")] if found.damage else []
    counts = Counter(flaw.kind for flaw in found.flaws)
    words = {
        "dangling": "missing parent",
        "gap": "parent of an unknown type",
        "cycle": "cycle",
        "duplicate": "repeated uuid",
        "blank": "blank text",
    }
    parts += [plural(counts[kind], word, _PLURAL.get(kind, "")) for kind, word in words.items() if counts[kind]]
    bad = sum(flaw.text == BAD_TEXT for flaw in found.of("lenient"))
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


def _damage(damage: Damage) -> str:
    where = f"line {damage.line}, byte {damage.offset}" + (f", of the agent {damage.agent}" if damage.agent else "")
    saved = f"{plural(damage.saved, 'entry', 'entries')} saved" if damage.saved else "nothing saved"
    guess = "; it looks like a prompt" if damage.prompt else ""
    return f"{where}: {_DAMAGE.get(damage.kind, damage.reason)}, {saved}{guess}."


_BRIDGE = (
    "versions from 2.1.100 continue with a line at most 5 seconds older, or lose what came before, as older ones do"
)
_FLAWS = {
    "cycle": "rings of entries are their own ancestors",
    "dangling": f"parents are not in the file; {_BRIDGE}",
    "gap": f"parents are no part of the conversation; {_BRIDGE}",
    "duplicate": "uuids are there more than once, the last one counts",
    "call": "calls have no result",
    "result": "results answer no call",
    "extra": "results are further ones for the same call, the first counts",
    "agent": "agents have no call",
    "name": "agent files are named differently from their entries",
    "lenient": "lines had to be read leniently",
    "blank": "texts are nothing but white space, which the API refuses",
    "field": "lines lack required fields",
}


def _flaws(flaws: Sequence[Flaw], sentence: str) -> str:
    if len(flaws) == 1:
        where = f"line {flaws[0].line}: " if flaws[0].line else ""
        return f"{where}{flaws[0].text}."
    if not flaws[0].line:
        rest = f" … and {len(flaws) - _SHOWN} more" if len(flaws) > _SHOWN else ""
        return f"{len(flaws)} {sentence}: {'; '.join(flaw.text for flaw in flaws[:_SHOWN])}{rest}."
    return f"{len(flaws)} {sentence}: {_lines([flaw.line for flaw in flaws])}."


def _lines(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:_SHOWN]))
    rest = f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
    return f"{'line' if len(numbers) == 1 else 'lines'} {shown}{rest}"


def _prompts(found: Health) -> str:
    made = found.prompts
    aside = {"on branches that were left": made.left, "before a compaction": made.compacted}
    rest = ", ".join(f"{count} {where}" for where, count in aside.items() if count)
    path = f"{made.reachable} on the active path ({made.reachable_share:.0%})"
    context = f"{made.context} in the context ({made.context_share:.0%})"
    return f"Prompts: {made.total} in the file, {path}, {context}{'; ' + rest if rest else ''}."


def _resume(made: ResumeVerdict) -> tuple[str, ...]:
    if made.refusal:
        return made.version, "no", "", made.refusal
    whole = made.due - len(made.lost)
    more = f", {made.kept - whole} of other branches" if made.kept > whole else ""
    return (
        made.version,
        "yes",
        str(made.messages),
        f"{whole} of {made.due} ({made.share:.0%}){more}{own_words(made.left_out)}",
    )


def _inventory(found: Health) -> Iterator[str]:
    made = found.inventory
    agents = f"; {plural(found.agents, 'agent')}" if found.agents else ""
    yield f"Lines: {made.lines} ({size(made.size)}): {_counts(made.types)}{agents}"
    if made.types.get("user"):
        yield (
            f"Turns: {made.human_turns} by a person, {plural(made.calls, 'call')}; "
            f"{made.result_share:.0%} of the user entries are results"
        )
    named = {"Versions": made.versions, "Blocks": made.blocks, "Stop reasons": made.stop_reasons}
    yield from (f"{name}: {_counts(counts)}" for name, counts in named.items() if counts)
    if found.backward:
        yield f"Times: {plural(found.backward, 'entry is', 'entries are')} earlier than the one before"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name or '(none)'} {count}" for name, count in counts.items())


# -- every session


def _check_all(options: Namespace) -> int:
    """One line for each session that is not sound, as soon as it is known."""
    wanted = list(islice(files(options), options.limit))
    versions = options.versions or (VERSIONS if options.json else VERSIONS[-1:])
    totals: Counter[str] = Counter()
    for file in watched(wanted, options.quiet):
        verdict, made, why = _checked(file, versions)
        totals[verdict] += 1
        if options.json:
            print_json([made])
        elif verdict != SOUND:
            erase()
            print_lines([("", f"{one_line(file.id[:8])}  {verdict.ljust(7)}  {one_line(why)}")])
    if not totals:
        return _nothing(options)
    report_indexes(options)
    if not options.json:
        parts = ", ".join(f"{totals[verdict]} {_TOTAL[verdict]}" for verdict in VERDICTS if totals[verdict])
        print_lines([("bold", f"{plural(len(wanted), 'session')}: {parts}.")])
    return 0 if set(totals) == {SOUND} else 2


_TOTAL = {SOUND: "sound", DAMAGED: "damaged but resumable", LOSES: "losing prompts", BROKEN: "broken"}


def _checked(file: SessionFile, versions: Sequence[str]) -> tuple[str, Mapping[str, Any], str]:
    """The verdict on a file, all that is known of it, and why; a file that cannot be read is broken too."""
    session = Session(file.path, file=file)
    try:
        found = health(session, versions)
    except READ_ERRORS as error:
        why = describe_error(error)
        made = {"kind": "health", "path": str(file.path), "id": file.id, "verdict": BROKEN, "error": why}
        return BROKEN, made, f"It cannot be read: {why}."
    return found.verdict, _json(found, session), _summary(found)


def _summary(found: Health) -> str:
    why = _why(found)
    if found.verdict == BROKEN:
        return f"{found.judged} cannot resume it: {found.refusal or 'nothing in it can be read'}."
    if found.verdict == LOSES:
        lost = found.prompts.lost
        told = f"{plural(len(lost), 'prompt')} lost ({_lines(lost)})" + (f"; {why}." if why else ".")
        return f"{told} {_next_step(found)}".rstrip()
    return f"{why[:1].upper()}{why[1:]}."


# -- text


def _sentence(text: str) -> str:
    text = one_line(text)
    return f"  {text[:1].upper()}{text[1:]}"
