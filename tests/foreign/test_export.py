"""Sessions exported to another program: what `import` reads back is the same conversation."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.cli.share.export import TARGET_NAMES
from clew.conversation.load import request, sessions
from clew.conversation.resume_request import CONTINUE_PROMPT, NO_RESPONSE
from clew.conversation.session import Session
from clew.demo.demo_tree import write_demo
from clew.demo.talk import talk
from clew.demo.tool_inputs import ToolInput, bash
from clew.errors import Refused
from clew.foreign.formats import FORMATS
from clew.foreign.outgoing import prepare
from clew.foreign.targets import TARGETS
from clew.foreign.write_import import draft_import
from clew.wire.json_codec import encode
from clew.wire.layout import Tree
from tests.foreign.logs import PIXEL

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
TRAPS = (  # texts that the import of a program would interpret, if it did not know that clew wrote them
    "<environment_context>\n  <cwd>/elsewhere</cwd>\n</environment_context>",
    "<turn_aborted>\nStopped.",
    "# AGENTS.md instructions",
    '{"output": "x", "metadata": {"exit_code": 3}}',
    "Exit code: 7\nWall time: 1 second\nOutput:\nnothing",
    "Good\u2028morning \x1b[31mred \ud83d\ude00",
)


def exported(session: Session, folder: Path, name: str) -> Path:
    target, conversation = TARGETS[name], prepare(session, reveal=True)
    path = folder / target.file_name(conversation)
    path.write_bytes(b"".join(encode(line) + b"\n" for line in target.build(conversation)))
    return path


def imported(path: Path, name: str) -> Session:
    [conversation] = FORMATS[name].read(path)
    assert conversation.problems == ()
    draft = draft_import(conversation, Tree(path.parent), conversation.cwd or "/home/ada")
    assert draft.violations == ()
    return draft.session


def said(session: Session) -> list[Any]:
    """What a resume sends of a session, without thinking and without what closes an unfinished turn.

    A message of the system counts as one of the user.
    """
    parts: list[Any] = []
    for message in request(session).messages:
        speaker = "model" if message["role"] == "assistant" else "user"
        for block in message["content"]:
            match block if isinstance(block, dict) else {"type": "text", "text": block}:
                case {"type": "text", "text": text} if text.strip():
                    parts.append((speaker, text))
                case {"type": "tool_use", "id": id, "name": call, "input": given}:
                    parts.append((id, call, given))
                case {"type": "tool_result", "tool_use_id": id, **rest}:
                    content = rest.get("content") or ""
                    if isinstance(content, list) and len(content) == 1 and content[0]["type"] == "text":
                        content = content[0]["text"]
                    parts.append((id, content, bool(rest.get("is_error"))))
                case {"type": "image"}:
                    parts.append((speaker, block["source"]))
    closing = [("user", CONTINUE_PROMPT), ("model", NO_RESPONSE)]
    while parts and parts[-1] in closing:
        parts.pop()
    return parts


@pytest.mark.parametrize("name", TARGETS)
def test_an_exported_session_is_imported_as_the_same_conversation(name: str, tmp_path: Path) -> None:
    tree = write_demo(tmp_path / "claude", datetime.now(UTC))
    count = 0
    for session in sessions(claude=tree.root):
        back = imported(exported(session, tmp_path, name), name)
        assert said(back) == said(session), session.id
        assert (back.cwd or "").casefold() == (session.cwd or "").casefold()
        count += 1
    assert count > 15


TEXTS = st.one_of(st.sampled_from(TRAPS), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40))
BLOCKS = st.one_of(st.just(IMAGE), TEXTS.map(lambda text: {"type": "text", "text": text}))
TODO = st.fixed_dictionaries({"content": TEXTS, "status": st.just("pending"), "activeForm": TEXTS})
MORE = {"timeout": st.integers(1, 9000), "description": TEXTS, "run_in_background": st.booleans()}
CALLS = st.one_of(
    st.tuples(st.just("Bash"), st.fixed_dictionaries({"command": TEXTS}, optional=MORE)),
    st.tuples(st.just("TodoWrite"), st.fixed_dictionaries({"todos": st.lists(TODO, max_size=2)})),
    st.tuples(st.sampled_from(["mcp__garden__water", "Nope"]), st.dictionaries(TEXTS, TEXTS | st.integers(0, 99))),
)
USES = st.tuples(CALLS, TEXTS | st.lists(BLOCKS, min_size=1, max_size=3), st.booleans())
STEPS = st.lists(
    st.tuples(TEXTS | st.lists(BLOCKS, min_size=1, max_size=2), TEXTS, st.none() | USES), min_size=1, max_size=4
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_any_conversation_survives_the_way_there_and_back(tmp_path: Path, steps: list[Any]) -> None:
    made = talk().user("Begin.").reply("Ready.")  # a conversation without a first prompt gets a note from the import
    for prompt, answer, use in steps:
        made = made.user(prompt)
        if use:
            [(name, given_input), outcome, is_error] = use
            is_error = is_error and isinstance(outcome, str)
            call = ToolInput(name, given_input)
            made = made.reply(answer, call=call).result(outcome, error=is_error, detail={})
        made = made.reply(answer)
    session = Session(b"".join(encode(line) + b"\n" for line in made.data()))
    for name in TARGETS:
        path = exported(session, tmp_path, name)
        assert said(imported(path, name)) == said(session)
        path.unlink()


def test_what_cannot_go_along_is_named_and_replaced() -> None:
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}}
    made = talk().user([document, {"type": "text", "text": "Read this."}]).reply("Done.", thinking="Hm.")
    conversation = prepare(Session(b"".join(encode(line) + b"\n" for line in made.data())))
    assert [(each.kind, each.count) for each in conversation.left_out] == [("thought", 1), ("document", 1)]
    assert conversation.messages[0].blocks[0] == {"type": "text", "text": "[document]"}


def test_secrets_are_masked_unless_they_are_revealed() -> None:
    key = "sk-ant-api03-" + "aB3dE6gH" * 11 + "-xyzAA"
    made = (
        talk()
        .user(f"Use {key}")
        .reply("ok", call=bash(f"curl -H 'x-api-key: {key}'"))
        .result(f"{key} is bad")
        .reply("No.")
    )
    session = Session(b"".join(encode(line) + b"\n" for line in made.data()))
    masked, revealed = prepare(session), prepare(session, reveal=True)
    assert masked.masked == 3 and key not in repr(masked)
    assert revealed.masked == 0 and repr(revealed).count(key) >= 3
    assert masked.id != revealed.id


def test_codex_gets_its_own_names_for_the_tools_that_it_has(tmp_path: Path) -> None:
    made = talk().user("Look").reply(call=bash("ls", timeout=5)).result("a").reply("Done.")
    path = exported(Session(b"".join(encode(line) + b"\n" for line in made.data())), tmp_path, "codex")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    [call] = [line for line in lines if line["payload"].get("type") == "function_call"]
    assert call["payload"]["name"] == "shell_command"
    assert json.loads(call["payload"]["arguments"]) == {"command": "ls", "description": "Run ls", "timeout_ms": 5}
    assert call["clew"]["name"] == "Bash"
    assert [line["ordinal"] for line in lines] == list(range(len(lines)))


def test_every_target_can_be_named_and_imported() -> None:
    assert tuple(TARGETS) == TARGET_NAMES
    assert TARGETS.keys() <= FORMATS.keys()


def test_a_file_without_a_conversation_is_refused() -> None:
    with pytest.raises(Refused, match="no conversation"):
        prepare(Session(b'{"type":"summary","summary":"x","leafUuid":"y"}\n'))
