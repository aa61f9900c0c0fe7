"""Eras: how the versions of Claude Code differ in reading a session back.

Observed by letting the published programs resume the same files. Each field names the first version seen to behave so; the
versions between two that were observed are taken to behave like the older one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

NEWEST = "2.1.325"


@dataclass(frozen=True, slots=True)
class Era:
    """What a version does with a file that it resumes."""

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
        """The types of lines that can be part of the path."""
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
        """A line without a message, or a message without content, no longer ends the program: it is passed over."""
        return self.since("2.1.290")

    @property
    def reads_every_message(self) -> bool:
        """A line without a message ends the program wherever it stands, also beside the path."""
        return self.since("2.1.80") and not self.survives_bad_entries

    @property
    def dies_of_null_lines(self) -> bool:
        return self.since("2.1.120") and not self.since("2.1.260")

    @property
    def stops_at_null_lines(self) -> bool:
        """What stands behind a line that is `null` is not read."""
        return self.since("2.1.29") and not self.since("2.1.120")

    @property
    def reads_text_marks(self) -> bool:
        """The program looks at how the texts of prompts begin, and one that is no text ends it."""
        return self.bridges_gaps and not self.has_system_turns

    @property
    def survives_bad_attachments(self) -> bool:
        return self.since("2.1.260")

    @property
    def bridges_gaps(self) -> bool:
        """A parent that is missing is replaced by the entry nearest in time, a progress line by its own parent."""
        return self.since("2.1.100")

    @property
    def parts_agents(self) -> bool:
        """Only an agent's entry takes the place of a missing parent of an agent's entry, and of no other."""
        return self.since("2.1.120")

    @property
    def heeds_endings(self) -> bool:
        """A conversation that the model ended is not resumed."""
        return self.bridges_gaps

    @property
    def verifies_worktree(self) -> bool:
        """A session of a worktree is not resumed if the worktree is there without its repository."""
        return self.since("2.1.260")

    @property
    def repairs_siblings(self) -> bool:
        """Parallel calls off the parent chain are pulled back in."""
        return self.since("2.1.80")

    @property
    def orders_siblings(self) -> bool:
        """All results of parallel calls are found by their calls and sorted by their place in the file.

        Earlier versions find only results that hang below their reply, and sort what they pull in by time.
        """
        return self.since("2.1.290")

    @property
    def keeps_notes(self) -> bool:
        """Meta entries and attachments that hang beside the path below a call or its result are sent with the results."""
        return self.since("2.1.290")

    @property
    def leaf_by_order(self) -> bool:
        """The last line of the file is resumed, no longer the newest timestamp; `last-prompt` can name another."""
        return self.since("2.1.120")

    @property
    def knows_preserved_segment(self) -> bool:
        return self.since("2.1.80")

    @property
    def knows_preserved_messages(self) -> bool:
        return self.since("2.1.160")

    @property
    def moves_orphans(self) -> bool:
        """A message below a line that a compaction removed hangs below the last line that it preserved instead."""
        return self.since("2.1.160")

    @property
    def saves_joined_lines(self) -> bool:
        return self.since("2.1.120")

    @property
    def renders_attachments(self) -> bool:
        return self.since("2.1.290")

    @property
    def sends_strings(self) -> bool:
        """A string among the blocks of a message is sent as it is; later versions leave it out."""
        return not self.survives_bad_entries

    @property
    def dies_of_strings_in_replies(self) -> bool:
        return self.since("2.1.100") and not self.survives_bad_entries

    @property
    def has_system_turns(self) -> bool:
        """Context is sent in messages with the role `system` to models that take them."""
        return self.since("2.1.160")

    @property
    def reminds_of_tasks(self) -> bool:
        """The notification of a task that ended is a reminder, no longer a prompt."""
        return self.since("2.1.260")

    @property
    def knows_ended_turns(self) -> bool:
        """A turn that a tool ended, or the number of turns allowed, is complete."""
        return self.since("2.1.310")

    @property
    def reads_snapshots(self) -> bool:
        """A line for a snapshot of files without the snapshot ends the program, if its message is on the path."""
        return self.since("2.1.325")

    @property
    def keeps_files_apart(self) -> bool:
        """An attached file is not made part of a tool result, for models that take system turns."""
        return self.since("2.1.325")

    @property
    def removes_tool_references(self) -> bool:
        """References to tools are removed from results: the search for tools is off."""
        return self.since("2.0.76") and not self.since("2.1.310")

    @property
    def cleans_texts(self) -> bool:
        """Texts of white space beside others and halves of surrogate pairs are not sent."""
        return self.since("2.1.200")

    @property
    def drops_virtual_lines(self) -> bool:
        return self.since("2.1.100")

    @property
    def drops_images_in_errors(self) -> bool:
        return self.since("2.1.100")

    @property
    def requires_time(self) -> bool:
        """A session whose last message has no time is not resumed."""
        return self.since("2.1.100")

    @property
    def sorts_calls_last(self) -> bool:
        return self.since("2.1.140")

    @property
    def pairs_results(self) -> bool:
        """Before sending, each call gets a result directly behind it, and results without their call go."""
        return self.since("2.1.29")

    @property
    def tells_replies_apart(self) -> bool:
        """Replies without an id are different replies."""
        return self.since("2.1.260")

    @property
    def ends_joined_texts(self) -> bool:
        """A text of a message ends with a new line where the text of another line was joined to it."""
        return self.since("2.1.80")

    @property
    def knows_listings(self) -> bool:
        """What is said about MCP servers and agents is an attachment, and a file is quoted without a warning."""
        return self.since("2.1.100")

    @property
    def sends_local_commands(self) -> bool:
        return self.since("2.1.80")

    @property
    def tool_names(self) -> Mapping[str, str]:
        """Former names of tools, and the names under which calls of them are sent."""
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
        """Blocks of one reply are merged although a result stands between them."""
        return self.since("2.0.76")

    @property
    def merges_over_replies(self) -> bool:
        return self.since("2.1.80")

    @property
    def puts_results_first(self) -> bool:
        """Results come first also where one entry holds a text before them."""
        return not self.since("2.1.45")

    @property
    def drops_prompt_images(self) -> bool:
        return self.since("2.1.45") and not self.since("2.1.80")

    @property
    def closes_over_context(self) -> bool:
        """An unfinished turn is closed although a system or attachment line is the last one."""
        return self.since("2.1.45")

    @property
    def asks_to_go_on(self) -> bool:
        """Behind a result or an attachment the program says that the model is to continue, and closes that."""
        return self.since("2.1.45") and not self.renders_attachments

    @property
    def drops_stray_results(self) -> bool:
        return self.since("2.1.9")

    @property
    def strips_call_fields(self) -> bool:
        """Of a tool use only its type, id, name and input are sent."""
        return self.removes_tool_references

    @property
    def drops_plans(self) -> bool:
        """The plan is not sent with the call that ends the planning."""
        return self.since("2.0.76") and not self.since("2.1.80")

    @property
    def marks_empty(self) -> bool:
        """An empty assistant message between prompts becomes "(no content)"."""
        return self.since("2.1.45")


_FORMER_NAMES = {  # the name that is sent, the first version seen to send it and the first seen to send the former again
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
