"""Stories of a chess-clock app on Windows: a clock that drifts, and a session file that was damaged."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from clew.demo.line_script import NewestLines, encode_line
from clew.demo.stories.story import CLOCK, ask, close, scene
from clew.demo.talk import Talk, bash, edit, read, tool

TICKER = """\
public sealed class Ticker
{
    private readonly TimeSpan step = TimeSpan.FromMilliseconds(100);

    public TimeSpan Left { get; private set; }

    public Ticker(TimeSpan left) => Left = left;

    public void Tick()
    {
        Left -= step;
    }
}
"""

PATH = f"{CLOCK}\\src\\Ticker.cs"


def drift(begin: datetime) -> Talk:
    """A clock that loses time, fixed with the time that there is."""
    told = ask(
        scene("drift", CLOCK, begin, branch="master", entrypoint="claude-vscode"),
        "After a five minute game both clocks together show 5:07. Blitz players notice.",
    )
    told = told.reply(
        thinking="Counting ticks instead of reading a clock: each tick is late by a little.", call=read(PATH, TICKER)
    ).result()
    told = told.reply(
        "The clock counts ticks of 100 ms and believes them. Windows delivers them every 100 to 116 ms, and the "
        "difference is yours to keep. I'd measure instead of counting.",
        call=edit(
            PATH,
            "    public void Tick()\n    {\n        Left -= step;\n    }\n",
            "    public void Tick(TimeSpan passed)\n    {\n        Left -= passed;\n    }\n",
        ),
    ).result()
    told = told.reply(
        call=edit(PATH, "    private readonly TimeSpan step = TimeSpan.FromMilliseconds(100);\n\n", "")
    ).result()
    told = told.reply(call=tool("PowerShell", command="dotnet test --nologo -v q", description="Run the tests")).result(
        "Passed!  - Failed: 0, Passed: 31, Skipped: 0",
        detail={"stdout": "Passed!  - Failed: 0, Passed: 31, Skipped: 0", "stderr": "", "interrupted": False},
    )
    told = close(told.reply("31 tests pass. The caller passes the time from `Stopwatch`, which does not drift."))
    told = ask(told, "And when the laptop sleeps in the middle of a game?")
    told = told.reply(
        "Then the stopwatch goes on and somebody loses on time while nobody is looking. The rules of chess are with "
        "the stopwatch on this one, but a dialogue would be kinder."
    )
    return close(told.ai_title("Clock drift in five minute games"))


def damaged(begin: datetime) -> Talk:
    """Written by two programs at once, and by one that crashed: each kind of damage that was seen in real files."""
    told = scene("damaged", CLOCK, begin, version="2.1.45", branch="master")
    told = ask(told, "Add an increment of two seconds per move.")
    told = told.reply("Where is a move finished?", call=bash("rg -n OnMove src", "Find moves"))
    told = told.result("src\\Game.cs:44:    void OnMove(Side side)")
    told = _unended(close(told.reply("`OnMove` adds the increment before the other clock starts.")))
    told = ask(told, "Does it add it on the very first move too?")  # two objects on one line
    told = close(told.reply("It did. Now it does not."))
    lost = told.reply("This longer line was written first, by the other window, and only its beginning is left of it.")
    told = told.raw(encode_line(lost.data()[-1])[:300])
    told = ask(told, "Is the increment shown anywhere?")  # an object cut off, a whole one behind it
    told = close(told.reply("In the window's title, where nobody looks during a game."))
    told = told.raw(b"\0" * 96)
    told = ask(told, "One more: show tenths below ten seconds.")  # a crash of the file system
    told = close(told.reply("Below ten seconds the display shows tenths. The panic is now visible to one decimal."))
    told = told.raw(encode_line(lost.data()[-1])[-60:])  # the end of a line whose beginning was written over
    told = ask(told, "Thanks. Remind me to test with the arbiter's rules.").reply(
        "Noted, in a file that deserves better."
    )
    tail = encode_line(close(told).user("And a sound when").data()[-1])
    return told.raw(tail[: len(tail) // 2])


def _unended(told: Talk) -> Talk:
    """The same, but its last line lacks the newline: whoever goes on writes on that line."""
    newest = told.newest
    return replace(told, newest=NewestLines(newest.earlier, encode_line(newest.said)[:-1])) if newest else told
