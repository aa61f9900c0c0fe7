"""Mutations of the section daily."""

from __future__ import annotations

from msgspec import structs
from msgspec.structs import replace

from clew.api import client
from clew.chat.config import session_name
from clew.chat.rewind import carry_out
from clew.chat.tools import atomic_files
from clew.cli.keep import collect
from clew.conversation import rounds as rounds
from clew.conversation import session_listing
from clew.facts import required_fields, tool_catalog
from clew.index import sql_filters
from clew.report import activity_totals
from clew.wire import known_sessions, work_files
from tests.mutations import Patch, violates


@violates("R353", "a search ignores the branch that it is narrowed to")
def branch_is_ignored(patch: Patch) -> None:
    @patch.wrap(sql_filters._file_condition)
    def wrong(original, name, value, parents):
        return original(name, "*" if name == "branch" else value, parents)


@violates("R354", "sessions without a transcript are not known")
def gone_sessions_are_forgotten(patch: Patch) -> None:
    @patch.wrap(known_sessions.list_gone_sessions)
    def wrong(original, *args, **more):
        return []


@violates("R355", "the name of a session ends with a thing")
def names_end_with_a_thing(patch: Patch) -> None:
    patch.set(session_name, "_SURNAMES", ("brook", "comet", "otter"))


@violates("R356", "a request offers no tools")
def tools_are_left_out(patch: Patch) -> None:
    @patch.wrap(client.Client._open_request)
    def wrong(original, self, path, prepared, *args, **more):
        body = {name: value for name, value in prepared.body.items() if name != "tools"}
        return original(self, path, structs.replace(prepared, body=body), *args, **more)


@violates("R357", "the tools that write files leave them as they are")
def nothing_is_written(patch: Patch) -> None:
    @patch.wrap(atomic_files._replace_file)
    def wrong(original, target, data):
        return original(target, target.read_bytes()) if target.exists() else 0


@violates("R358", "a rewind changes no file")
def nothing_is_restored(patch: Patch) -> None:
    @patch.wrap(carry_out._execute)
    def wrong(original, changes, record):
        return original((), record)


@violates("R359", "fields that are required may be missing")
def nothing_is_required(patch: Patch) -> None:
    @patch.wrap(required_fields.missing_fields)
    def wrong(original, entry):
        return ()


@violates("R360", "the pause that makes a round a resume is always five minutes")
def gap_is_fixed(patch: Patch) -> None:
    @patch.wrap(rounds.rounds_of)
    def wrong(original, session, gap=rounds.GAP):
        return original(session)


@violates("R361", "a short instruction is as complex as a full one")
def complexity_is_flat(patch: Patch) -> None:
    @patch.wrap(rounds.Features.complexity)
    def wrong(original, self):
        return "medium"


@violates("R362", "the slug is not shown")
def slug_is_hidden(patch: Patch) -> None:
    @patch.wrap(session_listing.Outline.slug)
    def wrong(original, self):
        return None


@violates("R363", "the meaning of a return code is not shown")
def meaning_is_hidden(patch: Patch) -> None:
    @patch.wrap(tool_catalog.return_code_meaning)
    def wrong(original, detail):
        return ""


@violates("R364", "the hours of the statistics are not shown")
def hours_are_left_out(patch: Patch) -> None:
    @patch.wrap(activity_totals.compare_activity)
    def wrong(original, *args):
        return (each for each in original(*args) if each.what != "sessions by hour")


@violates("R365", "plans are not found")
def plans_are_missed(patch: Patch) -> None:
    @patch.wrap(work_files.plan_files)
    def wrong(original, tree):
        return []


@violates("R366", "the files beside conversations are always taken")
def beside_files_are_taken(patch: Patch) -> None:
    @patch.wrap(collect.collect_job)
    def wrong(original, options):
        return replace(original(options), extras=True)
