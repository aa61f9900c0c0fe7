"""Sessions that Claude Code's own lists know: titles in the index, and transcripts that are gone. Files written by hand."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.hand_written import ONE, TWO, reply, text, user, write

LOST = "07945b52-5076-4226-9044-ad0853831562"
TYPED = "644ef223-00e7-4a77-bcad-d89361ee209c"
FOLDER = "/home/flight/develop/tinyledger"


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


def entry(session: str, summary: str, first: str) -> dict[str, Any]:
    return {
        "sessionId": session,
        "fullPath": f"/nowhere/{session}.jsonl",
        "fileMtime": 1706234567890,
        "firstPrompt": first,
        "summary": summary,
        "messageCount": 78,
        "created": "2026-01-26T03:35:03.917Z",
        "modified": "2026-01-26T07:19:04.022Z",
        "gitBranch": "main",
        "projectPath": FOLDER,
        "isSidechain": False,
    }


@pytest.fixture
def stored(claude: Path) -> Path:
    """Two sessions in an index, one of them without its transcript, and a third that only the history knows."""
    path = write(claude, ONE, user(1, "hello"), reply(2, text("hi")))
    write(claude, TWO, user(1, "a marmoset in the text"), reply(2, text("hi")))
    entries = [
        entry(ONE, "Feeding the tamarin", "hello"),
        entry(LOST, "Counting the capybara", "how many okapi are there"),
    ]
    index = {"version": 1, "entries": entries, "originalPath": FOLDER}
    (path.parent / "sessions-index.json").write_text(json.dumps(index))
    line = {"display": "paint the pangolin", "pastedContents": {}, "timestamp": 1769400000000, "project": FOLDER}
    (claude / "history.jsonl").write_text(json.dumps({**line, "sessionId": TYPED}) + "\n")
    return path


def found(clew: Run, *words: str) -> list[Any]:
    return [json.loads(row) for row in clew("search", *words, "--json")[1].splitlines()]


@pytest.mark.req("R210")
def test_titles_of_the_index_are_searched(stored: Path, clew: Run) -> None:
    (row,) = found(clew, "tamarin")
    assert (row["session"], row["gone"], row["resume"]) == (ONE, None, f"claude -r {ONE}")
    assert (row["passages"][0]["match"], row["passages"][0]["text"]) == ("index title", "Feeding the tamarin")
    assert found(clew, "tamarin", "in:reply") == []


@pytest.mark.req("R042", "R210")
@pytest.mark.parametrize(("word", "match"), [("capybara", "index title"), ("okapi", "index prompt")])
def test_a_session_that_only_the_index_knows_is_found_and_marked(
    stored: Path, clew: Run, word: str, match: str
) -> None:
    (row,) = found(clew, word)
    assert (row["session"], row["gone"], row["resume"], row["cwd"]) == (LOST, "index", None, FOLDER)
    assert row["passages"][0]["match"] == match
    _, out, _ = clew("search", word)
    assert "only in the index: the transcript is gone" in out and "claude -r" not in out
    assert found(clew, word, "project:elsewhere") == [] and found(clew, word, "since:2026-02-01") == []
    assert len(found(clew, word, "project:tinyledger", "until:2026-02-01")) == 1


def test_a_session_that_only_the_history_knows_is_found_and_marked(stored: Path, clew: Run) -> None:
    (row,) = found(clew, "pangolin")
    assert (row["session"], row["gone"], row["resume"]) == (TYPED, "history", None)
    assert "only in the prompt history: the transcript is gone" in clew("search", "pangolin")[1]
    write(stored.parents[2], TYPED, user(1, "hello"))
    assert found(clew, "pangolin") == []


@pytest.mark.req("R042")
def test_ls_flags_what_has_no_transcript(stored: Path, clew: Run) -> None:
    code, out, err = clew("ls", "--json")
    rows = {row["id"]: row for row in map(json.loads, out.splitlines())}
    assert code == 0 and set(rows) == {ONE, TWO, LOST}
    assert "kept" not in rows[ONE]
    assert rows[LOST]["kept"] == "only in the index: the transcript is gone"
    assert (rows[LOST]["resume"], rows[LOST]["first_prompt"]) == (None, "how many okapi are there")
    assert err == "1 more session is known from the prompt history alone. List them: clew ls --gone\n"
    _, out, _ = clew("ls", "--gone")
    assert "(only in the prompt history: the transcript is gone) paint the pangolin" in out
    assert "(only in the index: the transcript is gone) Counting the capybara" in out and ONE[:8] not in out


def test_an_archived_session_is_found_with_the_step_that_brings_it_back(stored: Path, clew: Run) -> None:
    assert clew("collect")[0] == 0
    path = stored.with_name(f"{TWO}.jsonl")
    path.unlink()
    assert clew("collect")[0] == 0
    (row,) = found(clew, "marmoset")
    assert (row["session"], row["gone"]) == (TWO, "archive")
    assert row["resume"].endswith(f"restore {TWO}")
    today = time.strftime("%Y-%m-%d")
    assert row["gone_since"] == pytest.approx(time.time(), abs=600)
    out = clew("search", "marmoset")[1]
    assert f"only in the archive: the transcript is gone since {today}; bring it back with: " in out


def test_ls_counts_no_rounds_of_a_session_without_its_transcript(stored: Path, clew: Run) -> None:
    code, out, _ = clew("ls", "--rounds")
    assert code == 0 and "Counting the capybara" in out


@pytest.mark.parametrize("asked", [LOST, LOST[:8], LOST.upper(), "okapi", "counting the capybara"])
@pytest.mark.parametrize("more", [(), ("--json",), ("--print",)])
def test_resume_of_a_session_that_only_the_index_knows(
    stored: Path, clew: Run, asked: str, more: tuple[str, ...]
) -> None:
    assert clew("resume", asked, *more) == (
        1,
        "",
        "clew: The transcript of session 07945b52 (Counting the capybara) is gone; only the index has it.\n"
        "Only its title and first prompt are left. Read: clew ls --gone\n",
    )


@pytest.mark.parametrize("asked", [TYPED, TYPED[:4], f"{TYPED}.jsonl", "pangolin"])
def test_resume_of_a_session_that_only_the_history_knows(stored: Path, clew: Run, asked: str) -> None:
    assert clew("resume", asked) == (
        1,
        "",
        "clew: The transcript of session 644ef223 (paint the pangolin) is gone; only the prompt history has it.\n"
        "Only its prompts are left. Read: clew ls --gone\n",
    )


def test_words_of_a_transcript_win_over_a_session_that_is_gone(stored: Path, claude: Path, clew: Run) -> None:
    with (claude / "history.jsonl").open("a") as file:
        file.write(json.dumps({"display": "a marmoset", "project": FOLDER, "sessionId": LOST}) + "\n")
    code, out, _ = clew("resume", "marmoset", "--print")
    assert code == 0 and TWO in out


def test_words_of_several_sessions_that_are_gone(stored: Path, claude: Path, clew: Run) -> None:
    with (claude / "history.jsonl").open("a") as file:
        for id in (f"a{TYPED[1:]}", f"b{TYPED[1:]}"):
            file.write(json.dumps({"display": "feed the axolotl", "project": FOLDER, "sessionId": id}) + "\n")
    said = "clew: 'axolotl' matches 2 sessions whose transcripts are gone.\nList them with: clew search axolotl\n"
    assert clew("resume", "axolotl") == (1, "", said)


@pytest.mark.parametrize("command", ["show", "export", "check", "trace", "trim", "clone"])
def test_other_commands_say_that_a_transcript_is_gone(stored: Path, clew: Run, command: str) -> None:
    code, out, err = clew(command, LOST[:8])
    assert (code, out) == (1, "") and "is gone; only the index has it" in err


def test_a_title_of_a_session_that_is_gone_is_shown_without_secrets(stored: Path, claude: Path, clew: Run) -> None:
    secret = "ghp_" + "a1B2" * 9
    with (claude / "history.jsonl").open("a") as file:
        line = {"display": f"push with {secret}\x1b[2J", "project": FOLDER, "sessionId": f"c{TYPED[1:]}"}
        file.write(json.dumps(line) + "\n")
    err = clew("resume", f"c{TYPED[1:]}")[2]
    assert "push with" in err and secret not in err and "\x1b" not in err


@pytest.mark.parametrize(
    ("flag", "asked", "session", "gone", "match"),
    [
        ("--substring", "g the capyb", LOST, "index", "index title"),
        ("--regex", "ok[aeiou]pi are", LOST, "index", "index prompt"),
        ("--substring", "t the pangol", TYPED, "history", "history prompt"),
        ("--regex", "^paint .* pango", TYPED, "history", "history prompt"),
    ],
)
def test_a_scan_finds_sessions_that_only_the_lists_know(
    stored: Path, clew: Run, flag: str, asked: str, session: str, gone: str, match: str
) -> None:
    (row,) = found(clew, flag, asked)
    assert (row["session"], row["gone"], row["resume"]) == (session, gone, None)
    assert row["passages"][0]["match"] == match and row["passages"][0]["marks"]
    assert "the transcript is gone" in clew("search", flag, asked)[1]
    assert found(clew, flag, asked, "--project", "elsewhere") == []
    assert len(found(clew, flag, asked, "--project", "tinyledger", "--until", "2026-02-01")) == 1


def test_a_scan_finds_what_the_archive_alone_has(stored: Path, clew: Run) -> None:
    assert clew("collect", "--quiet")[0] == 0
    stored.with_name(f"{TWO}.jsonl").unlink()
    assert clew("collect", "--quiet")[0] == 0
    for flag, asked in (("--substring", "a marmos"), ("--regex", "marmos.t in")):
        (row,) = found(clew, flag, asked)
        assert (row["session"], row["gone"]) == (TWO, "archive") and row["resume"] == f"clew restore {TWO}"
    assert clew("restore", TWO)[0] == 0
    (row,) = found(clew, "--substring", "a marmos")
    assert (row["session"], row["gone"]) == (TWO, None)


def test_a_scan_merges_by_time_and_keeps_the_limit(stored: Path, clew: Run) -> None:
    rows = found(clew, "--regex", "hello|capybara|pangolin|marmoset")
    assert {row["session"] for row in rows} == {ONE, TWO, LOST, TYPED}
    times = [row["ended"] for row in rows]
    assert times == sorted(times, reverse=True)
    limited = found(clew, "--regex", "hello|capybara|pangolin|marmoset", "--limit", "2")
    assert [(row["rank"], row["session"]) for row in limited] == [(row["rank"], row["session"]) for row in rows[:2]]


def test_a_session_that_was_archived_but_not_yet_missed_is_restored(stored: Path, clew: Run) -> None:
    """The transcript was deleted after the last run of the collector: the history still finds it."""
    write(stored.parents[2], TYPED, user(1, "hello"))
    assert clew("collect", "--quiet")[0] == 0
    stored.with_name(f"{TYPED}.jsonl").unlink()
    (row,) = found(clew, "pangolin")
    assert (row["gone"], row["gone_since"], row["resume"]) == ("archive", None, f"clew restore {TYPED}")
    rows = [json.loads(line) for line in clew("ls", "--gone", "--json")[1].splitlines()]
    assert {row["id"]: row["resume"] for row in rows} == {LOST: None, TYPED: f"clew restore {TYPED}"}
    assert clew("restore", TYPED)[0] == 0
    assert found(clew, "pangolin") == []


def test_a_reconstructed_session_is_not_offered_for_restoring(stored: Path, clew: Run) -> None:
    assert clew("collect", "--quiet")[0] == 0
    (row,) = found(clew, "pangolin")
    assert (row["session"], row["gone"], row["resume"]) == (TYPED, "reconstructed", f"clew show {TYPED}")
    assert (
        f"only reconstructed from what was left: the transcript is gone; read what is left with: clew show {TYPED}"
        in (clew("search", "pangolin")[1])
    )
    assert "paint the pangolin" in clew("show", TYPED)[1] and clew("restore", TYPED)[0] != 0
    assert clew("resume", "pangolin")[2] == (
        "clew: The transcript of session 644ef223 (paint the pangolin) is gone; it was reconstructed from what was left.\n"
        "Read that: clew show 644ef223\n"
    )


def test_project_filters_mean_the_same_for_gone_sessions(stored: Path, clew: Run) -> None:
    for value, count in ((FOLDER, 1), ("/home/flight", 1), ("tinyl", 1), ("/home/fli", 0), (".", 0), ("/", 1)):
        assert len(found(clew, "capybara", f"project:{value}")) == count, value
    for value, count in (("main", 1), ("ma*", 1), ("m", 0), ("?ain", 0), ("[m]ain", 0)):
        assert len(found(clew, "capybara", f"branch:{value}")) == count, value


def test_a_recall_keeps_gone_sessions_and_says_so(stored: Path, clew: Run) -> None:
    assert clew("recall", "save", "capybara")[0] == 0
    code, out, _ = clew("recall", "load", "capybara")
    assert code == 0 and "Counting the capybara" in out and "claude -r" not in out
    assert "only in the index: the transcript is gone; its title and first prompt are all that is left" in out
    assert "the transcript is gone" in clew("recall", "export", "capybara")[1]
    (kept,) = json.loads(clew("recall", "load", "capybara", "--json")[1])["results"]
    assert (kept["session"], kept["gone"], kept["resume"], kept.get("path", "")) == (LOST, "index", None, "")


def test_control_codes_and_secrets_in_the_lists_stay_out_of_the_output(stored: Path, clew: Run) -> None:
    key = "sk-ant-api03-" + "Zx9Qw8Er7Ty6Ui5Op4As3Df2Gh1Jk0Lz" * 2 + "-AAAAAAAA"
    hostile = entry("\x1b[2J;rm -rf ~", f"the quokka {key} \x1b]0;x\x07", "x" * 50)
    index = {"version": 1, "entries": [hostile], "originalPath": FOLDER}
    (stored.parent / "sessions-index.json").write_text(json.dumps(index))
    for words in (("quokka",), ("--substring", "e quokka"), ("--regex", "quokk."), ("quokka", "--context", "1")):
        _, out, _ = clew("search", *words)
        assert "quokka" in out and "the transcript is gone" in out
        assert "\x1b" not in out and "\x07" not in out and key not in out


def test_an_archive_that_cannot_be_read_does_not_stop_a_search(stored: Path, clew: Run, tmp_path: Path) -> None:
    folder = tmp_path / "XDG_DATA_HOME" / "clew" / "archive"
    folder.mkdir(parents=True)
    (folder / "archive.db").write_bytes(b"no database" * 999)
    (row,) = found(clew, "capybara")
    assert (row["session"], row["gone"], row["resume"]) == (LOST, "index", None)
