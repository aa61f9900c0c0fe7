"""The lines that are not talk: progress, hooks, snapshots, titles, boundaries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchmarks.corpus.era import Json, stamp
from benchmarks.corpus.words import Pen

if TYPE_CHECKING:
    from benchmarks.corpus.talk import Talk

HOOK = "node ./scripts/check-hook.js"
MODES = ("default", "acceptEdits", "acceptEdits", "bypassPermissions", "plan", "auto")


def bash_progress(pen: Pen, stdout: str) -> Iterator[Json]:
    """What a running command has printed so far, again and again."""
    lines = stdout.split("\n")
    for at in range(pen.between(1, 8)):
        so_far = "\n".join(lines[: 4 * at + 1])
        yield {
            "type": "bash_progress",
            "output": "\n".join(lines[max(0, 4 * at - 4) : 4 * at + 1]),
            "fullOutput": so_far,
            "elapsedTimeSeconds": 2 + at,
            "totalLines": 4 * at + 1,
        }


def hook_progress(event: str, name: str) -> Json:
    return {"type": "hook_progress", "hookEvent": event, "hookName": name, "command": HOOK}


def agent_progress(message: Json, prompt: str, agent: str, uuid: str, time: str) -> Json:
    """A message of an agent, repeated in the session that began it: with its id and its usage."""
    whole: Json = {"type": "assistant", "message": message, "uuid": uuid, "timestamp": time}
    return {
        "message": whole,
        "type": "agent_progress",
        "prompt": prompt,
        "agentId": agent,
        "normalizedMessages": [],
    }


def after_result(talk: Talk, tool: str, call: str) -> None:
    """What hooks leave behind a result; the next entry hangs below it."""
    era, pen = talk.scene.era, talk.pen
    if era.progress and pen.chance(0.5):
        data = hook_progress("PostToolUse", f"PostToolUse:{tool}")
        talk.parent = talk.progress(data, call, call, talk.parent)
    elif era.attachments and pen.chance(0.18):
        talk.attach(_hook_success(pen, "PostToolUse", f"PostToolUse:{tool}", call))
    elif era.attachments and pen.chance(0.03):
        talk.attach({"type": "task_reminder", "content": [], "itemCount": 0})


def _hook_success(pen: Pen, event: str, name: str, call: str) -> Json:
    text = pen.sentence(12) if pen.chance(0.4) else ""
    return {
        "type": "hook_success",
        "hookName": name,
        "toolUseID": call,
        "hookEvent": event,
        "content": text,
        "stdout": text,
        "stderr": "",
        "exitCode": 0,
        "command": HOOK,
        "durationMs": pen.between(4, 400),
    }


def begin_session(talk: Talk) -> None:
    """The first lines of a file, as the version writes them."""
    era, pen = talk.scene.era, talk.pen
    if era.name == "1.0" and pen.chance(0.4):
        for _ in range(pen.between(1, 3)):
            talk.note({"type": "summary", "summary": pen.title(), "leafUuid": pen.uuid()})
    if era.attachments:
        talk.note({"type": "permission-mode", "permissionMode": pen.pick(MODES), "sessionId": talk.scene.session})
    hook = pen.uuid()
    if era.progress and pen.chance(0.5):
        talk.parent = talk.progress(hook_progress("SessionStart", "SessionStart:startup"), hook, hook, None)
    elif era.attachments and pen.chance(0.5):
        talk.attach(_hook_success(pen, "SessionStart", "SessionStart:startup", hook))


def begin_turn(talk: Talk, text: str | None) -> None:
    """Before a prompt: a snapshot of the files, and the queue if there is a text to show."""
    era, pen, scene = talk.scene.era, talk.pen, talk.scene
    time = stamp(talk.stage.clock)
    if scene.entrypoint.startswith("sdk") and text is not None:
        queue: Json = {"type": "queue-operation", "operation": "enqueue", "timestamp": time}
        talk.note({**queue, "sessionId": scene.session, "content": text})
        talk.note({**queue, "operation": "dequeue", "sessionId": scene.session})
    elif era.snapshots:
        talk.note(_snapshot(talk, pen.uuid(), update=False))


def _snapshot(talk: Talk, message: str, *, update: bool) -> Json:
    pen, time = talk.pen, stamp(talk.stage.clock)
    backups: Json = {}
    for source in talk.stage.project.files[: pen.below(6)]:
        backup: Json = {"backupFileName": f"{pen.hexadecimal(16)}@v{pen.between(1, 5)}", "version": 1}
        backups[source.short] = {**backup, "backupTime": time}
    inner: Json = {"messageId": message, "trackedFileBackups": backups, "timestamp": time}
    outer = pen.uuid() if update else message
    return {
        "type": "file-history-snapshot",
        "messageId": outer,
        "snapshot": inner,
        "isSnapshotUpdate": update,
    }


def after_prompt(talk: Talk, first: bool) -> None:
    """The attachments below a prompt: the whole set once, little afterwards."""
    pen = talk.pen
    if not talk.scene.era.attachments:
        return
    if first:
        names = [pen.name().capitalize() for _ in range(pen.between(5, 30))]
        delta: Json = {
            "type": "deferred_tools_delta",
            "addedNames": names,
            "addedLines": names,
            "removedNames": [],
        }
        talk.attach(delta)
        listing = "\n".join(f"- {pen.name()}-{pen.name()}: {pen.sentence(14)}" for _ in range(pen.between(3, 25)))
        talk.attach({"type": "skill_listing", "content": listing, "skillCount": 12, "isInitial": True})
    if pen.chance(0.3):
        talk.attach(_hook_success(pen, "UserPromptSubmit", "UserPromptSubmit", f"hook-{pen.uuid()}"))
    if pen.chance(0.12):
        source = pen.pick(talk.stage.project.files)
        memory: Json = {"path": source.path, "type": "Project", "content": pen.markdown(60)}
        talk.attach({"type": "nested_memory", "path": source.path, "content": memory, "displayPath": source.short})


def in_turn(talk: Talk) -> None:
    """What may come between two replies."""
    era, pen = talk.scene.era, talk.pen
    if era.snapshots and not era.late and pen.chance(0.08):
        talk.note(_snapshot(talk, pen.uuid(), update=True))
    if era.late and pen.chance(0.05):
        source = pen.pick(talk.stage.project.files)
        backup: Json = {
            "backupFileName": f"{pen.hexadecimal(16)}@v2",
            "version": 2,
            "backupTime": stamp(talk.stage.clock),
        }
        delta: Json = {"type": "file-history-delta", "messageId": pen.uuid(), "snapshotMessageId": pen.uuid()}
        talk.note({**delta, "trackingPath": source.short, "backup": backup, "timestamp": stamp(talk.stage.clock)})
    if era.attachments and pen.chance(0.012):
        talk.attach({"type": "queued_command", "prompt": pen.sentence(9), "commandMode": "prompt"}, "queued")
    if era.name != "1.0" and pen.chance(0.008):
        retry: Json = {"retryInMs": 512.5 + pen.below(900), "retryAttempt": 1, "maxRetries": 10}
        talk.system("api_error", {"level": "error", "error": {"status": 529, "headers": {}}, **retry})


def end_turn(talk: Talk, prompt: str, spent_ms: int) -> None:
    """Behind the last reply of a turn: how long it took, and the state that is written again and again."""
    era, pen, session = talk.scene.era, talk.pen, talk.scene.session
    if era.progress and pen.chance(0.3):
        summary: Json = {"hookCount": 1, "hookInfos": [{"command": HOOK}], "hookErrors": []}
        stop: Json = {
            "preventedContinuation": False,
            "stopReason": "",
            "hasOutput": False,
            "level": "suggestion",
        }
        talk.system("stop_hook_summary", {**summary, **stop, "toolUseID": pen.uuid()})
    if not era.linear and pen.chance(0.6):
        talk.system("turn_duration", {"durationMs": spent_ms, "isMeta": False})
    if not era.titles:
        return
    leaf: Json = {"leafUuid": talk.parent} if era.late else {}
    talk.note({"type": "last-prompt", "lastPrompt": prompt[:200], **leaf, "sessionId": session})
    if era.late:
        talk.note({"type": "ai-title", "aiTitle": pen.title(), "sessionId": session})
        talk.note({"type": "mode", "mode": "normal", "sessionId": session})
        talk.note({"type": "permission-mode", "permissionMode": pen.pick(MODES), "sessionId": session})
    if pen.chance(0.04):
        talk.note({"type": "custom-title", "customTitle": pen.title(), "sessionId": session})
    if pen.chance(0.02):
        link = f"https://git.example/{pen.name()}/pull/{pen.between(1, 900)}"
        pull: Json = {
            "prNumber": 7,
            "prUrl": link,
            "prRepository": pen.name(),
            "timestamp": stamp(talk.stage.clock),
        }
        talk.note({"type": "pr-link", "sessionId": session, **pull})


def rewound(talk: Talk) -> None:
    """What the newest versions write when a person goes back: no leaf is pinned any more."""
    if talk.scene.era.late:
        nobody = "00000000-0000-0000-0000-000000000000"
        talk.note({"type": "last-prompt", "leafUuid": nobody, "explicit": True, "sessionId": talk.scene.session})
