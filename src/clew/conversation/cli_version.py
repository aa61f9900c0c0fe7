"""Describe how the versions of Claude Code differ in resuming a session.

Observed by letting the published programs resume the same files. Each property names the first version that showed
the behaviour; versions between two observed ones are assumed to behave like the older one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

NEWEST = "2.1.325"


@dataclass(frozen=True, slots=True)
class Era:
    """How one version of Claude Code resumes a file."""

    version: str

    @classmethod
    def newest(cls) -> Era:
        return cls(NEWEST)

    @property
    def _key(self) -> tuple[int, ...]:
        return version_key(self.version)

    def since(self, version: str) -> bool:
        return self._key >= version_key(version)

    @property
    def chain_types(self) -> frozenset[str]:
        """The types of lines that can be on the path."""
        types = {"user", "assistant", "system", "attachment"}
        return frozenset(types | {"progress"} if self.keeps_progress else types)

    @property
    def keeps_progress(self) -> bool:
        return self.since("2.1.9") and not self.bridges_gaps

    @property
    def reads_bom(self) -> bool:
        return self.since("2.1.9")

    @property
    def survives_cycles(self) -> bool:
        return self.since("2.1.45")

    @property
    def survives_bad_entries(self) -> bool:
        """Skips a line without a message, or a message without content, instead of crashing."""
        return self.since("2.1.290")

    @property
    def reads_every_message(self) -> bool:
        """Crashes on a reply without a message anywhere in the file, also off the path."""
        return self.since("2.1.80") and not self.survives_bad_entries

    @property
    def dies_of_null_lines(self) -> bool:
        return self.since("2.1.120") and not self.since("2.1.260")

    @property
    def stops_at_null_lines(self) -> bool:
        """Does not read anything after a line that is `null`."""
        return self.since("2.1.29") and not self.since("2.1.120")

    @property
    def reads_text_marks(self) -> bool:
        """Looks at how the texts of prompts begin, and crashes on one that is not a string."""
        return self.bridges_gaps and not self.has_system_turns

    @property
    def survives_bad_attachments(self) -> bool:
        return self.since("2.1.260")

    @property
    def bridges_gaps(self) -> bool:
        """Replaces a missing parent by the entry nearest in time, and a progress line by its own parent."""
        return self.since("2.1.100")

    @property
    def parts_agents(self) -> bool:
        """Bridges a missing parent of an agent's entry by agents' entries only, and of others by others only."""
        return self.since("2.1.120")

    @property
    def heeds_endings(self) -> bool:
        """Does not resume a conversation that the model ended."""
        return self.bridges_gaps

    @property
    def verifies_worktree(self) -> bool:
        """Does not resume a session of a worktree that exists without its repository."""
        return self.since("2.1.260")

    @property
    def repairs_siblings(self) -> bool:
        """Inserts parallel calls that are off the parent chain."""
        return self.since("2.1.80")

    @property
    def orders_siblings(self) -> bool:
        """Finds all results of parallel calls by their calls and sorts them by file order.

        Earlier versions find only results that hang below their reply, and sort inserted lines by time.
        """
        return self.since("2.1.290")

    @property
    def keeps_notes(self) -> bool:
        """Sends meta entries and attachments that hang off the path below a call or its result."""
        return self.since("2.1.290")

    @property
    def appends_notes(self) -> bool:
        """Sends everything that is not a message below the last message, whatever branch it is on."""
        return self.leaf_by_order

    @property
    def ends_with_replies(self) -> bool:
        """Takes a turn that ends with a reply as complete, whatever context follows the reply."""
        return self.since("2.1.200")

    @property
    def leaf_by_order(self) -> bool:
        """Resumes the last line of the file instead of the newest timestamp; `last-prompt` can name another."""
        return self.since("2.1.120")

    @property
    def continues_below_last_line(self) -> bool:
        """Resumes the newest line below the last line of the file, where lines are out of order."""
        return self.since("2.1.260")

    @property
    def knows_preserved_segment(self) -> bool:
        return self.since("2.1.80")

    @property
    def knows_preserved_messages(self) -> bool:
        return self.since("2.1.160")

    @property
    def moves_orphans(self) -> bool:
        """Hangs a message whose parent a compaction removed below the last preserved line."""
        return self.since("2.1.160")

    @property
    def saves_joined_lines(self) -> bool:
        return self.since("2.1.120")

    @property
    def renders_attachments(self) -> bool:
        return self.since("2.1.290")

    @property
    def sends_strings(self) -> bool:
        """Sends a string among the blocks of a message unchanged; later versions omit it."""
        return not self.survives_bad_entries

    @property
    def dies_of_strings_in_replies(self) -> bool:
        return self.since("2.1.100") and not self.survives_bad_entries

    @property
    def has_system_turns(self) -> bool:
        """Sends context in messages with the role `system` to models that accept them."""
        return self.since("2.1.160")

    @property
    def reminds_of_tasks(self) -> bool:
        """Sends a task notification as a reminder instead of a prompt."""
        return self.since("2.1.260")

    @property
    def knows_ended_turns(self) -> bool:
        """Treats a turn that a tool or the turn limit ended as complete."""
        return self.since("2.1.310")

    @property
    def reads_snapshots(self) -> bool:
        """Crashes on a file snapshot line without a snapshot whose message is on the path."""
        return self.since("2.1.325")

    @property
    def keeps_files_apart(self) -> bool:
        """Does not make an attached file part of a tool result, for models that accept system turns."""
        return self.since("2.1.325")

    @property
    def removes_tool_references(self) -> bool:
        """Removes tool references from results: tool search is off."""
        return self.since("2.0.76") and not self.since("2.1.310")

    @property
    def reports_lost_tools(self) -> bool:
        """Notes that the tools of removed references are no longer available, not that tool search is off."""
        return self.since("2.1.9") and not self.since("2.1.80")

    @property
    def cleans_texts(self) -> bool:
        """Does not send blank texts next to others, nor lone surrogates."""
        return self.since("2.1.200")

    @property
    def drops_virtual_lines(self) -> bool:
        return self.since("2.1.100")

    @property
    def drops_images_in_errors(self) -> bool:
        return self.since("2.1.100")

    @property
    def requires_time(self) -> bool:
        """Does not resume a session whose last message has no time."""
        return self.since("2.1.100")

    @property
    def sorts_calls_last(self) -> bool:
        return self.since("2.1.140")

    @property
    def pairs_results(self) -> bool:
        """Gives each call a result directly after it, and drops results without a call."""
        return self.since("2.1.29")

    @property
    def separates_replies_without_id(self) -> bool:
        """Treats replies without an id as different replies."""
        return self.since("2.1.260")

    @property
    def ends_joined_texts(self) -> bool:
        """Ends a text with a newline where the text of another line is joined to it."""
        return self.since("2.1.80")

    @property
    def knows_listings(self) -> bool:
        """Stores what is known about MCP servers and agents as attachments, and quotes a file without a warning."""
        return self.since("2.1.100")

    @property
    def sends_local_commands(self) -> bool:
        return self.since("2.1.80")

    @property
    def tool_names(self) -> Mapping[str, str]:
        """Former names of tools, mapped to the names under which calls of them are sent."""
        return _tool_names(self)

    @property
    def first_result_counts(self) -> bool:
        return self.since("2.1.80")

    @property
    def fills_missing_results(self) -> bool:
        return self.since("2.1.45")

    @property
    def answers_interrupted_calls(self) -> bool:
        return self.since("2.1.290")

    @property
    def drops_foreign_thinking(self) -> bool:
        return self.since("2.1.160")

    @property
    def drops_lone_thinking(self) -> bool:
        return self.since("2.1.9")

    @property
    def merges_over_results(self) -> bool:
        """Merges blocks of one reply although a result stands between them."""
        return self.since("2.0.76")

    @property
    def merges_over_replies(self) -> bool:
        return self.since("2.1.80")

    @property
    def puts_results_first(self) -> bool:
        """Moves results before a text of the same entry."""
        return not self.since("2.1.45")

    @property
    def drops_prompt_images(self) -> bool:
        return self.since("2.1.45") and not self.since("2.1.80")

    @property
    def closes_over_context(self) -> bool:
        """Closes an unfinished turn although a system or attachment line is last."""
        return self.since("2.1.45")

    @property
    def asks_to_continue(self) -> bool:
        """Asks the model to continue after a result or an attachment, and closes that turn."""
        return self.since("2.1.45") and not self.renders_attachments

    @property
    def drops_stray_results(self) -> bool:
        return self.since("2.1.9")

    @property
    def strips_call_fields(self) -> bool:
        """Sends only type, id, name and input of a tool use."""
        return self.removes_tool_references

    @property
    def added_plan_fields(self) -> frozenset[str]:
        """The fields that are omitted from the call that ends plan mode."""
        if self.since("2.1.200") or not self.since("2.0.76"):
            return frozenset()
        return frozenset({"plan", "planFilePath"} if self.since("2.1.80") else {"plan"})

    @property
    def restores_messages(self) -> bool:
        """Omits what was added to a call of SendMessage that has a recipient and a message."""
        return self.since("2.1.260")

    @property
    def drops_open_server_calls(self) -> bool:
        """Omits the calls of the server's tools that have no result in the same reply."""
        return self.since("2.1.80")

    @property
    def drops_advice(self) -> bool:
        """Omits the calls and results of the advisor."""
        return self.since("2.1.80")

    @property
    def drops_fallbacks(self) -> bool:
        """Omits the block that marks a change to another model within a reply."""
        return self.since("2.1.200")

    @property
    def marks_empty(self) -> bool:
        """Sends an empty assistant message between prompts as "(no content)"."""
        return self.since("2.1.45")


_FORMER_NAMES = {  # the name that is sent, the first version that sends it, and the first that sends the former name again
    "Task": ("Agent", "2.1.80", ""),
    "KillShell": ("TaskStop", "2.1.100", "2.1.310"),
    "KillBash": ("TaskStop", "2.1.160", "2.1.310"),
    "AgentOutputTool": ("TaskOutput", "2.1.100", "2.1.290"),
    "BashOutputTool": ("TaskOutput", "2.1.100", "2.1.290"),
    "AgentOutput": ("TaskOutput", "2.1.160", "2.1.290"),
    "BashOutput": ("TaskOutput", "2.1.160", "2.1.290"),
}


@cache
def _tool_names(era: Era) -> Mapping[str, str]:
    return {
        former: name
        for former, (name, first, last) in _FORMER_NAMES.items()
        if era.since(first) and not (last and era.since(last))
    }


@cache
def version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
