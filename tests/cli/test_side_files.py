"""Long outputs as users meet them: shown, exported and masked where their placeholder stands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.side_tree import (
    PROJECT,
    SESSION,
    TOKEN,
    call,
    long_text,
    prompt,
    put,
    reply,
    result,
    write_home,
    write_lines,
)


@pytest.mark.req("R008", "R010")
def test_show_prints_a_long_output_in_place_of_its_placeholder(clew: Run, claude: Path) -> None:
    write_home(claude)
    code, out, err = clew("show", SESSION)
    assert (code, err) == (0, "")
    assert "● Bash cat plates.log  1s\n  ⎿ plate 00000 exposed for 0 s\n    plate 00001 exposed for 1 s\n" in out
    assert "    … 2,995 more lines\n" in out
    assert "persisted-output" not in out and "echidna" not in out


@pytest.mark.req("R008", "R010")
def test_show_full_prints_all_of_a_long_output(clew: Run, claude: Path) -> None:
    write_home(claude)
    out = clew("show", SESSION, "--full")[1]
    shown = out[out.index("plate 00000") : out.index("There are many plates.")]
    wanted = long_text().replace(TOKEN, "[REDACTED:github-token]").splitlines()
    assert [line.strip() for line in shown.strip().splitlines()] == wanted
    assert clew("show", SESSION, "--full", "--reveal")[1].count(TOKEN) == 1


@pytest.mark.req("R008", "R010")
@pytest.mark.parametrize("form", ["html", "markdown", "json"])
def test_every_format_of_export_holds_the_long_output(clew: Run, claude: Path, form: str) -> None:
    write_home(claude)
    out = clew("export", SESSION, "--format", form, "--depth", "full")[1]
    assert "plate of the echidna nebula" in out and "the very last plate" in out
    assert TOKEN not in out and "[REDACTED:github-token]" in out


@pytest.mark.req("R008")
def test_the_json_of_a_call_holds_both_what_the_model_saw_and_the_whole(clew: Run, claude: Path) -> None:
    folder = write_home(claude)
    turn = json.loads(clew("show", SESSION, "--json", "--reveal")[1])
    short, long = (made for each in turn["replies"] for made in each["calls"])
    assert short["long_output"] is None
    assert long["output"].startswith("<persisted-output>")
    path = folder / "tool-results" / "toolu_01Plates.txt"
    assert long["long_output"] == {
        "path": str(path),
        "bytes": path.stat().st_size,
        "text": long_text(),
        "is_whole": True,
    }


@pytest.mark.req("R009")
def test_an_agents_long_output_lies_in_the_folder_of_its_session(clew: Run, claude: Path) -> None:
    folder = write_home(claude)
    put(folder / "tool-results" / "toolu_0Agent.txt", "the wombat galaxy\n" * 50)
    about = {"isSidechain": True, "agentId": "a1b2c3d"}
    write_lines(
        folder / "subagents" / "agent-a1b2c3d.jsonl",
        prompt(31, None, "Look for galaxies", **about),
        reply(32, 31, call("toolu_0Agent", "find galaxies"), **about),
        result(
            33, 32, "toolu_0Agent", "Output too large. Full output saved to: /x/tool-results/toolu_0Agent.txt", **about
        ),
    )
    write_lines(
        folder.with_suffix(".jsonl"),
        prompt(1, None, "Ask an agent"),
        reply(2, 1, {"type": "tool_use", "id": "toolu_T", "name": "Task", "input": {"prompt": "Look for galaxies"}}),
        result(3, 2, "toolu_T", "none", {"agentId": "a1b2c3d", "status": "completed"}),
    )
    assert "the wombat galaxy" in clew("show", SESSION)[1]


@pytest.mark.req("R010")
def test_a_binary_output_is_named_and_not_printed(clew: Run, claude: Path) -> None:
    folder = write_home(claude, bytes(range(256)) * 6800)
    code, out, _ = clew("show", SESSION, "--full")
    path = folder / "tool-results" / "toolu_01Plates.txt"
    assert code == 0 and f"[binary output, 1.7 MB: {path}]" in out and "\ufffd" not in out


@pytest.mark.req("R008")
def test_paths_outside_of_the_session_are_not_read(clew: Run, claude: Path, tmp_path: Path) -> None:
    outside = put(tmp_path / "outside.txt", "the forbidden text")
    folder = write_home(claude)
    names = ("link.txt", "../../outside.txt", str(outside), "..", "a/../../b.txt")
    (folder / "tool-results" / "link.txt").symlink_to(outside)
    for name in names:
        write_lines(
            folder.with_suffix(".jsonl"),
            prompt(1, None, "Read it"),
            reply(2, 1, call("toolu_X", "cat x")),
            result(
                3,
                2,
                "toolu_X",
                f"<persisted-output>\nFull output saved to: /h/tool-results/{name}\n</persisted-output>",
                {"persistedOutputPath": name},
            ),
        )
        for words in (("show", SESSION, "--full"), ("export", SESSION), ("search", "forbidden")):
            assert "the forbidden text" not in clew(*words)[1]


@pytest.mark.req("R326")
def test_redact_masks_a_long_output_in_the_copy(clew: Run, claude: Path) -> None:
    write_home(claude)
    code, out, _ = clew("redact", SESSION)
    copies = [
        p for p in (claude / "projects" / PROJECT).glob("*/tool-results/toolu_01Plates.txt") if SESSION not in str(p)
    ]
    assert code == 0 and "tool-results" in out and len(copies) == 1
    assert copies[0].read_text() == long_text().replace(TOKEN, "[REDACTED:github-token]")


def peak(words: list[str], root: Path) -> int:
    """The most memory that a command held, in bytes."""
    script = (
        "import resource, sys\nfrom clew.cli import main\ncode = main(sys.argv[1:])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)\nsys.exit(code)"
    )
    command = [sys.executable, "-c", script, *words, "--claude-dir", str(root)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(root / "cache")}
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
    assert done.returncode in (0, 1), done.stderr
    return int(done.stderr.split()[-1]) * 1024


@pytest.mark.req("R010")
@pytest.mark.parametrize(
    "words",
    [
        ["show", SESSION],
        ["show", SESSION, "--full", "--reveal"],
        ["export", SESSION, "--format", "html"],
        ["export", SESSION, "--format", "json", "--reveal"],
    ],
    ids=" ".join,
)
def test_memory_is_bounded_for_an_output_of_a_hundred_megabytes(words: list[str], tmp_path: Path) -> None:
    folder = write_home(tmp_path / "claude")
    small = peak(words, tmp_path / "claude")
    with open(folder / "tool-results" / "toolu_01Plates.txt", "wb") as file:
        for _ in range(100):
            file.write(b"a line of a long output that says hardly anything\n" * 20_000)
    assert peak(words, tmp_path / "claude") - small < 100 << 20


# -- search


@pytest.mark.req("R008", "R010")
@pytest.mark.parametrize("words", [["echidna"], ["--substring", "the echidna neb"], ["--regex", "echidna.nebula"]])
def test_a_word_of_a_long_output_finds_its_session(clew: Run, claude: Path, words: list[str]) -> None:
    write_home(claude)
    code, out, _ = clew("search", *words, "--json")
    (found,) = map(json.loads, out.splitlines())
    (passage,) = found["passages"]
    assert (code, found["session"]) == (0, SESSION)
    assert (passage["field"], passage["tool"]) == ("result", "Bash")
    assert "plate of the echidna nebula" in passage["text"]
    assert clew("search", *words, "-p", "observatory")[0] == 0
    assert clew("search", *words, "--project", "elsewhere")[0] == 1


@pytest.mark.req("R008")
def test_filters_hold_for_long_outputs(clew: Run, claude: Path) -> None:
    write_home(claude)
    for query, code in {
        "echidna tool:Bash": 0,
        "echidna in:result": 0,
        "echidna tool:Read": 1,
        "echidna in:prompt": 1,
        "echidna since:2026-02-01": 0,
        "echidna until:2026-02-01": 1,
        "very last plate": 0,
    }.items():
        assert clew("search", *query.split())[0] == code, query


@pytest.mark.req("R010")
def test_search_masks_what_it_prints_of_a_long_output(clew: Run, claude: Path) -> None:
    write_home(claude)
    out = clew("search", "uploaded")[1]
    assert "uploaded with [REDACTED:github-token]" in out and TOKEN not in out


def test_an_output_that_is_gone_shows_its_placeholder(clew: Run, claude: Path) -> None:
    folder = write_home(claude)
    clew("search", "echidna")
    (folder / "tool-results" / "toolu_01Plates.txt").unlink()
    code, out, _ = clew("search", "echidna", "--no-refresh")
    assert code == 0 and "Output too large" in out
