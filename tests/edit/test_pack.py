"""`clew pack` and `clew unpack`: sessions travel with all their files, and a hostile pack writes nothing."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.cli import main
from clew.conversation.load import find, request
from clew.demo.talk import talk
from clew.edit.pack_format import MANIFEST, extract_pack
from clew.errors import Refused
from clew.system.scratch_folder import scratch_folder
from clew.wire.project_slug import slug
from tests.edit.test_move_project import OLD, ONE, TWO, garden, put, rows, run_killed, snapshot

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(here: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(tree: str, *words: str) -> tuple[int, str, str]:
        return main([*words, "--claude-dir", str(here / tree / ".claude")]), *capsys.readouterr()

    return call


def test_a_session_arrives_with_everything_that_belongs_to_it(run: Run, here: Path) -> None:
    garden(here / "laptop" / ".claude")
    assert run("laptop", "pack", ONE, "-o", "one.zip")[0] == 0
    code, out, _ = run("desktop", "unpack", "one.zip")
    assert code == 0 and f"{ONE}  arrived" in out and f"claude -r {ONE}" in out
    sent, arrived = snapshot(here / "laptop" / ".claude"), snapshot(here / "desktop" / ".claude")
    missing = {name for name in sent if name not in arrived}
    assert missing == {
        "history.jsonl",
        *(f"projects/{slug(OLD)}/{n}" for n in ("sessions-index.json", "memory/MEMORY.md")),
    }
    transcript = f"projects/{slug(OLD)}/{ONE}.jsonl"
    assert all(arrived[name][0] == sent[name][0] for name in arrived if name != transcript)
    output = here / "desktop" / ".claude" / "projects" / slug(OLD) / ONE / "tool-results" / "toolu_1.txt"
    assert rows(here / "desktop" / ".claude" / transcript)[-1]["toolUseResult"]["persistedOutputPath"] == str(output)
    again = snapshot(here / "desktop" / ".claude")
    assert "is there already" in run("desktop", "unpack", "one.zip")[1]
    assert snapshot(here / "desktop" / ".claude") == again
    assert run("desktop", "undo")[0] == 0
    assert snapshot(here / "desktop" / ".claude") == {}


def test_a_name_that_says_another_format_is_refused(run: Run, here: Path) -> None:
    garden(here / "laptop" / ".claude")
    for name in ("all.tar.gz", "all.TGZ", "all.7z"):
        code, _, err = run("laptop", "pack", "-p", OLD, "-o", name)
        assert code == 2 and "a pack is a ZIP file" in err and not (here / name).exists()


def test_a_project_is_unpacked_into_a_folder_of_choice(run: Run, here: Path) -> None:
    garden(here / "laptop" / ".claude")
    run("laptop", "pack", "-p", OLD, "-o", "all.zip")
    (here / "plot").mkdir()
    code, out, _ = run("desktop", "unpack", "all.zip", "--to", str(here / "plot"))
    assert code == 0 and f"cd {here / 'plot'} && claude -r {ONE}" in out
    folder = here / "desktop" / ".claude" / "projects" / slug(str(here / "plot"))
    assert {row["cwd"] for row in rows(folder / f"{ONE}.jsonl") if "cwd" in row} == {
        str(here / "plot"),
        f"{here}/plot/src",
    }
    assert (folder / "memory" / "MEMORY.md").exists()


def two_places(here: Path) -> tuple[Path, Path]:
    told = talk(ONE, cwd=OLD).user("one").reply("first")
    return told.write(here / "laptop" / ".claude"), told.write(here / "desktop" / ".claude")


def continued(path: Path, words: str) -> None:
    last = rows(path)[-1]
    uuid = (
        f"{words[:4]:0<8}-0000-4000-8000-000000000000".replace("o", "0")
        .replace("p", "1")
        .replace("l", "2")
        .replace("t", "3")
        .replace("k", "4")
        .replace("s", "5")
    )
    line = {
        **last,
        "type": "user",
        "uuid": uuid,
        "parentUuid": last["uuid"],
        "message": {"role": "user", "content": words},
    }
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def test_a_session_that_was_continued_elsewhere_gets_the_lines_it_lacks(run: Run, here: Path) -> None:
    laptop, desktop = two_places(here)
    before = desktop.read_bytes()
    continued(laptop, "cafe")
    run("laptop", "pack", ONE, "-o", "one.zip")
    code, out, _ = run("desktop", "unpack", "one.zip")
    assert code == 0 and "got the lines it lacked" in out
    assert desktop.read_bytes() == laptop.read_bytes() != before
    assert run("desktop", "undo")[0] == 0
    assert desktop.read_bytes() == before


def test_a_session_that_was_continued_in_both_places_is_merged_once(run: Run, here: Path) -> None:
    laptop, desktop = two_places(here)
    continued(laptop, "cafe on the laptop")
    continued(desktop, "deed on the desktop")
    before = desktop.read_bytes()
    run("laptop", "pack", ONE, "-o", "one.zip")
    code, out, _ = run("desktop", "unpack", "one.zip")
    assert code == 0 and "joined as" in out
    assert desktop.read_bytes() == before
    [merged] = [path for path in desktop.parent.glob("*.jsonl") if path != desktop]
    assert "cafe on the laptop" in merged.read_text() and "deed on the desktop" in merged.read_text()
    assert "joined before as" in run("desktop", "unpack", "one.zip")[1]
    assert len(list(desktop.parent.glob("*.jsonl"))) == 2


@pytest.mark.parametrize("step", [12, 40, 62, 75])
def test_a_killed_unpack_is_completed_by_the_next(run: Run, here: Path, step: int) -> None:
    kill_and_complete(run, here, step)


@pytest.mark.soak
def test_a_killed_unpack_at_every_step(run: Run, here: Path) -> None:
    for step in range(100):
        for name in ("laptop", "desktop", "data", "all.zip"):
            path = here / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        kill_and_complete(run, here, step)


def kill_and_complete(run: Run, here: Path, step: int) -> None:
    """Kill an unpack that writes one session and extends another, run it again, and undo it."""
    garden(here / "laptop" / ".claude", OLD, TWO)
    laptop, desktop = two_places(here)
    continued(laptop, "cafe")
    before = snapshot(here / "desktop" / ".claude")
    run("laptop", "pack", ONE, TWO, "-o", "all.zip")
    words = ["unpack", "all.zip", "--claude-dir", str(here / "desktop" / ".claude")]
    run_killed(words, step)
    assert laptop.read_bytes().startswith(desktop.read_bytes())
    assert main(words) == 0
    arrived = snapshot(here / "desktop" / ".claude")
    assert desktop.read_bytes() == laptop.read_bytes()
    assert f"projects/{slug(OLD)}/{TWO}.jsonl" in arrived and not any(name.endswith(".draft") for name in arrived)
    assert run("desktop", "undo")[0] == 0
    after = snapshot(here / "desktop" / ".claude")
    assert {name: content for name, (content, _) in after.items()} == {n: content for n, (content, _) in before.items()}


def test_an_unrelated_session_of_the_same_id_is_left_alone(run: Run, here: Path) -> None:
    talk(ONE, cwd=OLD).user("mine").reply("x").write(here / "laptop" / ".claude")
    talk(ONE, cwd=OLD).user("another one").reply("y").reply("z").write(here / "desktop" / ".claude")
    path = next((here / "desktop" / ".claude" / "projects").rglob("*.jsonl"))
    lines = path.read_text().replace('"uuid":"', '"uuid":"f').replace('"parentUuid":"', '"parentUuid":"f')
    path.write_text(lines)
    before = snapshot(here / "desktop" / ".claude")
    run("laptop", "pack", ONE, "-o", "one.zip")
    code, out, err = run("desktop", "unpack", "one.zip")
    assert code == 1 and "share no entry" in err and "Resume with" not in out
    assert snapshot(here / "desktop" / ".claude") == before


def test_secrets_are_left_out_on_request(run: Run, here: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    talk(ONE, cwd=OLD).user(f"use {secret}").reply("ok").write(here / "laptop" / ".claude")
    run("laptop", "pack", ONE, "-o", "open.zip")
    assert run("laptop", "pack", ONE, "-o", "shared.zip", "--redact")[0] == 0
    texts = {}
    for name in ("open.zip", "shared.zip"):
        with zipfile.ZipFile(name) as archive:
            texts[name] = b"".join(map(archive.read, archive.namelist())).decode()
    assert secret in texts["open.zip"] and secret not in texts["shared.zip"]
    code, out, _ = run("desktop", "unpack", "shared.zip")
    assert code == 0 and ONE not in out
    assert not (here / "data" / "clew" / "journal.jsonl").read_text().count("redact")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_what_a_killed_run_left_is_removed_by_the_next(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = here / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    killed = (
        "import os, signal, tempfile; from clew.system.scratch_folder import scratch_folder\n"
        f"tempfile.tempdir = {str(scratch)!r}\n"
        "with scratch_folder('clew-pack-') as folder:\n"
        "    (folder / 'copy').write_text('secret'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", killed], check=False).returncode == -signal.SIGKILL
    [left] = scratch.iterdir()
    (old := scratch / "clew-pack-without-lock").mkdir()
    os.utime(old, (0, 0))
    (new := scratch / "clew-pack-being-made").mkdir()
    (scratch / "clew-pack-file").touch()
    talk(ONE, cwd=OLD).user("hi").reply("ok").write(here / "laptop" / ".claude")
    with scratch_folder("clew-pack-") as used:
        assert not left.exists() and not old.exists() and new.exists()
        assert run("laptop", "pack", ONE, "-o", "shared.zip", "--redact")[0] == 0
        assert {path.name for path in scratch.iterdir()} == {used.name, new.name, "clew-pack-file"}


def test_the_number_of_processes_does_not_change_a_redacted_pack(run: Run, here: Path) -> None:
    """14 MB are read by two processes, unless one is asked for."""
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    for number, id in enumerate((ONE, TWO)):
        made = talk(id, cwd=OLD).user(f"{number}: use {secret}").reply("many words, " * 600_000)
        made.write(here / "laptop" / ".claude")
    packed = []
    for jobs in ("1", "2"):
        assert run("laptop", "pack", ONE, TWO, "-o", f"{jobs}.zip", "--redact", "--jobs", jobs)[0] == 0
        with zipfile.ZipFile(f"{jobs}.zip") as archive:
            lines = [archive.read(name).splitlines() for name in archive.namelist() if name.endswith(".jsonl")]
        packed.append([[json.loads(line).get("message") for line in each] for each in lines])
    assert packed[0] == packed[1] and secret not in json.dumps(packed)
    assert [each[0]["content"][:6] for each in packed[0]] == ["0: use", "1: use"]


def test_a_dry_run_and_an_existing_pack_change_nothing(run: Run, here: Path) -> None:
    garden(here / "laptop" / ".claude")
    run("laptop", "pack", ONE, "-o", "one.zip")
    before = (here / "one.zip").read_bytes()
    code, _, err = run("laptop", "pack", ONE, "-o", "one.zip")
    assert code == 2 and "does not overwrite" in err and (here / "one.zip").read_bytes() == before
    code, out, _ = run("desktop", "unpack", "one.zip", "--dry-run")
    assert code == 0 and "would arrive" in out and not (here / "desktop").exists()


# -- hostile packs


def pack(
    files: dict[str, bytes], edit: Callable[[dict[str, Any]], None] = lambda manifest: None, mode: int = 0
) -> bytes:
    """A pack with any names and content, and sums that are right."""
    from hashlib import sha256

    rows_of = [{"name": n, "size": len(d), "sha256": sha256(d).hexdigest(), "mtime_ns": 1} for n, d in files.items()]
    manifest = {"format": "clew-pack", "version": 1, "sessions": [{"id": ONE, "cwd": OLD}], "files": rows_of}
    edit(manifest)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
        archive.writestr(MANIFEST, json.dumps(manifest))
    return out.getvalue()


GOOD = {f"projects/-home-ada-garden/{ONE}.jsonl": b'{"type":"user"}\n'}


def wrong_sum(manifest: dict[str, Any]) -> None:
    manifest["files"][0]["sha256"] = "0" * 64


def wrong_size(manifest: dict[str, Any]) -> None:
    manifest["files"][0]["size"] += 1


def no_files(manifest: dict[str, Any]) -> None:
    manifest["files"] = []


def other_id(manifest: dict[str, Any]) -> None:
    manifest["sessions"] = [{"id": "../../x", "cwd": OLD}]


def newer(manifest: dict[str, Any]) -> None:
    manifest["version"] = 2


NAMES = (
    "../escape.jsonl",
    "/etc/passwd",
    f"projects/../../{ONE}.jsonl",
    f"projects/x/{ONE}/../../../evil",
    "C:/evil",
    f"projects/x/{ONE}/a\\..\\b",
    "settings.json",
    ".claude.json",
    "history.jsonl",
    f"projects/x/{TWO}.jsonl",
    f"file-history/{TWO}/a@v1",
    f"projects/x/{ONE}/a\nb",
    f"projects/x/{ONE}/nul.txt",
    f"projects/x/{ONE}/",
    "commands/run.md",
    "agents/evil.md",
    f"todos/{TWO}.json",
)
HOSTILE: dict[str, bytes] = {
    **{f"name {name!r}": pack({**GOOD, name: b"x"}) for name in NAMES},
    "link": pack(GOOD, mode=stat.S_IFLNK | 0o777),
    "device": pack(GOOD, mode=stat.S_IFCHR | 0o666),
    "wrong sum": pack(GOOD, wrong_sum),
    "wrong size": pack(GOOD, wrong_size),
    "unlisted file": pack(GOOD, no_files),
    "bad id": pack(GOOD, other_id),
    "newer version": pack(GOOD, newer),
    "bomb": pack({**GOOD, f"file-history/{ONE}/a@v1": bytes(100 << 20)}),
    "case": pack({**GOOD, f"file-history/{ONE}/a": b"1", f"file-history/{ONE}/A": b"2"}),
    "no transcript": pack({f"file-history/{ONE}/a": b"1"}),
    "not a zip": b"PK\x03\x04 nothing",
    "empty": b"",
    "cut": pack(GOOD)[:-40],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_pack_is_refused_and_writes_nothing(name: str, here: Path) -> None:
    (here / "evil.zip").write_bytes(HOSTILE[name])
    (here / "out").mkdir()
    before = snapshot(here).keys()
    with pytest.raises(Refused):
        extract_pack(here / "evil.zip", here / "out")
    written = {path for path in snapshot(here).keys() - before if not path.startswith("out/")}
    assert not written


def test_a_good_pack_is_accepted(here: Path) -> None:
    (here / "good.zip").write_bytes(pack(GOOD))
    assert extract_pack(here / "good.zip", here / "out").sessions == {ONE: OLD}


def test_a_refused_pack_is_explained_in_one_sentence(run: Run, here: Path) -> None:
    (here / "evil.zip").write_bytes(HOSTILE["wrong sum"])
    code, out, err = run("desktop", "unpack", "evil.zip")
    assert (code, out) == (2, "") and "checksum is wrong" in err and "Traceback" not in err
    assert not (here / "desktop").exists()


# -- single files of Claude Code


def test_a_transcript_from_elsewhere_is_imported_where_claude_code_finds_it(run: Run, here: Path) -> None:
    source = garden(here / "laptop" / ".claude")
    downloads = here / "Downloads"
    downloads.mkdir()
    (downloads / "talk.jsonl").write_bytes(source.read_bytes())
    (here / "plot").mkdir()
    code, out, err = run("desktop", "import", str(downloads / "talk.jsonl"), "--to", str(here / "plot"))
    assert code == 0 and f"cd {here / 'plot'} && claude -r {ONE}" in out and "file history" in err
    path = here / "desktop" / ".claude" / "projects" / slug(str(here / "plot")) / f"{ONE}.jsonl"
    assert path.exists() and request(find(ONE, claude=here / "desktop" / ".claude")).messages
    assert snapshot(downloads).keys() == {"talk.jsonl"}
    assert run("desktop", "undo")[0] == 0 and not path.exists()


def test_a_transcript_of_another_tree_brings_its_files_along(run: Run, here: Path) -> None:
    source = garden(here / "laptop" / ".claude")
    assert run("desktop", "import", str(source))[0] == 0
    arrived = snapshot(here / "desktop" / ".claude")
    assert f"file-history/{ONE}/aa@v1" in arrived and f"projects/{slug(OLD)}/{ONE}/subagents/agent-a1.jsonl" in arrived


@pytest.mark.parametrize(
    "words", [("clone",), ("redact", "--pattern", "two"), ("trim", "--tools", "remove"), ("drop", "--turn", "1")]
)
def test_an_edit_of_a_file_from_elsewhere_is_written_below_the_claude_folder(run: Run, here: Path, words: Any) -> None:
    put(here / "desktop" / ".claude" / "history.jsonl")
    told = talk(ONE, cwd=OLD).user("one").reply("1").user("two").reply("2").write(here / "laptop")
    loose = here / "Downloads" / "talk.jsonl"
    loose.parent.mkdir()
    loose.write_bytes(told.read_bytes())
    code, out, _ = run("desktop", words[0], str(loose), *words[1:])
    assert code == 0
    assert snapshot(loose.parent).keys() == {"talk.jsonl"}
    [made] = (here / "desktop" / ".claude" / "projects").rglob("*.jsonl")
    assert made.parent.name == slug(OLD) and made.stem in out


def test_a_clone_of_a_file_into_a_folder_is_written_below_the_claude_folder(run: Run, here: Path) -> None:
    source = garden(here / "laptop" / ".claude")
    (here / "plot").mkdir()
    code, out, _ = run("desktop", "clone", str(source), "--to", str(here / "plot"))
    assert code == 0
    [made] = (here / "desktop" / ".claude" / "projects").glob("*/*.jsonl")
    assert made.parent.name == slug(str(here / "plot")) and f"claude -r {made.stem}" in out
    assert (here / "desktop" / ".claude" / "file-history" / made.stem / "aa@v1").exists()
    backups = [row["snapshot"]["trackedFileBackups"] for row in rows(made) if "snapshot" in row]
    assert backups[0]["a.py"]["realParentDir"] == str(here / "plot")
