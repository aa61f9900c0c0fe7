"""Details: what each kind of entry says beyond the fields that all share."""

from __future__ import annotations

from typing import Any

import pytest

from clew.conversation.session import Session
from clew.conversation.turns import total_duration
from clew.demo.talk import bash, talk
from clew.wire import entry_types as d
from clew.wire.entry import Entry, read
from clew.wire.entry_types import detail, tag_text
from clew.wire.json_codec import decode, encode


def entry(**fields: Any) -> Entry:
    (item,) = read(encode(fields))
    assert isinstance(item, Entry)
    assert item.data == fields
    return item


def system(subtype: str, **fields: Any) -> Entry:
    return entry(type="system", subtype=subtype, uuid="u", parentUuid=None, **fields)


@pytest.mark.req("R060", "R061")
@pytest.mark.parametrize(
    ("fields", "shape"),
    [
        ({"type": "summary", "summary": "s", "leafUuid": "l"}, d.SummaryDetail),
        ({"type": "queue-operation", "operation": "enqueue"}, d.QueueOperation),
        ({"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}, d.FileHistorySnapshot),
        ({"type": "file-history-delta", "messageId": "m"}, d.SnapshotDelta),
        ({"type": "system", "subtype": "compact_boundary"}, d.Compaction),
        ({"type": "system", "subtype": "turn_duration"}, d.TurnDuration),
        ({"type": "system", "subtype": "local_command"}, d.LocalCommand),
        ({"type": "system", "subtype": "api_error"}, d.ApiFailure),
        ({"type": "system", "subtype": "stop_hook_summary"}, d.StopHooks),
        ({"type": "system", "subtype": "informational", "content": "c"}, d.SystemNotice),
        ({"type": "system", "content": "before there were subtypes"}, d.SystemNotice),
        ({"type": "progress", "data": {"type": "bash_progress"}}, d.ProgressDetail),
        ({"type": "pr-link", "prNumber": 1}, d.PrLink),
        ({"type": "attachment", "attachment": {"type": "date"}}, d.Attachment),
        ({"type": "last-prompt", "leafUuid": "l"}, d.LastPrompt),
        ({"type": "custom-title", "customTitle": "t"}, d.CustomTitle),
        ({"type": "cost-state", "totalCostUSD": 1}, d.CostState),
    ],
)
def test_each_kind_has_its_shape(fields: dict[str, Any], shape: type[d.EntryDetail]) -> None:
    assert type(detail(entry(**fields))) is shape


@pytest.mark.req("R060", "R052")
def test_messages_and_unknown_kinds_have_none_and_stay_whole() -> None:
    assert detail(entry(type="user", message={"content": "x"})) is None
    assert detail(entry(type="assistant", message={"content": []})) is None
    assert detail(entry(type="hologram", depth=[1])) is None
    assert detail(entry(no="type")) is None


# -- the queue


@pytest.mark.req("R065", "R066")
@pytest.mark.parametrize("operation", ["enqueue", "dequeue", "remove", "popAll", "shuffle"])
def test_a_queue_operation_has_no_place_in_the_graph_and_any_word(operation: str) -> None:
    found = entry(type="queue-operation", operation=operation, timestamp="2026-01-05T09:00:00.000Z", sessionId="s")
    assert (found.uuid, found.parent) == (None, None)
    queued = d.QueueOperation.of(found)
    assert (queued.operation, queued.text, queued.reason) == (operation, "", "")


@pytest.mark.req("R066")
def test_what_was_queued_is_a_text_or_blocks() -> None:
    blocks = [{"type": "text", "text": "b"}, {"type": "image", "source": {}}, {"type": "text", "text": "c"}]
    assert d.QueueOperation.of(entry(type="queue-operation", operation="enqueue", content="a")).text == "a"
    assert d.QueueOperation.of(entry(type="queue-operation", operation="enqueue", content=blocks)).text == "b\n\nc"
    removed = entry(type="queue-operation", operation="remove", content="a", reason="absorbed_mid_turn")
    assert d.QueueOperation.of(removed).reason == "absorbed_mid_turn"


# -- snapshots


def snapshot(tracked: Any, *, update: bool = False, outer: str = "m1", inner: str = "m1") -> d.FileHistorySnapshot:
    body = {"messageId": inner, "trackedFileBackups": tracked, "timestamp": "2026-01-05T09:00:00.000Z"}
    found = detail(entry(type="file-history-snapshot", messageId=outer, snapshot=body, isSnapshotUpdate=update))
    assert isinstance(found, d.FileHistorySnapshot)
    return found


@pytest.mark.req("R068", "R069")
def test_a_snapshot_names_its_message_and_the_backups() -> None:
    saved = {"backupFileName": "ab12@v2", "version": 2, "backupTime": "2026-01-05T08:59:00.000Z", "realParentDir": "/a"}
    gone = {"backupFileName": None, "version": 1, "backupTime": "2026-01-05T08:58:00.000Z"}
    found = snapshot({"src/a.py": saved, "/abs/b.py": gone})
    assert (found.message_id, found.inner_message_id, found.is_update) == ("m1", "m1", False)
    assert found.timestamp == "2026-01-05T09:00:00.000Z"
    assert found.backups == {
        "src/a.py": d.Backup("ab12@v2", 2, "2026-01-05T08:59:00.000Z", "/a"),
        "/abs/b.py": d.Backup(None, 1, "2026-01-05T08:58:00.000Z"),
    }


@pytest.mark.req("R070")
def test_an_older_form_has_the_content_itself() -> None:
    assert snapshot({"a.py": "print(1)\n"}).backups == {"a.py": d.Backup(content="print(1)\n")}


def test_a_field_named_like_ours_is_not_taken_for_content() -> None:
    assert snapshot({"a.py": {"(content)": "x", "content": "y", "version": 1}}).backups["a.py"].content is None


@pytest.mark.req("R071")
@pytest.mark.parametrize("tracked", [{}, None, [], "x"])
def test_an_empty_snapshot_tracks_nothing(tracked: Any) -> None:
    assert snapshot(tracked).backups == {}


@pytest.mark.req("R072")
def test_an_update_may_name_another_message_outside_than_inside() -> None:
    found = snapshot({}, update=True, outer="tool line", inner="prompt")
    assert (found.is_update, found.message_id, found.inner_message_id) == (True, "tool line", "prompt")


def test_a_delta_adds_one_file() -> None:
    backup = {"backupFileName": "cd34@v1", "version": 1, "backupTime": "2026-01-05T09:00:00.000Z"}
    found = d.SnapshotDelta.of(
        entry(type="file-history-delta", messageId="t", snapshotMessageId="p", trackingPath="a.py", backup=backup)
    )
    assert (found.message_id, found.snapshot_message_id, found.path) == ("t", "p", "a.py")
    assert found.backup == d.Backup("cd34@v1", 1, "2026-01-05T09:00:00.000Z")


# -- titles and links


@pytest.mark.req("R074", "R075")
def test_several_summaries_may_name_leaves_of_other_files() -> None:
    lines = [{"type": "summary", "summary": f"title {i}", "leafUuid": f"elsewhere {i}"} for i in range(3)]
    session = Session(b"\n".join(map(encode, lines)) + b"\n" + talk().user("hi").reply("hello").bytes())
    found = [d.SummaryDetail.of(e) for e in session.entries if e.type == "summary"]
    assert [(s.summary, s.leaf) for s in found] == [(f"title {i}", f"elsewhere {i}") for i in range(3)]
    assert len(session.turns) == 1
    assert session.damage == ()


@pytest.mark.req("R082")
def test_pull_requests_are_listed() -> None:
    said = talk().user("hi").reply("done").pr_link(7, "ada/garden").user("more").pr_link(8, "ada/garden")
    links = [(d.PrLink.of(e), e.time) for e in Session(said.bytes()).entries if e.type == "pr-link"]
    assert [(link.number, link.url, link.repository) for link, _ in links] == [
        (7, "https://github.com/ada/garden/pull/7", "ada/garden"),
        (8, "https://github.com/ada/garden/pull/8", "ada/garden"),
    ]
    assert all(time is not None for _, time in links)


def test_state_lines_are_typed() -> None:
    assert d.LastPrompt.of(entry(type="last-prompt", lastPrompt="p", leafUuid="l", explicit=True)).explicit
    assert d.AiTitle.of(entry(type="ai-title", aiTitle="t")).title == "t"
    assert d.AgentName.of(entry(type="agent-name", agentName="n")).name == "n"
    assert d.Mode.of(entry(type="mode", mode="normal")).mode == "normal"
    assert d.PermissionMode.of(entry(type="permission-mode", permissionMode="plan")).permission_mode == "plan"
    assert d.ToolsUsed.of(entry(type="tools-used", tools=["Bash"])).tools == ["Bash"]
    tree = entry(type="worktree-state", worktreeSession={"worktreePath": "/w", "originalCwd": "/o"})
    assert d.WorktreeState.of(tree).worktree_path == "/w"
    assert d.WorktreeState.of(entry(type="worktree-state", worktreeSession=None)).worktree_path == ""
    cost = entry(type="cost-state", totalCostUSD=0.0123, totalAPIDuration=5, modelUsage={"m": {"costUSD": 1}})
    assert d.CostState.of(cost).total_cost == 0.0123
    assert decode(d.CostState.of(cost).model_usage) == {"m": {"costUSD": 1}}


# -- system entries


@pytest.mark.req("R076")
@pytest.mark.parametrize("subtype", ["away_summary", "bridge_status", "microcompact_boundary", "something_new"])
def test_any_other_subtype_is_a_notice(subtype: str) -> None:
    assert detail(system(subtype, content="c", level="info", more=[1])) == d.SystemNotice("c", "info")


@pytest.mark.req("R077")
@pytest.mark.parametrize(
    ("trigger", "cause"),
    [("auto", "auto"), ("manual", "manual"), ("context_limit", "auto"), ("whim", "whim"), ("", "")],
)
def test_a_boundary_tells_why_and_how_much(trigger: str, cause: str) -> None:
    found = d.Compaction.of(system("compact_boundary", compactMetadata={"trigger": trigger, "preTokens": 155_000}))
    assert (found.trigger, found.cause, found.pre_tokens) == (trigger, cause, 155_000)
    assert found.messages is None


@pytest.mark.req("R077")
def test_a_boundary_may_keep_messages_or_say_nothing() -> None:
    kept = {
        "trigger": "auto",
        "preTokens": 9,
        "postTokens": 3,
        "cumulativeDroppedTokens": 6,
        "preservedSegment": {"headUuid": "h", "anchorUuid": "a", "tailUuid": "t"},
        "preservedMessages": {"anchorUuid": "a", "uuids": ["h", "t"], "allUuids": ["h", "t"]},
    }
    found = d.Compaction.of(system("compact_boundary", compactMetadata=kept))
    assert (found.post_tokens, found.dropped_tokens) == (3, 6)
    assert found.segment == d.Segment("h", "a", "t")
    assert found.messages == d.Preserved("a", ["h", "t"])
    assert d.Compaction.of(system("compact_boundary")).pre_tokens is None
    assert d.Compaction.of(system("compact_boundary", compactMetadata="x")).trigger == ""


@pytest.mark.req("R078")
def test_the_turn_durations_added_up_are_the_working_time() -> None:
    said = talk().user("a").reply("b").turn_duration(5500).user("c").reply("d").turn_duration(1250)
    session = Session(said.bytes())
    assert total_duration(session.entries) == 6.75
    assert [turn.seconds for turn in session.turns] == [5.5, 1.25]
    assert total_duration([]) == 0


@pytest.mark.req("R079")
def test_a_local_command_is_taken_apart() -> None:
    asked = "<command-name>/model</command-name>\n   <command-message>model</command-message>\n"
    found = d.LocalCommand.of(
        system("local_command", content=asked + "<command-args>opus 4</command-args>", level="info")
    )
    assert (found.name, found.message, found.arguments, found.output) == ("/model", "model", "opus 4", "")
    printed = "<local-command-stdout>Set to\nopus</local-command-stdout>"
    assert d.LocalCommand.of(system("local_command", content=printed)).output == "Set to\nopus"
    failed = "<local-command-stderr>no such model</local-command-stderr>"
    assert d.LocalCommand.of(system("local_command", content=failed)).output == "no such model"
    assert d.LocalCommand.of(system("local_command", content="<command-name>/x")).name == ""


def test_a_tag_is_found_across_lines_and_only_whole() -> None:
    assert tag_text("x<a>\n one\n</a><a>two</a>", "a") == "one"
    assert tag_text("<a>open", "a") == tag_text("", "a") == ""


def test_errors_of_the_api_and_of_hooks() -> None:
    failure = d.ApiFailure.of(system("api_error", level="error", retryInMs=530.5, retryAttempt=2, maxRetries=10))
    assert (failure.retry_ms, failure.attempt, failure.max_retries) == (530.5, 2, 10)
    hooks = d.StopHooks.of(system("stop_hook_summary", hookCount=2, hookErrors=["e"], preventedContinuation=True))
    assert (hooks.hook_count, hooks.hook_errors, hooks.prevented) == (2, ["e"], True)


# -- progress


@pytest.mark.req("R080")
@pytest.mark.parametrize(
    "data",
    [
        {"type": "bash_progress", "output": "tail", "fullOutput": "head\ntail"},
        {"type": "hook_progress", "hookEvent": "PostToolUse", "hookName": "PostToolUse:Edit", "command": "fmt"},
        {"type": "query_update", "query": "clews"},
        {"type": "search_results_received", "resultCount": 3, "query": "clews"},
        {"type": "waiting_for_task", "taskDescription": "Find it", "taskType": "local_agent"},
        {"type": "mcp_progress", "serverName": "x"},
    ],
    ids=lambda data: str(data["type"]),
)
def test_each_kind_of_progress_is_typed(data: dict[str, Any]) -> None:
    found = detail(entry(type="progress", data=data))
    assert isinstance(found, d.ProgressDetail)
    ours = {
        "fullOutput": "full_output",
        "hookEvent": "hook_event",
        "hookName": "hook_name",
        "resultCount": "result_count",
    }
    ours |= {"taskDescription": "task_description", "taskType": "task_type"}
    for name, value in data.items():
        assert name == "serverName" or getattr(found, ours.get(name, name)) == value


@pytest.mark.req("R080")
def test_an_agents_progress_holds_the_message() -> None:
    message = {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "hi"}]}}
    found = d.ProgressDetail.of(
        entry(type="progress", data={"type": "agent_progress", "message": message, "agentId": "a1"})
    )
    assert (found.type, found.agent_id, decode(found.message)) == ("agent_progress", "a1", message)


@pytest.mark.req("R081")
def test_progress_belongs_to_the_call_that_its_parent_id_names() -> None:
    said = talk(version="2.1.29").user("go").reply(calls=[bash("a"), bash("b")])
    said = said.progress("bash_progress", call=1, output="x", fields={"toolUseID": "bash-progress-0"}).result("1")
    first, second = Session(said.result("2").bytes()).calls
    assert (first.progress, len(second.progress)) == ((), 1)
    (sign,) = second.progress
    assert (sign.tool_use_id, sign.parent_tool_use) == ("bash-progress-0", second.id)
    assert d.ProgressDetail.of(sign).output == "x"


def test_an_attachment_tells_what_was_attached() -> None:
    inside = {"type": "queued_command", "prompt": "also this", "commandMode": "prompt", "humanTurn": True, "new": 1}
    found = d.Attachment.of(entry(type="attachment", attachment=inside))
    assert (found.type, decode(found.prompt), found.command_mode, found.human_turn) == (
        "queued_command",
        "also this",
        "prompt",
        True,
    )
