"""A fluent builder of sessions.

talk().user("hi").reply("hello", call=bash("ls")).result("a").reply("done").write(root)

A talk is an immutable value: every method returns a new one, so two conversations can share a beginning. The same
calls produce the same bytes: ids and gaps come from a seed, times from a fixed start. Any field of an entry can be
given by name (`requestId="x"`), or omitted with `ABSENT`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from msgspec.structs import replace

from clew.demo import agent_talk, identifiers, version_layout
from clew.demo.entry_gaps import Wait
from clew.demo.identifiers import NIL
from clew.demo.line_script import PendingUse, Which, estimate_tokens
from clew.demo.program_notes import ProgramNotes
from clew.demo.tool_inputs import (
    ToolInput,
    bash,
    edit,
    glob,
    grep,
    plan,
    read,
    task,
    todo,
    tool,
    web_fetch,
    web_search,
    write,
)
from clew.demo.tool_results import Content, ToolUse, build_result, failed_result, image_block
from clew.demo.version_layout import ABSENT, Data, Setup

_INJECTED = ("[Request interrupted", "<command-", "<local-command", "<task-notification")
START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
DENSE = timedelta(seconds=1)


class Talk(ProgramNotes, frozen=True, eq=False):
    """A conversation under construction."""

    # -- user messages

    def user(
        self,
        content: str | Sequence[Mapping[str, Any]],
        *,
        images: Iterable[bytes] = (),
        meta: bool = False,
        permission_mode: str | None = None,
        **fields: Any,
    ) -> Self:
        """Add a prompt, which begins a turn; a meta entry does not."""
        pictures = [image_block(data) for data in images]
        message_content: Content = content if isinstance(content, str) else [dict(block) for block in content]
        if pictures:
            message_content = [
                *([{"type": "text", "text": message_content}] if isinstance(message_content, str) else message_content),
                *pictures,
            ]
        if meta:
            return self._user(message_content, {"isMeta": True, **fields})
        started = self._wait("prompt")._begin_turn(message_content)
        mode = permission_mode or self.setup.mode
        body = version_layout.prompt_fields(self.setup, mode, started.turn, list(self.todos))
        if pictures and self.setup.since("2.1.17"):
            body["imagePasteIds"] = list(range(1, len(pictures) + 1))
        return started._user(message_content, {**body, **fields}, None)

    def interrupt(self, *, in_tool: bool = False, **fields: Any) -> Self:
        """Add the mark of a reply or tool that the user interrupted."""
        text = "[Request interrupted by user for tool use]" if in_tool else "[Request interrupted by user]"
        return self._user([{"type": "text", "text": text}], fields, "reply")

    def _begin_turn(self, content: Content) -> Self:
        blocks = [{"text": content}] if isinstance(content, str) else content
        return replace(
            self,
            turn=self.turn + 1,
            prompt=identifiers.uuid(self.setup.seed, "prompt", self.made),
            prompt_text="\n".join(str(block["text"]) for block in blocks if "text" in block),
            prompt_time=self.now,
            uses=(),
        )

    # -- what the model says

    def reply(
        self,
        text: str | None = None,
        *,
        thinking: str | None = None,
        call: ToolInput | None = None,
        calls: Iterable[ToolInput] = (),
        blocks: Iterable[Mapping[str, Any]] = (),
        model: str | None = None,
        usage: Mapping[str, Any] | None = None,
        stop: str | None = None,
        message_id: str | None = None,
        joined: bool = False,
        **fields: Any,
    ) -> Self:
        """Add one API reply, one line per block (thinking, text, others, calls), or on one line if `joined`."""
        number = identifiers.message_id(self.setup.seed, self.made) if message_id is None else message_id
        model = model or self.setup.model
        tool_inputs = [*([call] if call else []), *calls]
        uses = [self._name_call(tool_input, i) for i, tool_input in enumerate(tool_inputs)]
        content_blocks = [*_spoken_blocks(self.setup.seed, self.made, thinking, text), *map(dict, blocks)]
        content_blocks += [version_layout.tool_use(self.setup, use.id, use.call.name, use.call.input) for use in uses]
        final = stop or ("tool_use" if uses else "end_turn")
        output = sum(map(estimate_tokens, content_blocks))
        groups = [content_blocks] if joined else [[block] for block in content_blocks] or [[]]
        stops = version_layout.stop_reasons(self.setup, len(groups), final)
        outputs = version_layout.output_tokens(self.setup, len(groups), output)
        talk, owners = self, dict[str, str]()
        for index, group in enumerate(groups):
            tokens = version_layout.usage(self.setup, 4, self.tokens - self.cached, self.cached, outputs[index])
            line_usage = {**tokens, **(usage or {})}
            message = version_layout.message(self.setup, number, model, group, stops[index], line_usage)
            first = group[0] if group else {"type": ""}
            body = version_layout.reply_fields(self.setup, first, index, model, identifiers.request_id(number))
            wait: Wait = "block" if index else "reply"
            talk = talk._add("assistant", {"message": message, **body}, fields, parent=talk.leaf, wait=wait)
            owners |= {str(block.get("id")): talk.leaf or "" for block in group}
        known = tuple(replace(use, line=owners[use.id]) for use in uses)
        return replace(talk, uses=known, cached=self.tokens, tokens=self.tokens + output)

    def _name_call(self, call: ToolInput, index: int) -> PendingUse:
        """Return a call with its id, under the tool name of this version."""
        if call.name == "Task" and self.setup.since("2.1.80"):
            call = replace(call, name="Agent")
        number = call.id or identifiers.call_id(self.setup.seed, self.made, index)
        return PendingUse(call, number, "")

    def api_error(self, text: str, *, error: str = "server_error", status: int | None = None, **fields: Any) -> Self:
        """Add the synthetic reply that Claude Code writes after an API error."""
        number = identifiers.uuid(self.setup.seed, "synthetic", self.made)
        usage = version_layout.usage(self.setup, 0, 0, 0, 0)
        blocks = [{"type": "text", "text": text}]
        message = version_layout.message(self.setup, number, "<synthetic>", blocks, "stop_sequence", usage)
        body: Data = {"message": message | {"stop_sequence": ""}, "error": error, "isApiErrorMessage": True}
        if status and self.setup.since("2.1.114"):
            body["apiErrorStatus"] = status
        return self._add("assistant", body, fields, parent=self.leaf, wait="reply")

    # -- what the tools answer

    def result(
        self,
        content: str | Sequence[Mapping[str, Any]] | None = None,
        *,
        for_: Which = None,
        error: bool = False,
        detail: Any = None,
        **fields: Any,
    ) -> Self:
        """Add the result of a call. An edit, a write or a read of a known file needs no content."""
        use = self._use(for_)
        given_content = content if content is None or isinstance(content, str) else [dict(block) for block in content]
        tool_use = ToolUse(use.call, given_content, self.setup, self.files, self.todos)
        tool_result = failed_result(given_content or "the tool failed") if error else build_result(tool_use)
        block: Data = {"tool_use_id": use.id, "type": "tool_result", "content": tool_result.content}
        if error:
            block = {"type": "tool_result", "content": tool_result.content, "is_error": True, "tool_use_id": use.id}
        elif use.call.name == "Bash":
            block["is_error"] = False
        body = version_layout.result_fields(self.setup, use.line, use.call.name)
        body |= {"message": {"role": "user", "content": [block]}}
        body["toolUseResult"] = tool_result.detail if detail is None else detail
        parent = use.line if self.setup.since("2.1.1") else self.leaf
        talk = self._add("user", body, fields, parent=parent, wait="result")._add_tokens(tool_result.content)
        todos = self.todos if error or use.call.name != "TodoWrite" else tuple(use.call.input["todos"])
        remaining = tuple(replace(u, answered=True) if u.id == use.id else u for u in self.uses)
        return replace(talk, uses=remaining, todos=todos, files={**self.files, **tool_result.files})

    def deny(self, *, for_: Which = None, **fields: Any) -> Self:
        """Add the result of a call that the user rejected."""
        kind = {"toolDenialKind": "user-rejected"} if self.setup.since("2.1.205") else {}
        message = "The person declined this tool use. Nothing was run."
        return self.result(message, for_=for_, error=True, detail="User rejected tool use", **{**kind, **fields})

    def agent(
        self,
        call: Which,
        child: Talk,
        *,
        agent_id: str | None = None,
        agent_type: str | None = None,
        background: bool = False,
        **fields: Any,
    ) -> Self:
        """Attach a sub-agent's conversation to a call: its own file, and the result with its totals."""
        use = self._use(call)
        sent = agent_talk.attach_agent(self, child, use, agent_id=agent_id, agent_type=agent_type)
        talk = sent.parent
        if background:
            detail = agent_talk.background_launch(talk.setup, use, sent.agent_id)
            report = f"The agent works in the background as {sent.agent_id}."
        else:
            detail = agent_talk.agent_totals(talk.setup, child, use, sent)
            report = agent_talk.last_text(child)
        report_blocks = [{"type": "text", "text": report}]
        return talk.result(report_blocks, for_=use.id, detail=detail, **fields)

    def workflow(self, call: Which, children: Mapping[str, Talk], *, run: str | None = None) -> Self:
        """Attach a run of several agents to one call, in its own folder with a journal."""
        use = self._use(call)
        run = run or f"wf_{identifiers.hexadecimal(8, self.setup.seed, self.made)}-{identifiers.hexadecimal(3, use.id)}"
        talk = agent_talk.attach_workflow(self, children, use, run)
        detail = {"taskType": "local_workflow", "runId": run, "status": "async_launched"}
        return talk.result(f"The workflow {run} has finished.", for_=use.id, detail=detail)

    # -- where the conversation goes on

    def at(self, entry: str | int) -> Self:
        """Continue after an older entry, given by its uuid or its number among the entries."""
        if isinstance(entry, int):
            entry = str(self._chain()[entry]["uuid"])
        return replace(self, leaf=entry, uses=())

    def rewind(self, *, to: int) -> Self:
        """Go back to before a prompt (turn 1 is the first on this path); the next entry starts another branch."""
        prompts = [entry for entry in self._path() if is_prompt(entry)]
        if not 1 <= to <= len(prompts):
            raise ValueError(f"there is no turn {to}: the talk has {len(prompts)}")
        return replace(self, leaf=prompts[to - 1]["parentUuid"], turn=to - 1, uses=())

    def fork(self, session_id: str | None = None) -> Self:
        """Return a copy under a new session id with the same uuids, like `--fork-session`."""
        number = session_id or identifiers.uuid(self.setup.seed, "fork", self.made)
        setup = replace(self.setup, session_id=number, seed=f"{self.setup.seed}/{number}")
        empty = replace(self, setup=setup, newest=None, agents=())
        for line in self._lines():
            empty = empty._put(agent_talk.rename_line(line, {self.session_id: number}))
        return empty

    def change(
        self,
        *,
        cwd: str | None = None,
        version: str | None = None,
        branch: str | None = None,
        model: str | None = None,
    ) -> Self:
        """Use another folder, version, branch or model from here on; the file stays where it is."""
        now = self.setup
        setup = replace(
            now,
            cwd=cwd or now.cwd,
            version=version or now.version,
            branch=branch or now.branch,
            model=model or now.model,
        )
        return replace(self, setup=setup)

    def pause(self, **gap: float) -> Self:
        """Advance the time: `pause(minutes=40)`. The next line is written then, without its usual gap."""
        return self._later(timedelta(**gap))


def talk(
    session_id: str | None = None,
    *,
    cwd: str = "/home/ada/garden",
    version: str = "2.1.232",
    branch: str = "main",
    model: str | None = None,
    start: datetime = START,
    step: timedelta | None = None,
    seed: int | str = 0,
    permission_mode: str = "default",
    entrypoint: str = "cli",
    name: str | None = None,
) -> Talk:
    """Return an empty conversation. Another seed or session id gives other ids; `name` is the slug of old versions.

    The gaps between lines are those of real sessions: seconds between calls, minutes or hours before a prompt. With
    a `step` every line comes that much after the line before it (`DENSE` is one second), and a pause is added.
    """
    number = session_id or identifiers.uuid("session", seed)
    setup = Setup(
        session_id=number,
        cwd=cwd,
        version=version,
        branch=branch,
        model=model or version_layout.default_model(version),
        seed=f"{number}/{seed}",
        step=step,
        mode=permission_mode,
        entrypoint=entrypoint,
        name=name,
    )
    return Talk(setup, home=cwd, now=start)


def is_prompt(entry: Data) -> bool:
    """Return whether an entry begins a turn: typed by the user, not a result or a program note."""
    if entry["type"] != "user" or "toolUseResult" in entry or "isSidechain" not in entry:
        return False
    if entry.get("isMeta") or entry.get("isCompactSummary") or entry["isSidechain"]:
        return False
    content = entry["message"]["content"]
    first = content if isinstance(content, str) else str(content[0].get("text", "")) if content else ""
    kinds = [] if isinstance(content, str) else [block.get("type") for block in content]
    return "tool_result" not in kinds and not first.startswith(_INJECTED)


def _spoken_blocks(seed: str, number: int, thinking: str | None, text: str | None) -> list[Data]:
    blocks: list[Data] = []
    if thinking is not None:
        signature = identifiers.signature(seed, number, thinking)
        blocks.append({"type": "thinking", "thinking": thinking, "signature": signature})
    if text is not None:
        blocks.append({"type": "text", "text": text})
    return blocks


__all__ = [
    "ABSENT",
    "DENSE",
    "NIL",
    "Talk",
    "ToolInput",
    "bash",
    "edit",
    "glob",
    "grep",
    "is_prompt",
    "plan",
    "read",
    "talk",
    "task",
    "todo",
    "tool",
    "web_fetch",
    "web_search",
    "write",
]
