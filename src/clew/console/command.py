"""Commands: what a slash at the prompt can do beyond prompts, skills and `/compact`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from clew.chat.compose import Session, Wishes
from clew.chat.hook import Hooks
from clew.chat.model import named
from clew.console.complete import Named
from clew.console.face import Face
from clew.console.menu import Menu, Option
from clew.console.outcome import todo_rows
from clew.conversation.open import read
from clew.conversation.outline import Outline
from clew.view.document import Row
from clew.view.plain import ago, one_line, tokens
from clew.wire.place import Project, slugs

MODELS = (("sonnet", "for most work"), ("opus", "for the hardest"), ("haiku", "quick and cheap"))
MOST_SESSIONS = 200


@dataclass(frozen=True, slots=True)
class Leave:
    """The person has had enough."""


@dataclass(frozen=True, slots=True)
class Open:
    """Another session is wanted."""

    wishes: Wishes


Done = Leave | Open | None


@dataclass(frozen=True, slots=True)
class At:
    """Where a command is run, and with what."""

    session: Session
    face: Face
    wishes: Wishes
    arguments: str

    def tell(self, title: str, pairs: Sequence[tuple[object, object]]) -> None:
        self.face.put(Row("table", title, facts={"pairs": list(pairs)}))

    def say(self, text: str) -> None:
        self.face.put(Row("about", text))

    def reopen(self, **changed: object) -> Open:
        plain = {"session_id": "", "resume": "", "is_latest": False, "is_fork": False, "at": "", "title": ""}
        mode = self.session.engine.dialogue.mode
        options = replace(self.wishes.options, **{**plain, "mode": mode, **changed})  # type: ignore[arg-type]
        return Open(replace(self.wishes, options=options))


@dataclass(frozen=True, slots=True)
class Command:
    about: str
    run: Callable[[At], Awaitable[Done]]
    hint: str = ""


# -- sessions


async def _clear(at: At) -> Done:
    at.face.wipe()
    return at.reopen()


async def _resume(at: At) -> Done:
    if at.arguments:
        return at.reopen(resume=at.arguments)
    outlines = await asyncio.to_thread(_sessions, at)
    if not outlines:
        at.say("There is no other session of this folder.")
        return None
    options = [Option(one_line(o.title) or o.id[:8], o.id, f"{ago(o.when)} · {o.id[:8]}") for o in outlines]
    chosen = await at.face.choose(Menu("Go on with which session?", options, is_sought=True))
    if chosen is None:
        return None
    at.face.wipe()
    return at.reopen(resume=str(chosen.value))


def _sessions(at: At) -> list[Outline]:
    options = at.wishes.options
    own = at.session.engine.dialogue.session_id
    folders = (Project(options.claude / "projects" / name) for name in slugs(str(options.cwd)))
    files = [f for folder in folders for f in folder.sessions() if not f.is_empty and f.id != own]
    newest = sorted(files, key=lambda f: -f.mtime_ns)[:MOST_SESSIONS]
    return [o for o in map(Outline, newest) if o.is_conversation and not o.is_sidechain]


async def _branch(at: At) -> Done:
    dialogue = at.session.engine.dialogue
    if dialogue.journal.leaf is None:
        at.say("Nothing was said yet that could branch off.")
        return None
    at.say(f"This goes on in a copy. The original stays: clew chat --resume {dialogue.session_id}")
    return at.reopen(resume=dialogue.session_id, is_fork=True, title=at.arguments)


async def _rename(at: At) -> Done:
    if at.arguments:
        at.session.engine.rename(at.arguments)
        at.say(f"The session is now called {at.arguments}.")
    else:
        at.say("Give a title: /rename TITLE")
    return None


async def _leave(at: At) -> Done:
    return Leave()


async def _export(at: At) -> Done:
    from clew.view.about import about
    from clew.view.archive import file_name
    from clew.view.document import Options, rows
    from clew.view.markdown import markdown
    from clew.view.masked import Tally, masked
    from clew.wire.write import place

    path = at.session.engine.dialogue.journal.path
    if not path.exists():
        at.say("There is nothing to export yet.")
        return None
    session, tally = read(path), Tally()
    head = about(session, tally)
    target = at.wishes.options.cwd / (at.arguments or file_name(head, ".md"))
    shown = masked(rows(session, session.turns, Options(lines=None, diff_lines=None)), tally)
    place(target, (f"{piece}\n".encode() for piece in markdown(head, shown)))
    at.say(f"Exported to {target}" + (f", {tally.secrets} secrets masked." if tally.secrets else "."))
    return None


# -- what it is and takes


async def _status(at: At) -> Done:
    engine, options = at.session.engine, at.wishes.options
    dialogue = engine.dialogue
    pairs = [
        ("session", dialogue.session_id),
        ("file", dialogue.journal.path if options.is_kept else "not kept"),
        ("folder", dialogue.state.cwd),
        ("model", dialogue.model),
        ("server", at.wishes.endpoint.base),
        ("mode", dialogue.mode),
        ("trusted", "yes" if at.wishes.is_trusted else "no (clew trust)"),
        ("tools", len(engine.means.tools)),
        ("MCP servers", len(at.session.servers)),
        ("skills and commands", len(at.session.skills)),
    ]
    at.tell("Status", pairs)
    return None


async def _cost(at: At) -> Done:
    tally = at.session.engine.means.tally
    pairs: list[tuple[object, object]] = []
    for model, spent in tally.by_model.items():
        counts = [("in", "inputTokens"), ("out", "outputTokens"), ("cached", "cacheReadInputTokens")]
        counts.append(("to the cache", "cacheCreationInputTokens"))
        told = ", ".join(f"{tokens(spent[name])} {word}" for word, name in counts if spent[name])
        pairs.append((model, f"${spent['costUSD']:.4f}  {told}"))
    pairs.append(("in all", f"${tally.dollars:.4f}" + ("" if tally.is_priced else ", without what has no price")))
    at.tell("Cost since this console began", pairs)
    return None


async def _context(at: At) -> Done:
    from clew.facts.context import UNSENT, context

    dialogue, window = at.session.engine.dialogue, at.session.engine.means.limits.window
    pairs: list[tuple[object, object]] = [
        ("in all", f"{tokens(dialogue.size)} of {tokens(window)} tokens ({dialogue.size / window:.0%})")
    ]
    if dialogue.journal.path.exists():
        found = await asyncio.to_thread(lambda: context(read(dialogue.journal.path)))
        pairs.append(("instructions and tools", tokens(found.scale.base)))
        pairs += [(name, tokens(s.tokens)) for name, s in found.shares.items() if s.tokens and name != UNSENT]
    at.tell("Context", pairs)
    return None


async def _todos(at: At) -> Done:
    todos = at.session.engine.dialogue.state.todos
    if not todos:
        at.say("There are no todos.")
    for row in todo_rows(todos):
        at.face.put(row)
    return None


async def _tasks(at: At) -> Done:
    engine = at.session.engine
    running = [task for task in engine.tasks.values() if task.status == "running"]
    if not running:
        at.say("Nothing runs in the background.")
        return None
    options = [Option(f"Stop {one_line(task.description, 80)}", task.id, task.kind) for task in running]
    chosen = await at.face.choose(Menu("This runs in the background.", options))
    if chosen is not None:
        await engine.stop_task(str(chosen.value))
    return None


# -- what it works with


async def _model(at: At) -> Done:
    engine = at.session.engine
    wanted = at.arguments
    if not wanted:
        options = [Option(f"{name}  ({named(name)})", name, about) for name, about in MODELS]
        options.append(Option("Another", "", takes="name it", opens=True, needs_text=True))
        chosen = await at.face.choose(Menu("Which model?", options, f"Now: {engine.dialogue.model}"))
        if chosen is None:
            return None
        wanted = chosen.text or str(chosen.value)
    engine.use_model(named(wanted))
    at.say(f"From now on {engine.dialogue.model} is asked.")
    return None


async def _permissions(at: At) -> Done:
    word, _, rule = at.arguments.partition(" ")
    if word == "allow" and rule.strip():
        at.session.permissions.remember(rule.strip(), "local")
        at.say(f"From now on allowed in this project: {rule.strip()}")
        return None
    pairs = [(f"{rule.kind} ({rule.scope})", rule.text) for rule in at.session.permissions.rules]
    at.tell("Permissions", pairs or [("no rules", "add one: /permissions allow 'Bash(git log:*)'")])
    return None


async def _memory(at: At) -> Done:
    from pathlib import Path

    from clew.chat.memory import Memories
    from clew.wire.home import user_home

    wishes = at.wishes
    found = Memories(
        wishes.options.cwd, wishes.options.claude, Path(user_home()), wishes.is_trusted, wishes.sources
    ).first()
    pairs = [(f"{m.scope}", f"{m.path} ({tokens(len(m.text) // 4)} tokens)") for m in found]
    at.tell("Memory", pairs or [("none", f"write {wishes.options.cwd / 'CLAUDE.md'}")])
    return None


async def _agents(at: At) -> Done:
    at.tell("Agents", [(kind.name, kind.description) for kind in at.session.kinds.values()])
    return None


async def _hooks(at: At) -> Done:
    hooks = at.session.engine.means.hooks
    found = hooks.hooks if isinstance(hooks, Hooks) else ()
    pairs = [(f"{hook.event} {hook.matcher}".strip(), hook.name) for hook in found]
    at.tell("Hooks", pairs or [("none", "they are set in settings.json")])
    return None


async def _mcp(at: At) -> Done:
    pairs = [
        (s.name, s.error if s.state == "failed" else f"{s.state}, {len(s.tools)} tools") for s in at.session.servers
    ]
    at.tell("MCP servers", pairs or [("none", "name them in .mcp.json, or by --mcp-config")])
    return None


async def _help(at: At) -> Done:
    at.tell("Keys", KEYS)
    named_ones = [(f"/{n.name} {n.hint}".strip(), n.about) for n in known(at.session)]
    at.tell("Commands", named_ones)
    return None


KEYS = (
    ("enter", "send; while the model works, it waits in the queue"),
    ("alt+enter, shift+enter, \\ enter, ctrl+j", "a new line"),
    ("esc", "interrupt; twice on an empty prompt: go back to an earlier one"),
    ("shift+tab", "the next mode: ask, accept edits, plan"),
    ("ctrl+b", "put the running command aside"),
    ("ctrl+o", "show everything, or the beginnings of it"),
    ("up, down, ctrl+r", "what was typed before"),
    ("ctrl+g", "write it in your editor"),
    ("ctrl+c", "interrupt, or empty the prompt; twice: leave"),
    ("ctrl+d", "leave"),
    ("!command", "run it yourself; the model sees what it says"),
    ("@file", "name a file, which the model then reads"),
)
COMMANDS: Mapping[str, Command] = {
    "help": Command("keys and commands", _help),
    "clear": Command("begin a new session", _clear),
    "resume": Command("go on with an earlier session", _resume, "[id]"),
    "branch": Command("go on in a copy of this session", _branch, "[title]"),
    "rename": Command("give the session a title", _rename, "title"),
    "model": Command("ask another model", _model, "[name]"),
    "permissions": Command("what is allowed and refused", _permissions, "[allow rule]"),
    "cost": Command("what it took so far", _cost),
    "context": Command("what fills the model's window", _context),
    "todos": Command("what is to be done", _todos),
    "tasks": Command("what runs in the background, and how to stop it", _tasks),
    "export": Command("write the conversation as Markdown", _export, "[file]"),
    "memory": Command("the notes that the model is given", _memory),
    "agents": Command("the agents that can be sent", _agents),
    "hooks": Command("what runs at which event", _hooks),
    "mcp": Command("the MCP servers", _mcp),
    "status": Command("session, model, server, folder", _status),
    "exit": Command("leave", _leave),
}
_ELSEWHERE = (
    Named("compact", "go on from a summary", "[what matters]"),
    Named("rewind", "go back to an earlier prompt: files, conversation or both"),
)
AT_ONCE = frozenset(
    {
        "help",
        "cost",
        "context",
        "todos",
        "memory",
        "agents",
        "hooks",
        "mcp",
        "status",
        "permissions",
        "rename",
        "export",
    }
)


def known(session: Session | None) -> list[Named]:
    """All that can stand behind a slash."""
    made = [Named(name, each.about, each.hint) for name, each in COMMANDS.items()]
    skills = session.skills.values() if session else ()
    own = [Named(s.name, one_line(s.description), s.hint) for s in skills if s.for_person and s.name not in COMMANDS]
    return [*made, *_ELSEWHERE, *own]
