"""Builder methods for lines that Claude Code itself writes: titles, snapshots, hooks, compactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, Self

from msgspec.structs import replace

from clew.demo import identifiers
from clew.demo.entry_gaps import Wait
from clew.demo.line_script import SYSTEM_PROMPT, LineScript, SideFile, Which, estimate_tokens
from clew.demo.version_layout import ABSENT, Data
from clew.wire.timestamps import format_timestamp


class ProgramNotes(LineScript, frozen=True, eq=False):
    """Methods that add such lines; those outside of the conversation have no position in the graph."""

    # -- beside the conversation

    def snapshot(
        self,
        files: Mapping[str, str | None] | None = None,
        *,
        of: str | None = None,
        update: bool = False,
        version: int = 1,
    ) -> Self:
        """Save the tracked files before the next prompt in file-history/; None is a file that does not exist yet."""
        message = of or self._next_uuid()
        timed = self._wait("note" if update else "prompt")
        tracked: Data = {}
        saved = []
        for path, content in (files or {}).items():
            tracked[path], side_files = timed._backup(path, content, version)
            saved += side_files
        inner = {"messageId": message, "trackedFileBackups": tracked, "timestamp": format_timestamp(timed.now)}
        talk = timed._note("file-history-snapshot", None, messageId=message, snapshot=inner, isSnapshotUpdate=update)
        extended = replace(talk, beside=(*self.beside, *saved))
        return extended if update else extended._follow()

    def snapshot_delta(self, path: str, content: str | None, *, of: str, version: int = 1) -> Self:
        """Add one more file to a snapshot, as newer versions do."""
        timed = self._wait("note")
        backup, saved = timed._backup(path, content, version)
        talk = timed._note(
            "file-history-delta",
            None,
            messageId=self.leaf,
            snapshotMessageId=of,
            trackingPath=path,
            backup=backup,
            timestamp=format_timestamp(timed.now),
        )
        return replace(talk, beside=(*self.beside, *saved))

    def _backup(self, path: str, content: str | None, version: int) -> tuple[Data, list[SideFile]]:
        full_path = path if path[:1] == "/" or path[1:2] == ":" else f"{self.setup.cwd}/{path}"
        name = None if content is None else identifiers.backup_name(full_path, version)
        entry = {"backupFileName": name, "version": version, "backupTime": format_timestamp(self.now)}
        if content is None:
            return entry, []
        return entry, [SideFile(f"file-history/{{session}}/{name}", content.encode())]

    def queue(self, operation: str, text: str | None = None, **fields: Any) -> Self:
        """Add a queue operation for a message typed while the model was busy: enqueue, dequeue, remove, popAll."""
        timed = self._wait("block")
        talk = timed._note(
            "queue-operation",
            None,
            operation=operation,
            timestamp=format_timestamp(timed.now),
            sessionId=self.session_id,
            content=ABSENT if text is None else text,
            **fields,
        )
        return talk._follow() if operation == "dequeue" else talk

    def title(self, text: str) -> Self:
        """Add a title given by the user."""
        return self._note("custom-title", customTitle=text, sessionId=self.session_id)

    def ai_title(self, text: str) -> Self:
        return self._note("ai-title", aiTitle=text, sessionId=self.session_id)

    def agent_name(self, text: str) -> Self:
        return self._note("agent-name", agentName=text, sessionId=self.session_id)

    def last_prompt(self, text: str | None = None, *, leaf: str | None = None, explicit: bool = False) -> Self:
        """Pin the leaf to resume from: the newest entry unless another is given."""
        return self._note(
            "last-prompt",
            lastPrompt=text or (not explicit and self.prompt_text) or ABSENT,
            leafUuid=leaf or self.leaf,
            explicit=True if explicit else ABSENT,
            sessionId=self.session_id,
        )

    def summary_line(self, text: str, *, leaf: str | None = None) -> Self:
        """Add a title in the old form, for the conversation that ends in a leaf."""
        return self._note("summary", summary=text, leafUuid=leaf or self.leaf)

    def pr_link(self, number: int, repository: str, url: str | None = None) -> Self:
        timed = self._wait("note")
        return timed._note(
            "pr-link",
            None,
            sessionId=self.session_id,
            prNumber=number,
            prUrl=url or f"https://github.com/{repository}/pull/{number}",
            prRepository=repository,
            timestamp=format_timestamp(timed.now),
        )

    def line(self, data: Mapping[str, Any]) -> Self:
        """Add any object unchanged. It becomes the newest entry only through `at`."""
        return self._put(dict(data))

    def raw(self, data: bytes) -> Self:
        """Add any bytes unchanged, without a newline: damage."""
        return self._put(data)

    def file(self, path: str, content: bytes) -> Self:
        """Add a file that belongs to the session; the path may contain {project} and {session}."""
        return replace(self, beside=(*self.beside, SideFile(path, content)))

    # -- what the program notes inside the conversation

    def system(
        self, subtype: str | None, *, content: str | None = None, wait: Wait | None = "note", **fields: Any
    ) -> Self:
        body: Data = {} if subtype is None else {"subtype": subtype}
        body |= {} if content is None else {"content": content}
        return self._add("system", {**body, "isMeta": False, **fields}, {}, parent=self.leaf, wait=wait)

    def turn_duration(self, ms: int | None = None, **fields: Any) -> Self:
        """Add the duration of the turn, computed from its prompt unless given."""
        timed = self._wait("note")
        took = timed.now - (self.prompt_time or timed.now)
        body: Data = {"durationMs": ms if ms is not None else int(took / timedelta(milliseconds=1))}
        if self.setup.since("2.1.120"):
            body["messageCount"] = self.made
        return timed.system("turn_duration", wait=None, **{**body, **fields})

    def command(self, name: str, arguments: str = "", output: str = "") -> Self:
        """Add a slash command and its output."""
        invocation = f"<command-name>/{name}</command-name>\n<command-message>{name}</command-message>\n"
        invocation += f"<command-args>{arguments}</command-args>"
        printed = f"<local-command-stdout>{output}</local-command-stdout>"
        if self.setup.since("2.1.80"):
            run = self.system("local_command", content=invocation, wait="prompt", level="info")
            return run.system("local_command", content=printed, level="info")
        return self._user(invocation, {}, "prompt")._user(printed, {})

    def attachment(
        self,
        kind: str,
        *,
        rendered: str | None = None,
        fields: Mapping[str, Any] | None = None,
        **inside: Any,
    ) -> Self:
        """Add context that the program provides to the model."""
        body: Data = {"attachment": {"type": kind, **inside}}
        if rendered is not None:
            body |= {"rendered": [{"content": rendered}], "renderedRole": "user"}
        return self._add("attachment", body, fields or {}, parent=self.leaf)

    def progress(
        self,
        kind: str,
        *,
        call: Which = None,
        aside: bool | None = None,
        fields: Data | None = None,
        **data: Any,
    ) -> Self:
        """Add a progress line. Those of hooks are in the chain; others are siblings, below their call."""
        use = next((u for u in self.uses if not u.answered), None) if call is None else self._use(call)
        aside = (kind != "hook_progress" and use is not None) if aside is None else aside
        number = use.id if use else identifiers.uuid(self.setup.seed, "hook", self.made)
        body = {"data": {"type": kind, **data}, "toolUseID": number, "parentToolUseID": number}
        parent = use.line if aside and use else self.leaf
        return self._add("progress", body, fields or {}, parent=parent, wait="block", moves=not aside)

    def compact(
        self,
        summary: str,
        *,
        trigger: Literal["auto", "manual"] | str = "auto",
        pre_tokens: int | None = None,
        keep: int | Sequence[str] | None = None,
        **fields: Any,
    ) -> Self:
        """Add a boundary and the summary after it; `keep` names or counts the last entries that stay."""
        before = self.tokens if pre_tokens is None else pre_tokens
        after = SYSTEM_PROMPT + estimate_tokens(summary)
        metadata: Data = {"trigger": trigger, "preTokens": before}
        if self.setup.since("2.1.140"):
            metadata |= {
                "postTokens": after,
                "cumulativeDroppedTokens": max(0, before - after),
                "durationMs": 8200,
            }
        anchor = identifiers.uuid(self.setup.seed, "entry", self.made + 1)
        preserved = self._preserved_uuids(keep)
        if preserved and self.setup.since("2.1.80"):
            metadata["preservedSegment"] = {"headUuid": preserved[0], "anchorUuid": anchor, "tailUuid": preserved[-1]}
        if preserved and self.setup.since("2.1.200"):
            metadata["preservedMessages"] = {"anchorUuid": anchor, "uuids": preserved, "allUuids": preserved}
        body = {
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
            "level": "info",
        }
        body |= {"logicalParentUuid": self.leaf, "compactMetadata": metadata}
        talk = self._add("system", body, {}, parent=None, wait="reply")
        flags = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
        talk = talk._user(summary, {**flags, **fields})
        return replace(talk, tokens=after, cached=0, uses=())

    def _preserved_uuids(self, keep: int | Sequence[str] | None) -> list[str]:
        if keep is None or not isinstance(keep, int):
            return list(keep or ())
        return [str(entry["uuid"]) for entry in self._path()][-keep:] if keep else []
