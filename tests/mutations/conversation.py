"""Mutations of the sections replies, graph, turns and agents."""

from __future__ import annotations

from msgspec import structs
from msgspec.structs import replace

from clew.conversation import (
    agent_sessions,
    branches,
    entry_graph,
    literal_functions,
    replies,
    reply_ids,
    speaker,
    turns,
)
from clew.wire import layout
from tests.mutations import Patch, violates


@violates("R130", "each line of a reply is a reply of its own")
@violates("R131", "four lines are four replies")
@violates("R136", "only lines with one block are merged")
def lines_are_replies(patch: Patch) -> None:
    @patch.wrap(reply_ids.reply_key)
    def wrong(original, entry):
        return f"{original(entry)}-{entry.uuid}"


@violates("R132", "the first line says why a reply stopped")
@violates("R134", "a stop reason that is not known is null")
def first_line_says_why(patch: Patch) -> None:
    @patch.wrap(replies.Reply.stop_reason)
    def wrong(original, self):
        first = self.entries[0].message
        return first.stop_reason if first and first.stop_reason in ("end_turn", "tool_use", None) else None


@violates("R135", "lines of a reply must have the same requestId")
def request_id_divides(patch: Patch) -> None:
    @patch.wrap(reply_ids.reply_key)
    def wrong(original, entry):
        key = original(entry)
        return key if entry.request_id else f"{key}-{entry.uuid}"


@violates("R133", "the final entry is the first one")
def first_entry_is_final(patch: Patch) -> None:
    @patch.wrap(literal_functions.deduplicate)
    def wrong(original, entries):
        made = original(entries)
        return {key: replace(value, final=(value.streaming or (value.final,))[0]) for key, value in made.items()}


@violates("R140", "an entry whose parent is null is no root")
def roots_need_a_parent(patch: Patch) -> None:
    @patch.wrap(entry_graph.Graph.roots)
    def wrong(original, self):
        return [uuid for uuid in original(self) if self.nodes[uuid].parent]


@violates("R141", "only the active branch is listed")
def one_branch(patch: Patch) -> None:
    @patch.wrap(branches.list_branches)
    def wrong(original, *args):
        return tuple(each for each in original(*args) if each.is_active)


@violates("R148", "cycles are not opened")
def problems_are_silent(patch: Patch) -> None:
    @patch.wrap(entry_graph.Graph.problems)
    def wrong(original, self):
        return ()


@violates("R146", "the path runs from leaf to root")
def path_is_reversed(patch: Patch) -> None:
    @patch.wrap(entry_graph.Graph.path)
    def wrong(original, self, leaf):
        return original(self, leaf)[::-1]


@violates("R161", "a result starts a turn")
def results_start_turns(patch: Patch) -> None:
    @patch.wrap(speaker.is_prompt)
    def wrong(original, entry):
        return original(entry) or bool(entry.type == "user" and entry.results)


@violates("R162", "a list of text starts no turn")
def lists_start_no_turn(patch: Patch) -> None:
    @patch.wrap(speaker.is_prompt)
    def wrong(original, entry):
        return original(entry) and not (entry.message and isinstance(entry.message.content, list))


@violates("R163", "meta entries start turns")
def meta_starts_turns(patch: Patch) -> None:
    @patch.wrap(speaker.is_prompt)
    def wrong(original, entry):
        return original(entry) or (entry.type == "user" and entry.is_meta)


@violates("R160", "a turn ends at the first reply")
def turns_end_early(patch: Patch) -> None:
    @patch.wrap(turns.split_turns)
    def wrong(original, *args):
        before, made = original(*args)
        return before, tuple(structs.replace(each, entries=each.entries[:2]) for each in made)


@violates("R164", "what comes before the first prompt is part of the first turn")
def preamble_is_a_turn(patch: Patch) -> None:
    @patch.wrap(turns.split_turns)
    def wrong(original, *args):
        before, made = original(*args)
        return (), tuple(
            structs.replace(each, entries=(*before, *each.entries)) if each.number == 1 else each for each in made
        )


@violates("R165", "a call does not know the entry of its result")
@violates("R166", "a call has no record of its result")
def result_entry_is_lost(patch: Patch) -> None:
    @patch.wrap(replies._build_call)
    def wrong(original, *args):
        return structs.replace(original(*args), result_entry=None)


@violates("R167", "calls on lines without a stop reason are not paired")
def unfinished_lines_have_no_calls(patch: Patch) -> None:
    @patch.wrap(replies.pair_calls)
    def wrong(original, entries):
        kept = [each for each in entries if each.type != "assistant" or (each.message and each.message.stop_reason)]
        return original(kept)


@violates("R169", "the last call of a session is not paired")
def last_call_is_lost(patch: Patch) -> None:
    @patch.wrap(replies.pair_calls)
    def wrong(original, entries):
        made = original(entries)
        return structs.replace(made, calls=made.calls[:-1])


@violates("R168", "results that answer nothing are not reported")
def orphans_are_silent(patch: Patch) -> None:
    @patch.wrap(replies.pair_calls)
    def wrong(original, entries):
        return structs.replace(original(entries), orphans=())


@violates("R170", "a turn that waits for a tool is complete")
def waiting_is_complete(patch: Patch) -> None:
    @patch.wrap(turns.Turn.state)
    def wrong(original, self):
        return "complete"


@violates("R190", "a call does not lead to its agent")
def calls_lead_nowhere(patch: Patch) -> None:
    @patch.wrap(agent_sessions._KnownCalls.link)
    def wrong(original, self, agent):
        return agent


@violates("R191", "an agent does not know its session")
def agents_know_no_session(patch: Patch) -> None:
    @patch.wrap(layout.AgentFile.session_id)
    def wrong(original, self):
        return None


@violates("R192", "the tokens of an agent are not told")
def totals_lack_tokens(patch: Patch) -> None:
    @patch.wrap(agent_sessions.Agent.totals)
    def wrong(original, self):
        return {key: value for key, value in original(self).items() if key != "totalTokens"}


@violates("R195", "every agent that begins with Warmup is a stub")
def warmups_are_stubs(patch: Patch) -> None:
    @patch.wrap(layout.AgentFile.is_warmup)
    def wrong(original, self):
        return b"Warmup" in self.path.read_bytes()[:4096]


@violates("R197", "an agent has the model of its session")
def agents_have_no_model(patch: Patch) -> None:
    @patch.wrap(agent_sessions.Agent.model)
    def wrong(original, self):
        return "claude-opus-5"


@violates("R198", "the id of an agent is always that of its file")
def ids_agree(patch: Patch) -> None:
    @patch.wrap(agent_sessions.Agent.recorded_id)
    def wrong(original, self):
        return self.id
