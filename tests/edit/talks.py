"""Random conversations: every verb of the builder, in any order that a program could have written."""

from __future__ import annotations

from hypothesis import strategies as st

from clew.demo.talk import Talk, bash, edit, read, talk, task

WORDS = st.sampled_from(["go", "look at x.py", "why?", "修正して", "a\nb\nc", '<b>&amp;</b> \\ "quoted"', "🙂"])
VERSIONS = st.sampled_from(["2.0.50", "2.1.29", "2.1.45", "2.1.232", "2.1.325"])
CALLS = st.sampled_from([bash("ls"), bash("make test", "Run the tests"), read("/home/ada/garden/x.py", "x = 1\n")])
OUTPUTS = st.sampled_from(["ok", "", "line\n" * 40, "x" * 400])


@st.composite
def talks(draw: st.DrawFn, most: int = 5) -> Talk:
    """A session of some turns, perhaps with branches, a compaction, agents and lines that nobody knows."""
    told = talk(version=draw(VERSIONS), seed=draw(st.integers(0, 3)))
    for number in range(draw(st.integers(1, most))):
        if number and draw(st.integers(0, 5)) == 0:
            told = told.rewind(to=draw(st.integers(1, max(1, told.turn))))
        told = _turn(draw, told)
        told = _aside(draw, told)
    return told


def _turn(draw: st.DrawFn, told: Talk) -> Talk:
    if draw(st.integers(0, 4)) == 0:
        told = told.snapshot({f"/home/ada/garden/x{told.made}.py": "x = 1\n"})
    told = told.user(draw(WORDS))
    for _ in range(draw(st.integers(0, 3))):
        told = _round(draw, told)
    match draw(st.integers(0, 6)):
        case 0:
            return told.interrupt()
        case 1:
            return told
        case _:
            told = told.reply(draw(WORDS), thinking=draw(st.none() | st.just("Hm.")))
            return told.turn_duration() if draw(st.booleans()) else told


def _round(draw: st.DrawFn, told: Talk) -> Talk:
    """A reply with calls, and their results in some order."""
    if draw(st.integers(0, 7)) == 0:
        child = talk().user("Find it.").reply(call=bash("ls")).result("x").reply("Found.")
        return told.reply(call=task("Find", "Find it.")).agent(0, child)
    calls = draw(st.lists(CALLS, min_size=1, max_size=3))
    told = told.reply(draw(st.none() | WORDS), thinking=draw(st.none() | st.just("So.")), calls=calls)
    if draw(st.integers(0, 3)) == 0:
        told = told.progress("bash_progress", call=0, output="so far")
    for index in draw(st.permutations(range(len(calls)))):
        told = told.result(draw(OUTPUTS), for_=index, error=draw(st.integers(0, 5)) == 0)
    return told


def _aside(draw: st.DrawFn, told: Talk) -> Talk:
    match draw(st.integers(0, 12)):
        case 0:
            return told.title("The gate")
        case 1:
            return told.last_prompt()
        case 2:
            return told.queue("enqueue", "wait")
        case 3:
            return told.line({"type": "never-seen", "value": 1, "sessionId": told.session_id})
        case 4:
            return told.compact("In short.", keep=draw(st.none() | st.just(2)))
        case 5:
            return told.user([{"type": "text", "text": "see"}], images=[b"\x89PNG\r\n\x1a\n"])
        case 6:
            return told.reply("an edit", call=edit("/home/ada/garden/x.py", "x = 1", "x = 2")).result("no", error=True)
        case _:
            return told
