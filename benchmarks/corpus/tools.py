"""Calls and their results, shaped as the tools of Claude Code shape them, with made-up content.

The same text is in a result twice, as in real files: in the `tool_result` block and in `toolUseResult`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from benchmarks.corpus.era import Era, Json
from benchmarks.corpus.files import (
    Project,
    edit_file,
    edit_many,
    find_files,
    read_file,
    search_files,
    write_file,
)
from benchmarks.corpus.needles import Planned
from benchmarks.corpus.words import Pen

EXACT_BASH = (
    "git status --short",
    "git diff --stat",
    "npm run build 2>&1 | tail -40",
    "ls -la",
    "cargo check",
)
SERVERS = (
    "tracker__get_issue",
    "tracker__list_comments",
    "browser__read_page",
    "database__query",
    "notes__search",
)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool use with its result, before it has ids."""

    name: str
    input: Json
    content: object = ""  # of the tool_result block
    result: object = None  # toolUseResult
    failed: bool = False
    answered: bool = True
    planted: tuple[Planned, ...] = field(default=())  # needles in input or result
    stdout: str = ""  # for progress lines


@dataclass(frozen=True, slots=True)
class Task:
    """What a call is made from."""

    pen: Pen
    project: Project
    era: Era
    room: int  # characters of text that fit

    def size(self, median: float, sigma: float, high: int) -> int:
        return self.pen.spread(median, sigma, 20, min(high, self.room))


def make_call(task: Task) -> Call:
    """A call of some tool, as often as real sessions use it."""
    pen = task.pen
    call = _pick(task)(task)
    return _fail(task, call) if pen.chance(0.09 if call.name == "Bash" else 0.04) else call


def needle_call(task: Task, inside: Planned | None, outside: Planned | None) -> Call:
    """A Bash call with a needle in its command, its output or both, and nowhere else."""
    pen = task.pen
    command = f"rg -n -e {pen.identifier()}"
    if inside is not None:
        command = f"rg -n --fixed-strings '{_weave(pen, inside)}' src/ | head -{pen.between(10, 50)}"
    stdout = pen.log(task.size(300, 0.5, 2000))
    if outside is not None:
        stdout = f"{stdout}\n{pen.words(4)} {_weave(pen, outside)} {pen.words(3)}\n{pen.log(100)}"
    call = _bash_call(task, command, stdout)
    planted = tuple(needle for needle in (inside, outside) if needle is not None)
    return replace(call, planted=planted, stdout="")


def weave(pen: Pen, text: str, needle: Planned) -> str:
    """The text with the needle behind it and a few words more."""
    return f"{text} {_weave(pen, needle)} {pen.words(5)}"


def _weave(pen: Pen, needle: Planned) -> str:
    if needle.kind == "cjk":
        return pen.han(9) + needle.text + pen.han(7)
    return needle.text


def bash(task: Task) -> Call:
    pen = task.pen
    roll = pen.rng.random()
    if roll < 0.3:
        command = pen.pick(EXACT_BASH)
    elif roll < 0.6:
        test = f'tests/{pen.identifier()}.py -q -k "{pen.name()} or {pen.name()}"'
        command = f"cd {task.project.cwd} && pytest {test}"
    elif roll < 0.8:
        command = f"rg -n '{pen.identifier()}' {pen.pick(task.project.files).short} | head -{pen.between(5, 60)}"
    else:
        body = "\n".join(pen.code(pen.between(3, 12), "py"))
        command = f"cat <<'EOF' > /tmp/{pen.identifier()}.py\n{body}\nEOF\npython /tmp/{pen.identifier()}.py"
    return _bash_call(task, command, pen.log(task.size(1200, 1.3, 28_000)))


def _bash_call(task: Task, command: str, stdout: str) -> Call:
    pen = task.pen
    given: Json = {"command": command, "description": pen.sentence(6)[:-1]}
    if pen.chance(0.19):
        given["timeout"] = pen.pick((60_000, 120_000, 300_000))
    result: Json = {"stdout": stdout, "stderr": "", "interrupted": False, "isImage": False}
    if task.era.progress or task.era.attachments:
        result["noOutputExpected"] = False
    return Call("Bash", given, stdout, result, stdout=stdout)


def read(task: Task) -> Call:
    given, content, result = read_file(task.pen, task.project, arrow=not task.era.late, room=task.room)
    return Call("Read", given, content, result)


def edit(task: Task) -> Call:
    given, content, result = edit_file(task.pen, task.project, snippet=task.era.linear, room=task.room)
    return Call("Edit", given, content, result)


def multi_edit(task: Task) -> Call:
    given, content, result = edit_many(task.pen, task.project, room=task.room)
    return Call("MultiEdit", given, content, result)


def write(task: Task) -> Call:
    given, content, result = write_file(task.pen, task.project, room=task.room)
    return Call("Write", given, content, result)


def grep(task: Task) -> Call:
    given, content, result = search_files(task.pen, task.project, room=task.room)
    return Call("Grep", given, content, result)


def glob(task: Task) -> Call:
    given, content, result = find_files(task.pen, task.project)
    return Call("Glob", given, content, result)


def todo(task: Task) -> Call:
    pen = task.pen
    if task.era.tasks:
        return _task_tool(pen)
    count, done = pen.between(3, 8), pen.below(3)
    states = ["completed"] * done + ["in_progress"] + ["pending"] * count
    items = [
        {"content": (text := pen.sentence(7)[:-1]), "status": state, "activeForm": f"Doing {text}"}
        for state in states[:count]
    ]
    content = "The list of todos was changed. Go on with the next one if there is one."
    return Call("TodoWrite", {"todos": items}, content, {"oldTodos": items[:done], "newTodos": items})


def _task_tool(pen: Pen) -> Call:
    number = str(pen.between(1, 12))
    if pen.chance(0.35):
        subject = pen.sentence(6)[:-1]
        given: Json = {"subject": subject, "description": pen.sentence(20), "activeForm": f"Doing {subject}"}
        return Call(
            "TaskCreate",
            given,
            f"Made task {number}: {subject}",
            {"task": {"id": number, "subject": subject}},
        )
    given = {"taskId": number, "status": pen.pick(("in_progress", "completed"))}
    result: Json = {
        "success": True,
        "taskId": number,
        "updatedFields": ["status"],
        "statusChange": {"from": "pending", "to": given["status"]},
    }
    return Call("TaskUpdate", given, f"Task {number}: status changed", result)


def web_search(task: Task) -> Call:
    pen = task.pen
    query = pen.words(7)
    links = [
        {"title": pen.title(), "url": f"https://{pen.name()}.example/{pen.name()}/{pen.identifier()}"} for _ in range(8)
    ]
    text = pen.markdown(task.size(900, 0.7, 6000) // 6)
    listed = "\n".join(f"- [{link['title']}]({link['url']})" for link in links)
    result: Json = {
        "query": query,
        "results": [{"tool_use_id": "srvtoolu_01" + pen.token(22), "content": links}, text],
        "durationSeconds": round(3 + 20 * pen.rng.random(), 3),
    }
    return Call("WebSearch", {"query": query}, f'Results for "{query}":\n{listed}\n\n{text}', result)


def web_fetch(task: Task) -> Call:
    pen = task.pen
    url = f"https://{pen.name()}.example/docs/{pen.identifier()}?page={pen.between(1, 90)}"
    text = pen.markdown(task.size(1800, 0.8, 9000) // 6)
    result: Json = {
        "bytes": pen.between(4000, 400_000),
        "code": 200,
        "codeText": "OK",
        "result": text,
        "durationMs": pen.between(300, 9000),
        "url": url,
    }
    return Call("WebFetch", {"url": url, "prompt": pen.sentence(15)}, text, result)


def mcp(task: Task) -> Call:
    pen = task.pen
    name = "mcp__" + pen.pick(SERVERS)
    body = ",\n".join(f'  "{pen.identifier()}": "{pen.name()} {pen.below(9999)}"' for _ in range(pen.between(4, 40)))
    blocks = [{"type": "text", "text": f"{{\n{body}\n}}"}]
    if pen.chance(0.04) and task.room > 40_000:
        source = {
            "type": "base64",
            "media_type": "image/png",
            "data": pen.base64(pen.spread(12_000, 0.5, 2000, 28_000)),
        }
        image: Json = {"type": "image", "source": source}
        return Call(name, {"id": pen.identifier()}, [image, *blocks], [image, *blocks])
    return Call(name, {"id": pen.identifier(), "limit": pen.below(50)}, blocks, blocks)


def _fail(task: Task, call: Call) -> Call:
    """The same call, gone wrong: the result is a string, and says so twice."""
    pen = task.pen
    if call.name == "Bash":
        text = f"Exit code {pen.pick((1, 1, 1, 2, 127, 128))}\n{pen.log(task.size(300, 1.0, 4000))}"
        return replace(call, content=text, result=f"Error: {text}", failed=True, stdout="")
    text = f"{pen.sentence(9)} {pen.identifier()}"
    return replace(call, content=f"<tool_use_error>{text}</tool_use_error>", result=f"Error: {text}", failed=True)


Maker = Callable[[Task], Call]
WEIGHTS: tuple[tuple[Maker, int], ...] = (
    (bash, 390),
    (read, 230),
    (edit, 140),
    (grep, 65),
    (write, 44),
    (mcp, 30),
    (glob, 29),
    (todo, 40),
    (web_search, 16),
    (web_fetch, 9),
)
_MAKERS: list[Maker] = [maker for maker, weight in WEIGHTS for _ in range(weight)]


def _pick(task: Task) -> Maker:
    maker = task.pen.pick(_MAKERS)
    if maker in (edit, write) and not task.project.fitting(task.room):
        return bash  # no room for a whole file any more
    if maker is edit and task.era.name == "1.0" and task.pen.chance(0.2):
        return multi_edit
    return maker
