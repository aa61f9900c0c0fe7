"""Mutations of search, context, failures and counts of copies."""

from __future__ import annotations

from msgspec.structs import replace

from clew.cli.read import check_index
from clew.conversation import literal_functions, surroundings
from clew.conversation.replies import Reply
from clew.conversation.turns import Turn
from clew.facts import removed_thinking, tool_catalog
from clew.index import query_syntax, ranking
from clew.wire import entry, known_sessions, layout, tree_walk
from tests.mutations import Patch, violates


@violates("R108", "a string record says nothing")
def string_records_are_ignored(patch: Patch) -> None:
    @patch.wrap(entry.BaseEntry.failed)
    def wrong(original, self, result, tool=""):
        return bool(result.is_error)


@violates("R105", "the records of other tools are of no kind")
@violates("R106", "create and update alone are of no kind")
def records_have_no_kind(patch: Patch) -> None:
    @patch.wrap(tool_catalog.result_kind)
    def wrong(original, detail):
        return "error" if isinstance(detail, str) else ""


@violates("R125", "removed thinking makes no usage inaccurate")
def removed_thinking_is_forgotten(patch: Patch) -> None:
    @patch.wrap(removed_thinking.replies_without_thinking)
    def wrong(original, entries):
        return []


@violates("R137", "what the program wrote in the model's name counts as a reply")
def synthetic_replies_are_real(patch: Patch) -> None:
    @patch.wrap(Reply.is_synthetic)
    def wrong(original, self):
        return False


@violates("R195", "a warm-up stub is an agent")
def stubs_are_agents(patch: Patch) -> None:
    @patch.wrap(layout.is_warmup)
    def wrong(original, path, size):
        return False


@violates("R004", "any .jsonl is collected as a session")
def other_files_are_collected_as_sessions(patch: Patch) -> None:
    @patch.wrap(tree_walk.is_uuid)
    def wrong(original, name):
        return True


@violates("R210", "the titles of the index are not searched")
def titles_of_the_index_are_not_searched(patch: Patch) -> None:
    @patch.wrap(known_sessions.list_known_sessions)
    def wrong(original, tree):
        return []


@violates("R212", "the quiet search leaves replies out")
def replies_are_not_talk(patch: Patch) -> None:
    patch.item(query_syntax.FIELD_GROUPS, "talk", ("title", "prompt"))


@violates("R213", "the quiet search finds what tools were asked and said")
def tools_are_talk(patch: Patch) -> None:
    patch.item(query_syntax.FIELD_GROUPS, "talk", ("title", "prompt", "reply", "input", "result"))


@violates("R215", "what agents said ranks like what a session said")
def agents_rank_alike(patch: Patch) -> None:
    @patch.wrap(ranking.session_score)
    def wrong(original, best, age, matches, messages, in_agents_only):
        return original(best, age, matches, messages, False)


@violates("R217", "context is only what comes before the place")
def context_ends_at_the_place(patch: Patch) -> None:
    @patch.wrap(surroundings._window)
    def wrong(original, session, messages, found, count, branch, agent):
        before = [each for each in messages if each.offset <= found.offset]
        return original(session, before or messages, found, count, branch, agent)


@violates("R270", "a summary is left out of the messages")
def summary_is_no_message(patch: Patch) -> None:
    @patch.wrap(literal_functions.load_session)
    def wrong(original, entries):
        return original([each for each in entries if each.type != "summary"])


@violates("R036", "check prints an entry of the index without its project")
def index_entries_lose_a_field(patch: Patch) -> None:
    @patch.wrap(check_index._entry_fields)
    def wrong(original, listed, state):
        return {**original(listed, state), "project_path": ""}


@violates("R086", "the JSON of a turn has no todos")
def turns_have_no_todos(patch: Patch) -> None:
    @patch.wrap(Turn.todos)
    def wrong(original, self):
        return []


@violates("R133", "the deduplicated form has no blocks")
def deduplicated_messages_are_empty(patch: Patch) -> None:
    @patch.wrap(literal_functions.deduplicate)
    def wrong(original, entries):
        return {key: replace(each, content_blocks=()) for key, each in original(entries).items()}


@violates("R215", "the quiet search finds agents")
def agents_are_not_left_out(patch: Patch) -> None:
    @patch.wrap(query_syntax.parse_query)
    def wrong(original, text, **options):
        made = original(text, **options)
        made.filters.pop("-is", None)
        return made
