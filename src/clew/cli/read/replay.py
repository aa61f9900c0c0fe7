"""`clew replay`: play a session in the terminal, record it, or run it again and compare."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable, Iterator, Sequence

from clew.cli.options import add_common_options, parse_count, parse_number
from clew.cli.output import clean_name, is_terminal, print_json, print_message, write_new_file
from clew.cli.turn_range import add_turn_options, select_turns, selects_part
from clew.system.plural import plural
from clew.view.depths import DEPTHS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.conversation.session import Session
    from clew.view.mask_rows import MaskCount
    from clew.view.playback.frames import Frame, Playing

_CLEAR = "\x1b[2J\x1b[H"
_WIPE = "\r\x1b[2K"
_KEYS = "space pause · . step · [ ] turn · 3g go to turn 3 · + - speed · q quit"


def add_arguments(command: ArgumentParser) -> None:

    command.add_argument(
        "id", nargs="?", help="a session: its id, the beginning of it, or a path (default: the newest here)"
    )
    command.add_argument("--speed", metavar="X", type=_positive, default=1.0, help="play X times as fast (default 1)")
    command.add_argument(
        "--max-idle",
        metavar="S",
        type=parse_number,
        default=2.0,
        help="seconds that nothing happens, at most (default 2)",
    )
    command.add_argument("--jump", metavar="N", type=parse_count, help="begin at this turn")
    command.add_argument("--depth", choices=DEPTHS, default="calls", help="how much of it (default: calls)")
    command.add_argument("--thinking", "-t", action="store_true", help="also what the model thought")
    command.add_argument("--no-agents", action="store_true", help="leave out what sub-agents did")
    add_turn_options(command)
    command.add_argument("--reveal", action="store_true", help="do not mask secrets")
    command.add_argument(
        "--record",
        metavar="FILE",
        help="write it to a new file (0600): .cast for asciinema, .html for a page, .json for clew mock to serve",
    )
    command.add_argument(
        "--check", action="store_true", help="go through it again with clew's own engine, and compare what it writes"
    )
    command.add_argument(
        "--live", action="store_true", help="go through it again with tools that run, in a copy of the project"
    )
    command.add_argument("--folder", metavar="DIR", help="--live: the project (default: the folder of the session)")
    command.add_argument("--in-place", action="store_true", help="--live: in the project itself, not in a copy")
    command.add_argument(
        "--allow", metavar="RULE", action="append", default=[], help="--live: also run such calls, as Bash(make:*)"
    )
    command.add_argument("--output", "-o", metavar="DIR", help="--check, --live: write the result to new files")
    add_common_options(command)


def run(options: Namespace) -> int:
    from clew.cli.select_session import open_session

    session = open_session(options, options.id, archived=True)
    if options.check or options.live or options.output:
        from clew.cli.read.replay_check import check

        return check(session, options)
    if options.folder or options.in_place or options.allow:
        print_message("clew: --folder, --in-place and --allow are for --live.")
        return 2
    if options.record:
        return _record(session, options)
    frames = list(_frames(session, options))
    if options.json:
        return 0 if print_json(map(_frame_json, frames)) else 1
    if not frames:
        print_message("This session has no messages.")
        return 1
    return _play(frames, options) if is_terminal() and sys.stdin.isatty() else _print(frames)


def _frames(session: Session, options: Namespace, tally: MaskCount | None = None) -> Iterator[Frame]:
    from clew.view.mask_rows import mask_rows
    from clew.view.playback.frames import player_rows, time_frames
    from clew.view.rows import ViewOptions

    is_full = options.depth == "full"
    view = ViewOptions(
        depth=options.depth,
        thinking=options.thinking,
        agents=not options.no_agents,
        lines=None if is_full else 12,
        diff_lines=None if is_full else 40,
    )
    rows = player_rows(session, select_turns(session, options), view, not selects_part(options))
    return time_frames(rows if options.reveal else mask_rows(rows, tally), options.max_idle)


def _frame_json(frame: Frame) -> dict[str, object]:
    row = frame.row
    return {"kind": "frame", "at": frame.at, "turn": frame.turn, "row": row.kind, "depth": row.depth, "text": row.text}


def _print(frames: Iterable[Frame]) -> int:
    """Print everything without pauses, because the output is not a terminal."""
    from clew.view.row_terminal import plain_pieces

    sys.stdout.writelines(plain_pieces(frame.row for frame in frames))
    return 0


# -- recordings


def _record(session: Session, options: Namespace) -> int:
    from pathlib import Path

    from clew.view.header import describe_session
    from clew.view.mask_rows import MaskCount

    path = Path(options.record)
    if path.suffix.lower() not in (".cast", ".html", ".htm", ".json"):
        print_message("clew: a recording is a .cast, an .html or a .json file. Name one with --record FILE.cast.")
        return 2
    tally = None if options.reveal else MaskCount()
    head = describe_session(session, tally)
    frames = _frames(session, options, tally)
    parts: Iterable[bytes]
    if path.suffix.lower() == ".cast":
        from clew.view.playback.asciicast import asciicast_lines

        parts = asciicast_lines(frames, head.title, head.started)
    elif path.suffix.lower() == ".json":
        parts = _script(session, tally)
    else:
        from clew.view.playback.player_page import player_page

        parts = (part.encode("utf-8", "replace") for part in player_page(head, frames))
    write_new_file(path, parts)
    if options.json:
        print_json([{"kind": "recorded", "session": session.id, "path": str(path.resolve())}])
    else:
        print(clean_name(str(path.resolve())))
    if tally and tally.secrets and not options.quiet:
        print_message(f"Secrets were masked in {plural(tally.secrets, 'place')}. --reveal leaves them.")
    return 0


def _script(session: Session, tally: MaskCount | None) -> Iterator[bytes]:
    from clew.chat.replay.load_recording import load_recording
    from clew.chat.replay.recording_script import build_script
    from clew.facts.secrets.mask_secrets import mask_data
    from clew.wire.json_codec import decode, encode

    script_value = decode(encode(build_script(load_recording(session))))
    if tally is not None:
        script_value, secrets = mask_data(script_value)
        tally.secrets += secrets
    yield encode(script_value) + b"\n"


# -- the player


def _play(frames: Sequence[Frame], options: Namespace) -> int:
    from clew.cli.key_reader import read_keys
    from clew.view.playback.frames import Playing

    playing = Playing(frames, speed=options.speed)
    screen = _Screen(playing)
    with read_keys() as pressed:
        if options.jump is not None:
            screen.show(playing.jump(options.jump).frames, clears=True)
        try:
            while not playing.is_over:
                screen.status()
                began = time.monotonic()
                pressed_keys = pressed(playing.wait())
                screen.show(playing.pass_time(time.monotonic() - began))
                for key in pressed_keys:
                    shown = playing.press(key)
                    screen.show(shown.frames, shown.clears)
                    if shown.ends:
                        return 0
        finally:
            screen.wipe()
    return 0


class _Screen:
    """The terminal: frames below each other, and a line of state that is always the last."""

    def __init__(self, playing: Playing) -> None:
        self._playing = playing
        self._last = max(frame.turn for frame in playing.frames)

    def show(self, frames: Sequence[Frame], clears: bool = False) -> None:
        import shutil

        from clew.system.terminal_style import stdout_style
        from clew.view.row_terminal import render_row

        width = shutil.get_terminal_size().columns
        drawn = "".join(render_row(frame.row, width, stdout_style()) for frame in frames)
        sys.stdout.write((_CLEAR if clears else _WIPE if drawn else "") + drawn)
        sys.stdout.flush()

    def status(self) -> None:
        import shutil

        from clew.system.terminal_style import stdout_style
        from clew.view.sanitize import format_duration, one_line

        now = self._playing
        sign = "⏸" if now.is_paused else "▶"
        clock = f"{format_duration(now.clock)}/{format_duration(now.length)}"
        where = f"{sign} {now.speed:g}×  turn {now.turn}/{self._last}  {clock}"
        typed = f"  go to {now.typed}" if now.typed else ""
        line = one_line(f"{where}{typed}  {_KEYS}", max(20, shutil.get_terminal_size().columns - 1))
        sys.stdout.write(_WIPE + stdout_style()(line, "quiet"))
        sys.stdout.flush()

    def wipe(self) -> None:
        sys.stdout.write(_WIPE)
        sys.stdout.flush()


def _positive(text: str) -> float:
    value = parse_number(text, unit="times")
    if not value:
        raise ArgumentTypeError("a speed is more than 0")
    return value
