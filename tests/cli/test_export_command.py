"""`clew export`, as it is typed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.conversation.session import Session
from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import Talk, bash, talk
from clew.wire.layout import session_at

pytestmark = pytest.mark.portable

Run = Callable[..., tuple[int, str, str]]
TOKEN = "ghp_" + "Ab3dEf6hIj" * 3 + "KLMNOP"


def values(out: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in out.splitlines()]
    assert all(row["clew"] == 1 for row in found)
    return found


@pytest.fixture
def path(claude: Path) -> Path:
    told = talk().user(f"use {TOKEN}").reply(f"ok {TOKEN}", call=bash(f"curl {TOKEN}")).result(TOKEN).reply("done")
    return told.raw(b"damaged \xff\n").user("more").reply("end").write(claude)


@pytest.mark.req("R237")
@pytest.mark.req("R235")
def test_json_is_the_session_and_its_turns_without_secrets(clew: Run, path: Path) -> None:
    code, out, err = clew("export", path.stem)
    head, first, second = values(out)
    assert (code, err) == (0, "Secrets were masked in 6 places. --reveal leaves them.\n")
    assert (head["kind"], head["id"], head["turns"], head["damaged_lines"]) == ("session", path.stem, 2, 1)
    assert (first["prompt"], second["prompt"]) == ("use [REDACTED:github-token]", "more")
    assert TOKEN not in out
    assert clew("export", path.stem, "--reveal")[1].count(TOKEN) == 6
    assert clew("export", path.stem, "--json")[1] == out


@pytest.mark.req("R237")
def test_every_session_of_the_demo_can_be_exported(clew: Run, demo: DemoSummary) -> None:
    for number in demo.sessions.values():
        code, out, _ = clew("export", number)
        head, *turns = values(out)
        assert code == 0 and head["turns"] == sum(turn["number"] > 0 for turn in turns)


@pytest.mark.req("R235")
def test_no_secret_of_the_demo_gets_out(clew: Run, demo: DemoSummary, claude: Path) -> None:
    canaries = ("ghp_" + "Demo", "AKIA" + "DEMO", "sk_live_" + "51Demo", "correct-" + "horse-42")
    stored = "".join(p.read_text(errors="replace") for p in claude.rglob("*.jsonl"))
    assert all(canary in stored for canary in canaries)
    number = demo.sessions["secrets"]
    for words in (
        ("export", number),
        ("show", number, "--full"),
        ("show", number, "--json"),
        ("ls",),
        ("ls", "prompts"),
    ):
        _, out, err = clew(*words)
        assert not any(canary in out + err for canary in canaries)


def test_the_file_as_it_is_needs_a_word(clew: Run, claude: Path, path: Path, tmp_path: Path) -> None:
    code, out, err = clew("export", path.stem, "--format", "jsonl")
    assert (code, out) == (2, "")
    assert err.endswith("Add --reveal to export it all the same.\n")
    assert clew("export", path.stem, "--format", "jsonl", "--reveal", "-o", str(tmp_path / "copy"))[0] == 0
    assert (tmp_path / "copy").read_bytes() == path.read_bytes()


def test_to_a_new_file_that_only_its_owner_reads(clew: Run, path: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    code, out, err = clew("export", path.stem, "-o", str(target))
    assert (code, out) == (0, f"{target}\n")
    assert err == "Secrets were masked in 6 places. --reveal leaves them.\n"
    assert target.stat().st_mode & 0o777 == 0o600
    assert target.read_text() == clew("export", path.stem)[1]
    before = target.read_bytes()
    code, out, err = clew("export", path.stem, "-o", str(target))
    assert (code, out, err) == (
        2,
        "",
        f"clew: {target}: File exists.\nNo file is overwritten. Name another file.\n",
    )
    assert target.read_bytes() == before


def test_a_file_is_made_known_as_json(clew: Run, path: Path, tmp_path: Path) -> None:
    (row,) = values(clew("export", path.stem, "-o", str(tmp_path / "x"), "--json")[1])
    assert row == {"clew": 1, "kind": "exported", "session": path.stem, "path": str(tmp_path / "x")}


def test_a_folder_that_is_not_there(clew: Run, path: Path, tmp_path: Path) -> None:
    code, out, err = clew("export", path.stem, "-o", str(tmp_path / "no" / "x"))
    assert (code, out) == (2, "")
    assert err == f"clew: {tmp_path / 'no' / 'x'}: No such file or directory.\nCheck the path.\n"


@pytest.mark.skipif(sys.platform == "win32", reason="the limit is one of POSIX")
def test_nothing_is_left_of_an_export_that_did_not_end(claude: Path, path: Path, tmp_path: Path) -> None:
    script = 'ulimit -f 4; exec "$0" -m clew export "$1" --claude-dir "$2" -o "$3"'
    target = tmp_path / "page.html"
    words = ["bash", "-c", script, sys.executable, path.stem, str(claude), str(target)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "") and "File too large" in done.stderr
    assert not target.exists()


def test_nothing_is_left_of_an_export_that_did_not_begin(clew: Run, claude: Path, tmp_path: Path) -> None:
    assert clew("export", "nope", "-o", str(tmp_path / "x"))[0] == 1
    assert not (tmp_path / "x").exists()


# -- to read: pages and Markdown


def four() -> Talk:
    told = talk()
    for number in range(1, 5):
        told = told.user(f"q{number}").reply(f"a{number}", thinking=f"t{number}", call=bash("ls")).result(f"r{number}")
    return told


def prompts(page: str) -> list[str]:
    return re.findall(r'<div class="said">(.*?)</div>', page)


@pytest.mark.req("R235")
@pytest.mark.req("R237")
@pytest.mark.parametrize("form", ["html", "markdown"])
def test_a_page_or_a_text_without_secrets(clew: Run, path: Path, form: str) -> None:
    code, out, err = clew("export", path.stem, "--format", form)
    assert (code, TOKEN in out) == (0, False)
    assert "REDACTED:github-token" in out
    assert all(text in out for text in ("use ", "curl ", "done", "more", "end"))
    assert err == "Secrets were masked in 5 places. --reveal leaves them.\n"
    assert clew("export", path.stem, "--format", form, "--quiet")[2] == ""
    revealed = clew("export", path.stem, "--format", form, "--reveal")
    assert TOKEN in revealed[1] and revealed[2] == ""


def test_the_name_of_the_file_tells_the_format(clew: Run, path: Path, tmp_path: Path) -> None:
    for name, start in (("a.html", "<!DOCTYPE html>"), ("a.md", "# use"), ("a.json", '{"clew":1')):
        code, out, _ = clew("export", path.stem, "-o", str(tmp_path / name))
        assert (code, out) == (0, f"{tmp_path / name}\n")
        assert (tmp_path / name).read_text().startswith(start)
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


def test_into_a_folder_under_a_name_that_tells(clew: Run, path: Path, tmp_path: Path) -> None:
    code, out, _ = clew("export", path.stem, "--format", "markdown", "-o", str(tmp_path))
    assert (code, out) == (0, f"{tmp_path}/2026-01-05-use-redacted-github-token-{path.stem[:8]}.md\n")


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ((), ["q1", "q2", "q3", "q4"]),
        (("--turns", "2-3"), ["q2", "q3"]),
        (("--last", "1"), ["q4"]),
        (("--branch", "1"), ["q1", "q2", "q3", "q4"]),
    ],
)
def test_some_of_the_turns(clew: Run, claude: Path, words: tuple[str, ...], shown: list[str]) -> None:
    number = four().write(claude).stem
    assert prompts(clew("export", number, "--format", "html", *words)[1]) == shown
    text = clew("export", number, "--format", "markdown", *words)[1]
    assert re.findall(r"^## \d · (.*)$", text, re.MULTILINE) == shown
    _, *turns = values(clew("export", number, *words)[1])
    assert [turn["prompt"] for turn in turns] == shown


def test_another_branch(clew: Run, claude: Path) -> None:
    number = four().rewind(to=2).user("other").reply("b").write(claude).stem
    assert prompts(clew("export", number, "--format", "html")[1]) == ["q1", "other"]
    assert prompts(clew("export", number, "--format", "html", "--branch", "1")[1]) == ["q1", "q2", "q3", "q4"]
    assert clew("export", number, "--format", "html", "--branch", "7")[0] == 1


def test_a_document_names_the_branches_and_what_they_contain(clew: Run, claude: Path) -> None:
    assert "branches" not in clew("export", str(four().write(claude / "one")), "--format", "markdown")[1]
    number = four().rewind(to=2).user("other").reply("b").write(claude).stem
    text, page = (clew("export", number, "--format", form)[1] for form in ("markdown", "html"))
    for made in (text, page):
        assert "This session has 2 branches; this document has branch 2." in made
        assert f"clew export {number[:8]} --branch all" in made and "in all branches" in made
    assert (
        "- Branch 1 (3 turns after turn 1, not included): q2\n- Branch 2 (active, 1 turn after turn 1): other" in text
    )
    assert "Branch 1 <span" in page and "(3 turns after turn 1, not included)</span>: q2" in page
    shown = clew("export", number, "--format", "markdown", "--branch", "1")[1]
    assert "this document has branch 1." in shown and "4 turns" in shown


def test_all_branches_are_exported_together(clew: Run, claude: Path) -> None:
    number = four().rewind(to=2).user("other").reply("b").write(claude).stem
    page = clew("export", number, "--format", "html", "--branch", "all")[1]
    assert prompts(page) == ["q1", "other", "q2", "q3", "q4"] and "this document has all of them." in page
    assert '<a href="#branch-1">Branch 1</a>' in page and 'id="branch-1"' in page and "not included" not in page
    assert sorted(re.findall(r'<section class="turn" id="([^"]*)"', page)) == [
        "b1-turn-2",
        "b1-turn-3",
        "b1-turn-4",
        "turn-1",
        "turn-2",
    ]
    text = clew("export", number, "--format", "markdown", "--branch", "all")[1]
    assert "## Branch 1 (after turn 1)\n\n## 2 · q2\n" in text
    _, *turns = values(clew("export", number, "--branch", "all")[1])
    assert [(turn["prompt"], turn.get("branch")) for turn in turns] == [
        ("q1", None), ("other", None), ("q2", 1), ("q3", 1), ("q4", 1)
    ]  # fmt: skip
    code, _, err = clew("export", number, "--branch", "all", "--last", "1")
    assert (code, err) == (2, "clew: --branch all has all turns. Leave out --turns and --last, or name one branch.\n")
    assert clew("export", number, "--branch", "0")[0] == 1


def test_a_page_has_charts_that_lead_to_its_turns(clew: Run, claude: Path) -> None:
    number = four().write(claude).stem
    page = clew("export", number, "--format", "html")[1].partition("<body>")[2]
    charts = page.partition('<details class="charts">')[2].partition('<section class="turn"')[0]
    assert "Context by turn" in charts and 'href="#turn-2"' in charts and "<svg" in charts and " style=" not in charts
    assert '<details class="charts">' not in clew("export", number, "--format", "html", "--last", "1")[1]


def test_how_much_of_each_turn(clew: Run, claude: Path) -> None:
    number = four().write(claude).stem

    def page(*words: str) -> str:
        return (
            clew("export", number, "--format", "html", *words)[1]
            .partition("<main ")[2]
            .partition('<section class="turn"')[2]
        )

    assert "a1" not in page("--depth", "prompts") and "Bash" not in page("--depth", "replies")
    assert "r1</pre>" in page() and "t1" not in page() and "t1" in page("--thinking")
    long = (
        talk(seed=3).user("go").reply(call=bash("seq 900")).result("\n".join(map(str, range(900)))).write(claude).stem
    )
    assert "… 840 more lines" in clew("export", long, "--format", "html")[1]
    assert "899</pre>" in clew("export", long, "--format", "html", "--depth", "full")[1]


def test_front_matter_is_asked_for(clew: Run, claude: Path) -> None:
    number = four().write(claude).stem
    assert clew("export", number, "--format", "markdown")[1].startswith("# q1\n")
    assert clew("export", number, "--format", "markdown", "--front-matter")[1].startswith('---\ntitle: "q1"\n')


def test_the_file_as_it_is_has_no_parts(clew: Run, path: Path) -> None:
    code, out, err = clew("export", path.stem, "--format", "jsonl", "--reveal", "--last", "1")
    assert (code, out) == (2, "") and err.startswith("clew: the file as it is has no parts. Leave out --turns")


# -- several


def test_a_project_becomes_a_folder_of_pages_with_an_index(clew: Run, demo: DemoSummary, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    code, out, _ = clew("export", "--project", "bakery-orders", "-o", str(folder))
    made = [Path(line) for line in out.splitlines()]
    assert code == 0 and made[-1] == folder / "index.html" and len(made) > 3
    assert sorted(folder.iterdir()) == sorted(made)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in made)
    index = made[-1].read_text()
    links = dict(re.findall(r'<li data-number="(\d+)"><a href="([^"]*)">', index))
    assert sorted(links.values()) == sorted(path.name for path in made[:-1])
    words = json.loads(index.partition('id="words">')[2].partition("</script>")[0])
    page = folder / links[str(words["payments"][0])]
    assert "payments" in page.read_text().lower() and "staging" in words


@pytest.mark.req("R235")
def test_no_secret_of_the_demo_gets_into_an_archive(clew: Run, demo: DemoSummary, tmp_path: Path) -> None:
    canaries = ("ghp_" + "Demo", "AKIA" + "DEMO", "sk_live_" + "51Demo", "correct-" + "horse-42")
    for form in ("html", "markdown", "json"):
        assert clew("export", "--since", "2000-01-01", "--format", form, "-o", str(tmp_path / form))[0] == 0
        made = "".join(path.read_text() for path in (tmp_path / form).iterdir())
        assert not any(canary in made or canary.lower() in made for canary in canaries)
        assert len(list((tmp_path / form).iterdir())) >= 20


def test_some_sessions_by_their_ids(clew: Run, claude: Path, tmp_path: Path) -> None:
    ids = [talk(seed=seed).user(f"s{seed}").reply("ok").write(claude).stem for seed in range(3)]
    code, out, _ = clew("export", *ids[:2], "--format", "markdown", "-o", str(tmp_path / "two"), "--json")
    rows = values(out)
    assert code == 0 and [row.get("session") for row in rows] == [*ids[:2], None]
    assert [row["kind"] for row in rows] == ["exported", "exported", "index"]
    assert (tmp_path / "two" / "index.md").read_text().count("- 2026-01-05: [s") == 2


def test_several_need_a_folder_and_an_old_index_stays(clew: Run, claude: Path, tmp_path: Path) -> None:
    ids = [talk(seed=seed).user(f"s{seed}").reply("ok").write(claude).stem for seed in range(2)]
    code, out, err = clew("export", *ids)
    assert (code, out) == (2, "")
    assert err == "clew: several sessions need a folder to be written to. Name one with --output.\n"
    (tmp_path / "index.html").write_text("mine")
    code, _, err = clew("export", *ids, "-o", str(tmp_path))
    assert code == 2 and err.endswith("No file is overwritten. Name another file.\n")
    assert (tmp_path / "index.html").read_text() == "mine" and not list(tmp_path.glob("2026*"))


def test_sessions_without_the_turns_asked_for_are_left_out(clew: Run, claude: Path, tmp_path: Path) -> None:
    long, short = four().write(claude).stem, talk(seed=5).user("one").reply("ok").write(claude).stem
    code, out, err = clew("export", short, long, "--turns", "3-", "-o", str(tmp_path / "x"))
    assert (code, len(out.splitlines())) == (0, 2)
    assert err == f"{short[:8]} is left out. No turn matches '3-'.\n"


def test_nothing_to_export(clew: Run, claude: Path, tmp_path: Path) -> None:
    four().write(claude)
    code, out, err = clew("export", "--since", "2100-01-01", "-o", str(tmp_path / "x"))
    assert (code, out, err) == (1, "", "clew: There is no session to export.\n")
    assert not (tmp_path / "x").exists()


def large(seed: int) -> Talk:
    """A session of 5 MB. Two of them are exported by two processes, unless one is asked for."""
    lines = "".join(f"line {number} of {seed}\n" for number in range(260_000))
    told = talk(seed=seed).user(f"look {TOKEN}").reply("so", call=bash("cat log")).result(lines)
    return told.user("more").reply(f"words of {seed}")


def test_the_number_of_processes_does_not_change_what_is_exported(clew: Run, claude: Path, tmp_path: Path) -> None:
    ids = [large(seed).write(claude).stem for seed in (1, 2)]
    ids.insert(1, talk(seed=3).user("one turn").reply("ok").write(claude).stem)
    for words in ((), ("--format", "markdown", "--turns", "2", "--json")):
        answers = []
        for jobs in ("1", "2", "3"):
            folder = tmp_path / f"{len(words)}{jobs}"
            code, out, err = clew("export", *ids, "-o", str(folder), "--jobs", jobs, *words)
            files = {path.name: path.read_bytes() for path in folder.iterdir()}
            answers.append((code, out.replace(str(folder), ""), err, files))
        assert answers[0] == answers[1] == answers[2]
        assert len(answers[0][3]) == (3 if words else 4)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_name_that_is_taken_ends_an_export_at_the_same_place(
    clew: Run, claude: Path, tmp_path: Path, jobs: str
) -> None:
    first, second = (large(seed).write(claude).stem for seed in (1, 2))
    folder = tmp_path / "site"
    assert clew("export", first, second, "-o", str(folder), "--jobs", "1")[0] == 0
    taken = next(path for path in folder.iterdir() if second[:8] in path.name)
    for path in folder.iterdir():
        if path != taken:
            path.unlink()
    taken.write_text("mine")
    code, out, err = clew("export", first, second, "-o", str(folder), "--jobs", jobs)
    assert code == 2 and err.endswith("No file is overwritten. Name another file.\n")
    assert len(out.splitlines()) == 1 and first[:8] in out and taken.read_text() == "mine"
    assert len(list(folder.iterdir())) == 2  # complete files only


@pytest.mark.skipif(sys.platform != "linux", reason="reads the children of a process in /proc")
@pytest.mark.parametrize("is_interrupted", [True, False])
def test_an_export_that_is_ended_leaves_complete_files_only(claude: Path, tmp_path: Path, is_interrupted: bool) -> None:
    """By Ctrl-C, or by the end of a worker: the processes end, and nothing half-written is left."""
    ids = [large(seed).write(claude).stem for seed in range(6)]
    folder = tmp_path / "site"
    words = [
        sys.executable,
        "-m",
        "clew",
        "export",
        *ids,
        "--claude-dir",
        str(claude),
        "-o",
        str(folder),
        "--jobs",
        "2",
    ]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    first = Path(process.stdout.readline().strip())
    if is_interrupted:
        process.send_signal(signal.SIGINT)
    else:
        workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(workers[0]), signal.SIGKILL)
    _, err = process.communicate()
    assert process.returncode == (130 if is_interrupted else 2)
    assert is_interrupted or "A worker process was ended by signal 9" in err
    assert first.read_text().endswith("</html>\n")
    assert all(path.read_text().endswith("</html>\n") for path in folder.iterdir())


# -- nothing is lost


@pytest.mark.req("R237")
def test_json_read_back_is_the_session_to_the_letter(clew: Run, demo: DemoSummary, claude: Path) -> None:
    for number in demo.sessions.values():
        session = Session(path := next(claude.rglob(f"{number}.jsonl")), file=session_at(path))
        head, *turns = values(clew("export", number, "--reveal")[1])
        assert (head["title"], head["cwd"], head["models"]) == (session.title, session.cwd, session.models)
        for turn, told in zip(session.turns, (t for t in turns if t["number"]), strict=True):
            assert told["prompt"] == turn.text and told["state"] == turn.state
            assert [r["text"] for r in told["replies"]] == [r.text for r in turn.replies]
            assert [r["thinking"] for r in told["replies"]] == [r.thinking for r in turn.replies]
            calls = {call["id"]: call for reply in told["replies"] for call in reply["calls"]}
            assert [(c.name, c.use.input, c.output, c.failed) for c in turn.calls] == [
                (c["tool"], c["input"], c["output"], c["failed"]) for c in (calls[c.id] for c in turn.calls)
            ]
            agents = [[a.id for a in session.agents_for(c)] for c in turn.calls]
            assert agents == [[a["id"] for a in calls[c.id]["agents"]] for c in turn.calls]


@pytest.mark.req("R237")
def test_the_files_as_they_are_are_the_exact_bytes(clew: Run, demo: DemoSummary, claude: Path, tmp_path: Path) -> None:
    ids = [demo.sessions[story] for story in ("damaged", "agents", "languages", "drift")]
    assert clew("export", *ids, "--format", "jsonl", "--reveal", "-o", str(tmp_path / "raw"))[0] == 0
    made = {path.read_bytes() for path in (tmp_path / "raw").iterdir()}
    assert made == {next(claude.rglob(f"{number}.jsonl")).read_bytes() for number in ids}
