"""What the program itself notes: titles, pins and snapshots beside the conversation; hooks, progress, durations
and compactions inside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal, Self

from clew.demo import identifiers
from clew.demo.entry_gaps import Wait
from clew.demo.line_script import SYSTEM_PROMPT, Beside, LineScript, Which, weight
from clew.demo.version_layout import ABSENT, Data
from clew.wire.timestamps import format_timestamp


class Notes(LineScript):
    """The verbs that add such lines; those beside the conversation have no place in the graph."""

    __slots__ = ()

    # -- beside the conversation

    def snapshot(
        self,
        files: Mapping[str, str | None] | None = None,
        *,
        of: str | None = None,
        update: bool = False,
        version: int = 1,
    ) -> Self:
        """The tracked files before the next prompt, saved in file-history/; None is a file not there yet."""
        message = of or self._next_uuid()
        timed = self._wait("note" if update else "prompt")
        tracked: Data = {}
        saved = []
        for path, content in (files or {}).items():
            tracked[path], beside = timed._backup(path, content, version)
            saved += beside
        inner = {"messageId": message, "trackedFileBackups": tracked, "timestamp": format_timestamp(timed.now)}
        talk = timed._note("file-history-snapshot", None, messageId=message, snapshot=inner, isSnapshotUpdate=update)
        kept = replace(talk, beside=(*self.beside, *saved))
        return kept if update else kept._follow()

    def snapshot_delta(self, path: str, content: str | None, *, of: str, version: int = 1) -> Self:
        """One file more in a snapshot, as newer versions note it."""
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

    def _backup(self, path: str, content: str | None, version: int) -> tuple[Data, list[Beside]]:
        whole = path if path[:1] == "/" or path[1:2] == ":" else f"{self.setup.cwd}/{path}"
        name = None if content is None else identifiers.backup_name(whole, version)
        entry = {"backupFileName": name, "version": version, "backupTime": format_timestamp(self.now)}
        if content is None:
            return entry, []
        return entry, [Beside(f"file-history/{{session}}/{name}", content.encode())]

    def queue(self, operation: str, text: str | None = None, **fields: Any) -> Self:
        """A message typed while the model was busy: enqueue, dequeue, remove, popAll."""
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
        """The title that the person gave."""
        return self._note("custom-title", customTitle=text, sessionId=self.session_id)

    def ai_title(self, text: str) -> Self:
        return self._note("ai-title", aiTitle=text, sessionId=self.session_id)

    def agent_name(self, text: str) -> Self:
        return self._note("agent-name", agentName=text, sessionId=self.session_id)

    def last_prompt(self, text: str | None = None, *, leaf: str | None = None, explicit: bool = False) -> Self:
        """The pin on the leaf to resume from: the newest entry unless another is named."""
        return self._note(
            "last-prompt",
            lastPrompt=text or (not explicit and self.prompt_text) or ABSENT,
            leafUuid=leaf or self.leaf,
            explicit=True if explicit else ABSENT,
            sessionId=self.session_id,
        )

    def summary_line(self, text: str, *, leaf: str | None = None) -> Self:
        """A title in the old form, for the conversation that ends in a leaf."""
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
        """Any object, as it is. It becomes the newest entry only through `at`."""
        return self._put(dict(data))

    def raw(self, data: bytes) -> Self:
        """Any bytes, as they are: damage. A newline is not added."""
        return self._put(data)

    def file(self, path: str, content: bytes) -> Self:
        """A file that belongs to the session, written with it; the path may hold {project} and {session}."""
        return replace(self, beside=(*self.beside, Beside(path, content)))

    # -- what the program notes inside the conversation

    def system(
        self, subtype: str | None, *, content: str | None = None, wait: Wait | None = "note", **fields: Any
    ) -> Self:
        body: Data = {} if subtype is None else {"subtype": subtype}
        body |= {} if content is None else {"content": content}
        return self._add("system", {**body, "isMeta": False, **fields}, {}, parent=self.leaf, wait=wait)

    def turn_duration(self, ms: int | None = None, **fields: Any) -> Self:
        """How long the turn took; reckoned from its prompt unless given."""
        timed = self._wait("note")
        took = timed.now - (self.prompt_time or timed.now)
        body: Data = {"durationMs": ms if ms is not None else int(took / timedelta(milliseconds=1))}
        if self.setup.since("2.1.120"):
            body["messageCount"] = self.made
        return timed.system("turn_duration", wait=None, **{**body, **fields})

    def command(self, name: str, arguments: str = "", output: str = "") -> Self:
        """A slash command and what it printed."""
        said = f"<command-name>/{name}</command-name>\n<command-message>{name}</command-message>\n"
        said += f"<command-args>{arguments}</command-args>"
        printed = f"<local-command-stdout>{output}</local-command-stdout>"
        if self.setup.since("2.1.80"):
            run = self.system("local_command", content=said, wait="prompt", level="info")
            return run.system("local_command", content=printed, level="info")
        return self._user(said, {}, "prompt")._user(printed, {})

    def attachment(
        self,
        kind: str,
        *,
        rendered: str | None = None,
        fields: Mapping[str, Any] | None = None,
        **inside: Any,
    ) -> Self:
        """Context that the program adds for the model."""
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
        """A sign of life. Those of hooks stand in the chain; others hang aside, below their call."""
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
        """A boundary and the summary behind it; `keep` names (or counts) the last entries that stay."""
        before = self.tokens if pre_tokens is None else pre_tokens
        after = SYSTEM_PROMPT + weight(summary)
        found: Data = {"trigger": trigger, "preTokens": before}
        if self.setup.since("2.1.140"):
            found |= {
                "postTokens": after,
                "cumulativeDroppedTokens": max(0, before - after),
                "durationMs": 8200,
            }
        anchor = identifiers.uuid(self.setup.seed, "entry", self.made + 1)
        kept = self._kept(keep)
        if kept and self.setup.since("2.1.80"):
            found["preservedSegment"] = {"headUuid": kept[0], "anchorUuid": anchor, "tailUuid": kept[-1]}
        if kept and self.setup.since("2.1.200"):
            found["preservedMessages"] = {"anchorUuid": anchor, "uuids": kept, "allUuids": kept}
        body = {
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
            "level": "info",
        }
        body |= {"logicalParentUuid": self.leaf, "compactMetadata": found}
        talk = self._add("system", body, {}, parent=None, wait="reply")
        flags = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
        talk = talk._user(summary, {**flags, **fields})
        return replace(talk, tokens=after, cached=0, uses=())

    def _kept(self, keep: int | Sequence[str] | None) -> list[str]:
        if keep is None or not isinstance(keep, int):
            return list(keep or ())
        return [str(entry["uuid"]) for entry in self._path()][-keep:] if keep else []
