"""Stories of a data pipeline for tide gauges: output too long to keep, a session that moved, one run from a script."""

from __future__ import annotations

from datetime import datetime

from clew.demo.stories.story import TIDES, ask, close, scene
from clew.demo.talk import Talk, bash, edit, read, write

GAPS = '''\
"""Gaps in the series of a gauge."""

from datetime import datetime, timedelta

STEP = timedelta(minutes=10)


def gaps(times: list[datetime]) -> list[tuple[datetime, datetime]]:
    found = []
    for before, after in zip(times, times[1:]):
        if after - before > STEP:
            found.append((before, after))
    return found
'''


def overflow(begin: datetime) -> Talk:
    """A command that prints more than the model should read: the output lies in a file of its own."""
    told = ask(
        scene("overflow", TIDES, begin, version="2.1.325"), "Which stations had gaps in March? List all of them."
    )
    rows = [
        f"2026-03-{1 + i % 31:02d} station {100 + i % 37} gap {10 + i * 7 % 240:3d} min  {'storm' if i % 5 else 'service'}"
        for i in range(700)
    ]
    output = "\n".join(rows)
    name = "b7kq2m9xd.txt"
    place = f"/home/ada/.claude/projects/-srv-data-tide-gauge/{told.session_id}/tool-results/{name}"
    shown = (
        f"<persisted-output>\nOutput too large ({len(output) // 1024}KB). Full output saved to: {place}\n\n"
        f"Preview (first 2KB):\n{output[:2000]}\n...\n</persisted-output>"
    )
    detail = {
        "stdout": output[:3000],
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "persistedOutputPath": place,
        "persistedOutputSize": len(output),
    }
    told = told.reply("This may be long.", call=bash("python -m tides gaps --month 2026-03", "List gaps"))
    told = told.result(shown, detail=detail)
    told = told.file(f"{{project}}/{{session}}/tool-results/{name}", output.encode())
    told = told.reply(
        call=bash(f"cut -d' ' -f3 {place} | sort | uniq -c | sort -rn | head -3", "Count by station")
    ).result("     19 136\n     19 135\n     19 134")
    told = close(told.reply("37 stations, 700 gaps. It was a windy March; one in five gaps is a service visit."))
    told = ask(told, "Remember that station 112 is the one in the harbour, not on the pier.")
    told = told.reply(call=write(_MEMORY_PATH, MEMORY)).result()
    return close(told.reply("Noted in the project's memory."))


_MEMORY_PATH = "/home/ada/.claude/projects/-srv-data-tide-gauge/memory/MEMORY.md"
MEMORY = """\
# Tide gauges

- Station 112 is the one in the harbour, not on the pier.
- All times are UTC. The pier writes local time and pretends otherwise.
"""


def moved(begin: datetime) -> Talk:
    """Begun with one version in one folder, gone on with another in another; summed up by hand in between."""
    told = scene("moved", TIDES, begin, version="2.1.29", branch="main", name="ebbing-counting-limpet")
    told = ask(told, "Gaps across midnight are not found. Why?")
    told = told.reply(call=read(f"{TIDES}/tides/gaps.py", GAPS)).result()
    told = told.reply(
        "They are; but the loader gives one list per day, so the gap between two days is in neither list. "
        "The loop is right, the lists are wrong.",
    )
    told = close(told)
    told = ask(told, "Then chain the days before looking.")
    told = told.reply(
        call=edit(
            f"{TIDES}/tides/gaps.py",
            "    for before, after in zip(times, times[1:]):\n        if after - before > STEP:\n"
            "            found.append((before, after))\n    return found\n",
            "    for before, after in pairwise(times):\n        if after - before > STEP:\n"
            "            found.append((before, after))\n    return found\n",
        )
    ).result()
    told = told.reply(
        call=edit(
            f"{TIDES}/tides/gaps.py",
            "from datetime import datetime, timedelta\n",
            "from datetime import datetime, timedelta\nfrom itertools import pairwise\n",
        )
    ).result()
    told = close(told.reply("`pairwise` over the chained days. Eleven gaps that slept at midnight are now awake."))
    told = told.compact(
        "Summary of the conversation so far.\n\nGaps across midnight were missed because days were loaded one by one. "
        "`gaps.py` now uses `pairwise` over chained days; eleven more gaps are found.",
        trigger="manual",
    )
    told = told.command("compact", "", "Compacted")
    told = told.change(cwd=f"{TIDES}/reports", version="2.1.232", branch="reports", model="claude-opus-5").pause(days=2)
    told = ask(told, "Put the new gaps into the monthly report.")
    told = told.reply(call=bash("ls", "List reports")).result("2026-02.md\n2026-03.md\ntemplate.md")
    return close(told.reply("They are in `2026-03.md`, under the storms, where most of them belong."))


def scripted(begin: datetime) -> Talk:
    """Run from a script, without a person at the keyboard."""
    told = scene("scripted", TIDES, begin, version="2.1.325", entrypoint="sdk-cli", permission_mode="dontAsk")
    prompt = "Check last night's import and answer with OK or one sentence."
    told = told.queue("enqueue", prompt).queue("dequeue")
    told = told.user(prompt, promptSource="sdk", turnOrigin="sdk")
    told = told.reply(call=bash("python -m tides check --since yesterday", "Check the import")).result(
        "37 stations, 5328 rows, 0 rejected"
    )
    return told.reply("OK").last_prompt()
