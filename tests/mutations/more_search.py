"""Mutations of what a search answers, and of how files are read, shown, exported and begun."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import msgspec

from clew.chat import open_conversation
from clew.chat.store import journal
from clew.chat.store import journal_lines as chat_entry
from clew.chat.tools.builtin import write_file as write_tool
from clew.conversation import cli_version, replies
from clew.facts import token_usage
from clew.index import assemble, indexed_sessions, query_syntax, saved_searches, snippet, sql_filters
from clew.system import shell_quoting
from clew.view import row_markdown, turn_json
from clew.wire import entry, line, tree_walk
from tests.mutations import Patch, violates


@violates("R211", "sessions are searched only in projects that have a sessions-index.json")
def only_listed_projects_are_searched(patch: Patch) -> None:
    @patch.wrap(tree_walk._Walk.add_project)
    def wrong(original, self, path, folder):
        if os.path.exists(os.path.join(path, "sessions-index.json")):
            original(self, path, folder)


@violates("R211", "a session that its sessions-index.json does not list is not searched")
def only_listed_sessions_are_searched(patch: Patch) -> None:
    @patch.wrap(tree_walk._Walk.add_project)
    def wrong(original, self, path, folder):
        found, before = self.files, len(self.files)
        original(self, path, folder)
        listing = Path(path, "sessions-index.json")
        if listing.exists():
            text = listing.read_text(encoding="utf-8")
            found[before:] = [each for each in found[before:] if each.session in text]


@violates("R216", "a match in an agent names the agent in place of its session")
def agents_are_resumed(patch: Patch) -> None:
    @patch.wrap(assemble.describe_sessions)
    def wrong(original, *args):
        for result in original(*args):
            if result.in_agents_only:
                result.session = min(result.agents)
            yield result


@violates("R219", "dates do not filter")
def dates_are_ignored(patch: Patch) -> None:
    @patch.wrap(sql_filters._condition)
    def wrong(original, name, *args):
        return ("1", [], True) if name in ("since", "until") else original(name, *args)


@violates("R220", "projects do not filter")
def projects_are_ignored(patch: Patch) -> None:
    @patch.wrap(sql_filters._project_condition)
    def wrong(original, value):
        return "1", []


@violates("R221", "the command has only the beginning of the id")
def commands_have_a_short_id(patch: Patch) -> None:
    @patch.wrap(shell_quoting.resume_arguments)
    def wrong(original, session, *flags):
        return original(session[:8], *flags)


@violates("R222", "the project is left out of results")
def results_have_no_project(patch: Patch) -> None:
    _without(patch, "cwd", "")


@violates("R222", "the branch is left out of results")
def results_have_no_branch(patch: Patch) -> None:
    _without(patch, "branch", "")


@violates("R222", "the number of messages is left out of results")
def results_have_no_count(patch: Patch) -> None:
    _without(patch, "messages", 0)


@violates("R222", "the dates are left out of results")
def results_have_no_date(patch: Patch) -> None:
    _without(patch, "ended", None)


@violates("R222", "the title is left out of results")
def results_have_no_title(patch: Patch) -> None:
    _without(patch, "title", "")


def _without(patch: Patch, name: str, value: object) -> None:
    @patch.wrap(indexed_sessions.result_from_row)
    def wrong(original, row):
        result = original(row)
        setattr(result, name, value)
        return result


@violates("R222", "a snippet is the beginning of the passage, with or without the match")
def snippets_are_beginnings(patch: Patch) -> None:
    @patch.wrap(snippet._best_position)
    def wrong(original, text, terms):
        return 0


@violates("R223", "the parts of a symbol or phrase may stand anywhere")
def phrases_are_loose(patch: Patch) -> None:
    @patch.wrap(query_syntax.Term.match)
    def wrong(original, self):
        return "(" + " AND ".join(f'"{word}"' for word in self.words) + ")"


@violates("R223", "words are found only as they were typed: capitals are not")
def capitals_are_not_found(patch: Patch) -> None:
    @patch.wrap(query_syntax.Term.match)
    def wrong(original, self):
        return original(self) if self.text == self.text.lower() else '"no such word"'


@violates("R225", "the newest recall is not listed")
def newest_recall_is_not_listed(patch: Patch) -> None:
    @patch.wrap(saved_searches.list_saved)
    def wrong(original, tree):
        return original(tree)[1:]


@violates("R225", "a loaded recall has lost its quotes")
def quotes_are_not_loaded(patch: Patch) -> None:
    @patch.wrap(saved_searches._read_saved)
    def wrong(original, path):
        found = original(path)
        if found.recall is None:
            return found
        results = tuple(msgspec.structs.replace(each, quotes=()) for each in found.recall.results)
        return msgspec.structs.replace(found, recall=msgspec.structs.replace(found.recall, results=results))


@violates("R225", "recalls are saved beside the folder recalls/")
def recalls_are_saved_elsewhere(patch: Patch) -> None:
    @patch.wrap(saved_searches.save_recall)
    def wrong(original, tree, *args):
        path = original(tree, *args)
        return path.rename(tree.root / path.name)


@violates("R233", "each line of a reply is shown as a reply of its own")
def replies_are_split(patch: Patch) -> None:
    @patch.wrap(replies.merge_replies)
    def wrong(original, entries):
        return tuple(each for line in entries for each in original([line]))


@violates("R237", "the JSON of a session has no turns")
def json_has_no_turns(patch: Patch) -> None:
    @patch.wrap(turn_json.session_document)
    def wrong(original, *args):
        return iter(list(original(*args))[:1])


@violates("R237", "Markdown has only what was asked, not what was answered")
def markdown_has_no_replies(patch: Patch) -> None:
    @patch.wrap(row_markdown.markdown_pieces)
    def wrong(original, rows, **kwargs):
        return original((row for row in rows if row.kind != "reply"), **kwargs)


@violates("R016", "a file is loaded as a whole before its first line is processed")
def files_are_loaded(patch: Patch) -> None:
    @patch.wrap(line.all_pieces)
    def wrong(original, *args, **kwargs):
        return iter(list(original(*args, **kwargs)))


@violates("R054", "reading removes an incomplete last line from the file")
def reading_removes_the_last_line(patch: Patch) -> None:
    @patch.wrap(entry.read)
    def wrong(original, source, **kwargs):
        yield from original(source, **kwargs)
        if isinstance(source, Path):
            data = source.read_bytes()
            os.truncate(source, data.rfind(b"\n") + 1)


@violates("R111", "a new file has a patch, and an empty original")
def new_files_have_a_patch(patch: Patch) -> None:
    @patch.wrap(write_tool.write)
    async def wrong(original, input, scene):
        result = await original(input, scene)
        if result.detail["type"] == "create":
            added = [f"+{each}" for each in input["content"].splitlines()]
            hunk = {"oldStart": 0, "oldLines": 0, "newStart": 1, "newLines": len(added), "lines": added}
            result.detail.update(structuredPatch=[hunk], originalFile="")
        return result


@violates("R123", "usage counts only if it has all fields")
def usage_must_be_complete(patch: Patch) -> None:
    @patch.wrap(token_usage.count)
    def wrong(original, tokens):
        return token_usage.Count() if tokens.cache_read_input_tokens is None else original(tokens)


@violates("R151", "progress is a part of the conversation")
def progress_is_a_message(patch: Patch) -> None:
    @patch.wrap(cli_version.Era.keeps_progress)
    def wrong(original, self):
        return True


@violates("R194", "an agent's lines are not marked as a sidechain")
def agents_are_no_sidechain(patch: Patch) -> None:
    @patch.wrap(chat_entry.Envelope.chained)
    def wrong(original, *args):
        return {**original(*args), "isSidechain": False}


@violates("R194", "an agent has a session of its own")
def agents_have_their_own_session(patch: Patch) -> None:
    @patch.wrap(journal.Journal.child)
    def wrong(original, self, path, agent_id):
        child = original(self, path, agent_id)
        child.envelope = msgspec.structs.replace(child.envelope, session_id=agent_id)
        return child


@violates("R240", "the id of a new session is a UUID of version 1")
def ids_are_of_version_1(patch: Patch) -> None:
    @patch.wrap(journal.new_id)
    def wrong(original):
        return str(uuid.uuid1())


@violates("R240", "a new session lies in a folder named as the last part of the path")
def folders_have_short_names(patch: Patch) -> None:
    @patch.wrap(open_conversation._new_path)
    def wrong(original, spec, tree, ids):
        made = original(spec, tree, ids)
        return made.parent.with_name(spec.cwd.name) / made.name
