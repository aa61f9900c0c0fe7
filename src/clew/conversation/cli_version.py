"""Describe how the versions of Claude Code differ in resuming a session.

Observed by letting the published programs resume the same files. Each line of the table names the first version that
showed the behaviour, and the first that did not show it any more. Versions between two observed ones are assumed to
behave like the older one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from msgspec import Struct

NEWEST = "2.1.325"


@cache
def version_key(version: str) -> tuple[int, ...]:
    """Return the first three numbers of a version. `re` is not loaded for them: most commands come by here."""
    spaced = "".join([letter if letter.isdecimal() else " " for letter in version])
    return tuple(map(int, spaced.split()[:3]))


class Since:
    """A behaviour of the versions from `first` on, up to but not including `until`."""

    def __init__(self, first: str, until: str = "") -> None:
        self._first, self._until = version_key(first), version_key(until)

    def __set_name__(self, owner: type[Era], name: str) -> None:
        self._name = name

    def __get__(self, era: Era, owner: type[Era]) -> bool:
        key = version_key(era.version)
        is_so = self._first <= key and not (self._until and key >= self._until)
        vars(era)[self._name] = is_so  # which is found before this descriptor the next time
        return is_so


class Era(Struct, frozen=True, dict=True):
    """How one version of Claude Code resumes a file: `Era("2.1.80").repairs_siblings` is True."""

    version: str

    reads_bom = Since("2.1.9")
    survives_cycles = Since("2.1.45")
    # Skips a line without a message, or a message without content, instead of crashing.
    survives_bad_entries = Since("2.1.290")
    # Crashes on a reply without a message anywhere in the file, also off the path.
    reads_every_message = Since("2.1.80", until="2.1.290")
    dies_of_null_lines = Since("2.1.120", until="2.1.260")
    # Does not read anything after a line that is `null`.
    stops_at_null_lines = Since("2.1.29", until="2.1.120")
    # Looks at how the texts of prompts begin, and crashes on one that is not a string.
    reads_text_marks = Since("2.1.100", until="2.1.160")
    survives_bad_attachments = Since("2.1.260")
    # Replaces a missing parent by the entry nearest in time, and a progress line by its own parent.
    bridges_gaps = Since("2.1.100")
    # Bridges a missing parent of an agent's entry by agents' entries only, and of others by others only.
    parts_agents = Since("2.1.120")
    # Does not resume a conversation that the model ended.
    heeds_endings = Since("2.1.100")
    # Does not resume a session of a worktree that exists without its repository.
    verifies_worktree = Since("2.1.260")
    # Inserts parallel calls that are off the parent chain.
    repairs_siblings = Since("2.1.80")
    # Finds all results of parallel calls by their calls and sorts them by file order.
    # Earlier versions find only results that hang below their reply, and sort inserted lines by time.
    orders_siblings = Since("2.1.290")
    # Sends meta entries and attachments that hang off the path below a call or its result.
    keeps_notes = Since("2.1.290")
    # Sends everything that is not a message below the last message, whatever branch it is on.
    appends_notes = Since("2.1.120")
    # Takes a turn that ends with a reply as complete, whatever context follows the reply.
    ends_with_replies = Since("2.1.200")
    # Resumes the last line of the file instead of the newest timestamp; `last-prompt` can name another.
    leaf_by_order = Since("2.1.120")
    # Resumes the newest line below the last line of the file, where lines are out of order.
    continues_below_last_line = Since("2.1.260")
    knows_preserved_segment = Since("2.1.80")
    knows_preserved_messages = Since("2.1.160")
    # Hangs a message whose parent a compaction removed below the last preserved line.
    moves_orphans = Since("2.1.160")
    saves_joined_lines = Since("2.1.120")
    renders_attachments = Since("2.1.290")
    # Sends a string among the blocks of a message unchanged; later versions omit it.
    sends_strings = Since("", until="2.1.290")
    dies_of_strings_in_replies = Since("2.1.100", until="2.1.290")
    # Sends context in messages with the role `system` to models that accept them.
    has_system_turns = Since("2.1.160")
    # Sends a task notification as a reminder instead of a prompt.
    reminds_of_tasks = Since("2.1.260")
    # Treats a turn that a tool or the turn limit ended as complete.
    knows_ended_turns = Since("2.1.310")
    # Crashes on a file snapshot line without a snapshot whose message is on the path.
    reads_snapshots = Since("2.1.325")
    # Does not make an attached file part of a tool result, for models that accept system turns.
    keeps_files_apart = Since("2.1.325")
    # Removes tool references from results: tool search is off.
    removes_tool_references = Since("2.0.76", until="2.1.310")
    # Notes that the tools of removed references are no longer available, not that tool search is off.
    reports_lost_tools = Since("2.1.9", until="2.1.80")
    # Does not send blank texts next to others, nor lone surrogates.
    cleans_texts = Since("2.1.200")
    drops_virtual_lines = Since("2.1.100")
    drops_images_in_errors = Since("2.1.100")
    # Does not resume a session whose last message has no time.
    requires_time = Since("2.1.100")
    sorts_calls_last = Since("2.1.140")
    # Gives each call a result directly after it, and drops results without a call.
    pairs_results = Since("2.1.29")
    # Treats replies without an id as different replies.
    separates_replies_without_id = Since("2.1.260")
    # Ends a text with a newline where the text of another line is joined to it.
    ends_joined_texts = Since("2.1.80")
    # Stores what is known about MCP servers and agents as attachments, and quotes a file without a warning.
    knows_listings = Since("2.1.100")
    sends_local_commands = Since("2.1.80")
    first_result_counts = Since("2.1.80")
    fills_missing_results = Since("2.1.45")
    answers_interrupted_calls = Since("2.1.290")
    drops_foreign_thinking = Since("2.1.160")
    drops_lone_thinking = Since("2.1.9")
    # Merges blocks of one reply although a result stands between them.
    merges_over_results = Since("2.0.76")
    merges_over_replies = Since("2.1.80")
    # Moves results before a text of the same entry.
    puts_results_first = Since("", until="2.1.45")
    drops_prompt_images = Since("2.1.45", until="2.1.80")
    # Closes an unfinished turn although a system or attachment line is last.
    closes_over_context = Since("2.1.45")
    # Asks the model to continue after a result or an attachment, and closes that turn.
    asks_to_continue = Since("2.1.45", until="2.1.290")
    drops_stray_results = Since("2.1.9")
    # Sends only type, id, name and input of a tool use.
    strips_call_fields = Since("2.0.76", until="2.1.310")
    # Omits what was added to a call of SendMessage that has a recipient and a message.
    restores_messages = Since("2.1.260")
    # Omits the calls of the server's tools that have no result in the same reply.
    drops_open_server_calls = Since("2.1.80")
    # Omits the calls and results of the advisor.
    drops_advice = Since("2.1.80")
    # Omits the block that marks a change to another model within a reply.
    drops_fallbacks = Since("2.1.200")
    # Sends an empty assistant message between prompts as "(no content)".
    marks_empty = Since("2.1.45")

    @classmethod
    def newest(cls) -> Era:
        return cls(NEWEST)

    def since(self, version: str) -> bool:
        return version_key(self.version) >= version_key(version)

    @property
    def chain_types(self) -> frozenset[str]:
        """The types of lines that can be on the path."""
        types = {"user", "assistant", "system", "attachment"}
        return frozenset(types | {"progress"} if self.keeps_progress else types)

    @property
    def keeps_progress(self) -> bool:
        return self.since("2.1.9") and not self.bridges_gaps

    @property
    def tool_names(self) -> Mapping[str, str]:
        """Former names of tools, mapped to the names under which calls of them are sent."""
        return _tool_names(self)

    @property
    def added_plan_fields(self) -> frozenset[str]:
        """The fields that are omitted from the call that ends plan mode."""
        if self.since("2.1.200") or not self.since("2.0.76"):
            return frozenset()
        return frozenset({"plan", "planFilePath"} if self.since("2.1.80") else {"plan"})


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
