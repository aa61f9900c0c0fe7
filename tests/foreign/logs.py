"""Made-up logs of other programs, all of the same talk about a garden, in every form that is read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Json = dict[str, Any]

CWD = "/home/ada/garden"
FIRST, SECOND = "Which beds are dry?", "And this one?"
LOOK, ANSWER, FINE = "Let me look.", "The north bed is dry.", "It looks fine."
COMMAND, OUTPUT = "cat beds.txt", "north: dry\nsouth: wet\n"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE = f"data:image/png;base64,{PIXEL}"
THREAD = "0199aaaa-1111-7222-8333-444455556666"
PATCH = "*** Begin Patch\n*** Add File: plan.txt\n+water north\n*** End Patch\n"
CHANGE = "*** Begin Patch\n*** Update File: plan.txt\n@@\n-water north\n+water the north bed\n*** End Patch\n"


def written(path: Path, lines: Iterable[Json | list[Any] | str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def at(second: int) -> str:
    return f"2026-03-01T09:00:{second:02}.000Z"


# -- Codex


def codex_items() -> list[tuple[int, Json]]:
    """Each item with its second."""
    said = {"type": "message", "role": "assistant"}
    asked = {"type": "message", "role": "user"}
    context = f"<environment_context>\n  <cwd>{CWD}</cwd>\n</environment_context>"
    return [
        (0, {**asked, "content": [{"type": "input_text", "text": context}]}),
        (1, {**asked, "content": [{"type": "input_text", "text": FIRST}]}),
        (2, {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Beds."}], "encrypted_content": "Z0FB"}),
        (3, {**said, "content": [{"type": "output_text", "text": LOOK}]}),
        (4, _shell("call_1", ["bash", "-lc", COMMAND])),
        (5, {"type": "function_call_output", "call_id": "call_1", "output": _wrapped(OUTPUT, 0)}),
        (6, {"type": "custom_tool_call", "call_id": "call_2", "name": "apply_patch", "input": PATCH}),
        (7, {"type": "custom_tool_call", "call_id": "call_3", "name": "apply_patch", "input": CHANGE}),
        (8, {"type": "custom_tool_call_output", "call_id": "call_3", "output": _wrapped("Success.", 0)}),
        (8, {"type": "custom_tool_call_output", "call_id": "call_2", "output": _wrapped("Success.", 0)}),
        (9, _shell("call_4", ["false"])),
        (10, {"type": "function_call_output", "call_id": "call_4", "output": _wrapped("", 1)}),
        (11, {**said, "content": [{"type": "output_text", "text": ANSWER}]}),
        (
            20,
            {
                **asked,
                "content": [{"type": "input_text", "text": SECOND}, {"type": "input_image", "image_url": IMAGE}],
            },
        ),
        (21, {**said, "content": [{"type": "output_text", "text": FINE}]}),
    ]


def _shell(id: str, command: list[str]) -> Json:
    given = json.dumps({"command": command, "workdir": CWD, "timeout_ms": 1000})
    return {"type": "function_call", "name": "shell", "arguments": given, "call_id": id}


def _wrapped(output: str, code: int) -> str:
    return json.dumps({"output": output, "metadata": {"exit_code": code, "duration_seconds": 0.1}})


def codex_document(folder: Path) -> Path:
    """The document of the first program: indented, without times of its items."""
    session = {"timestamp": at(0), "id": THREAD, "instructions": ""}
    path = folder / f"rollout-2026-03-01-{THREAD}.json"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"session": session, "items": [item for _, item in codex_items()]}, indent=2))
    return path


def codex_old(folder: Path) -> Path:
    """Bare items behind a header."""
    head = {"id": THREAD, "timestamp": at(0), "instructions": None, "git": {"branch": "spring"}}
    items = [item for _, item in codex_items()]
    return written(_rollout(folder), [head, {"record_type": "state"}, *items])


def codex(folder: Path) -> Path:
    """Items in envelopes, with events that repeat them and counts of tokens."""
    git = {"branch": "spring", "commit_hash": "abc"}
    meta = {"id": THREAD, "cwd": CWD, "cli_version": "0.50.0", "instructions": "Be kind.", "git": git}
    lines: list[Json] = [{"timestamp": at(0), "type": "session_meta", "payload": meta}]
    lines.append({"timestamp": at(0), "type": "turn_context", "payload": {"cwd": CWD, "model": "gpt-5"}})
    total = 0
    for second, item in codex_items():
        lines.append({"timestamp": at(second), "type": "response_item", "payload": item})
        if item.get("role") == "user":
            event = {"type": "user_message", "message": "said again"}
            lines.append({"timestamp": at(second), "type": "event_msg", "payload": event})
        if second in (4, 7, 9, 11, 21):
            total += 1
            lines += [_count(second, total), _count(second, total)]
    return written(_rollout(folder), lines)


def _count(second: int, number: int) -> Json:
    last = {"input_tokens": 1000 + number, "cached_input_tokens": 300, "output_tokens": 40}
    info = {"total_token_usage": {"total_tokens": number * 1000}, "last_token_usage": last}
    return {"timestamp": at(second), "type": "event_msg", "payload": {"type": "token_count", "info": info}}


def codex_new(folder: Path) -> Path:
    """With ordinals, records of usage, a world state, unified commands, a plan and a broken turn."""
    meta = {"session_id": THREAD, "id": THREAD, "cwd": CWD, "cli_version": "0.166.0", "git": {"branch": "spring"}}
    told = "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 3\nOutput:\nno hose"
    plan = json.dumps({"plan": [{"step": "water", "status": "in_progress"}]})
    asked = {"type": "message", "role": "user"}
    said = {"type": "message", "role": "assistant"}
    usage = {"input_tokens": 1000, "cached_input_tokens": 300, "cache_write_input_tokens": 50, "output_tokens": 40}
    payloads: list[tuple[str, Json]] = [
        ("session_meta", meta),
        ("event_msg", {"type": "task_started", "turn_id": "t1"}),
        (
            "response_item",
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Rules."}]},
        ),
        ("world_state", {"full": True}),
        ("turn_context", {"cwd": CWD, "model": "gpt-5"}),
        ("response_item", {**asked, "content": [{"type": "input_text", "text": FIRST}]}),
        ("response_item", {**said, "content": [{"type": "output_text", "text": LOOK}]}),
        ("response_item", _called("call_1", "exec_command", json.dumps({"cmd": COMMAND}))),
        ("response_item", _called("call_2", "update_plan", plan)),
        ("token_usage_record", {"usage": usage}),
        ("response_item", {"type": "function_call_output", "call_id": "call_1", "output": told}),
        ("response_item", {"type": "function_call_output", "call_id": "call_2", "output": "Plan updated"}),
        ("event_msg", {"type": "item_completed", "item": {"type": "AgentMessage"}}),
        ("response_item", _called("call_5", "write_stdin", '{"chars": "y"}')),
        ("event_msg", {"type": "turn_aborted", "reason": "interrupted"}),
        ("response_item", {**asked, "content": [{"type": "input_text", "text": "<turn_aborted>\nStopped."}]}),
        ("response_item", {**asked, "content": [{"type": "input_text", "text": SECOND}]}),
        ("response_item", {"type": "web_search_call", "action": {"query": "hose"}, "status": "completed"}),
        ("response_item", {**said, "content": [{"type": "output_text", "text": FINE}]}),
        ("token_usage_record", {"usage": usage}),
    ]
    lines = [
        {"timestamp": at(n), "ordinal": n, "type": kind, "payload": payload}
        for n, (kind, payload) in enumerate(payloads)
    ]
    return written(_rollout(folder), lines)


def _called(id: str, name: str, given: str) -> Json:
    return {"type": "function_call", "name": name, "arguments": given, "call_id": id}


def codex_compacted(folder: Path) -> Path:
    path = codex(folder)
    history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Prompts so far."}]}]
    payload = {"message": "North was dry.", "replacement_history": history}
    asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And now?"}]}
    with path.open("a") as file:
        file.write(json.dumps({"timestamp": at(30), "type": "compacted", "payload": payload}) + "\n")
        file.write(json.dumps({"timestamp": at(31), "type": "response_item", "payload": asked}) + "\n")
    return path


def _rollout(folder: Path) -> Path:
    return folder / "sessions" / "2026" / "03" / "01" / f"rollout-2026-03-01T09-00-00-{THREAD}.jsonl"


# -- OpenCode


def opencode_records() -> tuple[Json, list[tuple[Json, list[Json]]]]:
    info = {
        "id": "ses_1",
        "directory": CWD,
        "title": "Dry beds",
        "version": "1.1.31",
        "time": {"created": 1772355600000},
    }
    tokens = {"input": 700, "output": 30, "reasoning": 10, "cache": {"read": 300, "write": 0}}
    done = {"status": "completed", "metadata": {"exit": 0}, "title": COMMAND, "time": {"end": 1772355604000}}
    change = {"filePath": f"{CWD}/plan.txt", "oldString": "water north", "newString": "water the north bed"}
    answer = {"role": "assistant", "modelID": "sonnet-x", "providerID": "mock", "path": {"cwd": CWD}}
    return info, [
        (
            _message("msg_1", 1, {"role": "user"}),
            [
                {"type": "text", "synthetic": True, "text": "Called the Read tool."},
                {"type": "text", "text": FIRST},
                {"type": "file", "mime": "text/plain", "filename": "beds.txt", "url": "file:///beds.txt"},
            ],
        ),
        (
            _message("msg_2", 2, {**answer, "tokens": tokens}),
            [
                {"type": "step-start", "snapshot": "abc"},
                {"type": "reasoning", "text": "Beds."},
                {"type": "text", "text": LOOK},
                _tool(
                    "call_1", "bash", {**done, "input": {"command": COMMAND, "description": "look"}, "output": OUTPUT}
                ),
                _tool("call_2", "edit", {**done, "input": change, "output": "Edited."}),
                _tool("call_3", "read", {"status": "error", "input": {"filePath": "none.txt"}, "error": "Not found."}),
                {"type": "step-finish", "reason": "tool-calls", "tokens": {**tokens, "total": 1040}},
                {"type": "patch", "hash": "abc", "files": ["plan.txt"]},
            ],
        ),
        (_message("msg_3", 3, answer), [{"type": "text", "text": ANSWER}, {"type": "step-finish", "tokens": tokens}]),
        (
            _message("msg_4", 4, {"role": "user"}),
            [{"type": "text", "text": SECOND}, {"type": "file", "mime": "image/png", "url": IMAGE}],
        ),
        (
            _message("msg_5", 5, {**answer, "tokens": tokens}),
            [
                {"type": "text", "text": FINE},
                _tool("call_9", "bash", {"status": "running", "input": {"command": "sleep"}}),
            ],
        ),
    ]


def _message(id: str, second: int, body: Json) -> Json:
    return {"id": id, "sessionID": "ses_1", "time": {"created": 1772355600000 + second * 1000}, **body}


def _tool(id: str, name: str, state: Json) -> Json:
    return {"type": "tool", "callID": id, "tool": name, "state": state}


def opencode_files(folder: Path) -> Path:
    info, messages = opencode_records()
    root = folder / "opencode" / "storage"
    for message, parts in messages:
        written(root / "message" / "ses_1" / f"{message['id']}.json", [message])
        for number, part in enumerate(parts):
            written(root / "part" / message["id"] / f"prt_{number}.json", [part])
    return written(root / "session" / "global" / "ses_1.json", [info])


def opencode_first(folder: Path) -> Path:
    """The oldest form: below `session/`, with the parts of a message inside it."""
    root = folder / "opencode" / "project" / "garden" / "storage" / "session"
    call = {
        "toolCallId": "call_1",
        "toolName": "bash",
        "args": {"command": COMMAND},
        "state": "result",
        "result": OUTPUT,
    }
    parts = [{"type": "text", "text": LOOK}, {"type": "tool-invocation", "toolInvocation": call}]
    first = {"role": "user", "parts": [{"type": "text", "text": FIRST}]}
    written(root / "message" / "ses_1" / "msg_1.json", [_message("msg_1", 1, first)])
    second = {"role": "assistant", "modelID": "m", "path": {"cwd": CWD}, "parts": parts}
    written(root / "message" / "ses_1" / "msg_2.json", [_message("msg_2", 2, second)])
    return written(root / "info" / "ses_1.json", [{"id": "ses_1", "title": "New session - 2026"}])


def opencode_database(folder: Path) -> Path:
    info, messages = opencode_records()
    path = folder / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE session (id, directory, title, version, revert, time_updated)")
        base.execute("CREATE TABLE message (id, session_id, time_created, data)")
        base.execute("CREATE TABLE part (id, message_id, session_id, data)")
        row = (info["id"], CWD, info["title"], "1.18.33", None, 5)
        base.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?)", row)
        for number, (message, parts) in enumerate(messages):
            base.execute("INSERT INTO message VALUES (?, 'ses_1', ?, ?)", (message["id"], number, json.dumps(message)))
            for place, part in enumerate(parts):
                named = (f"prt_{number}{place}", message["id"], json.dumps(part))
                base.execute("INSERT INTO part VALUES (?, ?, 'ses_1', ?)", named)
    base.close()
    return path


def opencode_export(folder: Path) -> Path:
    info, messages = opencode_records()
    told = {"info": info, "messages": [{"info": message, "parts": parts} for message, parts in messages]}
    return written(folder / "export.json", [told])


# -- Gemini CLI


def gemini_messages() -> list[Json]:
    tokens = {"input": 1000, "output": 30, "cached": 300, "thoughts": 10, "tool": 0, "total": 1040}
    thought = {"subject": "Beds", "description": "I look at the beds.", "timestamp": at(2)}
    model = {"type": "gemini", "model": "gemini-x", "tokens": tokens}
    calls = [
        _gemini_call("look_1", "run_shell_command", {"command": COMMAND}, {"output": OUTPUT}, "success"),
        _gemini_call(
            "edit_1",
            "replace",
            {"file_path": f"{CWD}/plan.txt", "instruction": "x", "old_string": "water north", "new_string": "water"},
            {"output": "Edited."},
            "success",
        ),
        _gemini_call("read 1", "read_file", {"absolute_path": f"{CWD}/none.txt"}, {"error": "Not found."}, "error"),
    ]
    return [
        {"id": "m0", "timestamp": at(0), "type": "info", "content": "Update available."},
        {"id": "m1", "timestamp": at(1), "type": "user", "content": FIRST},
        {"id": "m2", "timestamp": at(2), "content": LOOK, "thoughts": [thought], "toolCalls": calls, **model},
        {"id": "m3", "timestamp": at(3), "content": ANSWER, **model},
        {
            "id": "m4",
            "timestamp": at(4),
            "type": "user",
            "content": [{"text": SECOND}, {"inlineData": {"mimeType": "image/png", "data": PIXEL}}],
        },
        {"id": "m5", "timestamp": at(5), "content": FINE, **model},
    ]


def _gemini_call(id: str, name: str, given: Json, response: Json, status: str) -> Json:
    result = [{"functionResponse": {"id": id, "name": name, "response": response}}]
    return {"id": id, "name": name, "args": given, "result": result, "status": status, "timestamp": at(2)}


def gemini(folder: Path) -> Path:
    record = {"sessionId": THREAD, "projectHash": "abc", "startTime": at(0), "summary": "Dry beds"}
    path = _chat(folder, "json")
    return written(path, [json.dumps({**record, "messages": gemini_messages()}, indent=2)])


def gemini_lines(folder: Path) -> Path:
    """The log of changes: messages written again, said again, and taken back."""
    messages = gemini_messages()
    context = {
        "id": "c",
        "timestamp": at(0),
        "type": "user",
        "content": [{"text": "<session_context>\nHi</session_context>"}],
    }
    late = {"id": "r", "timestamp": at(3), "type": "user", "content": messages[2]["toolCalls"][0]["result"]}
    lines: list[Json] = [{"sessionId": THREAD, "projectHash": "abc", "startTime": at(0), "kind": "main"}]
    lines.append({"$set": {"messages": [context]}})
    lines += [messages[0], messages[1], {**messages[2], "toolCalls": []}, messages[2], late, messages[3]]
    lines += [{"id": "x", "timestamp": at(4), "type": "user", "content": "Wrong words"}, {"$rewindTo": "x"}]
    return written(_chat(folder, "jsonl"), [*lines, messages[4], messages[5], {"$set": {"summary": "Dry beds"}}])


def gemini_checkpoint(folder: Path) -> Path:
    call = {"functionCall": {"name": "run_shell_command", "args": {"command": COMMAND}}}
    result = {"functionResponse": {"name": "run_shell_command", "response": {"output": OUTPUT}}}
    history = [
        {
            "role": "user",
            "parts": [{"text": f"<session_context>\nworking in the directory: {CWD}\n</session_context>"}],
        },
        {"role": "user", "parts": [{"text": FIRST}]},
        {"role": "model", "parts": [{"text": "Beds.", "thought": True}, {"text": LOOK}, call]},
        {"role": "user", "parts": [result]},
        {"role": "model", "parts": [{"text": ANSWER}]},
        {"role": "user", "parts": [{"text": SECOND}]},
        {"role": "model", "parts": [{"text": FINE}]},
    ]
    return written(folder / "tmp" / "abc" / "checkpoint-dry.json", [history])


def gemini_logs(folder: Path) -> Path:
    rows = [
        {"sessionId": THREAD, "messageId": n, "type": "user", "message": words, "timestamp": at(n)}
        for n, words in enumerate((FIRST, "/help", SECOND))
    ]
    return written(folder / "tmp" / "abc" / "logs.json", [rows])


def _chat(folder: Path, suffix: str) -> Path:
    root = folder / "tmp" / "garden"
    written(root / ".project_root", [CWD])
    return root / "chats" / f"session-2026-03-01T09-00-0199aaaa.{suffix}"


# -- aider


def aider(folder: Path) -> Path:
    edit = "plan.txt\n```\n<<<<<<< SEARCH\nwater north\n=======\n#### Water\n> the north bed\n>>>>>>> REPLACE\n```"
    lines = [
        "\n# aider chat started at 2026-03-01 09:00:00\n",
        "> Aider v0.86.2  ",
        "> Main model: openai/gpt-4o with diff edit format  ",
        "> Git repo: .git with 3 files  \n",
        "#### /add beds.txt  \n",
        "> Added beds.txt to the chat.  \n",
        "#### Which beds  ",
        "#### are dry?  \n",
        f"{ANSWER}\n\n{edit}\n",
        "> Tokens: 2.4k sent, 1.1k cache hit, 21 received. Cost: $0.0062 message, $0.0062 session.  ",
        "> Applied edit to plan.txt  \n",
        f"#### /ask {SECOND}  \n",
        f"{FINE}\n",
        "> Tokens: 3k sent, 9 received.  ",
        "\n# aider chat started at 2026-03-02 10:00:00\n",
        "> Aider v0.86.2  \n",
        "#### Good morning  \n",
        "Good morning to you.\n",
    ]
    response = "\n".join(f"ASSISTANT {line}" for line in f"{ANSWER}\n\n{edit}".split("\n"))
    written(
        folder / ".aider.llm.history",
        ["TO LLM 2026-03-01T09:00:01", "USER hi", "LLM RESPONSE 2026-03-01T09:00:07", response],
    )
    return written(folder / ".aider.chat.history.md", lines)


# -- gptme


def gptme(folder: Path) -> Path:
    """Calls by the API."""
    usage = {"input_tokens": 700, "output_tokens": 40, "cache_read_tokens": 300}
    meta = {"model": "openai/gpt-4o", "served_model": "gpt-4o", "usage": usage}
    call = f'<think>\nBeds.\n</think>\n\n{LOOK}\n@shell(call_1): {{"command": "{COMMAND}"}}'
    save = f'@save(call_2): {{"path": "{CWD}/plan.txt", "content": "water (north): {{\\"now\\"}}"}}'
    hidden = {"pinned": True, "hide": True}
    lines: list[Json] = [
        {"role": "system", "content": "You are gptme v0.35.1, a helper.", "timestamp": at(0)[:-1], **hidden},
        {"role": "system", "content": f"**Working Directory:** {CWD}", "timestamp": at(0)[:-1], **hidden},
        {"role": "user", "content": FIRST, "timestamp": at(1)[:-1]},
        {"role": "assistant", "content": f"{call}\n{save}", "timestamp": at(2)[:-1], "metadata": meta},
        {"role": "system", "content": OUTPUT, "timestamp": at(3)[:-1], "call_id": "call_1"},
        {"role": "system", "content": "Error: disk full", "timestamp": at(3)[:-1], "call_id": "call_2"},
        {"role": "assistant", "content": ANSWER, "timestamp": at(4)[:-1], "metadata": meta},
        {"role": "user", "content": "<system>Go on?</system>", "timestamp": at(5)[:-1]},
        {"role": "user", "content": SECOND, "timestamp": at(6)[:-1], "file_hashes": {"/home/ada/a.png": "aa11"}},
        {"role": "assistant", "content": FINE, "timestamp": at(7)[:-1], "metadata": meta},
    ]
    import base64

    place = folder / "logs" / "2026-03-01-dry-beds"
    path = written(place / "conversation.jsonl", lines)
    (place / "files").mkdir()
    (place / "files" / "aa11.png").write_bytes(base64.b64decode(PIXEL))
    return path


def gptme_markdown(folder: Path) -> Path:
    lines: list[Json] = [
        {"role": "system", "content": "You are gptme v0.20.0, a helper.", "timestamp": at(0)[:-1]},
        {"role": "user", "content": FIRST, "timestamp": at(1)[:-1]},
        {"role": "assistant", "content": f"{LOOK}\n\n```shell\n{COMMAND}\n```\n", "timestamp": at(2)[:-1]},
        {"role": "system", "content": f"Ran command: `{COMMAND}`\n\n```stdout\n{OUTPUT}```", "timestamp": at(3)[:-1]},
        {"role": "assistant", "content": ANSWER, "timestamp": at(4)[:-1]},
        {"role": "user", "content": SECOND, "timestamp": at(5)[:-1]},
        {"role": "assistant", "content": FINE, "timestamp": at(6)[:-1]},
    ]
    return written(folder / "logs" / "2026-03-01-dry-beds" / "conversation.jsonl", lines)


# -- in the form of OpenAI's APIs


def openai_messages() -> list[Json]:
    call = {"id": "call_1", "type": "function", "function": {"name": "look_at", "arguments": '{"bed": "north"}'}}
    return [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": FIRST},
        {"role": "assistant", "content": LOOK, "reasoning_content": "Beds.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": OUTPUT},
        {"role": "assistant", "content": ANSWER},
        {
            "role": "user",
            "content": [{"type": "text", "text": SECOND}, {"type": "image_url", "image_url": {"url": IMAGE}}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": FINE}]},
    ]


def openai(folder: Path) -> Path:
    """A message on each line."""
    return written(folder / "log.jsonl", openai_messages())


def openai_requests(folder: Path) -> Path:
    """A request with its response on each line: the second goes on with the first, the third is another talk."""
    messages = openai_messages()
    rows = [
        _logged(messages[:2], messages[2]),
        _logged(messages[:4], messages[4]),
        _logged(messages[:6], messages[6]),
        _logged(
            [{"role": "user", "content": "Good morning"}], {"role": "assistant", "content": "Good morning to you."}
        ),
    ]
    return written(folder / "requests.jsonl", rows)


def _logged(messages: list[Json], answer: Json) -> Json:
    usage = {"prompt_tokens": 1000, "completion_tokens": 40, "prompt_tokens_details": {"cached_tokens": 300}}
    response = {"created": 1772355600, "model": "gpt-4o-2026", "choices": [{"message": answer}], "usage": usage}
    return {"request": {"model": "gpt-4o", "messages": messages}, "response": response}


def openai_responses(folder: Path) -> Path:
    items = [item for _, item in codex_items()][1:]
    return written(folder / "responses.json", [{"model": "gpt-5", "input": items[:-1], "output": items[-1:]}])


def openai_function(folder: Path) -> Path:
    """The first form of calls."""
    messages = [
        {"role": "user", "content": FIRST},
        {"role": "assistant", "content": None, "function_call": {"name": "look_at", "arguments": "{broken"}},
        {"role": "function", "name": "look_at", "content": OUTPUT},
        {"role": "assistant", "content": ANSWER},
        {"role": "user", "content": SECOND},
        {"role": "assistant", "content": None, "refusal": FINE},
    ]
    return written(folder / "chat.json", [{"model": "gpt-3.5", "title": "Dry beds", "messages": messages}])


def sharegpt(folder: Path) -> Path:
    turns = [("system", "Be kind."), ("human", FIRST), ("gpt", ANSWER), ("human", SECOND), ("gpt", FINE)]
    return written(folder / "shared.json", [[{"conversations": [{"from": who, "value": said} for who, said in turns]}]])


WRITERS: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "codex": ("codex", codex),
    "codex, one document": ("codex", codex_document),
    "codex, the first form": ("codex", codex_old),
    "codex, the newest form": ("codex", codex_new),
    "codex, compacted": ("codex", codex_compacted),
    "opencode, files": ("opencode", opencode_files),
    "opencode, the first form": ("opencode", opencode_first),
    "opencode, database": ("opencode", opencode_database),
    "opencode, exported": ("opencode", opencode_export),
    "gemini": ("gemini", gemini),
    "gemini, lines": ("gemini", gemini_lines),
    "gemini, checkpoint": ("gemini", gemini_checkpoint),
    "gemini, logs": ("gemini", gemini_logs),
    "aider": ("aider", aider),
    "gptme": ("gptme", gptme),
    "gptme, markdown": ("gptme", gptme_markdown),
    "openai": ("openai", openai),
    "openai, requests": ("openai", openai_requests),
    "openai, responses": ("openai", openai_responses),
    "openai, functions": ("openai", openai_function),
    "sharegpt": ("openai", sharegpt),
}
