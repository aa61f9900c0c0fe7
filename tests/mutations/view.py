"""Mutations of the sections graph, agents, search and view."""

from __future__ import annotations

from clew.conversation import agent_sessions, entry_graph, parent_links, session, speaker
from clew.facts import inventory, tool_catalog
from clew.facts.secrets import mask_secrets
from clew.index import assemble, ranking
from clew.view import rows
from clew.wire import entry
from tests.mutations import Patch, violates


@violates("R142", "all blocks of a reply hang below the prompt")
def blocks_do_not_chain(patch: Patch) -> None:
    @patch.wrap(entry_graph.Graph.children)
    def wrong(original, self):
        first, *others = self.nodes
        return {first: others}


@violates("R152", "the entries of the parallel example hang below their grandparents")
@violates("R153", "the entries of the chain example hang below their grandparents")
def entries_hang_too_high(patch: Patch) -> None:
    @patch.wrap(entry_graph.Graph.parents)
    def wrong(original, self):
        links = original(self)
        return {uuid: links.get(parent) if parent else None for uuid, parent in links.items()}


@violates("R143", "a result below its call is not on the path")
@violates("R144", "results that chain are not on the path")
def results_leave_the_path(patch: Patch) -> None:
    @patch.wrap(session.Session.active)
    def wrong(original, self):
        return tuple(found for found in original(self) if not found.results)


@violates("R149", "a boundary has no logical parent")
def boundaries_have_no_past(patch: Patch) -> None:
    @patch.wrap(parent_links.Chain.parent)
    def wrong(original, self, found, *args, **options):
        return None if found.is_boundary else original(self, found, *args, **options)


@violates("R150", "sidechains inside a file are turns of the session")
def sidechains_are_turns(patch: Patch) -> None:
    @patch.wrap(agent_sessions._inline_agents)
    def wrong(original, found):
        return []


@violates("R178", "the editor's context is part of what a person said")
def context_is_said(patch: Patch) -> None:
    @patch.wrap(speaker.prompt_text)
    def wrong(original, found):
        return found.text


@violates("R180", "the share of results is that of all entries")
def share_is_of_all(patch: Patch) -> None:
    @patch.wrap(inventory.Inventory.result_share)
    def wrong(original, self):
        return self.result_entries / (sum(self.types.values()) or 1)


@violates("R196", "agents are not shown at their calls")
def agents_are_not_nested(patch: Patch) -> None:
    @patch.wrap(session.Session.agents_for)
    def wrong(original, self, call):
        return []


@violates("R193", "an agent's own file has no turns")
def agents_have_no_turns(patch: Patch) -> None:
    @patch.wrap(session.Session.is_agent)
    def wrong(original, self):
        return False


@violates("R218", "age does not count")
def age_does_not_count(patch: Patch) -> None:
    @patch.wrap(ranking.recency)
    def wrong(original, age):
        return 1.0


@violates("R218", "how often a word is found does not count")
def density_does_not_count(patch: Patch) -> None:
    @patch.wrap(ranking.density)
    def wrong(original, matches):
        return 1.0


@violates("R218", "the number of messages does not count")
def depth_does_not_count(patch: Patch) -> None:
    @patch.wrap(ranking.session_score)
    def wrong(original, best, age, matches, messages, in_agents_only):
        return original(best, age, matches, 1, in_agents_only)


@violates("R215", "agents rank like sessions")
def agents_rank_alike(patch: Patch) -> None:
    @patch.wrap(ranking.session_score)
    def wrong(original, best, age, matches, messages, in_agents_only):
        return original(best, age, matches, messages, False)


@violates("R226", "the session that asks is found")
def asking_session_is_found(patch: Patch) -> None:
    @patch.wrap(assemble.group_by_session)
    def wrong(original, shards, found, without):
        return original(shards, found, None)


@violates("R231", "progress of a call is not shown")
def progress_is_not_shown(patch: Patch) -> None:
    @patch.wrap(rows._progress_output)
    def wrong(original, call):
        return ""


@violates("R232", "what the program wrote is shown as the person's")
def meta_is_said(patch: Patch) -> None:
    @patch.wrap(speaker.speaker)
    def wrong(original, found):
        return "prompt" if found.is_meta else original(found)


@violates("R235", "secrets are shown")
def secrets_are_shown(patch: Patch) -> None:
    @patch.wrap(mask_secrets.mask)
    def wrong(original, text, *args, **options):
        return text, original(text, *args, **options)[1]


@violates("R236", "Windows paths are never short")
def windows_paths_are_long(patch: Patch) -> None:
    @patch.wrap(tool_catalog._shorten)
    def wrong(original, value, cwd):
        return original(value, None if cwd and ":" in cwd else cwd)


@violates("R084", "an entry with context_management is lenient")
def context_management_is_odd(patch: Patch) -> None:
    @patch.wrap(entry.Entry.data)
    def wrong(original, self):
        found = original(self)
        if isinstance(found.get("message"), dict):
            found["message"].pop("context_management", None)
        return found
