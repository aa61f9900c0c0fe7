"""Reading what a team collected: the same answers from a store as from the folders that it was collected from."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from clew.cli import store_source
from clew.cli.run_command import command_parser
from clew.collect.identity import hash_name
from clew.collect.mirror.mirror_update import select_hosts
from clew.collect.mirror.store_reader import HostState
from clew.demo.talk import talk
from clew.errors import NotFound
from tests.collect.postgres import PASSWORD, Cluster, Store, furnished
from tests.collect.s3 import KEY, S3, SECRET
from tests.collect.team import DEVELOPERS, Team, contents, parse
from tests.collect.test_store_versions import frozen

OWNER = ("developer", "machine", "team", "host")
_readers = count(1)


class Filled(NamedTuple):
    """A store that three hosts filled with the demo tree, the address to send to, and the whole tree."""

    team: Team
    writer: str
    whole: Path


@pytest.fixture(scope="module", params=["postgresql", "delta"])
def team_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Filled:
    """One store for the tests that do not change what is in it."""
    folder = tmp_path_factory.mktemp("team")
    if request.param == "postgresql":
        cluster: Cluster = request.getfixturevalue("cluster")
        store = furnished(cluster, "read_by_a_lead")
        writer, reader = store.address("ada"), store.address("rio")
    else:
        writer = reader = f"delta:{folder}/lake"
    team = Team(folder, reader)
    whole = team.split_demo()
    for host in range(3):
        team.collect(host, writer, "--reveal")
    return Filled(team, writer, whole)


@pytest.fixture
def filled(team_store: Filled) -> Filled:
    """The store, for somebody who has fetched nothing yet."""
    return team_store._replace(team=team_store.team.as_reader(f"reader{next(_readers)}"))


@pytest.fixture
def s3() -> Iterator[S3]:
    server = S3()
    yield server
    server.close()


@pytest.fixture
def small(tmp_path: Path) -> Team:
    """A lake with one session of one host, which a test may change."""
    team = Team(tmp_path, f"delta:{tmp_path}/lake")
    talk().user("Where is the bread?").reply("In the oven.").write(team.root(0))
    team.collect(0, team.address)
    return team


def local(team: Team, whole: Path, *words: str) -> list[dict[str, Any]]:
    return parse(team.run_as(team.reader, *words, "--claude-dir", str(whole), "--json", "--quiet")[1])


def neutral(value: Any, *roots: Path) -> Any:
    """A value without the names of folders, and without what only a store or only a folder has."""
    if isinstance(value, dict):
        return {key: neutral(one, *roots) for key, one in value.items() if key not in (*OWNER, "resume", "score")}
    if isinstance(value, list):
        return [neutral(one, *roots) for one in value]
    if isinstance(value, str):
        for root in roots:
            value = value.replace(str(root), "ROOT")
    return value


def test_a_store_answers_as_the_folders_do(filled: Filled) -> None:
    team, _, whole = filled
    assert team.rows("ls")
    assert contents(team.tree) == contents(whole)
    ids = [row["id"] for row in local(team, whole, "ls") if row["path"]]
    commands = [("ls",), ("ls", "agents"), ("ls", "projects"), ("usage", "daily"), ("usage", "session"), ("files",)]
    commands += [("ls", "prompts"), ("search", "test"), ("search", "bakery OR order", "-n", "50")]
    commands += [("show", id) for id in ids[:5]]
    for words in commands:
        stored, here = team.rows(*words), local(team, whole, *words)
        assert here, words
        assert neutral(stored, team.tree) == neutral(here, whole), words


def test_a_session_is_read_without_fetching_the_others(filled: Filled) -> None:
    team, _, whole = filled
    session = next(path for path in sorted(whole.rglob("*.jsonl")) if len(path.stem) == 36)
    code, out, err = team.read("show", session.stem[:8], quiet=False)
    assert code == 0 and "collected by" in out and f"clew restore {session.stem} --store" in out
    assert PASSWORD not in out + err
    fetched = [path for path in team.tree.rglob("*.jsonl") if len(path.stem) == 36]
    assert [path.name for path in fetched] == [session.name]
    assert team.read("export", session.stem, "--format", "markdown")[0] == 0
    code, _, err = team.read("show", "ffffffff-nobody")
    assert code == 1 and "No session matches" in err


def test_who_collected_is_listed_and_chosen(filled: Filled) -> None:
    team, _, _ = filled
    rows = [row for row in team.rows("ls") if row["path"]]
    assert {row["developer"] for row in rows} == set(DEVELOPERS)
    assert {row["machine"] for row in rows} == {"laptop-0", "laptop-1", "laptop-2"}
    assert "WHO" in team.read("ls")[1]
    adas = {row["id"] for row in rows if row["developer"] == DEVELOPERS[0]}
    chosen = team.as_reader(f"reader{next(_readers)}")
    assert {row["id"] for row in chosen.rows("ls", "--developer", "ADA") if row["path"]} == adas
    assert {path.stem for path in chosen.tree.rglob("*.jsonl") if len(path.stem) == 36} == adas
    code, _, err = team.read("ls", "--developer", "zoe")
    assert code == 1 and "zoe" in err and DEVELOPERS[0] in err


@pytest.mark.parametrize("kind", ["delta", "postgresql"])
def test_only_what_is_new_is_fetched(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    writer = reader = f"delta:{tmp_path}/lake"
    if kind == "postgresql":
        store: Store = request.getfixturevalue("store")
        writer, reader = store.address("ada"), store.address("rio")
    team = Team(tmp_path, reader)
    path = talk().user("Where is the bread?").reply("In the oven.").write(team.root(0))
    team.collect(0, writer)
    assert "Fetched 2 lines of 1 file" in team.read("ls", quiet=False)[2]
    assert "Fetched" not in team.read("ls", quiet=False)[2]
    with path.open("ab") as file:
        file.write(path.read_bytes().splitlines(keepends=True)[0])
    team.collect(0, writer)
    assert "Fetched 1 line of 1 file" in team.read("ls", quiet=False)[2]
    assert contents(team.tree) == contents(team.root(0))


def test_a_file_that_was_written_anew_replaces_the_old_one(small: Team) -> None:
    small.read("ls")
    [path] = small.root(0).rglob("*.jsonl")
    path.write_bytes(path.read_bytes().replace(b"bread", b"cakes"))
    small.collect(0, small.address)
    assert [row["title"] for row in small.rows("ls")] == ["Where is the cakes?"]
    assert contents(small.tree) == contents(small.root(0))


def test_a_restored_session_is_the_original(filled: Filled) -> None:
    team, _, whole = filled
    agent = next(path for path in sorted(whole.rglob("agent-*.jsonl")) if path.parent.name == "subagents")
    session = agent.parent.parent.name
    rows = team.rows("restore", session)
    assert {row["written"] for row in rows} == {True} and len(rows) >= 2
    there = contents(team.home(team.reader) / "claude")
    assert there == {path: data for path, data in contents(whole).items() if session in path}
    assert {row["was_there"] for row in team.rows("restore", session)} == {True}


def test_a_masked_session_says_so(small: Team, tmp_path: Path) -> None:
    secret = "sk-ant-api03-" + "Zq7" * 12
    talk(seed=1).user(f"Use {secret}").reply("Yes").write(small.root(1))
    small.collect(1, small.address)
    [row] = [row for row in small.rows("ls") if row["developer"] == DEVELOPERS[1]]
    code, _, err = small.read("restore", row["id"], "--to", str(tmp_path / "elsewhere"), quiet=False)
    assert code == 0 and "masked in the store" in err
    assert secret not in "".join(path.read_text() for path in small.tree.rglob("*.jsonl"))


def test_of_equal_copies_one_is_shown_and_others_are_kept_apart(small: Team) -> None:
    """The session of host 0 is copied to host 1, continued there, and then differently at home."""
    [mine] = small.root(0).rglob("*.jsonl")
    small.read("ls")
    shutil.copytree(small.root(0), small.root(1))
    theirs = small.root(1) / mine.relative_to(small.root(0))
    prompt, reply = mine.read_bytes().splitlines(keepends=True)
    small.collect(1, small.address)
    assert [row["developer"] for row in small.rows("ls")] == [DEVELOPERS[0]]
    theirs.write_bytes(prompt + reply + prompt)
    small.collect(1, small.address)
    assert [row["developer"] for row in small.rows("ls")] == [DEVELOPERS[1]]
    assert small.read("show", mine.stem)[0] == 0
    assert sessions(small) == [prompt + reply + prompt]
    mine.write_bytes(prompt + reply + reply)
    small.collect(0, small.address)
    assert {row["developer"] for row in small.rows("ls")} == {*DEVELOPERS[:2]}
    assert sorted(sessions(small)) == sorted([prompt + reply + prompt, prompt + reply + reply])
    code, _, err = small.read("show", mine.stem)
    assert code == 2 and err.count(mine.name) == 2
    assert small.read("show", mine.stem, "--developer", "ada")[0] == 0


def sessions(team: Team) -> list[bytes]:
    return [data for path, data in contents(team.tree).items() if path.startswith("projects/")]


def test_what_a_killed_fetch_left_is_continued(small: Team) -> None:
    for number in range(12):
        talk(seed=number + 1).user(f"Loaf {number}?").reply("Yes.").write(small.root(0))
    small.collect(0, small.address)
    script = """
import os, signal, sys
from pathlib import Path
from clew.collect.mirror import mirror_update, store_tree
from clew.collect.mirror.mirror_catalog import MirrorCatalog, Scope
from clew.collect.mirror.open_reader import open_reader
mirror_update.PART_COUNT = 2
class Dying:
    def __init__(self, reader, left):
        self.reader, self.left = reader, left
    def __getattr__(self, name):
        return getattr(self.reader, name)
    def lines(self, parts):
        for line in self.reader.lines(parts):
            self.left -= 1
            if not self.left:
                os.kill(os.getpid(), signal.SIGKILL)
            yield line
reader = Dying(open_reader(sys.argv[1]), int(sys.argv[2]))
folder = store_tree.mirror_folder(reader.name, reader.user)
folder.mkdir(parents=True, exist_ok=True)
mirror_update.update_mirror(folder, MirrorCatalog(str(folder)), reader, Scope())
"""
    environment = {**os.environ, "XDG_CACHE_HOME": str(small.home(small.reader) / "cache")}
    for rows in (3, 8):
        killed = subprocess.run([sys.executable, "-c", script, small.address, str(rows)], env=environment, check=False)
        assert killed.returncode == -signal.SIGKILL
    done = [path for path in small.tree.rglob("*.jsonl") if path.stat().st_size]
    assert 0 < len(done) < 13
    with done[0].open("ab") as file:  # a line that was written and not noted
        file.write(b'{"half')
    small.read("ls")
    assert contents(small.tree) == contents(small.root(0))
    assert not list(small.tree.rglob("*.draft"))


def test_a_mirror_that_was_tampered_with_is_fetched_again(small: Team) -> None:
    small.read("ls")
    [path] = small.tree.rglob("*.jsonl")
    path.write_bytes(b"")
    small.read("ls")
    assert contents(small.tree) == contents(small.root(0))
    path.unlink()
    assert small.rows("ls") and contents(small.tree) == contents(small.root(0))


def test_a_store_that_is_away_is_read_as_it_was(cluster: Cluster, store: Store, tmp_path: Path) -> None:
    team = Team(tmp_path, store.address("rio"))
    talk().user("Where is the bread?").reply("In the oven.").write(team.root(0))
    team.collect(0, store.address("ada"))
    assert len(team.rows("ls")) == 1
    cluster.ask(f"ALTER DATABASE {store.name} ALLOW_CONNECTIONS false")
    code, out, err = team.read("ls", quiet=False)
    assert (code, "bread" in out) == (0, True), err
    assert "This is what was fetched" in err and PASSWORD not in err


def test_a_share_that_is_not_mounted_is_read_as_it_was(small: Team) -> None:
    assert len(small.rows("ls")) == 1
    (small.folder / "lake").rename(small.folder / "elsewhere")
    code, out, err = small.read("ls", quiet=False)
    assert code == 0 and "bread" in out and "is not there. This is what was fetched" in err


@pytest.mark.parametrize("version", ["3", "4"])
def test_a_database_of_an_earlier_version_is_read(standing: Store, version: str, tmp_path: Path) -> None:
    store = frozen(standing, version)
    team = Team(tmp_path, store.address("rio"))
    talk().user("Where is the bread?").reply("In the oven.").write(team.root(0))
    team.collect(0, store.address("ada"))
    assert [row["title"] for row in team.rows("ls")] == ["Where is the bread?"]
    assert contents(team.tree) == contents(team.root(0))


def test_rights_decide_what_is_read(cluster: Cluster, store: Store, tmp_path: Path) -> None:
    team = Team(tmp_path, store.address("rio"))
    talk().user("Where is the bread?").reply("In the oven.").write(team.root(0))
    team.collect(0, store.address("ada"))
    assert len(team.rows("ls")) == 1
    writer = Team(tmp_path, store.address("ben"), "writer")
    code, out, err = writer.read("ls")
    assert (code, out) == (2, "") and "read what was said" in err and "clew sql" in err
    code, _, err = Team(tmp_path, store.address("eve"), "eve").read("ls")
    assert code == 2 and "rejected this user" in err and PASSWORD not in err
    store.ask("DELETE FROM clew.line; DELETE FROM clew.host")
    assert team.rows("ls") == [] and contents(team.tree) == {}


def test_a_named_sink_is_read_with_its_own_secret(store: Store, tmp_path: Path) -> None:
    team = Team(tmp_path, "lead")
    talk().user("Where is the bread?").reply("In the oven.").write(team.root(0))
    team.collect(0, store.address("ada"))
    config = team.home("reader") / "config" / "clew"
    config.mkdir(parents=True)
    sink = f'[[sink]]\nname = "lead"\nto = "{store.address("rio")}"\ntoken-file = "{team.password}"\n'
    (config / "collect.toml").write_text(sink)
    assert len(team.rows("ls")) == 1
    team.address = "leed"
    code, _, err = team.read("ls")
    assert code == 2 and "is not a store" in err


def test_what_was_fetched_is_forgotten(small: Team) -> None:
    small.read("search", "bread")
    assert {path.stat().st_mode & 0o077 for path in small.tree.parent.rglob("*")} == {0}
    cache = small.home(small.reader) / "cache" / "clew"
    code, out, _ = small.run_as(small.reader, "collect", "forget-store", small.address)
    assert code == 0 and "deleted here" in out
    assert not [path for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert small.run_as(small.reader, "collect", "forget-store")[0] == 1


def test_options_that_need_a_store_say_so(small: Team) -> None:
    code, _, err = small.run_as(small.reader, "ls", "--developer", "ada")
    assert code == 2 and "--store" in err
    code, _, err = small.read("ls", "--claude-dir", "elsewhere")
    assert code == 2 and "--claude-dir" in err


def test_a_reader_of_a_team_reads_that_team(cluster: Cluster, store: Store, tmp_path: Path) -> None:
    for host, user in enumerate(("ada", "ben")):
        team = Team(tmp_path)
        talk(seed=host).user(f"Loaf {host}?").reply("Yes.").write(team.root(host))
        team.collect(host, store.address(user), team=f"team{host}")
    name = f"tess_{store.name}"
    cluster.user(name, "clew_team_reader")
    cluster.user(f"nina_{store.name}", "clew_numbers")
    tess = Team(tmp_path, store.address(name), "tess")
    assert tess.rows("ls") == []
    store.ask("INSERT INTO clew.member VALUES(%s, 'team1')", [name])
    assert [row["title"] for row in tess.rows("ls")] == ["Loaf 1?"]
    store.ask("DELETE FROM clew.member")
    assert tess.rows("ls") == [] and contents(tess.tree) == {}
    code, out, err = Team(tmp_path, store.address(f"nina_{store.name}"), "nina").read("usage")
    assert (code, out) == (2, "") and "only numbers" in err and "usage_daily" in err


def test_what_is_erased_in_a_database_goes_from_the_copy(cluster: Cluster, store: Store, tmp_path: Path) -> None:
    team = Team(tmp_path, store.address("rio"))
    for seed in (1, 2):
        talk(seed=seed).user(f"The code of loaf {seed} is hunter-gate").reply("Yes.").write(team.root(0))
    team.collect(0, store.address("ada"))
    assert len(team.rows("ls")) == 2
    owner = f"postgresql://postgres@/{store.name}?host={cluster.folder}&port={cluster.port}"
    words = ("--to", owner, "--yes")
    assert team.run_as("owner", "collect", "erase", *words, "--text", "hunter-gate")[0] == 0
    assert {row["title"] for row in team.rows("ls")} == {f"The code of loaf {seed} is [ERASED]" for seed in (1, 2)}
    assert not any(b"hunter-gate" in data for data in contents(team.tree).values())
    assert team.run_as("owner", "collect", "erase", team.rows("ls")[0]["id"], *words)[0] == 0
    assert len(team.rows("ls")) == 1 and len(contents(team.tree)) == 1


def test_a_lake_in_an_object_store(s3: S3, tmp_path: Path) -> None:
    team = Team(tmp_path, s3.address("readers"))
    (tmp_path / "password").write_text(f"{KEY}:{SECRET}")
    words = ("--token-file", str(team.password))
    talk().user("Where is the bread?").reply("In the oven.").write(team.root(0))
    team.collect(0, team.address, *words)
    code, out, err = team.read("ls", *words, quiet=False)
    assert code == 0 and "bread" in out and "Fetched 2 lines" in err and SECRET not in err
    assert contents(team.tree) == contents(team.root(0))
    s3.close()
    code, out, err = team.read("ls", *words, quiet=False)
    assert code == 0 and "bread" in out and "This is what was fetched" in err and SECRET not in err


def test_an_archive_that_was_put_back_shows_each_session_once(small: Team) -> None:
    data, saved = small.home("host0") / "data", small.folder / "saved"
    shutil.copytree(data, saved)
    talk(seed=2).user("Is there cake?").reply("Yes.").write(small.root(0))
    small.collect(0, small.address)
    shutil.rmtree(data)
    shutil.copytree(saved, data)
    talk(seed=3).user("And tea?").reply("Yes.").write(small.root(0))
    small.collect(0, small.address)
    assert sorted(row["title"] for row in small.rows("ls")) == ["And tea?", "Is there cake?", "Where is the bread?"]
    assert sorted(sessions(small)) == sorted(contents(small.root(0)).values())


def test_a_command_that_keeps_running_fetches_what_is_new(small: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    small.read("ls")
    monkeypatch.setattr(store_source, "REFRESH_SECONDS", 0.05)
    monkeypatch.setenv("XDG_CACHE_HOME", str(small.home(small.reader) / "cache"))
    options = command_parser("serve").parse_args(["--store", small.address, "--quiet"])
    store_source.use_store(options)
    with store_source.refreshed(options):
        talk(seed=2).user("Is there cake?").reply("Yes.").write(small.root(0))
        small.collect(0, small.address)
        monkeypatch.setenv("XDG_CACHE_HOME", str(small.home(small.reader) / "cache"))
        end = time.monotonic() + 60
        while len(sessions(small)) < 2 and time.monotonic() < end:
            time.sleep(0.05)
    assert sorted(sessions(small)) == sorted(contents(small.root(0)).values())


def test_all_sessions_of_a_project_are_brought_here(small: Team) -> None:
    talk(seed=2, cwd="/home/ada/shop").user("Is there cake?").reply("Yes.").write(small.root(0))
    small.collect(0, small.address)
    rows = small.rows("restore", "--project", "shop")
    assert [row["written"] for row in rows] == [True]
    assert small.rows("restore", "--all")[0]["written"]
    assert contents(small.home(small.reader) / "claude") == contents(small.root(0))
    code, _, err = small.read("restore", "--all")
    assert code == 1 and "has all that the store has" in err
    assert small.read("restore", "--all", "--generations")[0] == 2


def test_a_developer_is_chosen_by_name_or_by_its_hash() -> None:
    hosts = {
        "a": HostState(1, "Ada@example.com"),
        "b": HostState(1, hash_name("ben@example.com")),
        "c": HostState(1, "adam"),
    }
    assert list(select_hosts(hosts, "ada")) == ["a"]
    assert list(select_hosts(hosts, "BEN@example.com")) == ["b"]
    assert list(select_hosts(hosts, "")) == ["a", "b", "c"]
    with pytest.raises(NotFound, match="zoe"):
        select_hosts(hosts, "zoe")
