"""Mutations of the sections usage, request and writing."""

from __future__ import annotations

from msgspec.structs import replace

from clew.chat.store import file_snapshots, journal, journal_lines
from clew.conversation import active_path, api_messages, message_drafts, replies
from clew.facts import token_usage, tool_catalog
from clew.report import timezone
from tests.mutations import Patch, violates


@violates("R109", "the record of a result is sent")
@violates("R267", "bookkeeping of the program is sent")
def records_are_sent(patch: Patch) -> None:
    @patch.wrap(api_messages._clean_message)
    def wrong(original, made, *args):
        return {**original(made, *args), "toolUseResult": {}, "_requestId": "req_1"}


@violates("R110", "a diff has no places")
def diff_has_no_places(patch: Patch) -> None:
    @patch.wrap(tool_catalog._hunk_lines)
    def wrong(original, hunk):
        return (line for line in original(hunk) if not line.startswith("@@"))


@violates("R120", "tokens that were read from a cache are not counted")
def cache_reads_are_lost(patch: Patch) -> None:
    @patch.wrap(token_usage.count)
    def wrong(original, tokens):
        return replace(original(tokens), cache_read=0)


@violates("R121", "usage is counted once for each line of a reply")
def each_line_is_paid(patch: Patch) -> None:
    @patch.wrap(token_usage._count_entries)
    def wrong(original, entries):
        lines = (original([entry]).own.items() for entry in entries)
        return token_usage.Usage({f"{key} {number}": spend for number, line in enumerate(lines) for key, spend in line})


@violates("R122", "the lowest count of a reply counts")
def lowest_counts(patch: Patch) -> None:
    @patch.wrap(token_usage._ReplyUsage.is_outranked)
    def wrong(original, self, *args):
        return not original(self, *args)


@violates("R124", "all tokens are those of one day")
def one_day(patch: Patch) -> None:
    @patch.wrap(token_usage.Spend.day)
    def wrong(original, self):
        return "2026-01-01"


@violates("R124", "a report by day has one day")
def report_has_one_day(patch: Patch) -> None:
    @patch.wrap(timezone.Zone.day)
    def wrong(original, self, when):
        return original(self, 0)


@violates("R124", "a report by model has one model")
def report_has_one_model(patch: Patch) -> None:
    @patch.wrap(token_usage._ReplyUsage.spend)
    def wrong(original, self):
        spend = original(self)
        return replace(spend, model=spend.model and "claude-opus-4-5-20251101")


@violates("R137", "a synthetic message passes for the model's")
def synthetic_is_real(patch: Patch) -> None:
    @patch.wrap(replies.Reply.is_synthetic)
    def wrong(original, self):
        return False


@violates("R147", "of parallel calls one result is on the path")
def one_result(patch: Patch) -> None:
    @patch.wrap(active_path.insert_siblings)
    def wrong(original, found, *args):
        return found


@violates("R265", "results do not follow their calls")
@violates("R266", "each block of a reply is a message")
def nothing_is_merged(patch: Patch) -> None:
    @patch.wrap(api_messages._merge_drafts)
    def wrong(original, made, *args):
        return list(made)


@violates("R268", "what the program wrote for the model is not sent")
def meta_is_not_sent(patch: Patch) -> None:
    @patch.wrap(message_drafts._entry_drafts)
    def wrong(original, found, *args):
        return () if found.is_meta else original(found, *args)


@violates("R269", "the summary of a compaction is not sent")
def summaries_are_not_sent(patch: Patch) -> None:
    @patch.wrap(message_drafts._entry_drafts)
    def wrong(original, found, *args):
        return () if found.is_compact_summary else original(found, *args)


@violates("R242", "entries have spaces between their keys")
def lines_are_loose(patch: Patch) -> None:
    from clew.wire import session_writer

    @patch.wrap(session_writer._line)
    def wrong(original, value):
        return original(value).replace(b'","', b'", "')


@violates("R244", "messages do not say their branch")
def envelope_lacks_the_branch(patch: Patch) -> None:
    @patch.wrap(journal_lines.Envelope.chained)
    def wrong(original, self, *args):
        return {key: value for key, value in original(self, *args).items() if key != "gitBranch"}


@violates("R245", "files are not saved before they change")
def changes_are_not_saved(patch: Patch) -> None:
    @patch.wrap(file_snapshots.Backups.before_change)
    def wrong(original, self, *args):
        return None


@violates("R246", "every line of a reply says how it ended")
def each_line_ends(patch: Patch) -> None:
    @patch.wrap(journal.ReplyWriter._put)
    def wrong(original, self, stop, used):
        return original(self, stop or "end_turn", used)


@violates("R247", "a result has no record")
def results_have_no_record(patch: Patch) -> None:
    @patch.wrap(journal_lines.result)
    def wrong(original, *args, **options):
        return {key: value for key, value in original(*args, **options).items() if key != "toolUseResult"}


@violates("R254", "pull requests have no repository")
def pull_requests_lack_the_repository(patch: Patch) -> None:
    @patch.wrap(journal_lines.pull_request)
    def wrong(original, number, url, repository, *args):
        return original(number, url, "", *args)


@violates("R255", "a boundary does not say how large the conversation was")
def boundary_has_no_size(patch: Patch) -> None:
    @patch.wrap(journal_lines.boundary)
    def wrong(original, leaf, trigger, tokens, used):
        return original(leaf, trigger, 0, used)


@violates("R249", "the body of a skill is a prompt")
def notes_are_prompts(patch: Patch) -> None:
    @patch.wrap(journal_lines.note)
    def wrong(original, *args):
        return {key: value for key, value in original(*args).items() if key != "isMeta"}
