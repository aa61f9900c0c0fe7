"""The store: what is kept of the transcripts stays right, whatever becomes of them."""

from __future__ import annotations

import random
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from clew.demo.talk import bash, talk, task
from clew.facts.prices import load as load_prices
from clew.report.collect_buckets import ArchivedTranscript, collect_buckets
from clew.report.reply_store import ReplyStore
from clew.report.usage_bucket import UsageBucket
from clew.report.usage_summary import cache_folder, load_summary
from clew.report.usage_table import UsageQuery, build_table, needs_places, needs_replies, table_json
from clew.wire.tree_walk import list_transcripts
from tests.report.build import TREE, line, session, totals, write


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def look(tmp_path: Path, cache: Path) -> Callable[[], tuple[int, ...]]:
    """The totals, by both ways: from the summary, and reply by reply; and the same as without a cache."""

    def totals_now() -> tuple[int, ...]:
        root = str(tmp_path / "claude")
        found = [
            totals(collect_buckets(root, str(cache), per_reply=False).buckets),
            totals(collect_buckets(root, str(cache), per_reply=True).buckets),
            totals(collect_buckets(root, None, per_reply=False).buckets),
        ]
        assert found[0] == found[1] == found[2]
        return found[0]

    return totals_now


Look = Callable[[], tuple[int, ...]]


def test_a_file_that_grows_is_read_on(tmp_path: Path, look: Look) -> None:
    path = write(tmp_path, session(1), line("a", output=10))
    assert look() == (1, 10)
    with path.open("ab") as file:
        file.write(line("b", output=5))
    assert look() == (2, 15)
    with path.open("ab") as file:
        file.write(line("a", output=20))  # a later word on the first
    assert look() == (2, 25)


def test_a_file_that_was_rewritten_is_read_anew(tmp_path: Path, look: Look) -> None:
    path = write(tmp_path, session(1), line("a", output=10), line("b", output=10))
    assert look() == (2, 20)
    path.write_bytes(line("c", output=1) + line("d", output=1) + line("e", output=1))
    assert look() == (3, 3)
    path.write_bytes(line("c", output=1))
    assert look() == (1, 1)


@pytest.mark.parametrize("change", ["an older version", "deleted", "emptied", "damaged"])
def test_a_summary_does_not_outlive_the_replies_it_was_made_from(
    change: str, tmp_path: Path, cache: Path, look: Look
) -> None:
    write(tmp_path, session(1), line("a", output=10))
    assert look() == (1, 10)
    database = Path(cache_folder(str(tmp_path / "claude"), str(cache)), "replies.db")
    if change == "an older version":
        connection = apsw.Connection(str(database))
        connection.execute("DROP TABLE file; CREATE TABLE file(path TEXT, keys BLOB); PRAGMA user_version=2")
        connection.close()
    elif change == "deleted":
        database.unlink()
    else:
        database.write_bytes(b"" if change == "emptied" else b"junk" * 3000)
    assert look() == (1, 10)


def test_a_file_in_the_place_of_another_is_read_anew(tmp_path: Path, look: Look) -> None:
    path = write(tmp_path, session(1), line("a", output=10))
    assert look() == (1, 10)
    other = tmp_path / "other"
    other.write_bytes(line("b", output=3) * 2)
    other.replace(path)
    assert look() == (1, 3)


def test_a_file_that_is_gone_is_forgotten(tmp_path: Path, look: Look) -> None:
    write(tmp_path, session(1), line("a", output=10))
    other = write(tmp_path, session(2), line("b", output=5))
    assert look() == (2, 15)
    other.unlink()
    assert look() == (1, 10)


def test_what_could_not_be_looked_at_is_not_forgotten(tmp_path: Path, cache: Path) -> None:
    write(tmp_path, session(1), line("a", output=10))
    root = str(tmp_path / "claude")
    store = ReplyStore(root, str(cache))
    store.refresh(list_transcripts(root))
    store.refresh([], is_whole=False)
    assert totals(store.buckets()) == (1, 10)
    store.refresh([], is_whole=True)
    assert totals(store.buckets()) == (0, 0)
    store.close()


def test_what_is_not_finished_waits(tmp_path: Path, look: Look) -> None:
    """A last line that breaks off is nothing yet; one that is whole counts, and counts once when its newline comes."""
    whole = line("b", output=5)
    path = write(tmp_path, session(1), line("a", output=10), whole[:40])
    assert look() == (1, 10)
    path.write_bytes(line("a", output=10) + whole[:-1])
    assert look() == (2, 15)
    path.write_bytes(line("a", output=10) + whole)
    assert look() == (2, 15)
    path.write_bytes(line("a", output=10) + line("c", output=1))
    assert look() == (2, 11)


def test_a_reply_in_several_files_counts_once_with_its_last_word(tmp_path: Path, look: Look) -> None:
    write(tmp_path, session(1), line("a", output=10), line("b", output=1))
    write(tmp_path, session(2), line("a", output=10), line("b", output=7), line("c", output=1))
    assert look() == (3, 18)
    (tmp_path / "claude/projects/-p" / f"{session(2)}.jsonl").unlink()
    assert look() == (2, 11)


def test_a_reply_belongs_to_the_session_that_is_no_copy(tmp_path: Path, cache: Path) -> None:
    write(tmp_path, session(1), line("a", output=1, forkedFrom={"sessionId": session(2)}), line("b", output=2))
    write(tmp_path, session(2), line("a", output=1))
    found = collect_buckets(str(tmp_path / "claude"), str(cache), per_reply=True).buckets
    owners = {bucket.output: bucket.context.session for bucket in found if bucket.context}
    assert owners == {1: session(2), 2: session(1)}


def test_agents_belong_to_their_session_in_every_layout(tmp_path: Path, cache: Path) -> None:
    for version in ("2.0.20", "2.0.76", "2.1.232"):
        told = talk(version=version, session_id=session(int(version.replace(".", "")))).user("go")
        errand = talk(version=version).user("Look.").reply("Seen.")
        told.reply(call=task("Look", "Look.")).agent(0, errand).reply("done").write(tmp_path / "claude")
    buckets = collect_buckets(str(tmp_path / "claude"), str(cache), per_reply=True).buckets
    by_session: dict[str, int] = {}
    for bucket in buckets:
        assert bucket.context is not None
        by_session[bucket.context.session] = by_session.get(bucket.context.session, 0) + 1
    assert sorted(by_session.values()) == [3, 3, 3]


def test_the_tools_and_the_branch_of_a_reply_are_kept(tmp_path: Path, cache: Path) -> None:
    talk(branch="topic").user("go").reply(calls=[bash("a"), bash("b")]).result("1").write(tmp_path / "claude")
    (bucket,) = collect_buckets(str(tmp_path / "claude"), str(cache), per_reply=True).buckets
    assert bucket.context is not None
    assert (bucket.context.branch, bucket.context.tools) == ("topic", "Bash")


@pytest.mark.parametrize("seed", range(12))
def test_sums_that_are_kept_are_those_of_all_files(seed: int, tmp_path: Path, cache: Path) -> None:
    """Files grow, are rewritten, copied and deleted; replies are in several of them, with other numbers in each."""
    chance = random.Random(seed)
    root = str(tmp_path / "claude")
    paths = [write(tmp_path, session(number), line(f"m{number}", output=number)) for number in range(4)]
    for _ in range(12):
        lines = b"".join(
            line(f"m{chance.randrange(9)}", output=chance.randrange(1, 5)) for _ in range(chance.randrange(1, 4))
        )
        path = chance.choice(paths)
        match chance.choice(("grow", "grow", "rewrite", "copy", "delete")):
            case "grow":
                path.write_bytes((path.read_bytes() if path.exists() else b"") + lines)
            case "rewrite":
                path.write_bytes(lines)
            case "copy" if path.exists():
                chance.choice(paths).write_bytes(path.read_bytes() + lines)
            case "delete":
                path.unlink(missing_ok=True)
        kept, anew = (collect_buckets(root, folder, per_reply=False) for folder in (str(cache), None))
        assert sorted(kept.buckets) == sorted(anew.buckets)
        assert totals(collect_buckets(root, str(cache), per_reply=True).buckets) == totals(anew.buckets)
        for by in ("session", "project", "agent"):
            query = UsageQuery(by=by, by_model=True)
            tables = [
                build_table(
                    collect_buckets(root, str(cache), per_reply=each, per_place=True).buckets, query, load_prices()
                )
                for each in (True, False)
            ]
            of_replies, of_places = ([*table_json(table, load_prices(), {})] for table in tables)
            assert of_places == of_replies and needs_places(query) and not needs_replies(query)


def test_copies_in_parts_are_the_same_as_all_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        write(tmp_path, session(number), *(line(f"m{each}", output=each + number) for each in range(number, 9)))
    root = str(tmp_path / "claude")
    found = [sorted(collect_buckets(root, None, per_reply=per_reply).buckets) for per_reply in (False, True)]
    monkeypatch.setattr("clew.report.reply_copies.MAX_COPIES", 2)
    assert [sorted(collect_buckets(root, None, per_reply=per_reply).buckets) for per_reply in (False, True)] == found


def test_replies_that_are_damaged_before_they_are_read_are_read_anew(tmp_path: Path, cache: Path) -> None:
    for number in range(3):
        write(tmp_path, session(number), line(f"m{number}", output=1))
    collected = collect_buckets(str(tmp_path / "claude"), str(cache), per_reply=True)
    (folder,) = (cache / "usage").iterdir()
    with apsw.Connection(str(folder / "replies.db")) as database:
        database.execute("UPDATE file SET spends=x'ff' WHERE rowid=3")
    assert collected.read(totals) == (3, 3)
    assert collected.read(totals) == (3, 3)


# -- the cache itself


def test_it_is_for_the_eyes_of_the_user_alone(tmp_path: Path, cache: Path) -> None:
    write(tmp_path, session(1), line("a", output=10))
    collect_buckets(str(tmp_path / "claude"), str(cache), per_reply=False)
    (folder,) = (cache / "usage").iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()} == {0o600}


@pytest.mark.parametrize("broken", [b"", b"nonsense" * 100, b"SQLite format 3\x00" + b"\xff" * 4000])
def test_one_that_is_damaged_or_gone_is_made_anew(tmp_path: Path, cache: Path, look: Look, broken: bytes) -> None:
    write(tmp_path, session(1), line("a", output=10))
    assert look() == (1, 10)
    (folder,) = (cache / "usage").iterdir()
    for path in folder.iterdir():
        path.write_bytes(broken) if path.suffix != ".db-wal" else path.unlink()
    assert look() == (1, 10)
    for path in folder.iterdir():
        path.unlink()
    assert look() == (1, 10)


def test_a_summary_holds_only_for_the_files_that_it_was_made_of(tmp_path: Path, cache: Path) -> None:
    write(tmp_path, session(1), line("a", output=10))
    root = str(tmp_path / "claude")
    collect_buckets(root, str(cache), per_reply=False)
    kept = load_summary(cache_folder(root, str(cache)))
    assert kept is not None and list(kept.states) == [f.path for f in list_transcripts(root)]
    write(tmp_path, session(2), line("b", output=1))
    assert totals(collect_buckets(root, str(cache), per_reply=False).buckets) == (2, 11)
    assert load_summary(cache_folder(root, str(cache))) != kept


def test_where_nothing_can_be_kept_it_works_all_the_same(tmp_path: Path) -> None:
    write(tmp_path, session(1), line("a", output=10))
    blocked = tmp_path / "cache"
    blocked.write_text("a file where a folder should be")
    assert totals(collect_buckets(str(tmp_path / "claude"), str(blocked), per_reply=False).buckets) == (1, 10)


def test_files_from_elsewhere_count_too(tmp_path: Path, cache: Path) -> None:
    """What an archive kept of a session that is gone from the tree, and of one that is still there."""
    write(tmp_path / "archive", session(1), line("a", output=10))
    write(tmp_path / "archive", session(2), line("b", output=5))
    write(tmp_path, session(2), line("b", output=5), line("c", output=1))
    found = list_transcripts(str(tmp_path / "archive" / "claude"))
    kept = [
        ArchivedTranscript(each._replace(path=f"archive:{each.path}"), Path(each.path).read_bytes) for each in found
    ]
    assert totals(collect_buckets(str(tmp_path / TREE), str(cache), per_reply=False, kept=kept).buckets) == (3, 16)


def test_progress_is_told(tmp_path: Path, cache: Path) -> None:
    sizes = [write(tmp_path, session(n), line(f"m{n}", output=1)).stat().st_size for n in range(3)]
    heard: list[tuple[int, int]] = []
    store = ReplyStore(str(tmp_path / "claude"), str(cache))
    store.refresh(list_transcripts(str(tmp_path / "claude")), progress=lambda done, total: heard.append((done, total)))
    store.close()
    assert heard[-1] == (sum(sizes), sum(sizes)) and len(heard) == 3


def test_the_usage_of_a_file_is_added_up_before_the_next_one_is_read(tmp_path: Path, cache: Path) -> None:
    """So that the first process does it while workers read, and not after they have ended."""
    for number in range(3):
        write(tmp_path, session(number), line(f"m{number}", output=1, time=f"2026-06-0{1 + number}T10:00:00.000Z"))
    store = ReplyStore(str(tmp_path / "claude"), str(cache))
    sums: dict[Any, list[int]] = {}
    heard: list[int] = []
    store._update(None, sums, list_transcripts(str(tmp_path / "claude")), True, lambda *_: heard.append(len(sums)))
    store.close()
    assert heard == [1, 2, 3]


def test_what_cannot_be_read_any_more_counts_as_it_was(tmp_path: Path, cache: Path) -> None:
    """Also where all sums are added up again, because the summary is gone."""
    write(tmp_path, session(1), line("a", output=10))
    write(tmp_path, session(2), line("b", output=5))
    root = str(tmp_path / "claude")
    files = list_transcripts(root)
    store = ReplyStore(root, str(cache))
    assert totals(store.refresh(files).buckets) == (2, 15)
    folder = store.folder
    store.close()
    assert folder
    (Path(folder) / "summary").unlink()

    def fail() -> bytes:
        raise OSError("gone")

    changed = [file._replace(size=file.size + 1) for file in files]
    write(tmp_path, session(2), line("b", output=5), line("c", output=1))
    first = next(file.path for file in files if file.session == session(1))
    store = ReplyStore(root, str(cache), {first: fail})
    assert totals(store.refresh(changed).buckets) == (3, 16) and store.failed == [first]
    store.close()


def test_two_stores_at_once_agree(tmp_path: Path, cache: Path) -> None:
    write(tmp_path, session(1), line("a", output=10))
    root = str(tmp_path / "claude")
    first, second = ReplyStore(root, str(cache)), ReplyStore(root, str(cache))
    buckets: list[list[UsageBucket]] = [
        store.refresh(list_transcripts(root)).buckets for store in (first, second, first)
    ]
    assert buckets[0] == buckets[1] == buckets[2]
    first.close()
    second.close()


def test_the_number_of_processes_does_not_change_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files are large enough for two batches; a reply is in both, and one is read further later."""
    monkeypatch.setattr("clew.report.reply_store.MIN_BYTES", 0)
    padding = b'{"type":"system","content":"' + b"x" * (9 << 20) + b'"}\n'
    first = write(tmp_path, session(1), padding + line("a", output=10) + line("b", output=7))
    write(tmp_path, session(2), padding + line("b", output=9) + line("c", output=5))
    root = str(tmp_path / "claude")
    caches = {jobs: str(tmp_path / f"cache{jobs}") for jobs in (1, 2, 3)}

    def look_with(jobs: int, per_reply: bool) -> list[UsageBucket]:
        return sorted(collect_buckets(root, caches[jobs], per_reply=per_reply, jobs=jobs).buckets)

    for _ in range(2):
        for per_reply in (False, True):
            answers = [look_with(jobs, per_reply) for jobs in caches]
            assert answers[0] == answers[1] == answers[2]
        with first.open("ab") as file:
            file.write(padding + line("d", output=3))
    assert totals(look_with(2, per_reply=False)) == (4, 27)
