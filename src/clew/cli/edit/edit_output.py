"""Options of the commands that edit, and the output of their plans."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from clew.cli.options import add_common_options
from clew.cli.output import clean, clean_name, format_size, is_terminal, print_json, print_message
from clew.errors import Refused
from clew.system import shell_quoting
from clew.system.plural import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from clew.edit.plan import Plan
    from clew.edit.write_plan import Written


def add_arguments(command: ArgumentParser) -> None:
    """Add the options of a command that writes a new session."""
    command.add_argument("--dry-run", action="store_true", help="say what would be done and write nothing")
    command.add_argument(
        "--diff", action="store_true", help="show the entries that would go, come and change, and write nothing"
    )
    add_common_options(command)


def finish(options: Namespace, plan: Plan, details: Mapping[str, Any] | None = None) -> int:
    """Print the plan, or write it and print the result. `details` are further fields of the JSON output."""
    if options.diff:
        return _diff(options, plan)
    violations = plan.violations
    written = plan.write(folder=_target_folder(options, plan)) if not (options.dry_run or violations) else None
    if options.json:
        print_json([_json(plan, written, violations, details or {})])
    else:
        _print(plan, written, violations)
    return 2 if violations else 0


def _target_folder(options: Namespace, plan: Plan) -> Path | None:
    """Return the folder for the new session of a file that lies elsewhere: its project in the folder of Claude Code in
    force.

    None stands for the project of the original.
    """
    from clew.cli.select_session import open_tree
    from clew.wire.project_slug import slug

    projects = open_tree(options).root / "projects"
    path = plan.source.path
    if path is None or path.resolve().is_relative_to(projects.resolve()):
        return None
    cwd = plan.cwd or plan.source.cwd
    if not cwd:
        raise Refused(
            [f"{path.name} does not name a working directory, so its project is unknown"],
            hint="Put it into a project first: clew import FILE --to FOLDER",
        )
    return projects / slug(cwd)


def finish_with_sizes(options: Namespace, plan: Plan, details: Mapping[str, Any] | None = None) -> int:
    """Do the same as `finish`, and print the size of each part of the context before and after."""
    from clew.cli.edit import size_table

    report = plan.report()
    code = finish(options, plan, {**size_table.data(report), **(details or {})})
    if not (code or options.json or options.diff):
        for row in size_table.rows(report):
            print(row)
    return code


def _diff(options: Namespace, plan: Plan) -> int:
    from clew.facts.secrets.mask_secrets import mask

    changes = plan.diff()
    if options.json:
        print_json({"kind": "change", "sign": c.sign, "line": c.line, "text": c.text, "note": c.note} for c in changes)
    else:
        for change in changes:
            print(clean(mask(str(change))[0]))
    return 0


def _json(
    plan: Plan, written: Written | None, violations: tuple[str, ...], details: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "kind": "edit",
        "source": plan.source.id,
        "steps": list(plan.steps),
        "written": written is not None,
        "id": written.id if written else None,
        "path": str(written.path) if written else None,
        "files": len(written.files) if written else 0,
        "undo": written.number if written else None,
        "violations": list(violations),
        "turns": {"before": len(plan.source.turns), "after": len(plan.session.turns)},
        "entries": {"before": len(plan.source.entries), "after": len(plan.session.entries)},
        "bytes": {"before": _bytes(plan.source.items), "after": _bytes(plan.session.items)},
        **details,
    }


def _print(plan: Plan, written: Written | None, violations: tuple[str, ...]) -> None:
    if violations:
        print_message(f"clew: the result is not a valid session and was not written: {'; '.join(violations)}.")
        return
    source, result = plan.source, plan.session
    turns = f"{len(result.turns):,} of {plural(len(source.turns), 'turn')}"
    counts = f"{turns}, {len(result.entries):,} of {plural(len(source.entries), 'entry')}"
    sizes = f"{format_size(_bytes(result.items))} of {format_size(_bytes(source.items))}"
    print(clean_name(f"{'Made' if written else 'Would make'} a session of {source.id[:8]}: {counts}, {sizes}."))
    for step in plan.steps:
        print(clean_name(f"  {step}"))
    if written:
        print(clean_name(written.id))
        print(f"Resume with:  {resume_line(plan, written)}")
        if is_terminal():
            print(f"Undo with:  clew undo {written.number}", file=sys.stderr)


def resume_line(plan: Plan, written: Written) -> str:
    """Return the shell command that resumes the new session."""
    cwd = plan.cwd or plan.source.cwd
    return shell_quoting.resume_command(written.id, cwd or "")


def _bytes(items: Any) -> int:
    return sum(item.line.stop - item.line.start for item in items)
