"""`clew race`: send one prompt to several models at the same point of a session, and compare the results."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from clew.cli.chat.model_options import add_model_options
from clew.cli.options import add_common_options
from clew.cli.output import clean_name, print_json, print_message
from clew.errors import NotFound, Refused
from clew.system import shell_quoting
from clew.system.plural import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from clew.chat.events import Event, TurnFinished
    from clew.chat.session_spec import SessionSpec
    from clew.chat.tools.tool import Content
    from clew.conversation.session import Session
    from clew.edit.plan import Plan


class RaceRun:
    """What one model made of it."""

    def __init__(self, model: str, folder: Path, path: Path, finished: TurnFinished) -> None:
        self.model = model
        self.folder = folder
        self.path = path
        self.finished = finished


def add_arguments(command: ArgumentParser) -> None:
    from clew.cli.chat import chat

    command.add_argument("id", help="a session: its id, the beginning of it, or a path")
    command.add_argument("--prompt", metavar="TEXT", default="", help="what to say (default: what was said next there)")
    command.add_argument("--at", metavar="TURN", type=int, help="continue after this turn; 0 is the beginning")
    command.add_argument(
        "--copy", action="store_true", help="let each work in a copy of the folder and edit files there"
    )
    command.add_argument("--depth", choices=("prompts", "replies", "calls", "full"), default="replies")
    command.add_argument("--files", action="store_true", help="compare only the files")
    command.add_argument("--reveal", action="store_true", help="do not mask secrets")
    add_model_options(command)
    chat.rights(command)
    add_common_options(command)


def run(options: Namespace) -> int:
    """Without a copy nothing may be changed: what is not surely harmless is refused."""
    import asyncio

    from clew.cli.select_session import open_session

    source = open_session(options, options.id)
    at, content = _start(source, options.at, options.prompt)
    runs = asyncio.run(_run_all(source, at, content, options))
    if options.json:
        print_json(_run_json(run) for run in runs)
    else:
        for run in runs:
            _print(run)
    for other in runs[1:]:
        _compare(runs[0], other, options)
    return 2 if any(run.finished.is_error for run in runs) else 0


def _start(source: Session, at: int | None, prompt: str) -> tuple[int, Content]:
    """Return how many turns are kept, and what is said then."""
    count = len(source.turns)
    if at is None:
        at = count if prompt else count - 1
    if not 0 <= at <= count or (at == count and not prompt):
        raise NotFound(
            str(at),
            kind="turn",
            hint=(f"The session has {plural(count, 'turn')}: name one with --at, or add a prompt after the last one."),
        )
    return at, prompt or source.turns[at].prompt.data["message"]["content"]


async def _run_all(source: Session, at: int, content: Content, options: Namespace) -> list[RaceRun]:
    import asyncio

    return await asyncio.gather(*(_run(source, at, content, model, options) for model in _models(options)))


def _models(options: Namespace) -> list[str]:
    models = [name.strip() for name in options.model.split(",") if name.strip()]
    if not models:
        raise Refused(["no model is named; name them with --model opus,sonnet"])
    return models


async def _run(source: Session, at: int, content: Content, model: str, options: Namespace) -> RaceRun:
    from msgspec.structs import replace

    from clew.chat.session_factory import open_session
    from clew.chat.store.pending_prompts import UserPrompt

    folder = _folder(source, options.copy)
    kept = _copy_up_to(source, at, folder)
    spec = replace(_spec(options, folder), resume=str(kept) if kept else "", model=model, cwd=folder)

    def print_event(event: Event) -> None:
        _print_event(model, event, options.quiet)

    async with open_session(spec, print_event) as opened:
        finished = await opened.engine.submit(UserPrompt(content))
        return RaceRun(model, folder, opened.engine.conversation.journal.path, finished)


def _folder(source: Session, is_copied: bool) -> Path:
    """Where a model works: where the session did, or in a copy of that."""
    import tempfile
    from pathlib import Path

    from clew.chat.replay.scratch_folder import copy_project

    folder = Path(source.cwd or Path.cwd())
    if not folder.is_dir():
        raise NotFound(
            str(folder),
            kind="folder",
            hint="The session was held there. Move a copy of it to another one: clew clone ID --to FOLDER",
        )
    return copy_project(folder, Path(tempfile.mkdtemp(prefix=f"{folder.name}-"))).resolve() if is_copied else folder


def _copy_up_to(source: Session, at: int, folder: Path) -> Path | None:
    """Return a copy of the session up to a turn; None for a new session."""
    from clew.edit.plan import plan

    if not at:
        return None
    edit: Plan = plan(source).end_with(at)
    return (edit if str(folder) == source.cwd else edit.move(str(folder))).write().path


def _spec(options: Namespace, folder: Path) -> SessionSpec:
    """Return what was asked for here, and for the rest what a chat does by itself."""
    from clew.cli.chat import chat

    usual = ArgumentParser()
    chat.add_arguments(usual)
    asked = Namespace(**{**vars(usual.parse_args([])), **vars(options), "at": ""})
    if not asked.permission_mode:
        asked.permission_mode = "acceptEdits" if options.copy else "dontAsk"
    return chat.session_spec(asked, folder)


# -- output


def _print_event(model: str, event: Event, quiet: bool) -> None:
    from clew.chat import events

    if isinstance(event, events.Notice) and not quiet:
        print_message(f"{model}: {event.text}")


def _print(run: RaceRun) -> None:
    finished = run.finished
    money = f"${finished.cost:.4f}" if finished.cost is not None else "no price"
    took = f"{plural(finished.turns, 'reply')}, {finished.milliseconds / 1000:.1f} s"
    print(clean_name(f"{run.model}  {took}, {plural(finished.usage.get('output_tokens', 0), 'token')} out, {money}"))
    print(f"  {shell_quoting.resume_command(run.path.stem, str(run.folder))}")
    for error in finished.errors:
        print_message(f"{run.model}: {error}")


def _run_json(run: RaceRun) -> dict[str, Any]:
    from clew.chat.sdk.result_json import result

    result_value = result(run.finished, run.path.stem, "")
    return {"kind": "run", "model": run.model, "folder": str(run.folder), "path": str(run.path), "result": result_value}


def _compare(first: RaceRun, other: RaceRun, options: Namespace) -> None:
    from msgspec.structs import replace

    from clew.cli.read import compare
    from clew.conversation.load import read
    from clew.view.comparison import Comparison, conversation_path

    ways = [replace(conversation_path(read(run.path)), name=run.model, root=str(run.folder)) for run in (first, other)]
    comparison = Comparison(*ways)
    if options.json:
        print_json(compare.comparison_json(comparison, options.reveal))
    else:
        print()
        compare.print_comparison(comparison, options)
